package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/internal/wire"
)

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.usable(ep)
	switch {
	case err != nil:
		if p := l.peers[ep]; p != nil && p.left {
			err = p.missed(p.Laden)
		}
		return transport.Done, err
	case p.Laden <= p.Flushed && p.transfers.Calls() == 0: // nothing was sent since the latest answer
		return transport.Done, nil
	case len(p.flushes) == flushesMax:
		return transport.Done, transport.ErrBusy
	}
	p.CountBurst()
	op.Link.Mark, op.Link.Offset = p.Laden, p.transfers.Issued()
	p.flushes = append(p.flushes, op)
	p.Wait(len(p.flushes))
	p.sayFlushes()
	return transport.Queued, nil
}

// mustAsk says whether a flush waits for an answer that the peer has not been asked for.
func (p *peer) mustAsk() bool {
	n := len(p.flushes)
	return n > 0 && p.flushes[n-1].Link.Mark > p.Asked
}

// sayFlushes asks for the latest flush, whose answer is that of all before it, if no packet has asked
// for it yet.
func (p *peer) sayFlushes() {
	if p.mustAsk() {
		_ = p.transmit(wire.KindFlush, 0, nil, 0, 0) // no room: p is looked at again
	}
}

// wants: the peer asks for a flush of the packets before mark. If it asks for more flushes than are
// kept, the latest replaces the one before it.
func (p *peer) wants(mark uint64) {
	if len(p.asked) == flushesMax {
		p.asked = p.asked[:flushesMax-1]
	}
	p.asked = append(p.asked, mark)
	p.payFlushes()
}

// payFlushes answers the flushes of the peer before which everything was accepted.
func (p *peer) payFlushes() {
	oldest, some := p.held.Oldest()
	for len(p.asked) > 0 && p.Handling == 0 && (!some || oldest >= p.asked[0]) {
		mark := p.asked[0]
		p.asked = append(p.asked[:0], p.asked[1:]...)
		p.transfers.Answer(wire.KindFlushed, wire.Control{Token: mark})
	}
	if len(p.asked) > 0 && p.Handling > 0 {
		p.Attend() // until they have returned
	}
	p.noteHeld()
}

// noteHeld has C answer no flush while there are messages, or flushes, that are answered first.
func (p *peer) noteHeld() {
	p.Window.Hold(p.held.Len() + len(p.asked))
}

// onFlushed: the peer has accepted all before mark.
func (p *peer) onFlushed(mark uint64) {
	if p.Accept(mark) {
		p.Ended()
	}
}

// flushesDone ends the flushes that wait for nothing any more: no answer, no put.
func (p *peer) Ended() {
	for len(p.flushes) > 0 {
		op := p.flushes[0]
		if op.Link.Mark > p.Flushed || !p.transfers.Behind(op.Link.Offset) {
			return
		}
		p.flushes = append(p.flushes[:0], p.flushes[1:]...)
		p.Wait(len(p.flushes))
		op.Done(op, nil)
	}
}
