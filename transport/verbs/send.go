package verbs

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// Send implements transport.Link. The data is copied: the operation is done on return.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	p, err := l.usable(ep)
	if err != nil {
		return transport.Done, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr) > wire.HeaderMax || len(hdr)%8 != 0 ||
		op.N > uint64(wire.SendMax-len(hdr)) {
		return transport.Done, transport.ErrBadParam
	}
	if p.transfers.Owes() { // answers go first
		p.Window.Starve(true)
		return transport.Done, transport.ErrBusy
	}
	err = p.transmit(wire.KindMessage, id, hdr, op.Local, op.N)
	if err == nil {
		l.stats.DataSent += op.N
	}
	return transport.Done, err
}

// transmit makes a packet and sends it as soon as the peer can receive. It returns ErrBusy if there
// is no room, or a *FaultError for data.
func (p *peer) transmit(k wire.Kind, id transport.MsgID, header []byte, data transport.Addr,
	n uint64) error {
	l := p.link
	if !p.Room(k != wire.KindCredit) {
		p.Window.Starve(true)
		return transport.ErrBusy // p is looked at when the peer or the adapter brings something
	}
	s, ok := l.sendSlot()
	if !ok {
		p.Window.Starve(true)
		p.Starve()
		return transport.ErrBusy
	}
	b := l.ports.Bytes(s)
	if err := memory.CopyOut(b[wire.HeadSize+len(header):wire.HeadSize+len(header)+int(n)],
		data); err != nil {
		l.ports.Free(s)
		return err
	}
	laden := k == wire.KindMessage || k == wire.KindPut
	h := wire.Head{Kind: k, Asks: k == wire.KindFlush || laden && p.AsksByItself(), ID: id,
		Header: uint16(len(header)), Data: uint32(n), Number: p.Number}
	h.Encode(b)
	copy(b[wire.HeadSize:], header)
	p.Push(s, wire.HeadSize+len(header)+int(n), &h)
	if !p.Works() {
		p.queue.begin()
		return nil
	}
	p.post()
	return nil
}

// sendSlot takes a slot for a packet.
func (l *Link) sendSlot() (int32, bool) {
	if l.shared.Sending >= l.shared.LimitSend {
		return 0, false
	}
	return l.ports.Slot()
}

// starve has p look again when another peer has given something back.
func (p *peer) Starve() {
	l := p.link
	if l.shared.Sending == 0 && l.transfers.Moving() == 0 { // nobody will: the kernel gives no memory
		p.Attend()
	} else if !p.starved {
		p.starved, l.shared.Starved = true, 1
		l.starved = append(l.starved, p)
	}
}

// feed schedules the peers that have starved.
func (l *Link) feed() {
	for _, p := range l.starved {
		p.starved = false
		p.Attend()
	}
	l.starved, l.shared.Starved = l.starved[:0], 0
}

// post gives the adapter those of p's packets that it does not have yet.
func (p *peer) post() {
	l := p.link
	for p.Works() {
		slot, n, upTo, ok := p.Next()
		if !ok {
			return
		}
		var h wire.Head
		b := l.ports.Bytes(slot)[:n]
		h.Decode(b)
		h.Credit = p.Grantable()
		h.Encode(b)
		// With few slots left none waits for others to be complete.
		signaled := p.Signals(l.shared.Sending > l.shared.LimitSend/4 ||
			h.Kind == wire.KindBye || h.Kind == wire.KindCredit)
		if p.Packet(l.ports, slot, n, upTo, signaled) != nil {
			p.queue.fail()
			return
		}
		p.Posted(signaled, h.Credit)
		l.stats.PacketsSent++
		if h.Kind == wire.KindCredit {
			l.stats.AcksSent++
		}
	}
}

// packetsSent: the adapter has brought all packets up to that one to the peer's memory.
func (p *peer) packetsSent(upTo uint64) {
	l := p.link
	if !p.Complete(upTo) {
		return
	}
	p.Succeed()
	p.failure = nil
	p.Attend()
	l.feed()
}
