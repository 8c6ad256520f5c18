package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// The upper byte of a request's ID says what it was.
const (
	idSend     = uint64(iota+1) << 56 // the number of posted packets
	idMove                            // the place of a call; above 32 bits that of a piece
	idReceive                         // a slot
	idDatagram                        // a slot of port.small; above 16 bits port.revived
	idMask     = uint64(0xff) << 56
)

// Send implements transport.Link. The data is copied: the operation is done on return.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	p, err := l.usable(ep)
	if err != nil {
		return transport.Done, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr) > headerMax || len(hdr)%8 != 0 ||
		op.N > uint64(sendMax-len(hdr)) {
		return transport.Done, transport.ErrBadParam
	}
	if p.first < len(p.owed) { // answers go first
		p.Waits = 1
		return transport.Done, transport.ErrBusy
	}
	err = l.transmit(p, kindMessage, id, hdr, op.Local, op.N)
	if err == nil {
		l.stats.DataSent += op.N
	}
	return transport.Done, err
}

// transmit makes a packet and sends it as soon as the peer can receive. It returns ErrBusy if there
// is no room, or a *FaultError for data.
func (l *Link) transmit(p *peer, k kind, id transport.MsgID, header []byte, data transport.Addr,
	n uint64) error {
	numbered := k != kindCredit
	if numbered && p.Number >= p.Credit || p.Ring.Count == ringSize {
		p.Waits = 1
		return transport.ErrBusy // what comes from the peer, or from the adapter, attends to p
	}
	s, ok := l.sendSlot()
	if !ok {
		p.Waits = 1
		l.starve(p)
		return transport.ErrBusy
	}
	b := l.slots.bytes(s)
	if err := memory.CopyOut(b[headSize+len(header):headSize+len(header)+int(n)],
		data); err != nil {
		l.slots.put(s)
		return err
	}
	laden := k == kindMessage || k == kindPut
	h := head{kind: k, asks: k == kindFlush || laden && p.asksByItself(), id: id,
		header: uint16(len(header)), data: uint32(n), number: p.Number}
	h.encode(b)
	copy(b[headSize:], header)
	made := sent{Slot: uint32(s), N: uint32(headSize+len(header)) + uint32(n), Number: p.Number}
	l.shared.Sending++
	if numbered {
		made.Numbered = 1
		p.Number++
	}
	p.ring().push(made)
	if laden {
		p.Laden = p.Number
	}
	if h.asks {
		p.Asked = p.Number
	}
	if !p.open {
		l.begin(&p.pair)
		return nil
	}
	l.post(p)
	return nil
}

// sendSlot takes a slot for a packet.
func (l *Link) sendSlot() (int32, bool) {
	if l.shared.Sending >= l.shared.LimitSend {
		return 0, false
	}
	return l.slots.get()
}

// starve has p look again when another peer has given something back.
func (l *Link) starve(p *peer) {
	if l.shared.Sending == 0 && l.moving == 0 { // nobody will: the kernel gives no memory
		l.attend(p)
	} else if !p.starved {
		p.starved, l.shared.Starved = true, 1
		l.starved = append(l.starved, p)
	}
}

// feed attends to who has starved.
func (l *Link) feed() {
	for _, p := range l.starved {
		p.starved = false
		l.attend(p)
	}
	l.starved, l.shared.Starved = l.starved[:0], 0
}

// control sends what is no message.
func (l *Link) control(p *peer, k kind, c *control, data transport.Addr, n uint64) error {
	var b [grantSize]byte
	return l.transmit(p, k, 0, b[:c.encode(b[:], k)], data, n)
}

// post gives the adapter what it does not have yet of p's packets.
func (l *Link) post(p *peer) {
	r, pt := p.ring(), p.port
	for p.open && !p.broken && r.Posted < r.Count {
		s := r.at(r.Posted)
		slot := int32(s.Slot)
		var h head
		b := l.slots.bytes(slot)[:s.N]
		h.decode(b)
		h.credit = l.grantable(p)
		h.encode(b)
		r.Since++
		// With few slots left none waits for others to be complete.
		signaled := r.Since >= signalEach || l.shared.Sending > l.shared.LimitSend/4 ||
			h.kind == kindBye || h.kind == kindCredit
		pt.segment[0] = ibv.Segment{Addr: uint64(l.slots.addr(slot)), N: s.N,
			Key: l.slots.key(slot, pt)}
		pt.request = ibv.Work{ID: idSend | (r.Done + uint64(r.Posted) + 1), Op: ibv.OpSend,
			Segments: pt.segment[:], Signaled: signaled, Inline: int(s.N) <= pt.info.MaxInline}
		if pt.adapter.PostSend(p.qp, &pt.request) != nil {
			l.fail(&p.pair)
			return
		}
		if signaled {
			r.Since = 0
		}
		r.Posted++
		p.Told = max(p.Told, h.credit)
		l.stats.PacketsSent++
		if h.kind == kindCredit {
			l.stats.AcksSent++
		}
	}
}

// packetsSent: the adapter has brought all packets up to that one to the peer's memory.
func (l *Link) packetsSent(p *peer, upTo uint64) {
	r := p.ring()
	if upTo <= r.Done || upTo > r.Done+uint64(r.Posted) {
		return
	}
	for ; r.Done < upTo; r.Done++ {
		l.releaseFirst(p)
	}
	p.failures, p.failure = 0, nil
	l.attend(p)
	l.feed()
}

// reply is an answer that there was no room for.
type reply struct {
	kind kind
	control
	data  bool   // of kindGot: the data lies at addr
	asked status // of kindGot: that of the question
}

// answer sends c, at once or later. How many wait is bounded by what peers may ask for.
func (l *Link) answer(p *peer, r reply) {
	p.owed = append(p.owed, r)
	l.payOwed(p)
}

// payOwed sends answers while there is room.
func (l *Link) payOwed(p *peer) {
	for p.first < len(p.owed) {
		r := &p.owed[p.first]
		if err := l.send(p, r); err == transport.ErrBusy {
			p.owed = append(p.owed[:0], p.owed[p.first:]...)
			p.first = 0
			return
		}
		p.first++
	}
	p.owed, p.first = p.owed[:0], 0
}

// send sends an answer. Data that cannot be read makes it tell of the fault.
func (l *Link) send(p *peer, r *reply) error {
	if !r.data {
		return l.control(p, r.kind, &r.control, 0, 0)
	}
	err := l.control(p, r.kind, &r.control, transport.Addr(r.addr), r.n)
	if f, ok := err.(*transport.FaultError); ok {
		r.data, r.status, r.addr = false, statusFault, uint64(f.Addr)
		if r.asked == statusNoticed || r.asked == statusNoticedLast {
			l.badAddress(transport.NoticeGet, p, r.token, f.Addr, r.asked == statusNoticedLast)
		}
		return l.control(p, r.kind, &r.control, 0, 0)
	}
	if err == nil {
		l.stats.DataSent += r.n
		if r.asked == statusNoticedLast && !p.forget(r.token) && r.notice != (transport.Notice{}) {
			l.notice(transport.NoticeGet, p, r.offset+r.n, r.notice)
		}
	}
	return err
}
