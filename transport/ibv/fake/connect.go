package fake

import (
	"net/netip"
	"syscall"

	"lapi/transport/ibv"
)

// id is a connection, an attempt at one, or a listener.
type id struct {
	d         *Device
	h         ibv.ID
	datagrams bool
	port      uint16 // of a listener
	to        netip.AddrPort
	terms     ibv.Terms
	peer      *id
	standing  bool
}

// The room of messages, padded with zeros.
const (
	requestRoom = 56
	answerRoom  = 196
	rejectRoom  = 148
)

func padded(b []byte, n int) []byte {
	return append(append([]byte(nil), b...), make([]byte, n-len(b))...)
}

func (i *id) report(e ibv.CMEvent) {
	if i.d.ids[i.h] == i && !i.d.f.Silent[i.d.info.Addr] {
		e.ID = i.h
		i.d.cmEvents = append(i.d.cmEvents, e)
	}
}

// NewID implements ibv.CM.
func (d *Device) NewID(datagrams bool) (ibv.ID, error) {
	defer d.lock()()
	if err := d.fails("NewID"); err != nil {
		return 0, err
	}
	h := ibv.ID(d.f.next())
	d.ids[h] = &id{d: d, h: h, datagrams: datagrams}
	return h, nil
}

// FreeID implements ibv.CM.
func (d *Device) FreeID(h ibv.ID) {
	defer d.lock()()
	i := d.ids[h]
	delete(d.ids, h)
	if p := i.peer; p != nil && p.peer == i {
		p.peer = nil
		switch {
		case p.standing && i.standing:
			p.report(ibv.CMEvent{Kind: ibv.Disconnected})
		case !i.datagrams:
			p.report(ibv.CMEvent{Kind: ibv.Rejected, Status: 4})
		}
	}
	kept := d.cmEvents[:0]
	for _, e := range d.cmEvents {
		if e.ID != h {
			kept = append(kept, e)
		}
	}
	d.cmEvents = kept
}

// Listen implements ibv.CM.
func (d *Device) Listen(h ibv.ID, port uint16) error {
	defer d.lock()()
	for _, o := range d.ids {
		if o.port == port && o.datagrams == d.ids[h].datagrams {
			return syscall.EADDRINUSE
		}
	}
	d.ids[h].port = port
	return d.fails("Listen")
}

// FindAddress implements ibv.CM.
func (d *Device) FindAddress(h ibv.ID, to netip.AddrPort, _ int) error {
	defer d.lock()()
	i := d.ids[h]
	i.to = to
	if d.f.at(to.Addr()) == nil {
		i.report(ibv.CMEvent{Kind: ibv.NotFound, Status: -int(syscall.EHOSTUNREACH)})
		return d.fails("FindAddress")
	}
	i.report(ibv.CMEvent{Kind: ibv.AddressFound})
	return d.fails("FindAddress")
}

// FindRoute implements ibv.CM.
func (d *Device) FindRoute(h ibv.ID, _ int) error {
	defer d.lock()()
	d.ids[h].report(ibv.CMEvent{Kind: ibv.RouteFound})
	return d.fails("FindRoute")
}

// Connect implements ibv.CM.
func (d *Device) Connect(h ibv.ID, t ibv.Terms) error {
	defer d.lock()()
	i := d.ids[h]
	i.terms = t
	i.terms.Private = append([]byte(nil), t.Private...)
	to := d.f.at(i.to.Addr())
	if d.f.Silent[to.info.Addr] {
		return d.fails("Connect")
	}
	for lh, l := range to.ids {
		if l.port != i.to.Port() || l.datagrams != i.datagrams || l.port == 0 {
			continue
		}
		n := ibv.ID(d.f.next())
		p := &id{d: to, h: n, datagrams: i.datagrams, peer: i}
		to.ids[n], i.peer = p, p
		room := requestRoom
		if i.datagrams {
			room = 180
		}
		p.report(ibv.CMEvent{Kind: ibv.Requested, Listener: lh,
			Local: netip.AddrPortFrom(to.info.Addr, l.port), Peer: netip.AddrPortFrom(d.info.Addr, 999),
			ReadsIn: t.ReadsOut, ReadsOut: t.ReadsIn, Private: padded(t.Private, room)})
		return d.fails("Connect")
	}
	if i.datagrams {
		i.report(ibv.CMEvent{Kind: ibv.Unreachable, Status: 1})
	} else {
		i.report(ibv.CMEvent{Kind: ibv.Rejected, Status: ibv.ReasonNobody})
	}
	return d.fails("Connect")
}

// Ready implements ibv.CM.
func (d *Device) Ready(h ibv.ID, q ibv.QP, _, _ int) error {
	defer d.lock()()
	i := d.ids[h]
	if p := i.peer; p != nil {
		d.qps[q].ready, d.qps[q].remote = true, ibv.Remote{QPN: p.terms.QPN, GID: p.d.info.GID}
	}
	return d.fails("Ready")
}

// Accept implements ibv.CM.
func (d *Device) Accept(h ibv.ID, t ibv.Terms) error {
	defer d.lock()()
	i := d.ids[h]
	if err := d.fails("Accept"); err != nil {
		return err
	}
	if i.peer == nil {
		return syscall.EINVAL
	}
	i.terms = t
	private := padded(t.Private, answerRoom)
	if i.datagrams {
		i.peer.report(ibv.CMEvent{Kind: ibv.Established, Private: private[:136], QPN: t.QPN,
			QKey: 0x01234567, GID: d.info.GID})
		return nil
	}
	i.peer.report(ibv.CMEvent{Kind: ibv.Responded, Private: private, ReadsIn: t.ReadsOut,
		ReadsOut: t.ReadsIn})
	return nil
}

// Establish implements ibv.CM.
func (d *Device) Establish(h ibv.ID) error {
	defer d.lock()()
	i := d.ids[h]
	if err := d.fails("Establish"); err != nil {
		return err
	}
	if i.peer == nil {
		return syscall.EINVAL
	}
	if i.standing = true; i.peer.d.LateReady {
		return nil
	}
	i.peer.standing = true
	i.peer.report(ibv.CMEvent{Kind: ibv.Established})
	return nil
}

// Reject implements ibv.CM.
func (d *Device) Reject(h ibv.ID, private []byte) error {
	defer d.lock()()
	i := d.ids[h]
	if p := i.peer; p != nil {
		p.peer = nil
		i.peer = nil
		e := ibv.CMEvent{Kind: ibv.Rejected, Status: ibv.ReasonConsumer,
			Private: padded(private, rejectRoom)}
		if i.datagrams {
			e.Kind, e.Status = ibv.Unreachable, 2
		}
		p.report(e)
	}
	return d.fails("Reject")
}

// Disconnect implements ibv.CM.
func (d *Device) Disconnect(h ibv.ID) error {
	defer d.lock()()
	i := d.ids[h]
	if p := i.peer; p != nil && i.standing {
		i.standing = false // the first of the two asks, the second answers
		p.report(ibv.CMEvent{Kind: ibv.Disconnected})
	}
	return d.fails("Disconnect")
}

// CMEvent implements ibv.CM.
func (d *Device) CMEvent() (e ibv.CMEvent) {
	defer d.lock()()
	if len(d.cmEvents) > 0 {
		e, d.cmEvents = d.cmEvents[0], d.cmEvents[1:]
	}
	return e
}
