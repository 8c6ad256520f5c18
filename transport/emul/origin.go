// Package emul makes atomics, puts and gets out of messages, for links that lack them, or to peers
// that their native ones do not reach.
//
// The target's own library applies them when it makes progress, the atomics by aligned processor
// instructions (transport/memory), so that they are atomic against everything that goes through
// this library, over whatever link. A request is executed exactly once. No operation fails for lack
// of room: requests for which the link has no room wait here.
//
// An Emulator is driven under the lock of its link's owner, like the link. Handlers access user
// memory: memory.Guard must have run on the goroutine that calls the link's Progress.
package emul

import (
	"lapi/transport"
	"lapi/transport/memory"
)

// Emulator does put, get and atomics over one link.
type Emulator struct {
	link           transport.Link
	requestID      transport.MsgID
	replyID        transport.MsgID
	putMax, getMax uint64

	calls     []*call // by the lower half of the token
	freeCalls *call
	pending   int
	toSend    callQueue // requests that the link had no room for
	header    [requestSize]byte
	blocked   []uint64 // by endpoint: the pass in which the link had no room
	passes    uint64

	replies     replyQueue // likewise
	freeReplies *answer
	numReplies  int
	replyHeader [replySize]byte
}

// call is an operation of this task under way.
type call struct {
	op      *transport.Op // the caller's; nil: completed
	ep      transport.Endpoint
	request request
	sending bool         // the link has send
	queued  bool         // in toSend
	send    transport.Op // of the request
	next    *call
}

type callQueue struct{ head, tail *call }

func (q *callQueue) push(c *call) {
	c.next = nil
	if q.head == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
}

// New makes an Emulator over l and sets l's handlers of the messages request and reply, which must
// be the same at all peers.
func New(l transport.Link, request, reply transport.MsgID) *Emulator {
	limits := l.Limits()
	e := &Emulator{link: l, requestID: request, replyID: reply}
	e.putMax = uint64(limits.SendMax - requestSize)
	e.getMax = uint64(limits.SendMax - replySize)
	l.Handle(request, e.serve)
	l.Handle(reply, e.answered)
	return e
}

// Limits are what the emulated operations can do. The rest is the link's.
func (e *Emulator) Limits() transport.Limits {
	limits := e.link.Limits()
	limits.Caps &^= transport.CapPut | transport.CapGet | transport.CapAtomicLink
	limits.Caps |= transport.CapPutEmul | transport.CapAtomicCPU
	limits.PutMax, limits.GetMax = e.putMax, e.getMax
	limits.PutAlign, limits.GetAlign = 1, 1
	limits.Atomics = transport.AllAtomics
	return limits
}

// Pending is how many operations are under way.
func (e *Emulator) Pending() int { return e.pending }

// Atomic is as transport.Link's, on words of any alignment. It returns Queued, ErrNotSupported, or
// the link's error, never ErrBusy.
func (e *Emulator) Atomic(ep transport.Endpoint, kind transport.AtomicKind,
	op *transport.Op) (transport.Status, error) {
	if !transport.AllAtomics.Has(kind) || op.Width != 4 && op.Width != 8 {
		return transport.Done, transport.ErrNotSupported
	}
	c := e.newCall(ep, uint8(kind), op)
	c.request.width, c.request.operand, c.request.compare = op.Width, op.Operand, op.Compare
	return e.start(c)
}

// Put is as transport.Link's, with the length that Limits says. It returns Queued or an error,
// never ErrBusy.
func (e *Emulator) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if op.N > e.putMax {
		return transport.Done, transport.ErrBadParam
	}
	c := e.newCall(ep, kindPut, op)
	c.send.Local, c.send.N = op.Local, op.N
	return e.start(c)
}

// Get is as transport.Link's, with the length that Limits says. It returns Queued or an error,
// never ErrBusy.
func (e *Emulator) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if op.N > e.getMax {
		return transport.Done, transport.ErrBadParam
	}
	return e.start(e.newCall(ep, kindGet, op))
}

// newCall takes a call from the free ones. Its token names its place, and how often the place was
// used, so that a late or false reply finds nothing.
func (e *Emulator) newCall(ep transport.Endpoint, kind uint8, op *transport.Op) *call {
	c := e.freeCalls
	if c == nil {
		c = &call{}
		c.request.token = uint64(len(e.calls))
		c.send.Owner = c
		c.send.Done = e.requestSent
		e.calls = append(e.calls, c)
	} else {
		e.freeCalls = c.next
	}
	c.op, c.ep, c.next = op, ep, nil
	c.send.Local, c.send.N = 0, 0
	c.request = request{kind: kind, token: c.request.token + 1<<32, remote: uint64(op.Remote),
		n: op.N}
	e.pending++
	return c
}

