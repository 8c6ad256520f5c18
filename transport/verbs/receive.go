package verbs

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/memory"
)

// receive takes in a packet that has come over q, nil if that is not there any more. Of several
// messages C has taken so many bytes.
func (l *Link) receive(q *pair, b []byte, taken int) {
	var h head
	if q == nil || q.lane != 0 || q.peer.gone || !h.decode(b) {
		l.stats.GhostPackets++
		return
	}
	p := q.peer
	l.opened(q)
	p.failures, p.failure = 0, nil
	p.Credit = max(p.Credit, h.credit)
	p.Waits = 0 // there may be room now
	if p.first < len(p.owed) || len(p.calls) > 0 || p.mustAsk() {
		l.attend(p)
	}
	l.stats.PacketsReceived++
	p.heardOf = true
	if h.kind == kindCredit {
		if h.id == askSign {
			p.signs.due = true
			l.attend(p)
		}
		l.stats.AcksReceived++
		return
	}
	if h.number != p.Expected { // no queue pair does that, and none sends what was received
		l.lost(p, transport.ErrUnreachable)
		return
	}
	p.Expected++
	header := b[headSize : headSize+int(h.header) : headSize+int(h.header)]
	data := b[headSize+int(h.header):]
	switch h.kind {
	case kindMessage:
		l.message(p, &h, header, data)
	case kindMessages:
		l.messages(p, &h, data[min(taken, len(data)):])
	default:
		l.dispatch(p, &h, header, data)
	}
	if h.asks && !p.gone {
		l.wants(p, h.number+1)
	}
	l.grant(p)
}

// messages offers each of several messages, which decode has found good.
func (l *Link) messages(p *peer, h *head, b []byte) {
	for len(b) > 0 && !p.gone {
		id, header, data, next, ok := part(b)
		if !ok {
			return
		}
		one := head{id: id, number: h.number}
		l.message(p, &one, b[partSize:header:header], b[header:data:data])
		b = b[next:]
	}
}

// message offers a message to its handler. A copy of one that is refused is kept, so that its slot
// is free.
func (l *Link) message(p *peer, h *head, header, data []byte) {
	l.stats.DataReceived += uint64(len(data))
	handler := l.handlers[h.id]
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
func (l *Link) keep(p *peer, h *head, header, data []byte) {
	m, err := p.held.New(p.ep, h.id, header, len(data))
	if err != nil {
		l.lost(p, err)
		return
	}
	copy(m.Data, data)
	m.Refused = true
	p.held.Append(m, h.number)
	p.noteHeld()
	p.narrow()
	if !p.holding {
		p.holding = true
		l.holding++
	}
	l.attend(p)
}

// dispatch does what packets say that are no messages.
func (l *Link) dispatch(p *peer, h *head, header, data []byte) {
	k := h.kind
	switch k {
	case kindBye:
		l.onBye(p, h.credit)
		return
	case kindPlace:
		l.onPlace(p, header)
		return
	case kindFlush:
		return
	case kindFlushed:
		l.onFlushed(p, binary.LittleEndian.Uint64(header))
		return
	}
	var c control
	c.decode(header)
	switch k {
	case kindPut:
		l.onPut(p, &c, data)
	case kindAsk:
		l.onAsk(p, &c)
	case kindWant:
		l.onWant(p, &c)
	case kindFinish:
		l.onFinish(p, &c)
	default:
		l.onAnswer(p, k, &c, data)
	}
}

// onPut writes a part of a copied put to memory.
func (l *Link) onPut(p *peer, c *control, data []byte) {
	if c.status == statusNoticed || c.status == statusNoticedLast {
		l.onNoticedPut(p, c, data)
		return
	}
	r := reply{kind: kindPutDone, control: control{token: c.token}}
	if err := memory.CopyIn(transport.Addr(c.addr), data); err != nil {
		r.status, r.addr = statusFault, uint64(faultAt(err, c.addr))
	} else if l.stats.DataReceived += uint64(len(data)); c.status != statusLast {
		return
	}
	l.answer(p, r)
}

func faultAt(err error, otherwise uint64) transport.Addr {
	if f, ok := err.(*transport.FaultError); ok {
		return f.Addr
	}
	return transport.Addr(otherwise)
}

// onAsk answers with a part of memory.
func (l *Link) onAsk(p *peer, c *control) {
	if c.n > chunkMax || len(p.owed)-p.first >= owedMax {
		l.lost(p, transport.ErrUnreachable)
		return
	}
	l.answer(p, reply{kind: kindGot, data: c.n > 0, asked: c.status,
		control: control{token: c.token, addr: c.addr, n: c.n, offset: c.offset,
			notice: c.notice}})
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
		l.transmit(p, kindCredit, 0, nil, 0, 0) == nil { // no room: p is looked at again
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
