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
		p.Waits = 1
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
	numbered := k != wire.KindCredit
	if numbered && p.Number >= p.Credit || p.Ring.Count == ringSize {
		p.Waits = 1
		return transport.ErrBusy // what comes from the peer, or from the adapter, attends to p
	}
	s, ok := l.sendSlot()
	if !ok {
		p.Waits = 1
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
	h := wire.Head{Kind: k, Asks: k == wire.KindFlush || laden && p.asksByItself(), ID: id,
		Header: uint16(len(header)), Data: uint32(n), Number: p.Number}
	h.Encode(b)
	copy(b[wire.HeadSize:], header)
	made := sent{Slot: uint32(s), N: uint32(wire.HeadSize+len(header)) + uint32(n), Number: p.Number}
	l.shared.Sending++
	if numbered {
		made.Numbered = 1
		p.Number++
	}
	p.ring().push(made)
	if laden {
		p.Laden = p.Number
	}
	if h.Asks {
		p.Asked = p.Number
	}
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

// feed attends to who has starved.
func (l *Link) feed() {
	for _, p := range l.starved {
		p.starved = false
		p.Attend()
	}
	l.starved, l.shared.Starved = l.starved[:0], 0
}

// post gives the adapter what it does not have yet of p's packets.
func (p *peer) post() {
	l := p.link
	r := p.ring()
	for p.Works() && r.Posted < r.Count {
		s := r.at(r.Posted)
		slot := int32(s.Slot)
		var h wire.Head
		b := l.ports.Bytes(slot)[:s.N]
		h.Decode(b)
		h.Credit = p.grantable()
		h.Encode(b)
		r.Since++
		// With few slots left none waits for others to be complete.
		signaled := r.Since >= signalEach || l.shared.Sending > l.shared.LimitSend/4 ||
			h.Kind == wire.KindBye || h.Kind == wire.KindCredit
		if p.Packet(l.ports, slot, s.N, r.Done+uint64(r.Posted)+1, signaled) != nil {
			p.queue.fail()
			return
		}
		if signaled {
			r.Since = 0
		}
		r.Posted++
		p.Told = max(p.Told, h.Credit)
		l.stats.PacketsSent++
		if h.Kind == wire.KindCredit {
			l.stats.AcksSent++
		}
	}
}

// packetsSent: the adapter has brought all packets up to that one to the peer's memory.
func (p *peer) packetsSent(upTo uint64) {
	l := p.link
	r := p.ring()
	if upTo <= r.Done || upTo > r.Done+uint64(r.Posted) {
		return
	}
	for ; r.Done < upTo; r.Done++ {
		p.releaseFirst()
	}
	p.Succeed()
	p.failure = nil
	p.Attend()
	l.feed()
}
