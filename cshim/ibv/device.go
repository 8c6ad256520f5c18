package ibv

// #include <stdlib.h>
// #include "ibv/ibv.h"
import "C"

import (
	"unsafe"

	"lapi/transport/ibv"
)

// Native says that objects are addresses of libibverbs' structs (transport/verbs).
func (d *Device) Native() {}

// Info implements ibv.Device.
func (d *Device) Info() ibv.Info { return d.info }

// Active implements ibv.Device.
func (d *Device) Active() bool { return C.cshim_ibv_active(d.c) != 0 }

// AllocPD implements ibv.Device.
func (d *Device) AllocPD() (ibv.PD, error) {
	var o C.cshim_ibv_object
	err := C.cshim_ibv_alloc_pd(d.c, &o)
	return made[ibv.PD](o, "ibv_alloc_pd", err)
}

// DeallocPD implements ibv.Device.
func (d *Device) DeallocPD(pd ibv.PD) error {
	return failure("ibv_dealloc_pd", C.cshim_ibv_dealloc_pd(object(pd)))
}

// RegMR implements ibv.Device.
func (d *Device) RegMR(pd ibv.PD, addr, n, iova uint64, access ibv.Access) (ibv.Region, error) {
	var o C.cshim_ibv_object
	var local, remote C.uint32_t
	err := C.cshim_ibv_reg_mr(object(pd), C.uint64_t(addr), C.uint64_t(n), C.uint64_t(iova),
		C.int(access), &o, &local, &remote)
	mr, e := made[ibv.MR](o, "ibv_reg_mr", err)
	return ibv.Region{MR: mr, Keys: ibv.Keys{Local: uint32(local), Remote: uint32(remote)}}, e
}

// DeregMR implements ibv.Device.
func (d *Device) DeregMR(mr ibv.MR) error {
	return failure("ibv_dereg_mr", C.cshim_ibv_dereg_mr(object(mr)))
}

// AllocMW implements ibv.Windows.
func (d *Device) AllocMW(pd ibv.PD, own bool) (ibv.MW, error) {
	var o C.cshim_ibv_object
	err := C.cshim_ibv_alloc_mw(object(pd), flag(own, C.int(1)), &o)
	return made[ibv.MW](o, "ibv_alloc_mw", err)
}

// DeallocMW implements ibv.Windows.
func (d *Device) DeallocMW(w ibv.MW) error {
	return failure("ibv_dealloc_mw", C.cshim_ibv_dealloc_mw(object(w)))
}

// CreateCQ implements ibv.Device.
func (d *Device) CreateCQ(entries int) (ibv.CQ, error) {
	var o C.cshim_ibv_object
	err := C.cshim_ibv_create_cq(d.c, C.int(entries), &o)
	return made[ibv.CQ](o, "ibv_create_cq", err)
}

// DestroyCQ implements ibv.Device.
func (d *Device) DestroyCQ(cq ibv.CQ) error {
	return failure("ibv_destroy_cq", C.cshim_ibv_destroy_cq(object(cq)))
}

// Leave leaves a completion queue to C that polls it by libibverbs: looks ask it no more.
func (d *Device) Leave(cq ibv.CQ) { C.cshim_ibv_leave(object(cq)) }

// CreateSRQ implements ibv.Device.
func (d *Device) CreateSRQ(pd ibv.PD, receives, segments int) (ibv.SRQ, error) {
	var o C.cshim_ibv_object
	err := C.cshim_ibv_create_srq(object(pd), C.int(receives), C.int(segments), &o)
	return made[ibv.SRQ](o, "ibv_create_srq", err)
}

// ResizeSRQ implements ibv.Device.
func (d *Device) ResizeSRQ(srq ibv.SRQ, receives int) error {
	return failure("ibv_modify_srq", C.cshim_ibv_modify_srq(object(srq), 0, C.int(receives)))
}

// LimitSRQ implements ibv.Device.
func (d *Device) LimitSRQ(srq ibv.SRQ, receives int) error {
	return failure("ibv_modify_srq", C.cshim_ibv_modify_srq(object(srq), 1, C.int(receives)))
}

// DestroySRQ implements ibv.Device.
func (d *Device) DestroySRQ(srq ibv.SRQ) error {
	return failure("ibv_destroy_srq", C.cshim_ibv_destroy_srq(object(srq)))
}

