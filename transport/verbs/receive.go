package verbs

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/verbs/internal/wire"
)

// receive takes in a packet that has come over q, nil if that is not there any more. Of several
// messages C has taken so many bytes.
func (l *Link) receive(q *pair, b []byte, taken int) {
	var h wire.Head
	if q == nil || q.lane != 0 || q.peer.gone || !h.Decode(b) {
		l.stats.GhostPackets++
		return
	}
	p := q.peer
	l.opened(q)
	p.failures, p.failure = 0, nil
	p.Credit = max(p.Credit, h.Credit)
	p.Waits = 0 // there may be room now
	if p.transfers.Owes() || p.transfers.Calls() > 0 || p.mustAsk() {
		l.attend(p)
	}
	l.stats.PacketsReceived++
	p.heardOf = true
	if h.Kind == wire.KindCredit {
		if h.ID == askSign {
			p.signs.due = true
			l.attend(p)
		}
		l.stats.AcksReceived++
		return
	}
	if h.Number != p.Expected { // no queue pair does that, and none sends what was received
		l.lost(p, transport.ErrUnreachable)
		return
	}
	p.Expected++
	header := b[wire.HeadSize : wire.HeadSize+int(h.Header) : wire.HeadSize+int(h.Header)]
	data := b[wire.HeadSize+int(h.Header):]
	switch h.Kind {
	case wire.KindMessage:
		l.message(p, &h, header, data)
	case wire.KindMessages:
		l.messages(p, &h, data[min(taken, len(data)):])
	default:
		l.dispatch(p, &h, header, data)
	}
	if h.Asks && !p.gone {
		l.wants(p, h.Number+1)
	}
	l.grant(p)
}

// messages offers each of several messages, which decode has found good.
func (l *Link) messages(p *peer, h *wire.Head, b []byte) {
	for len(b) > 0 && !p.gone {
		id, header, data, next, ok := wire.Part(b)
		if !ok {
			return
		}
		one := wire.Head{ID: id, Number: h.Number}
		l.message(p, &one, b[wire.PartSize:header:header], b[header:data:data])
		b = b[next:]
	}
}

// message offers a message to its handler. A copy of one that is refused is kept, so that its slot
// is free.
func (l *Link) message(p *peer, h *wire.Head, header, data []byte) {
	l.stats.DataReceived += uint64(len(data))
	handler := l.handlers[h.ID]
	if handler == nil {
		l.stats.GhostPackets++
		return
	}
	// The handler may write to both, and let another thread in, which answers no flush meanwhile.
	l.msg = transport.Msg{From: p.ep, Hdr: header, Data: data}
	p.Handling++
	verdict := handler(&l.msg)
	p.Handling--
	if verdict == transport.Accept || p.gone {
		return
	}
	l.keep(p, h, header, data)
}

// keep has a refused message wait for its next offer.
func (l *Link) keep(p *peer, h *wire.Head, header, data []byte) {
	m, err := p.held.New(p.ep, h.ID, header, len(data))
	if err != nil {
		l.lost(p, err)
		return
	}
	copy(m.Data, data)
	m.Refused = true
	p.held.Append(m, h.Number)
	p.noteHeld()
	p.narrow()
	if !p.holding {
		p.holding = true
		l.holding++
	}
	l.attend(p)
}

// dispatch does what packets say that are no messages.
func (l *Link) dispatch(p *peer, h *wire.Head, header, data []byte) {
	k := h.Kind
	switch k {
	case wire.KindBye:
		l.onBye(p, h.Credit)
		return
	case wire.KindPlace:
		l.onPlace(p, header)
		return
	case wire.KindFlush:
		return
	case wire.KindFlushed:
		l.onFlushed(p, binary.LittleEndian.Uint64(header))
		return
	}
	if !p.transfers.Take(k, header, data) {
		l.lost(p, transport.ErrUnreachable)
	}
}

// grantable is the first number that the peer may not send.
func (l *Link) grantable(p *peer) uint64 {
	return p.Expected + uint64(p.Window)
}

// narrow has the peer send less far ahead while many of its messages are held back.
func (p *peer) narrow() {
	p.Window = uint32(window - min(max(p.held.Len()-heldMax, 0), window))
}

// grant sees to it that the peer learns of half a window that it may send, if nothing goes to it
// that says so anyway.
func (l *Link) grant(p *peer) {
	if l.grantable(p) >= p.Told+window/2 {
		l.attend(p)
	}
}

// payCredit grants credits in a packet of its own.
func (l *Link) payCredit(p *peer) {
	if p.open && (p.signs.due || l.grantable(p) >= p.Told+window/2) &&
		l.transmit(p, wire.KindCredit, 0, nil, 0, 0) == nil { // no room: p is looked at again
		p.signs.due = false
	}
}

// offer offers what p's handlers refused.
func (l *Link) offer(p *peer, max int) (accepted int) {
	accepted = p.held.Offer(max, l.cfg.Clock)
	p.noteHeld()
	p.narrow()
	if p.held.Len() == 0 && p.holding {
		p.holding = false
		l.holding--
	}
	l.grant(p)
	return accepted
}
