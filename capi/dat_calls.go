package main

// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/descriptor"
	"lapi/transport/layout"

	"golang.org/x/sys/unix"
)

func notImplemented(*datCall) codes.Return { return codes.NotImplemented.Raw() }

// made stores the handle of a new object where argument i points to.
func made[T interface {
	comparable
	Handle() dat.Handle
}](c *datCall, i int, o T, r codes.Return) codes.Return {
	if r == codes.Success {
		set(c, i, o.Handle())
	}
	return r
}

// needs is DAT_INVALID_PARAMETER if argument i, counted from 0, is null.
func (c *datCall) needs(i int) bool { return c[i] == 0 }

// Handles of each kind.
const (
	ofIA  = codes.InvalidHandleIA
	ofEP  = codes.InvalidHandleEP
	ofEVD = codes.InvalidHandleEVDRequest
	ofCNO = codes.InvalidHandleCNO
	ofLMR = codes.InvalidHandleLMR
	ofRMR = codes.InvalidHandleRMR
	ofPZ  = codes.InvalidHandlePZ
	ofPSP = codes.InvalidHandlePSP
	ofRSP = codes.InvalidHandleRSP
	ofCR  = codes.InvalidHandleCR
	ofSRQ = codes.InvalidHandleSRQ
)

// flags are those of argument i, of which most are known; another one is refused.
func (c *datCall) flags(i int, most uint32) (uint32, codes.Return) {
	if c.u(i)&^most != 0 {
		return 0, codes.Arg(i + 1)
	}
	return c.u(i), codes.Success
}

// completion are completion flags at argument i.
func (c *datCall) completion(i int) (dat.CompletionFlags, codes.Return) {
	f, r := c.flags(i, dat.CompletionAll)
	return dat.CompletionFlags(f), r
}

// triplets copies n of them at argument i.
func (c *datCall) triplets(n, i int) ([]dat.Triplet, codes.Return) {
	switch {
	case c.i(n) < 0 || c.i(n) > dat.MaxIOV:
		return nil, codes.Arg(n + 1)
	case c.i(n) > 0 && c[i] == 0:
		return nil, codes.Arg(i + 1)
	}
	return append([]dat.Triplet(nil), list[dat.Triplet](c, i, c.i(n))...), codes.Success
}

// judged copies n triplets at argument i, where C has seen that they are there.
func (c *datCall) judged(n, i int) []dat.Triplet {
	return append([]dat.Triplet(nil), list[dat.Triplet](c, i, c.i(n))...)
}

// post is a post that C has checked and packed (cshim/dat/rc/judge.c).
func post(e *dat.EP, c *datCall) codes.Return {
	flags := c.u(2)
	a := dat.PostArgs{Op: rc.Op(c.u(1)), Immediate: flags&layout.RcImmediate != 0,
		Invalidate: flags&layout.RcInvalidate != 0, ToRMR: flags&layout.RcToRmr != 0,
		Triplets: c.judged(3, 4), Cookie: c[5], Data: c.u(7), Operand: c[8], Compare: c[9],
		Flags: dat.CompletionFlags(c.u(10))}
	if t := at[dat.Triplet](c, 6); t != nil {
		a.Remote = *t
	}
	if a.Invalidate {
		a.Remote.Context, a.Data = a.Data, 0
	}
	return e.Post(a)
}

var datCalls [C.DAT_NUM_CALLS]func(*datCall) codes.Return

// def makes f do a call, with the object of argument 0, once the pointers that must be there are.
// subtype is that of the error for a wrong handle of the kind.
func def[T dat.Object](number int, subtype codes.Subtype, f func(o T, c *datCall) codes.Return) {
	datCalls[number] = func(c *datCall) codes.Return {
		o, r := dat.Find[T](udapl.lib, c.h(0), subtype)
		if r == codes.Success {
			r = c.missing(datPointers[number])
		}
		if r == codes.Success {
			r = f(o, c)
		}
		return r
	}
}

// plain is def of a call without other arguments.
func plain[T dat.Object](number int, subtype codes.Subtype, f func(o T) codes.Return) {
	def(number, subtype, func(o T, _ *datCall) codes.Return { return f(o) })
}

func init() {
	for i := range datCalls {
		datCalls[i] = notImplemented
	}
	initAdapterCalls()
	initEventCalls()
	initMemoryCalls()
	initEndpointCalls()
	initConnectionCalls()
	initExtensionCalls()
	initCollectiveCalls()
}

func initEventCalls() {
	def(C.DAT_CALL_evd_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		e, r := ia.NewEVD(c.i(1), c.h(2), dat.EVDFlags(c.u(3)))
		return made(c, 4, e, r)
	})
	plain(C.DAT_CALL_evd_free, ofEVD, (*dat.EVD).Free)
	def(C.DAT_CALL_evd_modify_cno, ofEVD, func(e *dat.EVD, c *datCall) codes.Return {
		return e.ModifyCNO(c.h(1))
	})
	def(C.DAT_CALL_cno_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		n, r := ia.NewCNO(dat.Agent{Instance: c[1], Function: c[2]}, -1)
		return made(c, 3, n, r)
	})
	def(C.DAT_CALL_cno_fd_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		fd, err := descriptor.Event()
		if err != nil {
			return codes.InsufficientResources.With(codes.ResourceDevice)
		}
		n, r := ia.NewCNO(dat.Agent{}, fd)
		if r != codes.Success {
			unix.Close(fd)
			return r
		}
		set(c, 1, int32(fd))
		return made(c, 2, n, r)
	})
	plain(C.DAT_CALL_cno_free, ofCNO, (*dat.CNO).Free)
}

