// Package verbs gives a fake adapter objects as libibverbs has them, so that C can post to it and
// poll it, for Go tests of uDAPL's device engine.
package verbs

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Wno-unused-parameter -I${SRCDIR}/../..
// #include <errno.h>
// #include <stdlib.h>
// #include "ctest/verbs/verbs.h"
import "C"

import (
	"net/netip"
	"unsafe"

	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
)

// Fabric is a fabric whose adapters C can use.
type Fabric struct{ *fake.Fabric }

// Open opens an adapter.
func (f Fabric) Open(addr netip.Addr) (ibv.Adapter, error) {
	d, err := f.Fabric.Open(addr)
	if err != nil {
		return nil, err
	}
	return Adapter(d), nil
}

// adapter is one whose queue pairs, queues and address handles are addresses of C's.
type adapter struct {
	ibv.Adapter
	context *C.struct_ibv_context
	number  map[uintptr]uintptr // of an object of the fake's
	address map[uintptr]uintptr // the other way; all numbers differ
	found   [64]ibv.Completion
}

var adapters = map[*C.struct_ibv_context]*adapter{} // that are open

// Adapter makes C able to use d.
func Adapter(d ibv.Adapter) ibv.Adapter {
	a := &adapter{Adapter: d, context: C.verbs_context(), number: map[uintptr]uintptr{},
		address: map[uintptr]uintptr{}}
	adapters[a.context] = a
	return a
}

// Close implements ibv.Device.
func (a *adapter) Close() error {
	delete(adapters, a.context)
	C.free(unsafe.Pointer(a.context))
	return a.Adapter.Close()
}

func add[T ~uintptr](a *adapter, o T, err error) (T, error) {
	if err != nil {
		return o, err
	}
	at := uintptr(C.verbs_object(a.context))
	a.number[at], a.address[uintptr(o)] = uintptr(o), at
	return T(at), nil
}

// of is the object of the fake's; 0 of 0.
func of[T ~uintptr](a *adapter, o T) T { return T(a.number[uintptr(o)]) }

func (a *adapter) remove(at uintptr) {
	delete(a.address, a.number[at])
	delete(a.number, at)
	C.free(pointer(at))
}

func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// CreateCQ implements ibv.Device, as the methods below do.
func (a *adapter) CreateCQ(entries int) (ibv.CQ, error) {
	c, err := a.Adapter.CreateCQ(entries)
	return add(a, c, err)
}

func (a *adapter) DestroyCQ(c ibv.CQ) error {
	defer a.remove(uintptr(c))
	return a.Adapter.DestroyCQ(of(a, c))
}

func (a *adapter) PollCQ(c ibv.CQ, out []ibv.Completion) int {
	return a.Adapter.PollCQ(of(a, c), out)
}

func (a *adapter) ArmCQ(c ibv.CQ, solicited bool) error {
	return a.Adapter.ArmCQ(of(a, c), solicited)
}

func (a *adapter) Quiet(f func(ibv.CQ)) {
	a.Adapter.Quiet(func(c ibv.CQ) { f(ibv.CQ(a.address[uintptr(c)])) })
}

func (a *adapter) CreateSRQ(pd ibv.PD, receives, segments int) (ibv.SRQ, error) {
	s, err := a.Adapter.CreateSRQ(pd, receives, segments)
	return add(a, s, err)
}

func (a *adapter) ResizeSRQ(s ibv.SRQ, receives int) error {
	return a.Adapter.ResizeSRQ(of(a, s), receives)
}

func (a *adapter) LimitSRQ(s ibv.SRQ, receives int) error {
	return a.Adapter.LimitSRQ(of(a, s), receives)
}

func (a *adapter) DestroySRQ(s ibv.SRQ) error {
	defer a.remove(uintptr(s))
	return a.Adapter.DestroySRQ(of(a, s))
}

func (a *adapter) Event() ibv.Event {
	e := a.Adapter.Event()
	e.SRQ = ibv.SRQ(a.address[uintptr(e.SRQ)])
	e.CQ = ibv.CQ(a.address[uintptr(e.CQ)])
	return e
}

func (a *adapter) CreateQP(x ibv.QPAttr) (ibv.QP, uint32, error) {
	x.SendCQ, x.RecvCQ, x.SRQ = of(a, x.SendCQ), of(a, x.RecvCQ), of(a, x.SRQ)
	q, number, err := a.Adapter.CreateQP(x)
	if q, err = add(a, q, err); err == nil && x.Datagrams {
		(*C.struct_ibv_qp)(pointer(uintptr(q))).qp_type = C.IBV_QPT_UD
	}
	return q, number, err
}

func (a *adapter) Ready(id ibv.ID, q ibv.QP, in, out int) error {
	return a.Adapter.Ready(id, of(a, q), in, out)
}

func (a *adapter) FailQP(q ibv.QP) { a.Adapter.FailQP(of(a, q)) }

func (a *adapter) DestroyQP(q ibv.QP) {
	a.Adapter.DestroyQP(of(a, q))
	a.remove(uintptr(q))
}

func (a *adapter) BindMW(q ibv.QP, b *ibv.Bind) (uint32, error) {
	return a.Adapter.BindMW(of(a, q), b)
}

