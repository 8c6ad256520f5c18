package verbs

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/verbs/internal/wire"
)

// receive takes in a packet that has come over q. Of several messages C has taken that many bytes.
func (q *queue) receive(b []byte, taken int) {
	l := q.peer.link
	var h wire.Head
	if !q.packets() || q.peer.gone || !h.Decode(b) {
		l.stats.GhostPackets++
		return
	}
	p := q.peer
	q.opened()
	p.Succeed()
	p.failure = nil
	p.Window.Grant(h.Credit)
	p.Window.Starve(false) // there may be room now
	if p.transfers.Owes() || p.transfers.Calls() > 0 || p.mustAsk() {
		p.Attend()
	}
	p.arrived(&h, b, taken)
}

// arrived takes in a packet's header.
func (p *peer) arrived(h *wire.Head, b []byte, taken int) {
	l := p.link
	l.stats.PacketsReceived++
	p.heardOf = true
	if h.Kind == wire.KindCredit {
		if h.ID == askSign {
			p.signs.due = true
			p.Attend()
		}
		l.stats.AcksReceived++
		return
	}
	if !p.Window.Take(h.Number) { // no queue pair does that, and none resends received packets
		p.lost(transport.ErrUnreachable)
		return
	}
	header := b[wire.HeadSize : wire.HeadSize+int(h.Header) : wire.HeadSize+int(h.Header)]
	data := b[wire.HeadSize+int(h.Header):]
	switch h.Kind {
	case wire.KindMessage:
		p.message(h, header, data)
	case wire.KindMessages:
		p.messages(h, data[min(taken, len(data)):])
	default:
		p.dispatch(h, header, data)
	}
	if h.Asks && !p.gone {
		p.wants(h.Number + 1)
	}
	p.grant()
}

// messages offers each of several messages, which decode has found good.
func (p *peer) messages(h *wire.Head, b []byte) {
	for len(b) > 0 && !p.gone {
		id, header, data, next, ok := wire.Part(b)
		if !ok {
			return
		}
		one := wire.Head{ID: id, Number: h.Number}
		p.message(&one, b[wire.PartSize:header:header], b[header:data:data])
		b = b[next:]
	}
}

// message offers a message to its handler. A copy of a refused message is kept, so that its slot
// is free.
func (p *peer) message(h *wire.Head, header, data []byte) {
	l := p.link
	l.stats.DataReceived += uint64(len(data))
	handler := l.handlers[h.ID]
	if handler == nil {
		l.stats.GhostPackets++
		return
	}
	// The handler may write to both, and let another thread in, which answers no flush meanwhile.
	l.msg = transport.Msg{From: p.ep, Hdr: header, Data: data}
	p.Run(true)
	verdict := handler(&l.msg)
	p.Run(false)
	if verdict == transport.Accept || p.gone {
		return
	}
	p.keep(h, header, data)
}

// keep has a refused message wait for its next offer.
func (p *peer) keep(h *wire.Head, header, data []byte) {
	l := p.link
	m, err := p.held.New(p.ep, h.ID, header, len(data))
	if err != nil {
		p.lost(err)
		return
	}
	copy(m.Data, data)
	m.Refused = true
	p.held.Append(m, h.Number)
	p.noteHeld()
	p.Narrow(p.held.Len())
	if !p.holding {
		p.holding = true
		l.holding++
	}
	p.Attend()
}

// dispatch does what packets say that are no messages.
func (p *peer) dispatch(h *wire.Head, header, data []byte) {
	k := h.Kind
	switch k {
	case wire.KindBye:
		p.onBye(h.Credit)
		return
	case wire.KindFlush:
		return
	case wire.KindFlushed:
		p.onFlushed(binary.LittleEndian.Uint64(header))
		return
	}
	if !p.transfers.Take(k, header, data) {
		p.lost(transport.ErrUnreachable)
	}
}

// grant sees to it that the peer learns of half a window that it may send, if nothing goes to it
// that says so anyway.
func (p *peer) grant() {
	if p.Owes() {
		p.Attend()
	}
}

// payCredit grants credits in a packet of its own.
func (p *peer) payCredit() {
	if p.Works() && (p.signs.due || p.Owes()) &&
		p.transmit(wire.KindCredit, 0, nil, 0, 0) == nil { // no room: p is looked at again
		p.signs.due = false
	}
}

// offer offers what p's handlers refused.
func (p *peer) offer(max int) (accepted int) {
	l := p.link
	accepted = p.held.Offer(max, l.cfg.Clock)
	p.noteHeld()
	p.Narrow(p.held.Len())
	if p.held.Len() == 0 && p.holding {
		p.holding = false
		l.holding--
	}
	p.grant()
	return accepted
}
