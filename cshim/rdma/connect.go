package rdma

// #include "rdma/rdma.h"
import "C"

import (
	"net/netip"
	"unsafe"

	"lapi/core/dat/adapter"
)

// NewID implements adapter.Device.
func (d *Device) NewID(datagrams bool) (adapter.ID, error) {
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_id(d.c, C.int(flag[uint8](datagrams)), &o)
	return made[adapter.ID](o, "rdma_create_id", err)
}

// FreeID implements adapter.Device.
func (d *Device) FreeID(id adapter.ID) { C.cshim_rdma_free_id(object(id)) }

// Listen implements adapter.Device.
func (d *Device) Listen(id adapter.ID, port uint16) error {
	return failure("rdma_listen", C.cshim_rdma_listen(d.c, object(id), C.uint16_t(port)))
}

// FindAddress implements adapter.Device.
func (d *Device) FindAddress(id adapter.ID, to netip.AddrPort, ms int) error {
	a := address(to)
	return failure("rdma_resolve_addr",
		C.cshim_rdma_find_address(d.c, object(id), &a, C.int(ms)))
}

// FindRoute implements adapter.Device.
func (d *Device) FindRoute(id adapter.ID, ms int) error {
	return failure("rdma_resolve_route", C.cshim_rdma_find_route(object(id), C.int(ms)))
}

// terms puts them where C finds them.
func (d *Device) terms(t adapter.Terms) *C.struct_cshim_rdma_terms {
	d.m.terms = C.struct_cshim_rdma_terms{qpn: C.uint32_t(t.QPN), reads_in: C.uint8_t(t.ReadsIn),
		reads_out: C.uint8_t(t.ReadsOut), shared: flag[C.uint8_t](t.Shared)}
	n := min(len(t.Private), len(d.m.terms.private_data)-1)
	for i, b := range t.Private[:n] {
		d.m.terms.private_data[i] = C.uint8_t(b)
	}
	d.m.terms.size = C.uint8_t(n)
	return &d.m.terms
}

// Connect implements adapter.Device.
func (d *Device) Connect(id adapter.ID, t adapter.Terms) error {
	return failure("rdma_connect", C.cshim_rdma_connect(object(id), d.terms(t)))
}

// Ready implements adapter.Device.
func (d *Device) Ready(id adapter.ID, qp adapter.QP, readsIn, readsOut int) error {
	return failure("ibv_modify_qp",
		C.cshim_rdma_ready(object(id), object(qp), C.int(readsIn), C.int(readsOut)))
}

// Establish implements adapter.Device.
func (d *Device) Establish(id adapter.ID) error {
	return failure("rdma_establish", C.cshim_rdma_establish(object(id)))
}

// Accept implements adapter.Device.
func (d *Device) Accept(id adapter.ID, t adapter.Terms) error {
	return failure("rdma_accept", C.cshim_rdma_accept(object(id), d.terms(t)))
}

// Reject implements adapter.Device.
func (d *Device) Reject(id adapter.ID, private []byte) error {
	t := d.terms(adapter.Terms{Private: private})
	return failure("rdma_reject", C.cshim_rdma_reject(object(id),
		unsafe.Pointer(&t.private_data[0]), C.int(t.size)))
}

// Disconnect implements adapter.Device.
func (d *Device) Disconnect(id adapter.ID) error {
	return failure("rdma_disconnect", C.cshim_rdma_disconnect(object(id)))
}

// Event implements adapter.Device.
func (d *Device) Event() (e adapter.Event) {
	c := &d.m.event
	if C.cshim_rdma_event(d.c, c) == 0 {
		return e
	}
	e = adapter.Event{Kind: adapter.EventKind(c.kind), ID: adapter.ID(c.id),
		Listener: adapter.ID(c.listener), Status: int(c.status), Local: addrPort(&c.local),
		Peer: addrPort(&c.peer), ReadsIn: uint8(c.reads_in), ReadsOut: uint8(c.reads_out),
		QPN: uint32(c.qpn), QKey: uint32(c.qkey), LID: uint16(c.lid),
		Private: unsafe.Slice((*byte)(unsafe.Pointer(&c.private_data[0])), int(c.size))}
	for i, b := range c.gid {
		e.GID[i] = byte(b)
	}
	return e
}
