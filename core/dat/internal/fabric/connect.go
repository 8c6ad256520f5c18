package fabric

import (
	"net/netip"
	"syscall"

	"lapi/core/dat/adapter"
)

// id is a connection, an attempt at one, or a listener.
type id struct {
	d         *Device
	h         adapter.ID
	datagrams bool
	port      uint16 // of a listener
	to        netip.AddrPort
	terms     adapter.Terms
	peer      *id
	qp        *qp
	standing  bool
}

// What messages have room for, padded with zeros.
const (
	requestRoom = 56
	answerRoom  = 196
	rejectRoom  = 148
)

func padded(b []byte, n int) []byte {
	return append(append([]byte(nil), b...), make([]byte, n-len(b))...)
}

func (i *id) tell(e adapter.Event) {
	if i.d.ids[i.h] == i && !i.d.f.Silent[i.d.addr] {
		e.ID = i.h
		i.d.events = append(i.d.events, e)
	}
}

// NewID implements adapter.Device.
func (d *Device) NewID(datagrams bool) (adapter.ID, error) {
	if err := d.refused("NewID"); err != nil {
		return 0, err
	}
	h := adapter.ID(d.f.number())
	d.ids[h] = &id{d: d, h: h, datagrams: datagrams}
	return h, nil
}

// FreeID implements adapter.Device.
func (d *Device) FreeID(h adapter.ID) {
	i := d.ids[h]
	delete(d.ids, h)
	if p := i.peer; p != nil && p.peer == i {
		p.peer = nil
		switch {
		case p.standing && i.standing:
			p.tell(adapter.Event{Kind: adapter.Disconnected})
		case !i.datagrams:
			p.tell(adapter.Event{Kind: adapter.Rejected, Status: 4})
		}
	}
	kept := d.events[:0]
	for _, e := range d.events {
		if e.ID != h {
			kept = append(kept, e)
		}
	}
	d.events = kept
}

// Listen implements adapter.Device.
func (d *Device) Listen(h adapter.ID, port uint16) error {
	for _, o := range d.ids {
		if o.port == port && o.datagrams == d.ids[h].datagrams {
			return syscall.EADDRINUSE
		}
	}
	d.ids[h].port = port
	return d.refused("Listen")
}

// FindAddress implements adapter.Device.
func (d *Device) FindAddress(h adapter.ID, to netip.AddrPort, _ int) error {
	i := d.ids[h]
	i.to = to
	if d.f.devices[to.Addr()] == nil {
		i.tell(adapter.Event{Kind: adapter.NotFound, Status: -int(syscall.EHOSTUNREACH)})
		return d.refused("FindAddress")
	}
	i.tell(adapter.Event{Kind: adapter.AddressFound})
	return d.refused("FindAddress")
}

// FindRoute implements adapter.Device.
func (d *Device) FindRoute(h adapter.ID, _ int) error {
	d.ids[h].tell(adapter.Event{Kind: adapter.RouteFound})
	return d.refused("FindRoute")
}

// Connect implements adapter.Device.
func (d *Device) Connect(h adapter.ID, t adapter.Terms) error {
	i := d.ids[h]
	i.terms = t
	i.terms.Private = append([]byte(nil), t.Private...)
	to := d.f.devices[i.to.Addr()]
	if d.f.Silent[to.addr] {
		return d.refused("Connect")
	}
	for lh, l := range to.ids {
		if l.port != i.to.Port() || l.datagrams != i.datagrams || l.port == 0 {
			continue
		}
		n := adapter.ID(d.f.number())
		p := &id{d: to, h: n, datagrams: i.datagrams, peer: i}
		to.ids[n], i.peer = p, p
		room := requestRoom
		if i.datagrams {
			room = 180
		}
		p.tell(adapter.Event{Kind: adapter.Requested, Listener: lh,
			Local: netip.AddrPortFrom(to.addr, l.port), Peer: netip.AddrPortFrom(d.addr, 999),
			ReadsIn: t.ReadsOut, ReadsOut: t.ReadsIn, Private: padded(t.Private, room)})
		return d.refused("Connect")
	}
	if i.datagrams {
		i.tell(adapter.Event{Kind: adapter.Unreachable, Status: 1})
	} else {
		i.tell(adapter.Event{Kind: adapter.Rejected, Status: adapter.ReasonNobody})
	}
	return d.refused("Connect")
}

// Ready implements adapter.Device.
func (d *Device) Ready(h adapter.ID, q adapter.QP, _, _ int) error {
	i := d.ids[h]
	i.qp = d.qps[q]
	if p := i.peer; p != nil {
		i.qp.peer = d.f.of(p.d.addr, p.terms.QPN)
		i.qp.ready = true
	}
	return d.refused("Ready")
}

// Accept implements adapter.Device.
func (d *Device) Accept(h adapter.ID, t adapter.Terms) error {
	i := d.ids[h]
	if err := d.refused("Accept"); err != nil {
		return err
	}
	if i.peer == nil {
		return syscall.EINVAL
	}
	i.terms = t
	private := padded(t.Private, answerRoom)
	if i.datagrams {
		i.peer.tell(adapter.Event{Kind: adapter.Established, Private: private[:136], QPN: t.QPN,
			QKey: 0x01234567, GID: d.addr.As16()})
		return nil
	}
	i.peer.tell(adapter.Event{Kind: adapter.Responded, Private: private, ReadsIn: t.ReadsOut,
		ReadsOut: t.ReadsIn})
	return nil
}

// Establish implements adapter.Device.
func (d *Device) Establish(h adapter.ID) error {
	i := d.ids[h]
	if err := d.refused("Establish"); err != nil {
		return err
	}
	if i.peer == nil {
		return syscall.EINVAL
	}
	if i.standing = true; i.peer.d.LateReady {
		return nil
	}
	i.peer.standing = true
	i.peer.tell(adapter.Event{Kind: adapter.Established})
	return nil
}

// Reject implements adapter.Device.
func (d *Device) Reject(h adapter.ID, private []byte) error {
	i := d.ids[h]
	if p := i.peer; p != nil {
		p.peer = nil
		i.peer = nil
		e := adapter.Event{Kind: adapter.Rejected, Status: adapter.ReasonConsumer,
			Private: padded(private, rejectRoom)}
		if i.datagrams {
			e.Kind, e.Status = adapter.Unreachable, 2
		}
		p.tell(e)
	}
	return d.refused("Reject")
}

// Disconnect implements adapter.Device.
func (d *Device) Disconnect(h adapter.ID) error {
	i := d.ids[h]
	if p := i.peer; p != nil && i.standing {
		i.standing = false // the first of the two asks, the second answers
		p.tell(adapter.Event{Kind: adapter.Disconnected})
	}
	return d.refused("Disconnect")
}

// Event implements adapter.Device.
func (d *Device) Event() (e adapter.Event) {
	if len(d.events) > 0 {
		e, d.events = d.events[0], d.events[1:]
	}
	return e
}