func initEndpointCalls() {
	def(C.DAT_CALL_ep_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return epCreate(ia, c, 0, 5)
	})
	def(C.DAT_CALL_ep_create_with_srq, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		if c[5] == 0 {
			return codes.BadHandle(ofSRQ)
		}
		return epCreate(ia, c, c.h(5), 6)
	})
	plain(C.DAT_CALL_ep_free, ofEP, (*dat.EP).Free)
	plain(C.DAT_CALL_ep_reset, ofEP, (*dat.EP).Reset)
	def(C.DAT_CALL_ep_get_status, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		receives, requests := e.Idle()
		set(c, 1, uint32(e.State))
		set(c, 2, uint32(receives))
		set(c, 3, uint32(requests))
		return codes.Success
	})
	def(C.DAT_CALL_ep_recv_query, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		receives, _ := e.Idle()
		set(c, 1, int32(receives))
		set(c, 2, int32(receives))
		return codes.Success
	})
	def(C.DAT_CALL_ep_set_watermark, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		if e.SRQ == nil {
			return codes.InvalidState.With(codes.NoSubtype)
		}
		return codes.ModelNotSupported.With(codes.NoSubtype)
	})
	def(C.DAT_CALL_post, ofEP, post)
	def(C.DAT_CALL_ep_post_recv, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		return e.PostReceive(c.judged(1, 2), c[3], dat.CompletionFlags(c.u(4)))
	})
	def(C.DAT_CALL_srq_create, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		a := at[C.DAT_SRQ_ATTR](c, 2)
		s, r := ia.NewSRQ(c.h(1), int32(a.max_recv_dtos), int32(a.max_recv_iov),
			int32(a.low_watermark))
		return made(c, 3, s, r)
	})
	plain(C.DAT_CALL_srq_free, ofSRQ, (*dat.SRQ).Free)
	def(C.DAT_CALL_srq_resize, ofSRQ, func(s *dat.SRQ, c *datCall) codes.Return {
		return s.Resize(int32(c.u(1)))
	})
	def(C.DAT_CALL_srq_set_lw, ofSRQ, func(s *dat.SRQ, c *datCall) codes.Return {
		return s.SetLow(int32(c.u(1)))
	})
	def(C.DAT_CALL_srq_post_recv, ofSRQ, func(s *dat.SRQ, c *datCall) codes.Return {
		return s.Post(c.judged(1, 2), c[3])
	})
}

// epCreate makes an endpoint; its attributes are argument i, its handle goes to the next.
func epCreate(ia *dat.IA, c *datCall, srq dat.Handle, i int) codes.Return {
	if c.needs(i + 1) {
		return codes.Arg(i + 2)
	}
	e, r := ia.NewEP(dat.EPArgs{PZ: c.h(1), Recv: c.h(2), Request: c.h(3), Connect: c.h(4),
		SRQ:  srq,
		Attr: attrOf(at[C.DAT_EP_ATTR](c, i))})
	if r == codes.Arg(6) {
		r = codes.Arg(i + 1) // the attributes'
	}
	return made(c, i+1, e, r)
}

func initExtensionCalls() {
	d := &datCalls
	def(C.DAT_CALL_ib_post_send_ud, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		t, r := c.triplets(1, 2)
		ah := at[C.DAT_IB_ADDR_HANDLE](c, 3)
		switch {
		case r != codes.Success:
			return r
		case ah == nil:
			return codes.Arg(4)
		}
		flags, r := c.completion(5)
		if r != codes.Success {
			return r
		}
		return e.PostUD(t, dat.Handle(*(*uint64)(ptr(&ah.ah))), uint32(ah.qpn), c[4], flags)
	})
	def(C.DAT_CALL_ib_ud_cm_free, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		return e.FreeUDConnection(c[1])
	})
	def(C.DAT_CALL_ib_ud_ah_free, ofEP, func(e *dat.EP, c *datCall) codes.Return {
		ah := at[C.DAT_IB_ADDR_HANDLE](c, 1)
		return e.FreeAH(dat.Handle(*(*uint64)(ptr(&ah.ah))))
	})
	d[C.DAT_CALL_ib_query_counters] = queryCounters
	d[C.DAT_CALL_ib_print_counters] = printCounters
	def(C.DAT_CALL_ib_start_counter, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return ia.StartCounters(c.i(1))
	})
	def(C.DAT_CALL_ib_stop_counter, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return ia.StopCounters(c.i(1))
	})
	d[C.DAT_CALL_ib_open_query] = openQuery
	d[C.DAT_CALL_ib_close_query] = func(c *datCall) codes.Return {
		ia, r := udapl.lib.IAOf(c.h(0))
		switch {
		case r != codes.Success:
			return r
		case !ia.IsQuery():
			return codes.BadHandle(ofIA)
		}
		return ia.Close(false)
	}
}