func (a *adapter) CreateAH(pd ibv.PD, gid ibv.GID, lid uint16) (ibv.AH, error) {
	h, err := a.Adapter.CreateAH(pd, gid, lid)
	return add(a, h, err)
}

func (a *adapter) DestroyAH(h ibv.AH) {
	a.Adapter.DestroyAH(of(a, h))
	a.remove(uintptr(h))
}

func segments(list *C.struct_ibv_sge, n C.int) (out []ibv.Segment) {
	for _, s := range unsafe.Slice(list, int(n)) {
		out = append(out, ibv.Segment{Addr: uint64(s.addr), N: uint32(s.length), Key: uint32(s.lkey)})
	}
	return out
}

// field is a part of a union.
func field[T any](union unsafe.Pointer, offset uintptr) T {
	return *(*T)(unsafe.Add(union, offset))
}

//export verbsPostSend
func verbsPostSend(qp *C.struct_ibv_qp, wr *C.struct_ibv_send_wr) C.int {
	a := adapters[qp.context]
	has := func(flag C.uint) bool { return wr.send_flags&flag != 0 }
	w := &ibv.Work{ID: uint64(wr.wr_id), Op: ibv.Op(wr.opcode),
		Segments: segments(wr.sg_list, wr.num_sge), Signaled: has(C.IBV_SEND_SIGNALED), Fence: has(C.IBV_SEND_FENCE),
		Solicited: has(C.IBV_SEND_SOLICITED), Inline: has(C.IBV_SEND_INLINE)}
	union, extra := unsafe.Pointer(&wr.wr), unsafe.Pointer(&wr.anon0)
	switch w.Op {
	case ibv.OpSendInvalidate:
		w.RKey = field[uint32](extra, 0)
	case ibv.OpWriteImmediate:
		w.Immediate = field[uint32](extra, 0)
		fallthrough
	case ibv.OpWrite, ibv.OpRead:
		w.RemoteAddr, w.RKey = field[uint64](union, 0), field[uint32](union, 8)
	case ibv.OpCompareSwap, ibv.OpFetchAdd: // compare_add, swap
		w.RemoteAddr, w.RKey = field[uint64](union, 0), field[uint32](union, 24)
		w.Compare, w.Operand = field[uint64](union, 8), field[uint64](union, 16)
		if w.Op == ibv.OpFetchAdd {
			w.Operand = w.Compare
		}
	case ibv.OpSend:
		if ah := a.number[field[uintptr](union, 0)]; qp.qp_type == C.IBV_QPT_UD && ah != 0 {
			w.AH, w.QPN, w.QKey = ibv.AH(ah), field[uint32](union, 8), field[uint32](union, 12)
		}
	}
	if a.PostSend(of(a, ibv.QP(uintptr(unsafe.Pointer(qp)))), w) != nil {
		return C.EINVAL
	}
	return 0
}

//export verbsPostRecv
func verbsPostRecv(context *C.struct_ibv_context, qp *C.struct_ibv_qp, srq *C.struct_ibv_srq,
	wr *C.struct_ibv_recv_wr) C.int {
	a := adapters[context]
	r := []ibv.Recv{{ID: uint64(wr.wr_id), Segments: segments(wr.sg_list, wr.num_sge)}}
	if _, err := a.PostRecv(of(a, ibv.QP(uintptr(unsafe.Pointer(qp)))),
		of(a, ibv.SRQ(uintptr(unsafe.Pointer(srq)))), r); err != nil {
		return C.ENOMEM
	}
	return 0
}

//export verbsPollCQ
func verbsPollCQ(cq *C.struct_ibv_cq, most C.int, wc *C.struct_ibv_wc) C.int {
	a := adapters[cq.context]
	n := a.Adapter.PollCQ(of(a, ibv.CQ(uintptr(unsafe.Pointer(cq)))),
		a.found[:min(int(most), len(a.found))])
	if n <= 0 {
		return C.int(n)
	}
	list := unsafe.Slice(wc, n)
	for i := range list {
		c := &a.found[i]
		list[i] = C.struct_ibv_wc{wr_id: C.uint64_t(c.ID), status: uint32(c.Status),
			vendor_err: C.uint32_t(c.VendorErr), byte_len: C.uint32_t(c.N),
			qp_num: C.uint32_t(c.QPN)}
		to := &list[i]
		const isReceive = 1 << 63 // of uDAPL's numbers
		if c.ID&isReceive != 0 {
			to.opcode = C.IBV_WC_RECV
		}
		data := (*uint32)(unsafe.Pointer(&to.anon0))
		switch {
		case c.HasData:
			to.wc_flags, *data = C.IBV_WC_WITH_IMM, c.Immediate
			if c.ByWrite {
				to.opcode = C.IBV_WC_RECV_RDMA_WITH_IMM
			}
		case c.Invalidated:
			to.wc_flags, *data = C.IBV_WC_WITH_INV, c.Key
			if c.Perhaps {
				to.wc_flags = C.IBV_WC_IP_CSUM_OK
			}
		}
	}
	return C.int(n)
}
