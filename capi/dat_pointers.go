package main

// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"unsafe"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// A program's pointers are checked before a call does anything: a pointer to memory that cannot be
// written, or read, is DAT_INVALID_PARAMETER, and nothing has been made or taken then. A NULL where
// there must be something is refused likewise, once the handle was found; each call judges other
// NULLs itself.

// pointed is what one argument of a call points to.
type pointed struct {
	arg, param int // of datCall, and of the prototype, from 1
	size       uintptr
	out        bool
	count      int  // the argument that says how many there are; -1: one
	most       int  // of them; more are refused elsewhere
	mask       int  // the argument that is 0 where nothing is read or written; -1: none
	must       bool // not to be NULL
}

func of[T any](arg int, out bool) pointed {
	var v T
	return pointed{arg: arg, param: arg + 1, size: unsafe.Sizeof(v), out: out, count: -1, mask: -1}
}

func out[T any](arg int) pointed { return of[T](arg, true) }
func in[T any](arg int) pointed  { return of[T](arg, false) }

func (p pointed) needed() pointed      { p.must = true; return p }
func (p pointed) as(param int) pointed { p.param = param; return p }
func (p pointed) ifSet(i int) pointed  { p.mask = i; return p }

func (p pointed) times(i, most int) pointed { p.count, p.most = i, most; return p }

// number is how many there are at the pointer.
func (p pointed) number(c *datCall) uintptr {
	switch {
	case c[p.arg] == 0 || p.mask >= 0 && c[p.mask] == 0:
		return 0
	case p.count < 0:
		return 1
	case c.i(p.count) < 0 || c.i(p.count) > p.most:
		return 0
	}
	return uintptr(c.i(p.count))
}

// writable is false if n bytes at argument i, from an offset on, are not.
func (c *datCall) writable(i int, offset, n uint64) bool {
	return memory.Writable(transport.Addr(c[i]+offset), n) == nil
}

// pointers says which argument points to memory that cannot be accessed, if any does.
func (c *datCall) pointers(list []pointed) codes.Return {
	for _, p := range list {
		n := uint64(p.size * p.number(c))
		if p.out && !c.writable(p.arg, 0, n) ||
			!p.out && memory.Readable(transport.Addr(c[p.arg]), n) != nil {
			return codes.Arg(p.param)
		}
	}
	return codes.Success
}

// missing says which argument is NULL that must not be, if any is.
func (c *datCall) missing(list []pointed) codes.Return {
	for _, p := range list {
		if p.must && c[p.arg] == 0 {
			return codes.Arg(p.param)
		}
	}
	return codes.Success
}

// Lists that many calls have.
var (
	attrQuery = []pointed{out[dat.Handle](1), out[C.DAT_IA_ATTR](3).ifSet(2),
		out[C.DAT_PROVIDER_ATTR](5).ifSet(4)}
	triplets = in[dat.Triplet](2).times(1, dat.MaxIOV)
)

func queried[T any]() []pointed { return []pointed{out[T](2).ifSet(1)} }

func handleAt(arg int) []pointed { return []pointed{out[dat.Handle](arg).needed()} }

// private is the private data of size argument i.
func privateAt(i int) pointed { return in[byte](i+1).times(i, dat.PrivateMax) }

// datPointers are the pointers of each call.
var datPointers = [C.DAT_NUM_CALLS][]pointed{
	C.DAT_CALL_ia_openv:             {in[byte](0), out[dat.Handle](2), out[dat.Handle](3)},
	C.DAT_CALL_ia_query:             attrQuery,
	C.DAT_CALL_ib_open_query:        append([]pointed{in[byte](0)}, attrQuery...),
	C.DAT_CALL_get_consumer_context: {out[uint64](1).needed()},
	C.DAT_CALL_get_handle_type:      {out[uint32](1).needed()},
	C.DAT_CALL_get_ia_handle:        {out[dat.Handle](1)},

	C.DAT_CALL_evd_create:    handleAt(4),
	C.DAT_CALL_evd_query:     queried[C.DAT_EVD_PARAM](),
	C.DAT_CALL_cno_create:    {out[dat.Handle](3).as(3).needed()},
	C.DAT_CALL_cno_fd_create: {out[int32](1).needed(), out[dat.Handle](2).needed()},
	C.DAT_CALL_cno_query:     queried[C.DAT_CNO_PARAM](),

	C.DAT_CALL_pz_create: handleAt(1),
	C.DAT_CALL_pz_query:  queried[C.DAT_PZ_PARAM](),
	C.DAT_CALL_lmr_create: { // the region is two words, and one argument
		out[dat.Handle](8).as(8), out[uint32](9).as(9), out[uint32](10).as(10),
		out[uint64](11).as(11), out[uint64](12).as(12)},
	C.DAT_CALL_lmr_query:         queried[C.DAT_LMR_PARAM](),
	C.DAT_CALL_rmr_create:        handleAt(1),
	C.DAT_CALL_rmr_create_for_ep: handleAt(1),
	C.DAT_CALL_rmr_query:         queried[C.DAT_RMR_PARAM](),
	C.DAT_CALL_rmr_bind:          {in[dat.Triplet](2), out[uint32](8)},

	C.DAT_CALL_ep_create:          {in[C.DAT_EP_ATTR](5), out[dat.Handle](6)},
	C.DAT_CALL_ep_create_with_srq: {in[C.DAT_EP_ATTR](6), out[dat.Handle](7)},
	C.DAT_CALL_ep_query:           queried[C.DAT_EP_PARAM](),
	C.DAT_CALL_ep_modify:          {in[C.DAT_EP_PARAM](2).needed()},
	C.DAT_CALL_ep_get_status:      {out[uint32](1), out[uint32](2), out[uint32](3)},
	C.DAT_CALL_ep_recv_query:      {out[int32](1), out[int32](2)},
	C.DAT_CALL_srq_create:         {in[C.DAT_SRQ_ATTR](2).needed(), out[dat.Handle](3).needed()},
	C.DAT_CALL_srq_query:          queried[C.DAT_SRQ_PARAM](),

	C.DAT_CALL_ib_post_send_ud: {triplets, in[C.DAT_IB_ADDR_HANDLE](3)},
	C.DAT_CALL_ib_ud_ah_free:   {in[C.DAT_IB_ADDR_HANDLE](1).needed()},

	C.DAT_CALL_ep_connect:     {in[C.DAT_SOCK_ADDR](1), privateAt(4)},
	C.DAT_CALL_ep_dup_connect: {privateAt(3)},
	C.DAT_CALL_cr_query:       queried[C.DAT_CR_PARAM](),
	C.DAT_CALL_cr_accept:      {privateAt(2)},
	C.DAT_CALL_cr_reject:      {privateAt(1)},
	C.DAT_CALL_psp_create:     handleAt(4),
	C.DAT_CALL_psp_create_any: {out[uint64](1).needed(), out[dat.Handle](4).needed()},
	C.DAT_CALL_psp_query:      queried[C.DAT_PSP_PARAM](),
	C.DAT_CALL_rsp_create:     handleAt(4),
	C.DAT_CALL_rsp_query:      queried[C.DAT_RSP_PARAM](),

	C.DAT_CALL_ib_collective_create_member: {out[uint64](2).needed(), out[uint32](3).needed()},
	C.DAT_CALL_ib_collective_read_clock:    {out[uint64](1).needed()},
}
