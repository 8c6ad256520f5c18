package shm

import (
	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Two things wait for room in a peer's ring: operations of this task, in order, in their callers'
// memory; and answers to the peer's requests, of which the peer can have no more in flight than
// there are tokens.

// answersMax bounds the answers to one peer: as many operations as it can have in flight.
const answersMax = layout.NodeOps

// opList is a list of operations through OpState.Next.
type opList struct{ head, tail *transport.Op }

func (q *opList) push(op *transport.Op) {
	op.Link.Next = nil
	if q.head == nil {
		q.head = op
	} else {
		q.tail.Link.Next = op
	}
	q.tail = op
}

func (q *opList) pop() *transport.Op {
	op := q.head
	q.head = op.Link.Next
	op.Link.Next = nil
	return op
}

// answer is an answer that a request of the peer still gets.
type answer struct {
	token   uint32
	get     bool
	pull    bool   // it is refused; addr is where the data was to go
	failed  bool   // value is the bad address
	addr, n uint64 // of a get
	at      uint64 // bytes that went
	value   uint64
	notice  transport.Notice
}

func (l *Link) enqueue(p *peer, op *transport.Op) {
	p.ops.push(op)
	p.entered++
	l.queued++
	p.settle()
}

// enqueueAwaited lets operations that waited for p to come go on.
func (l *Link) enqueueAwaited(p *peer) {
	q := l.awaited[p.ep]
	delete(l.awaited, p.ep)
	for q != nil && q.head != nil {
		l.enqueue(p, q.pop())
	}
}

// giveUpAwaited ends operations that wait for ep to come.
func (l *Link) giveUpAwaited(ep transport.Endpoint, err error) {
	q := l.awaited[ep]
	delete(l.awaited, ep)
	for q != nil && q.head != nil {
		op := q.pop()
		op.Done(op, err)
	}
}

// advanceQueues goes on with operations and answers that wait for room.
func (l *Link) advanceQueues() (n int) {
	for _, p := range l.rings {
		if p != nil && !p.gone {
			n += l.advanceAnswers(p) + l.advanceOps(p)
		}
	}
	return n
}

func (l *Link) advanceOps(p *peer) (n int) {
	for p.ops.head != nil && !p.gone {
		op := p.ops.head
		status, err := l.advance(p, op)
		if err == transport.ErrBusy {
			break
		}
		p.ops.pop()
		p.left++
		l.queued--
		n++
		p.settle()
		if status == transport.Done {
			op.Done(op, err)
		}
	}
	return n
}

func (l *Link) advanceAnswers(p *peer) (n int) {
	for len(p.answers) > 0 && !p.gone {
		a := &p.answers[0]
		if !l.giveAnswer(p, a) {
			break
		}
		done := *a
		p.answers = p.answers[:copy(p.answers, p.answers[1:])]
		l.queued--
		n++
		p.settle()
		if done.get && !done.failed && l.notices != nil {
			l.notices(transport.NoticeGet, p.ep, done.n, done.notice)
		}
	}
	return n
}

// giveAnswer sends what there is room for; true: all of it went.
func (l *Link) giveAnswer(p *peer, a *answer) bool {
	if a.get && !a.failed {
		l.node.Transfer = [6]uint64{a.addr, uint64(a.token), a.n, a.at}
		rc := node.Transfer(l.node, p.ring, node.AnswerGet)
		a.at = l.node.Transfer[3]
		switch rc {
		case node.Sent:
			return true
		case node.BadLocal:
			a.failed, a.value = true, l.node.Event.Addr
			l.tellFault(p, transport.NoticeGet, a.value)
		default:
			return l.outcome(p, rc) != transport.ErrBusy
		}
	}
	if a.pull {
		rc := node.RefusePull(l.node, p.ring, a.token, a.addr, a.notice)
		return l.outcome(p, rc) != transport.ErrBusy
	}
	return l.outcome(p, node.Answer(l.node, p.ring, a.token, a.failed, a.value)) !=
		transport.ErrBusy
}

// TakeLater takes over the request in the node's event, at the head of a ring, that cannot be
// served now. False: the peer has more than it can have in flight; it stays where it is.
func (l *Link) TakeLater(ring uint32) bool {
	p := l.rings[ring]
	if len(p.answers) >= answersMax {
		return false
	}
	e := &l.node.Event
	a := answer{token: e.Token, get: e.Op == layout.NodeOpGet, pull: e.Op == layout.NodeOpPut,
		addr: e.Addr, n: e.N, at: e.Value, notice: e.Notice}
	if !a.get && !a.pull {
		old, err := memory.Atomic(transport.AtomicKind(e.Operation), transport.Addr(e.Addr), e.Width,
			e.Operand, e.Compare)
		a.value = old
		if fault, ok := err.(*transport.FaultError); ok {
			a.failed, a.value = true, uint64(fault.Addr)
			l.tellFault(p, transport.NoticeRmw, a.value)
		}
	}
	p.answers = append(p.answers, a)
	l.queued++
	p.settle()
	return true
}

func (l *Link) tellFault(p *peer, kind transport.NoticeKind, at uint64) {
	if l.faults != nil {
		l.faults(kind, p.ep, transport.Addr(at))
	}
}

// dropQueues ends operations that wait for p, or are in flight to it. A Done function may
// disconnect p, and so call this again: each step looks at the rest anew.
func (l *Link) dropQueues(p *peer, err error) {
	l.queued -= len(p.answers)
	p.answers = p.answers[:0]
	for i := range l.inFlight { // by index: a range over the array's values would copy it
		if op := l.inFlight[i]; op != nil && op.Link.Ep == p.ep {
			l.inFlight[i] = nil
			node.FreeOp(l.node, i)
			op.Done(op, err)
		}
	}
	for p.ops.head != nil {
		op := p.ops.pop()
		p.left++
		l.queued--
		op.Done(op, err)
	}
}

// GiveUpOwners ends the operations of the owner's fast path that wait for an answer of ep.
func (l *Link) GiveUpOwners(ep transport.Endpoint) {
	ops := &l.node.Op
	for i := range ops {
		if o := &ops[i]; o.Kind != layout.NodeOpFree && o.By == layout.NodeByOwner &&
			o.Task == int32(ep) {
			node.FreeOp(l.node, i)
		}
	}
}