// CreateQP implements ibv.Device.
func (d *Device) CreateQP(a ibv.QPAttr) (ibv.QP, uint32, error) {
	q := C.struct_cshim_ibv_qp{pd: object(a.PD), send_cq: object(a.SendCQ),
		recv_cq: object(a.RecvCQ), srq: object(a.SRQ), datagrams: flag(a.Datagrams, C.int(1)),
		max_requests: C.int(a.MaxRequests), max_receives: C.int(a.MaxReceives),
		request_segments: C.int(a.RequestSegments), receive_segments: C.int(a.ReceiveSegments),
		max_inline: C.int(a.MaxInline), qkey: C.uint32_t(a.QKey)}
	var o C.cshim_ibv_object
	err := C.cshim_ibv_create_qp(d.c, &q, &o)
	qp, e := made[ibv.QP](o, "ibv_create_qp", err)
	return qp, uint32(q.number), e
}

// ConnectQP implements ibv.Device.
func (d *Device) ConnectQP(qp ibv.QP, psn uint32, r ibv.Remote) error {
	to := C.struct_cshim_ibv_remote{qpn: C.uint32_t(r.QPN), psn: C.uint32_t(r.PSN),
		lid: C.uint16_t(r.LID), mtu: C.int(r.MTU), reads: C.int(r.Reads)}
	for i, b := range r.GID {
		to.gid[i] = C.uint8_t(b)
	}
	return failure("ibv_modify_qp", C.cshim_ibv_connect_qp(d.c, object(qp), C.uint32_t(psn), &to))
}

// ResetQP implements ibv.Device.
func (d *Device) ResetQP(qp ibv.QP) error {
	return failure("ibv_modify_qp", C.cshim_ibv_reset_qp(d.c, object(qp)))
}

// ReviveQP implements ibv.Device.
func (d *Device) ReviveQP(qp ibv.QP, qkey uint32) error {
	return failure("ibv_modify_qp", C.cshim_ibv_revive_qp(d.c, object(qp), C.uint32_t(qkey)))
}

// FailQP implements ibv.Device. A queue pair that the adapter refuses to move has failed.
func (d *Device) FailQP(qp ibv.QP) { C.cshim_ibv_fail_qp(object(qp)) }

// DestroyQP implements ibv.Device.
func (d *Device) DestroyQP(qp ibv.QP) { C.cshim_ibv_destroy_qp(object(qp)) }

// CreateAH implements ibv.Device.
func (d *Device) CreateAH(pd ibv.PD, gid ibv.GID, lid uint16) (ibv.AH, error) {
	var o C.cshim_ibv_object
	var g [16]C.uint8_t
	for i, b := range gid {
		g[i] = C.uint8_t(b)
	}
	err := C.cshim_ibv_create_ah(d.c, object(pd), &g[0], C.uint16_t(lid), &o)
	return made[ibv.AH](o, "ibv_create_ah", err)
}

// DestroyAH implements ibv.Device.
func (d *Device) DestroyAH(ah ibv.AH) { C.cshim_ibv_destroy_ah(object(ah)) }

// Files implements ibv.Device.
func (d *Device) Files() []int { return d.files }

// ArmCQ implements ibv.Device.
func (d *Device) ArmCQ(cq ibv.CQ, solicited bool) error {
	return failure("ibv_req_notify_cq", C.cshim_ibv_arm(object(cq), flag(solicited, C.int(1))))
}

// Quiet implements ibv.Device.
func (d *Device) Quiet(told func(ibv.CQ)) {
	for c := C.cshim_ibv_armed(d.c); c != 0; c = C.cshim_ibv_armed(d.c) {
		if told != nil {
			told(ibv.CQ(c))
		}
	}
}

// Event implements ibv.Device.
func (d *Device) Event() ibv.Event {
	e := &d.m.event
	C.cshim_ibv_event(d.c, e)
	return ibv.Event{Kind: ibv.EventKind(e.kind), Type: ibv.EventType(e._type), QPN: uint32(e.qpn),
		SRQ: ibv.SRQ(e.srq), CQ: ibv.CQ(e.cq)}
}

// Close implements ibv.Device.
func (d *Device) Close() error {
	if d.c != nil {
		C.cshim_ibv_close(d.c)
		C.free(unsafe.Pointer(d.m))
		d.c, d.m = nil, nil
	}
	return nil
}

var _ ibv.Adapter = (*Device)(nil)