// complete ends a call: Done runs if run is set. The call is free again once the link does not need
// it either.
func (e *Emulator) complete(c *call, err error, run bool) {
	op := c.op
	if op == nil {
		return
	}
	c.op = nil
	e.pending--
	e.release(c)
	if run {
		op.Done(op, err)
	}
}

func (e *Emulator) release(c *call) {
	if c.op == nil && !c.sending && !c.queued {
		c.next, e.freeCalls = e.freeCalls, c
	}
}

// start sends c's request for the first time.
func (e *Emulator) start(c *call) (transport.Status, error) {
	err := e.trySend(c)
	if err == transport.ErrBusy {
		c.queued = true
		e.toSend.push(c)
		return transport.Queued, nil
	}
	if err != nil {
		e.complete(c, nil, false)
		return transport.Done, err
	}
	return transport.Queued, nil
}

// trySend gives c's request to the link.
func (e *Emulator) trySend(c *call) error {
	c.request.encode(&e.header)
	// set before, because the link may run Done and even the reply's handler inside
	c.sending = true
	status, err := e.link.Send(c.ep, e.requestID, e.header[:], &c.send)
	if err != nil || status == transport.Done {
		c.sending = false
	}
	return err
}

// requestSent is Op.Done of a request that the link had queued.
func (e *Emulator) requestSent(op *transport.Op, err error) {
	c := op.Owner.(*call)
	c.sending = false
	if err != nil {
		e.complete(c, err, true)
		return
	}
	e.release(c)
}

// answered is the handler of replies.
func (e *Emulator) answered(m *transport.Msg) transport.Verdict {
	var r reply
	if !r.decode(m.Hdr) || uint64(uint32(r.token)) >= uint64(len(e.calls)) {
		return transport.Accept
	}
	c := e.calls[uint32(r.token)]
	if c.op == nil || c.ep != m.From || c.request.token != r.token {
		return transport.Accept // its operation is over, by Disconnect
	}
	var err error
	switch {
	case r.state == stateFault:
		err = &transport.FaultError{Addr: transport.Addr(r.result), Remote: true}
	case r.state != stateOK || c.request.kind == kindGet && uint64(len(m.Data)) != c.request.n:
		err = transport.ErrNotSupported
	case c.request.kind == kindGet:
		err = memory.CopyIn(c.op.Local, m.Data)
	default:
		c.op.Result = r.result
	}
	e.complete(c, err, true)
	return transport.Accept
}

// Waiting says whether Progress has something to send.
func (e *Emulator) Waiting() bool { return e.toSend.head != nil || e.replies.head != nil }

// Progress gives the link what it had no room for. Call it after the link's Progress. It returns
// how many messages that were.
func (e *Emulator) Progress() (n int) {
	if e.toSend.head == nil && e.replies.head == nil {
		return 0
	}
	e.passes++
	return e.sendReplies() + e.sendRequests()
}

func (e *Emulator) sendRequests() (n int) {
	waiting := e.toSend
	e.toSend = callQueue{}
	for c := waiting.head; c != nil; {
		next := c.next
		c.queued = false
		switch {
		case c.op == nil: // disconnected
			e.release(c)
		case e.isBlocked(c.ep):
			c.queued = true
			e.toSend.push(c)
		default:
			switch err := e.trySend(c); err {
			case nil:
				n++
			case transport.ErrBusy:
				e.block(c.ep)
				c.queued = true
				e.toSend.push(c)
			default:
				e.complete(c, err, true)
			}
		}
		c = next
	}
	return n
}

// isBlocked says whether the link had no room for ep in this pass.
func (e *Emulator) isBlocked(ep transport.Endpoint) bool {
	return int(ep) < len(e.blocked) && e.blocked[ep] == e.passes
}

func (e *Emulator) block(ep transport.Endpoint) {
	for int(ep) >= len(e.blocked) {
		e.blocked = append(e.blocked, 0)
	}
	e.blocked[ep] = e.passes
}

// Disconnect completes every operation on ep with err and forgets what ep asked for. The link's own
// Disconnect is the caller's.
func (e *Emulator) Disconnect(ep transport.Endpoint, err error) {
	for _, c := range e.calls { // Done may add calls; those of ep fail in the link
		if c.op != nil && c.ep == ep {
			e.complete(c, err, true)
		}
	}
	e.forgetReplies(ep)
}

// Close completes every operation with transport.ErrClosed. The link's own Close is the caller's.
func (e *Emulator) Close() {
	for _, c := range e.calls {
		if c.op != nil {
			e.complete(c, transport.ErrClosed, true)
		}
	}
}
