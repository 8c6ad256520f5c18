package main

// #include "dat/calls.h"
import "C"

import (
	"lapi/core/dat"
	"lapi/core/dat/codes"
)

func initMemoryCalls() {
	def(C.DAT_CALL_pz_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		p, r := ia.NewPZ()
		return made(c, 1, p, r)
	})
	plain(C.DAT_CALL_pz_free, ofPZ, (*dat.PZ).Free)
	def(C.DAT_CALL_lmr_create, ofIA, lmrCreate)
	plain(C.DAT_CALL_lmr_free, ofLMR, (*dat.LMR).Free)
	// memory is coherent: only the list is judged
	for _, sync := range []int{C.DAT_CALL_lmr_sync_rdma_read, C.DAT_CALL_lmr_sync_rdma_write} {
		def(sync, ofIA, func(_ *dat.IA, c *datCall) codes.Return {
			if n := int(min(c[2], dat.MaxIOV)); n > 0 && readable[dat.Triplet](c, 1, n) == nil {
				return codes.Arg(2)
			}
			return codes.Success
		})
	}
	for create, forEP := range map[int]bool{C.DAT_CALL_rmr_create: false,
		C.DAT_CALL_rmr_create_for_ep: true} {
		def(create, ofPZ, func(p *dat.PZ, c *datCall) codes.Return {
			m, r := p.IA().NewRMR(p.Handle(), forEP)
			return made(c, 1, m, r)
		})
	}
	plain(C.DAT_CALL_rmr_free, ofRMR, (*dat.RMR).Free)
	def(C.DAT_CALL_rmr_bind, ofRMR, func(m *dat.RMR, c *datCall) codes.Return {
		t := at[dat.Triplet](c, 2)
		if t == nil {
			return codes.Arg(3)
		}
		zeroBased, r := c.flags(4, 1)
		if r != codes.Success {
			return r
		}
		flags, r := c.completion(7)
		if r != codes.Success {
			return r
		}
		context, r := m.Bind(dat.BindArgs{LMR: c.h(1), Triplet: *t,
			Privileges: dat.Privileges(c.u(3)),
			ZeroBased:  zeroBased != 0, EP: c.h(5), Cookie: c[6], Flags: flags})
		if r == codes.Success {
			set(c, 8, context)
		}
		return r
	})
}

func lmrCreate(ia *dat.IA, c *datCall) codes.Return {
	a := dat.LMRArgs{Type: c.i(1), Region: [2]uint64{c[2], c[3]}, Length: c[4], PZ: c.h(5),
		Privileges: dat.Privileges(c.u(6)), ZeroBased: c.u(7) != 0}
	switch { // the region is two words, and one argument
	case c.u(7) > 1:
		return codes.Arg(7)
	case c.needs(8):
		return codes.Arg(8)
	}
	if a.Type == dat.MemShared {
		a.Cookie = list[byte](c, 3, dat.CookieSize)
	}
	m, r := ia.NewLMR(a)
	if r != codes.Success {
		return r
	}
	set(c, 9, m.Context)
	set(c, 10, m.RemoteContext())
	set(c, 11, m.Length)
	set(c, 12, m.Address())
	return made(c, 8, m, r)
}
