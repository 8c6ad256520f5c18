package fallback

import (
	"slices"

	"lapi/transport"
	"lapi/transport/ibv"
)

// pair is a queue pair.
type pair struct {
	a      *Adapter
	number uint32
	depth  int
	ep     transport.Endpoint
	remote uint32 // the peer's
	ready  bool
	failed bool

	// Sending.
	works  []work // not complete, in their order
	sent   int    // of these, went wholly
	offset uint64 // bytes of the next that were sent
	taken  uint32 // packets that are complete
	next   uint32 // number of the next piece

	// Receiving.
	expected uint32           // number of the next piece
	early    map[uint32]piece // that have come and cannot be placed yet
	begun    bool             // a packet has come in part
	buffer   buffer           // to which
	at       uint64           // how much of it
	packets  uint32           // that were received
	owes     bool             // that is to be reported to the peer
}

// work is a request.
type work struct {
	buffer
	signaled bool
}

type piece struct {
	flags uint8
	data  []byte
}

// push sends what the carrier takes.
func (p *pair) push() {
	if p.failed || !p.ready {
		return
	}
	if p.owes && p.try(&head{kind: kindTaken, number: p.packets}, nil) {
		p.owes = false
	}
	for !p.failed && p.sent < len(p.works) {
		if !p.sendPiece(&p.works[p.sent]) {
			return
		}
	}
}

// sendPiece sends the next piece of w; false: not now.
func (p *pair) sendPiece(w *work) bool {
	n := min(uint64(w.N)-p.offset, uint64(p.a.most))
	h := head{kind: kindPiece, number: p.next}
	if p.offset == 0 {
		h.flags |= first
	}
	if p.offset+n == uint64(w.N) {
		h.flags |= last
		if w.signaled {
			h.flags |= signaled
		}
	}
	var data []byte
	if n > 0 {
		data = w.bytes()[p.offset : p.offset+n]
	}
	if !p.try(&h, data) {
		return false
	}
	p.next++
	if p.offset += n; p.offset == uint64(w.N) {
		p.sent, p.offset = p.sent+1, 0
	}
	return true
}

// try sends to the peer; false: not now, or never, since p has failed.
func (p *pair) try(h *head, data []byte) bool {
	h.to, h.from = p.remote, p.number
	err := p.a.send(p.ep, h, data)
	if err != nil && err != transport.ErrBusy {
		p.fail(ibv.RetryExcErr)
	}
	return err == nil
}

// onTaken: the peer has that number of packets.
func (p *pair) onTaken(packets uint32) {
	n := packets - p.taken
	if n > uint32(p.sent) {
		return // a late report, or nonsense
	}
	p.taken = packets
	for i := range p.works[:n] {
		if w := &p.works[i]; w.signaled {
			p.a.done = append(p.a.done, ibv.Completion{ID: w.id, QPN: p.number})
		}
	}
	p.works = append(p.works[:0], p.works[n:]...)
	p.sent -= int(n)
}

// onPiece takes in a piece. A piece ahead of others, or without a buffer, is kept.
func (p *pair) onPiece(h *head, data []byte) transport.Verdict {
	switch ahead := h.number - p.expected; {
	case ahead >= 1<<31: // the carrier brings none twice
		return transport.Accept
	case ahead >= piecesMax:
		return transport.Refuse // the carrier offers it again
	case ahead > 0 || !p.place(h.flags, data):
		if p.failed {
			return transport.Accept
		}
		if p.early == nil {
			p.early = map[uint32]piece{}
		}
		p.early[h.number] = piece{h.flags, slices.Clone(data)}
		return transport.Accept
	}
	p.assemble()
	return transport.Accept
}

// assemble goes on with the pieces that were kept.
func (p *pair) assemble() {
	for {
		at := p.expected
		k, ok := p.early[at]
		if !ok || !p.place(k.flags, k.data) {
			break
		}
		delete(p.early, at)
	}
	p.push()
}

// place writes the piece that is expected to a buffer; false: there is none, or p fails.
func (p *pair) place(flags uint8, data []byte) bool {
	switch {
	case p.failed || !p.begun && len(p.a.receives) == 0:
		return false
	case (flags&first != 0) == p.begun:
		p.fail(ibv.GeneralErr)
		return false
	}
	to := p.buffer
	if !p.begun {
		to = p.a.receives[0]
	}
	if p.at+uint64(len(data)) > uint64(to.N) {
		p.fail(ibv.GeneralErr)
		return false
	}
	p.expected++
	if !p.begun {
		p.begun = true
		p.buffer, p.a.receives = to, p.a.receives[1:]
	}
	copy(to.bytes()[p.at:], data)
	p.at += uint64(len(data))
	if flags&last != 0 {
		p.packets++
		p.owes = p.owes || flags&signaled != 0
		p.a.done = append(p.a.done, ibv.Completion{ID: p.buffer.id, QPN: p.number,
			N: uint32(p.at)})
		p.begun, p.at = false, 0
	}
	return true
}

// fail is end, and raises an event.
func (p *pair) fail(status ibv.Status) {
	if !p.failed {
		p.end(status)
		p.a.events = append(p.a.events, ibv.Event{Kind: ibv.QPFailed, Type: ibv.QPFatal,
			QPN: p.number})
	}
}

// end has p fail at its first request; those after it are flushed.
func (p *pair) end(status ibv.Status) {
	p.failed = true
	for i := range p.works {
		p.a.done = append(p.a.done, ibv.Completion{ID: p.works[i].id, QPN: p.number,
			Status: status})
		status = ibv.WRFlushErr
	}
	p.works, p.sent, p.offset, p.early = nil, 0, 0, nil
	p.giveBack()
}

// giveBack has the buffer of a packet that came in part be the next again.
func (p *pair) giveBack() {
	if p.begun {
		p.begun, p.at = false, 0
		p.a.receives = append([]buffer{p.buffer}, p.a.receives...)
	}
}
