package shm

import (
	"lapi/cshim/node"
	"lapi/transport"
)

// A flush first waits until the operations that were queued before it have gone (OpState.Offset:
// how many must have left the queue), then until everything before the ring's tail of that moment
// was accepted (OpState.Mark).

// notYet is the mark of a flush that waits for the queue.
const notYet = ^uint64(0)

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.path(ep)
	if err != nil {
		return transport.Done, err
	}
	node.SayRead(l.node, p.ring) // without room it is said later
	op.Link = transport.OpState{Ep: ep, Mark: notYet, Offset: p.entered}
	if done, err := l.flushed(p, op); done || err != nil {
		return transport.Done, err
	}
	p.flushes.push(op)
	if !p.flushing {
		p.flushing = true
		p.settle()
		l.waiting = append(l.waiting, p)
	}
	return transport.Queued, nil
}

// flushed says whether everything before a flush was accepted; the error is ErrUnreachable if that
// cannot be any more.
func (l *Link) flushed(p *peer, op *transport.Op) (bool, error) {
	if op.Link.Mark == notYet {
		if p.left < op.Link.Offset {
			return false, nil
		}
		op.Link.Mark = p.node.Sender.Tail
	}
	rc := node.Flushed(l.node, p.ring, op.Link.Mark)
	if rc == node.Busy {
		return false, nil
	}
	return rc == node.Sent, l.outcome(p, rc)
}

// checkFlushes completes what flushes it can. Done functions may begin new ones.
func (l *Link) checkFlushes() (n int) {
	for i := 0; i < len(l.waiting); {
		p := l.waiting[i]
		for p.flushes.head != nil {
			done, err := l.flushed(p, p.flushes.head)
			if !done && err == nil {
				break
			}
			op := p.flushes.pop()
			op.Done(op, err)
			n++
		}
		if p.flushes.head != nil {
			i++
			continue
		}
		p.flushing = false
		p.settle()
		last := len(l.waiting) - 1
		l.waiting[i] = l.waiting[last]
		l.waiting = l.waiting[:last]
	}
	return n
}

// hasFlushed says whether a flush can be completed.
func (l *Link) hasFlushed() bool {
	for _, p := range l.waiting {
		if p.flushes.head != nil {
			if done, err := l.flushed(p, p.flushes.head); done || err != nil {
				return true
			}
		}
	}
	return false
}

// endFlushes completes p's flushes with err.
func (l *Link) endFlushes(p *peer, err error) {
	for p.flushes.head != nil {
		op := p.flushes.pop()
		op.Done(op, err)
	}
}
