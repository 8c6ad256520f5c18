package main

// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"lapi/core/dat"
	"lapi/core/dat/codes"
)

// Connections: endpoints, service points, requests.
func initConnectionCalls() {
	def(C.DAT_CALL_ep_connect, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		to, ok := c.addrOf(1)
		private, fits := c.private(4)
		switch {
		case !ok:
			return codes.InvalidAddress.With(codes.InvalidAddressMalformed)
		case c.u(3) == 0:
			return codes.Arg(4)
		case !fits:
			return codes.Arg(5)
		case c.u(6) != 0 || c.u(7) != 0:
			return codes.ModelNotSupported.With(codes.NoSubtype)
		}
		return e.Connect(to, c[2], timeoutOf(c.u(3)), private)
	})
	def(C.DAT_CALL_ep_dup_connect, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		of, r := dat.Find[*dat.EP](udapl.lib, c.h(1), ofEP)
		private, fits := c.private(3)
		switch {
		case r != codes.Success:
			return r
		case c.u(2) == 0:
			return codes.Arg(3)
		case !fits:
			return codes.Arg(4)
		case c.u(5) != 0:
			return codes.ModelNotSupported.With(codes.NoSubtype)
		}
		return e.Duplicate(of, timeoutOf(c.u(2)), private)
	})
	def(C.DAT_CALL_ep_disconnect, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		if c.u(1) > 1 {
			return codes.Arg(2)
		}
		return e.Disconnect(c.u(1) != 0)
	})
	def(C.DAT_CALL_cr_accept, ofCR, func(cr *dat.CR, c *datCall) codes.Return {
		private, ok := c.private(2)
		if !ok {
			return codes.Arg(3)
		}
		return cr.Accept(c.h(1), private)
	})
	def(C.DAT_CALL_cr_reject, ofCR, func(cr *dat.CR, c *datCall) codes.Return {
		private, ok := c.private(1)
		if !ok {
			return codes.Arg(2)
		}
		return cr.Reject(private)
	})
	def(C.DAT_CALL_cr_handoff, ofCR, func(cr *dat.CR, c *datCall) codes.Return {
		return cr.Handoff(c[1])
	})
	def(C.DAT_CALL_psp_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		if c.u(3) > 1 {
			return codes.Arg(4)
		}
		p, r := ia.NewPSP(c[1], c.h(2), c.u(3) == 1)
		return made(c, 4, p, r)
	})
	def(C.DAT_CALL_psp_create_any, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		if c.u(3) > 1 {
			return codes.Arg(4)
		}
		p, r := ia.NewPSPAny(c.h(2), c.u(3) == 1)
		if r == codes.Success {
			set(c, 1, p.Qualifier)
		}
		return made(c, 4, p, r)
	})
	plain(C.DAT_CALL_psp_free, ofPSP, (*dat.PSP).Free)
	def(C.DAT_CALL_rsp_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		s, r := ia.NewRSP(c[1], c.h(2), c.h(3))
		return made(c, 4, s, r)
	})
	plain(C.DAT_CALL_rsp_free, ofRSP, (*dat.RSP).Free)
}

// timeoutOf is microseconds as the library counts time; 0 of the infinite one.
func timeoutOf(us uint32) int64 {
	if us == ^uint32(0) {
		return 0
	}
	return int64(us) * 1000
}
