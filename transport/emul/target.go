package emul

import (
	"lapi/transport"
	"lapi/transport/memory"
)

// repliesMax is how many replies may wait for room in the link; beyond that requests are refused,
// and come again.
const repliesMax = 4096

// answer is a reply that the link has, or has no room for.
type answer struct {
	ep   transport.Endpoint
	r    reply
	drop bool         // ep is disconnected
	send transport.Op // with the data of a get
	next *answer
}

type replyQueue struct{ head, tail *answer }

func (q *replyQueue) push(a *answer) {
	a.next = nil
	if q.head == nil {
		q.head = a
	} else {
		q.tail.next = a
	}
	q.tail = a
}

// serve is the handler of requests.
func (e *Emulator) serve(m *transport.Msg) transport.Verdict {
	var q request
	if !q.decode(m.Hdr) {
		return transport.Accept
	}
	if e.numReplies >= repliesMax {
		return transport.Refuse // before anything is done: a request must not be done twice
	}
	a := e.newAnswer(m.From, q.token)
	switch {
	case q.kind == kindPut:
		e.result(a, 0, memory.CopyIn(transport.Addr(q.remote), m.Data))
	case q.kind == kindGet && q.n <= e.getMax:
		a.send.Local, a.send.N = transport.Addr(q.remote), q.n
	case q.kind < 8 && transport.AllAtomics.Has(q.atomic()) && (q.width == 4 || q.width == 8):
		old, err := memory.Atomic(q.atomic(), transport.Addr(q.remote), q.width, q.operand,
			q.compare)
		e.result(a, old, err)
	default:
		a.r.state = stateRefused
	}
	if e.trySendReply(a) == transport.ErrBusy {
		e.replies.push(a)
	}
	return transport.Accept
}

// result puts what an operation on this task's memory gave into a reply.
func (e *Emulator) result(a *answer, value uint64, err error) {
	a.r.result = value
	if err == nil {
		return
	}
	a.send.Local, a.send.N = 0, 0
	a.r.state = stateRefused
	if f, ok := err.(*transport.FaultError); ok {
		a.r.state, a.r.result = stateFault, uint64(f.Addr)
	}
}

func (e *Emulator) newAnswer(ep transport.Endpoint, token uint64) *answer {
	a := e.freeReplies
	if a == nil {
		a = &answer{}
		a.send.Owner = a
		a.send.Done = e.replySent
	} else {
		e.freeReplies = a.next
	}
	a.ep, a.r, a.drop, a.next = ep, reply{token: token}, false, nil
	a.send.Local, a.send.N = 0, 0
	e.numReplies++
	return a
}

func (e *Emulator) freeAnswer(a *answer) {
	a.next, e.freeReplies = e.freeReplies, a
	e.numReplies--
}

// trySendReply gives a to the link and frees it if that was all; ErrBusy leaves it to the caller.
// Any other error means that nobody waits for the reply any more.
func (e *Emulator) trySendReply(a *answer) error {
	status, err := e.giveReply(a)
	if _, fault := err.(*transport.FaultError); fault && a.send.N > 0 {
		e.result(a, 0, err) // the memory that the get named
		status, err = e.giveReply(a)
	}
	if err == transport.ErrBusy {
		return err
	}
	if err != nil || status == transport.Done {
		e.freeAnswer(a)
	}
	return nil
}

func (e *Emulator) giveReply(a *answer) (transport.Status, error) {
	a.r.encode(&e.replyHeader)
	return e.link.Send(a.ep, e.replyID, e.replyHeader[:], &a.send)
}

// replySent is Op.Done of a reply that the link had queued. A link that reads the data of a get
// late also finds a bad address late: then the reply goes once more, without data.
func (e *Emulator) replySent(op *transport.Op, err error) {
	a := op.Owner.(*answer)
	if _, fault := err.(*transport.FaultError); fault && a.send.N > 0 && !a.drop {
		e.result(a, 0, err)
		e.replies.push(a)
		return
	}
	e.freeAnswer(a)
}

func (e *Emulator) sendReplies() (n int) {
	waiting := e.replies
	e.replies = replyQueue{}
	for a := waiting.head; a != nil; {
		next := a.next
		switch {
		case a.drop:
			e.freeAnswer(a)
		case e.isBlocked(a.ep):
			e.replies.push(a)
		case e.trySendReply(a) == transport.ErrBusy:
			e.block(a.ep)
			e.replies.push(a)
		default:
			n++
		}
		a = next
	}
	return n
}

// forgetReplies marks the replies to ep that wait here; the next pass frees them.
func (e *Emulator) forgetReplies(ep transport.Endpoint) {
	for a := e.replies.head; a != nil; a = a.next {
		if a.ep == ep {
			a.drop = true
		}
	}
}
