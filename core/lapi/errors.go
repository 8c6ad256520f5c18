package lapi

import (
	"fmt"
	"slices"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// ErrorEvent is a call of the user's error handler that is due (guide, Chapter 5): code, kind of operation, this task, the
// task concerned. Handler 0: none was registered, print Text and end the task.
type ErrorEvent struct {
	Handler  transport.Addr
	Code     codes.Code
	Type     ErrType
	Task, Of int
	Text     string
}

// NextError takes the oldest error that no handler has seen.
func (c *Context) NextError() (e ErrorEvent, ok bool) {
	if len(c.errors) == 0 {
		return e, false
	}
	e = c.errors[0]
	c.errors = append(c.errors[:0], c.errors[1:]...)
	return e, true
}

// raise queues an error for the error handler and says it at MP_INFOLEVEL 1.
func (c *Context) raise(code codes.Code, kind ErrType, of int, what string) {
	text := fmt.Sprintf("task %d: %s (%d): %s", c.me, codes.Name(code), code, what)
	if len(text) >= faultTextBytes {
		text = text[:faultTextBytes-1]
	}
	if c.errHandler != 0 {
		c.host.Message(1, text)
	}
	c.trace.failure(code, kind, of)
	c.errors = append(c.errors, ErrorEvent{c.errHandler, code, kind, c.me, of, text})
	kick(c.shared)
	c.changed = true
}

// fault raises code for an address of this task that could not be accessed. src is the task that named it.
func (c *Context) fault(err error, code codes.Code, kind ErrType, src int) {
	addr := transport.Addr(0)
	if f, ok := err.(*transport.FaultError); ok {
		addr = f.Addr
	}
	c.host.Message(0, fmt.Sprintf("task %d: %s: address %#x, named by task %d, cannot be accessed in task %d", c.me, kind, uint64(addr), src, c.me))
	c.raise(code, kind, src, fmt.Sprintf("%s: address %#x, named by task %d, cannot be accessed; check the address and its length", kind, uint64(addr), src))
}

// targetFault is fault for data that came from src; src hears of it too. token ends a get of src's.
func (c *Context) targetFault(err error, kind ErrType, src int, token uint64) {
	c.fault(err, codes.ErrTgtAddrNull, kind, src)
	if src == c.me && token == 0 {
		return // one call of the handler is enough
	}
	h := faultHeader{code: uint32(codes.ErrTgtAddrNull), kind: uint32(kind), token: token}
	if f, ok := err.(*transport.FaultError); ok {
		h.addr = f.Addr
	}
	c.sendControl(&c.tasks[src], msgFault, IntErr, h.encode)
}

// originFault is about a message of ours whose data could not be read: its own, or what a get of the peer asked for.
func (c *Context) originFault(m *outgoing, f *transport.FaultError) {
	if m.id == msgGetData {
		c.targetFault(f, GetErr, m.t.id, m.message)
		return
	}
	if m.id == msgLaneReply {
		c.laneGetFailed(m, f)
		return
	}
	c.fault(f, codes.ErrOrgAddrNull, m.kind, c.me)
}

// directFault is about a copy straight between two tasks' memory.
func (c *Context) directFault(t *task, f *transport.FaultError, kind ErrType) {
	if !f.Remote {
		c.fault(f, codes.ErrOrgAddrNull, kind, c.me)
		return
	}
	c.remoteFault(t, f.Addr, codes.ErrTgtAddrNull, kind)
	h := faultHeader{code: uint32(codes.ErrTgtAddrNull), kind: uint32(kind), addr: f.Addr}
	if !t.isSelf {
		c.sendControl(t, msgFault, IntErr, h.encode)
	}
}

func (c *Context) remoteFault(t *task, addr transport.Addr, code codes.Code, kind ErrType) {
	c.raise(code, kind, t.id, fmt.Sprintf("%s: address %#x cannot be accessed in task %d; check the address and its length", kind, uint64(addr), t.id))
}

// onFault: the peer could not access an address in its memory that an operation of this task named, or, of a direct put,
// the peer named a bad one in ours.
func (c *Context) onFault(m *transport.Msg) transport.Verdict {
	var h faultHeader
	if !h.decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	kind := ErrType(min(h.kind, uint32(TmrErr)))
	if h.token != 0 {
		if o := c.originOf(t, h.token); o != nil {
			o.failed = true
			c.answered(o)
		}
	}
	what := fmt.Sprintf("%s: address %#x was not accessible at the target", kind, uint64(h.addr))
	if codes.Code(h.code) == codes.ErrDataLen {
		what = fmt.Sprintf("%s: longer than task %d, which has 32 bits, can take; send it in parts", kind, t.id)
	}
	c.raise(codes.Code(h.code), kind, t.id, what)
	return transport.Accept
}

// malformed drops a message that no task of this version sends.
func (c *Context) malformed(m *transport.Msg) transport.Verdict {
	c.tasks[m.From].link.Stats().GhostPackets++
	return transport.Accept
}

// String names the kind as the user called it.
func (k ErrType) String() string {
	switch k {
	case GetErr:
		return "get"
	case PutErr:
		return "put"
	case RmwErr:
		return "read-modify-write"
	case AmErr:
		return "active message"
	case TmrErr:
		return "timer"
	}
	return "internal operation"
}

// peerFailed is what links call when a peer does not answer or breaks the protocol. A time-out always hits an operation: links wait for an
// answer only when they have sent something.
func (c *Context) peerFailed(ep transport.Endpoint, err error) {
	t := &c.tasks[ep]
	if t.dead {
		return
	}
	code := codes.ErrNoConnectivity
	switch err {
	case transport.ErrTimeout:
		code = codes.ErrTimeout
	case transport.ErrAdaptersDown:
		code = codes.ErrAdaptersDown
	}
	silent := err == transport.ErrTimeout || err == transport.ErrAdaptersDown || err == transport.ErrUnreachable
	c.hearLane()
	kind := c.concerned(t)
	if silent {
		c.attention(levelFailure, codes.AttCommTimeout, "(task %d, %d seconds)", ep, c.timeout)
		if kind == IntErr && t.usedAt != 0 {
			kind = t.lastSent
		}
	}
	c.failWith(t, code, kind, err.Error())
}

// pollSession asks the job session for news.
func (c *Context) pollSession() {
	c.sessionTurn, c.sessionAt = 0, c.clock()
	if c.session == nil {
		return
	}
	for {
		e, ok := c.session.Poll()
		if !ok {
			return
		}
		switch e.Kind {
		case job.TaskDied:
			if t, code := c.peer(uint32(e.Task)); code == codes.Success {
				t.died = true
				t.turnAway()
				c.fail(t, codes.ErrNoConnectivity, fmt.Sprintf("task %d %s", e.Task, e.Text))
			}
		case job.TaskEnded:
			if e.Task >= 0 && e.Task < len(c.tasks) && e.Task != c.me {
				c.ended(&c.tasks[e.Task], e.Text+" without LAPI_Term")
			}
		case job.TaskRejoined:
			c.taskReturned(e)
		case job.LauncherGone:
			c.host.Exit(fmt.Sprintf("task %d: the launcher has ended (%s); this task ends too", c.me, e.Text))
		}
	}
}

// ended: t's process has ended on purpose, with status 0, but without LAPI_Term. What it had sent is taken in first. That it is gone is
// an error only if somebody waits for it; later calls towards it return LAPI_ERR_NO_CONNECTIVITY.
func (c *Context) ended(t *task, why string) {
	t.died = true
	for turn := 0; turn < maxLastTurns && !t.dead && t.link.Progress(progressBatch) > 0; turn++ {
	}
	if t.dead {
		return
	}
	c.hearLane()
	if t.incoming != nil || len(c.collectives) > 0 || c.barrier.underWay() || c.concerned(t) != IntErr {
		c.fail(t, codes.ErrNoConnectivity, fmt.Sprintf("task %d %s", t.id, why))
		return
	}
	if !c.terminating {
		c.host.Message(levelFailure, fmt.Sprintf("task %d: task %d %s", c.me, t.id, why))
	}
	c.cutOff(t)
	c.failCollectives(codes.ErrNoConnectivity)
	c.changed = true
}

// maxLastTurns bounds how long the last messages of a task that has ended are taken in, in turns of its link.
const maxLastTurns = 1000

// fail takes t out of the job: once for each peer and failure the error handler hears of it. Everything under way to and
// from t ends without changing a counter; collectives end with LAPI_ERR_NO_CONNECTIVITY.
func (c *Context) fail(t *task, code codes.Code, why string) {
	if t.dead {
		return
	}
	c.hearLane()
	c.failWith(t, code, c.concerned(t), why)
}

// failWith is fail where it is known what kind of operation it hits.
func (c *Context) failWith(t *task, code codes.Code, kind ErrType, why string) {
	why = "no connectivity to task " + fmt.Sprint(t.id) + ": " + why
	c.cutOff(t)
	c.failCollectives(codes.ErrNoConnectivity)
	if !c.terminating {
		c.raise(code, kind, t.id, why)
	}
	c.changed = true
}

// cutOff ends everything under way to and from t without changing a counter, and every later attempt.
func (c *Context) cutOff(t *task) {
	t.dead = true
	c.hearLane()
	c.mayRun(t)
	c.dropLaneOps(t)
	t.session++
	if c.owed.origin == t.id {
		c.owed.count = 0
	}
	c.setAbsent(t, false)
	for _, e := range c.emuls {
		e.Disconnect(t.ep, transport.ErrUnreachable)
	}
	t.link.Disconnect(t.ep, transport.ErrUnreachable)
	c.dropPending(t)
	for o := c.getRmw.head; o != nil; {
		next := o.next
		if o.t == t {
			o.failed = true
			if o.kind == RmwErr {
				c.sendDone(o.done, t, t.gone())
			}
			c.freeOriginOp(o)
		}
		o = next
	}
	for t.incoming != nil {
		c.freeIncoming(t, t.incoming)
	}
	c.readers.drop(t, func(r reader) { c.sendDone(r.done, t, t.gone()) })
	c.unknown = slices.DeleteFunc(c.unknown, func(u unknownIndex) bool { return u.t == t })
	t.expected, t.unsaidReads = 0, 0
}

// concerned is the kind of operation that a failure of t hits, IntErr if none is known to be under way.
func (c *Context) concerned(t *task) ErrType {
	if t.pending.head != nil {
		return t.pending.head.kind
	}
	for o := c.getRmw.head; o != nil; o = o.next {
		if o.t == t {
			return o.kind
		}
	}
	if kind, ok := c.laneKind(t); ok {
		return kind
	}
	if t.expected > 0 {
		return t.lastKind
	}
	return IntErr
}
