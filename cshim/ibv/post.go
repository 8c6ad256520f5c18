package ibv

// #include <infiniband/verbs.h>
// #include "ibv/ibv.h"
// #cgo noescape cshim_ibv_poll
// #cgo nocallback cshim_ibv_poll
// #cgo noescape cshim_ibv_post
// #cgo nocallback cshim_ibv_post
// #cgo noescape cshim_ibv_receive
// #cgo nocallback cshim_ibv_receive
import "C"

import (
	"syscall"

	"lapi/transport/ibv"
)

// segments puts segments where C finds them, from the place at on. False: there are too many.
func (d *Device) segments(at int, list []ibv.Segment) bool {
	if at+len(list) > len(d.m.segments) {
		return false
	}
	for i, s := range list {
		d.m.segments[at+i] = C.struct_cshim_ibv_segment{addr: C.uint64_t(s.Addr),
			n: C.uint32_t(s.N), key: C.uint32_t(s.Key)}
	}
	return true
}

// PostSend implements ibv.Device.
func (d *Device) PostSend(qp ibv.QP, w *ibv.Work) error {
	if !d.segments(0, w.Segments) {
		return syscall.EINVAL
	}
	d.m.work = C.struct_cshim_ibv_work{id: C.uint64_t(w.ID), op: C.uint8_t(w.Op),
		remote_addr: C.uint64_t(w.RemoteAddr), rkey: C.uint32_t(w.RKey),
		operand: C.uint64_t(w.Operand), compare: C.uint64_t(w.Compare), ah: object(w.AH),
		immediate: C.uint32_t(w.Immediate), qpn: C.uint32_t(w.QPN), qkey: C.uint32_t(w.QKey),
		flags: flag[C.uint8_t](w.Signaled, C.IBV_SEND_SIGNALED) |
			flag[C.uint8_t](w.Fence, C.IBV_SEND_FENCE) |
			flag[C.uint8_t](w.Solicited, C.IBV_SEND_SOLICITED) |
			flag[C.uint8_t](w.Inline, C.IBV_SEND_INLINE),
		segments: C.uint16_t(len(w.Segments))}
	return failure("ibv_post_send", C.cshim_ibv_post(object(qp), &d.m.work, &d.m.segments[0]))
}

// BindMW implements ibv.Windows.
func (d *Device) BindMW(qp ibv.QP, b *ibv.Bind) (uint32, error) {
	d.m.bind = C.struct_cshim_ibv_bind{id: C.uint64_t(b.ID), addr: C.uint64_t(b.Addr),
		n: C.uint64_t(b.N), mw: object(b.MW), mr: object(b.MR),
		access: C.uint(b.Access) | flag[C.uint](b.Zero, C.IBV_ACCESS_ZERO_BASED),
		flags:  C.IBV_SEND_SIGNALED | flag[C.uint](b.Fence, C.IBV_SEND_FENCE)}
	var key C.uint32_t
	err := C.cshim_ibv_bind_mw(object(qp), &d.m.bind, &key)
	return uint32(key), failure("ibv_bind_mw", err)
}

// PostRecv implements ibv.Device.
func (d *Device) PostRecv(qp ibv.QP, srq ibv.SRQ, list []ibv.Recv) (int, error) {
	posted := 0
	for posted < len(list) {
		n, segments := 0, 0
		for _, r := range list[posted:min(posted+len(d.m.receives), len(list))] {
			if !d.segments(segments, r.Segments) {
				break
			}
			d.m.receives[n] = C.struct_cshim_ibv_recv{id: C.uint64_t(r.ID),
				segments: C.uint32_t(len(r.Segments))}
			segments += len(r.Segments)
			n++
		}
		if n == 0 {
			return posted, syscall.EINVAL
		}
		err := C.cshim_ibv_receive(object(qp), object(srq), &d.m.receives[0], &d.m.segments[0],
			C.uint32_t(n), &d.m.left)
		posted += n - int(d.m.left)
		if err != 0 {
			return posted, failure("ibv_post_recv", err)
		}
	}
	return posted, nil
}

// PollCQ implements ibv.Device.
func (d *Device) PollCQ(cq ibv.CQ, out []ibv.Completion) int {
	n := int(C.cshim_ibv_poll(object(cq), C.int(min(len(out), len(d.m.found))), &d.m.found[0]))
	for i := range max(n, 0) {
		c := &d.m.found[i]
		out[i] = ibv.Completion{ID: uint64(c.id), QPN: uint32(c.qpn), Status: ibv.Status(c.status),
			VendorErr: uint32(c.vendor_err), N: uint32(c.n), HasData: c.has_data != 0,
			ByWrite: c.by_write != 0, Immediate: uint32(c.immediate),
			Invalidated: c.invalidated != 0, Perhaps: c.perhaps != 0, Key: uint32(c.key)}
	}
	return n
}
