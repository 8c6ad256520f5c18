package verbs

import "lapi/transport"

// flushAsked is a flush of the peer: it is told when every packet before mark was accepted.
type flushAsked struct{ number, mark uint64 }

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.usable(ep)
	switch {
	case err != nil:
		if p := l.peers[ep]; p != nil && p.left {
			err = p.missed(p.Laden)
		}
		return transport.Done, err
	case p.Laden <= p.flushed && len(p.calls) == 0: // nothing was sent since the latest answer
		return transport.Done, nil
	case len(p.flushes) == callsMax:
		return transport.Done, transport.ErrBusy
	}
	op.Link.Mark, op.Link.Offset = p.Laden, p.issued
	p.flushes = append(p.flushes, op)
	l.sayFlushes(p)
	return transport.Queued, nil
}

// mustAsk says whether a flush waits for an answer that the peer has not been asked for.
func (p *peer) mustAsk() bool {
	n := len(p.flushes)
	return n > 0 && p.flushes[n-1].Link.Mark > p.said
}

// sayFlushes asks for the latest flush, whose answer is that of all before it.
func (l *Link) sayFlushes(p *peer) {
	if !p.mustAsk() {
		return
	}
	mark := p.flushes[len(p.flushes)-1].Link.Mark
	if l.control(p, kindFlush, &control{token: mark, n: mark}, 0, 0) == nil {
		p.said = mark
	}
}

// onFlush notes a flush of the peer.
func (l *Link) onFlush(p *peer, c *control) {
	if len(p.asked) == callsMax {
		l.lost(p, transport.ErrUnreachable)
		return
	}
	p.asked = append(p.asked, flushAsked{c.token, c.n})
	l.payFlushes(p)
}

// payFlushes answers the flushes of the peer before which everything was accepted.
func (l *Link) payFlushes(p *peer) {
	oldest, some := p.held.Oldest()
	for len(p.asked) > 0 && (!some || oldest >= p.asked[0].mark) {
		number := p.asked[0].number
		p.asked = append(p.asked[:0], p.asked[1:]...)
		l.answer(p, reply{kind: kindFlushed, control: control{token: number}})
	}
}

// onFlushed: the peer has accepted all before that flush.
func (l *Link) onFlushed(p *peer, c *control) {
	if c.token > p.said {
		return
	}
	p.flushed = max(p.flushed, c.token)
	l.flushesDone(p)
}

// flushesDone ends the flushes that wait for nothing any more: no answer, no put.
func (l *Link) flushesDone(p *peer) {
	for len(p.flushes) > 0 {
		op := p.flushes[0]
		if op.Link.Mark > p.flushed || len(p.calls) > 0 && p.calls[0].issue < op.Link.Offset {
			return
		}
		p.flushes = append(p.flushes[:0], p.flushes[1:]...)
		op.Done(op, nil)
	}
}
