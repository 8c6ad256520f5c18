package ibv

// #include "ibv/ibv.h"
import "C"

import (
	"net/netip"
	"unsafe"

	"lapi/transport/ibv"
)

func address(a netip.AddrPort) (out C.struct_cshim_ibv_address) {
	ip := a.Addr().Unmap()
	out.family = 6
	if ip.Is4() {
		out.family = 4
	}
	for i, b := range ip.AsSlice() {
		out.ip[i] = C.uint8_t(b)
	}
	out.port = C.uint16_t(a.Port())
	return out
}

func addrPort(a *C.struct_cshim_ibv_address) netip.AddrPort {
	var ip [16]byte
	for i, b := range a.ip {
		ip[i] = byte(b)
	}
	switch a.family {
	case 4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[:4])), uint16(a.port))
	case 6:
		return netip.AddrPortFrom(netip.AddrFrom16(ip), uint16(a.port))
	}
	return netip.AddrPort{}
}

// NewID implements ibv.CM.
func (d *Device) NewID(datagrams bool) (ibv.ID, error) {
	var o C.cshim_ibv_object
	err := C.cshim_ibv_new_id(d.c, flag(datagrams, C.int(1)), &o)
	return made[ibv.ID](o, "rdma_create_id", err)
}

// FreeID implements ibv.CM.
func (d *Device) FreeID(id ibv.ID) { C.cshim_ibv_free_id(object(id)) }

// Listen implements ibv.CM.
func (d *Device) Listen(id ibv.ID, port uint16) error {
	return failure("rdma_listen", C.cshim_ibv_listen(d.c, object(id), C.uint16_t(port)))
}

// FindAddress implements ibv.CM.
func (d *Device) FindAddress(id ibv.ID, to netip.AddrPort, ms int) error {
	a := address(to)
	return failure("rdma_resolve_addr",
		C.cshim_ibv_find_address(d.c, object(id), &a, C.int(ms)))
}

// FindRoute implements ibv.CM.
func (d *Device) FindRoute(id ibv.ID, ms int) error {
	return failure("rdma_resolve_route", C.cshim_ibv_find_route(object(id), C.int(ms)))
}

// terms puts them where C finds them.
func (d *Device) terms(t ibv.Terms) *C.struct_cshim_ibv_terms {
	d.m.terms = C.struct_cshim_ibv_terms{qpn: C.uint32_t(t.QPN), reads_in: C.uint8_t(t.ReadsIn),
		reads_out: C.uint8_t(t.ReadsOut), shared: flag(t.Shared, C.uint8_t(1))}
	n := min(len(t.Private), len(d.m.terms.private_data)-1)
	for i, b := range t.Private[:n] {
		d.m.terms.private_data[i] = C.uint8_t(b)
	}
	d.m.terms.size = C.uint8_t(n)
	return &d.m.terms
}

// Connect implements ibv.CM.
func (d *Device) Connect(id ibv.ID, t ibv.Terms) error {
	return failure("rdma_connect", C.cshim_ibv_connect(object(id), d.terms(t)))
}

// Ready implements ibv.CM.
func (d *Device) Ready(id ibv.ID, qp ibv.QP, readsIn, readsOut int) error {
	return failure("ibv_modify_qp",
		C.cshim_ibv_ready(object(id), object(qp), C.int(readsIn), C.int(readsOut)))
}

// Establish implements ibv.CM.
func (d *Device) Establish(id ibv.ID) error {
	return failure("rdma_establish", C.cshim_ibv_establish(object(id)))
}

// Accept implements ibv.CM.
func (d *Device) Accept(id ibv.ID, t ibv.Terms) error {
	return failure("rdma_accept", C.cshim_ibv_accept(object(id), d.terms(t)))
}

// Reject implements ibv.CM.
func (d *Device) Reject(id ibv.ID, private []byte) error {
	t := d.terms(ibv.Terms{Private: private})
	return failure("rdma_reject", C.cshim_ibv_reject(object(id),
		unsafe.Pointer(&t.private_data[0]), C.int(t.size)))
}

// Disconnect implements ibv.CM.
func (d *Device) Disconnect(id ibv.ID) error {
	return failure("rdma_disconnect", C.cshim_ibv_disconnect(object(id)))
}

// CMEvent implements ibv.CM.
func (d *Device) CMEvent() (e ibv.CMEvent) {
	c := &d.m.cmEvent
	if C.cshim_ibv_cm_event(d.c, c) == 0 {
		return e
	}
	e = ibv.CMEvent{Kind: ibv.CMEventKind(c.kind), ID: ibv.ID(c.id),
		Listener: ibv.ID(c.listener), Status: int(c.status), Local: addrPort(&c.local),
		Peer: addrPort(&c.peer), ReadsIn: uint8(c.reads_in), ReadsOut: uint8(c.reads_out),
		QPN: uint32(c.qpn), QKey: uint32(c.qkey), LID: uint16(c.lid),
		Private: unsafe.Slice((*byte)(unsafe.Pointer(&c.private_data[0])), int(c.size))}
	for i, b := range c.gid {
		e.GID[i] = byte(b)
	}
	return e
}
