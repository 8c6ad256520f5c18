package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// originOp is a get or a read-modify-write under way: the origin waits for its answer.
type originOp struct {
	op         transport.Op // of a read-modify-write
	c          *Context
	t          *task
	prev, next *originOp // Context.getRmw, in the order issued
	seq        uint64
	kind       ErrType
	index      uint32 // in Context.origins
	generation uint32 // of the token, so that a late answer finds nothing

	local    transport.Addr // where the data (get) or the previous value (rmw) goes
	n        uint64
	received uint64
	failed   bool
	orgCntr  transport.Addr
	done     Callback // of a get the completion handler, of a read-modify-write the send completion handler
	compares bool     // COMPARE_AND_SWAP: store TRUE or FALSE
	vectored bool     // the data goes to org
	org      vector.Vector
}

type originList struct{ head, tail *originOp }

func (l *originList) push(o *originOp) {
	o.prev, o.next = l.tail, nil
	if l.tail == nil {
		l.head = o
	} else {
		l.tail.next = o
	}
	l.tail = o
}

func (l *originList) remove(o *originOp) {
	if o.prev == nil {
		l.head = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		l.tail = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.prev, o.next = nil, nil
}

func (c *Context) newOriginOp(t *task, kind ErrType) *originOp {
	var o *originOp
	if n := len(c.freeOrig); n > 0 {
		o = c.origins[c.freeOrig[n-1]]
		c.freeOrig = c.freeOrig[:n-1]
	} else {
		o = &originOp{c: c, index: uint32(len(c.origins)), generation: 1}
		o.op.Owner = o
		c.origins = append(c.origins, o)
	}
	o.t, o.kind, o.seq = t, kind, c.nextSeq()
	o.op.Done = rmwDone
	o.received, o.failed, o.compares, o.vectored, o.done = 0, false, false, false, Callback{}
	c.getRmw.push(o)
	return o
}

func (c *Context) freeOriginOp(o *originOp) {
	c.getRmw.remove(o)
	if o.vectored {
		o.org.Reset()
	}
	o.t = nil
	o.generation++
	c.freeOrig = append(c.freeOrig, o.index)
}

func (o *originOp) token() uint64 { return uint64(o.generation)<<32 | uint64(o.index) }

// originOf finds the operation that an answer of t belongs to, nil if it is over.
func (c *Context) originOf(t *task, token uint64) *originOp {
	if uint32(token) >= uint32(len(c.origins)) {
		return nil
	}
	o := c.origins[uint32(token)]
	if o.generation != uint32(token>>32) || o.t != t {
		return nil
	}
	return o
}

// get is LAPI_Get (guide, Chapter 18). The origin counter says that the data is here, the target counter that the target may
// change it; the completion handler is queued for the handler threads when the data is here.
func (c *Context) get(t *task, x *Transfer) codes.Code {
	if code := checkMove(x); code != codes.Success {
		return code
	}
	t.lastKind = GetErr
	if t.noticing != nil && x.N > 0 && c.getByLink(t, x) {
		return codes.Success
	}
	if c.getGoesDirect(t, x.N, x.way()) && c.wentDirect(t, x, GetErr, x.N, c.copyDirect(t, true, x.OrgAddr, x.TgtAddr, x.N)) {
		return codes.Success
	}
	o := c.newOriginOp(t, GetErr)
	o.local, o.n, o.orgCntr, o.done = x.OrgAddr, x.N, x.OrgCntr, x.done()
	h := wire.Get{TgtAddr: x.TgtAddr, Length: x.N, TgtCntr: x.TgtCntr, Token: o.token(), Single: c.single}
	c.sendControl(t, wire.MsgGet, GetErr, h.Encode)
	return codes.Success
}

// onGet is the target's side: it answers with the data, in parts.
func (c *Context) onGet(m *transport.Msg) transport.Verdict {
	var h wire.Get
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	a := c.newOutgoing(t, wire.MsgGetData, GetErr)
	a.part, a.message = wire.MsgGetData, h.Token
	a.hdrLen = len((&wire.Part{Message: h.Token, Offset: 0}).Encode(a.hdr[:]))
	a.step = t.partSize(h.Length)
	a.data, a.n, a.first = h.TgtAddr, h.Length, min(h.Length, a.step)
	a.orgCntr, a.user, a.single = h.TgtCntr, true, h.Single
	c.start(a)
	return transport.Accept
}

// onGetData is the origin's side of a part of the answer.
func (c *Context) onGetData(m *transport.Msg) transport.Verdict {
	var h wire.Part
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	o := c.originOf(&c.tasks[m.From], h.Message)
	if o == nil || o.kind != GetErr || !wire.Inside(h.Offset, uint64(len(m.Data)), o.n) {
		return c.malformed(m)
	}
	var err error
	switch {
	case o.failed: // the rest is only counted
	case o.vectored:
		err = o.org.Scatter(h.Offset, m.Data)
	default:
		err = memory.CopyIn(o.local+transport.Addr(h.Offset), m.Data)
	}
	if err != nil {
		o.failed = true
		c.fault(err, codes.ErrOrgAddrNull, GetErr, c.me)
	}
	o.received += uint64(len(m.Data))
	if o.received >= o.n {
		c.answered(o)
	}
	return transport.Accept
}

// answered ends a get or a read-modify-write.
func (c *Context) answered(o *originOp) {
	if !o.failed {
		c.countFor(o.orgCntr, o.kind, c.me, o.t.id)
		c.completed(recvComplete)
		if o.kind == GetErr {
			c.received(o.done)
		}
	}
	if o.kind == RmwErr {
		c.sendDone(o.done, o.t, o.outcome())
	}
	c.freeOriginOp(o)
}

// outcome is what a read-modify-write's send completion handler hears.
func (o *originOp) outcome() codes.Code {
	switch {
	case o.t.dead:
		return o.t.gone()
	case o.failed:
		return codes.ErrTgtAddrNull
	}
	return codes.Success
}
