package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// put is LAPI_Put (guide, Chapter 18).
func (c *Context) put(t *task, x *Transfer) codes.Code {
	if code := checkMove(x); code != codes.Success {
		return code
	}
	t.lastKind = PutErr
	if x.CmplCntr != 0 {
		t.expected++
	}
	n := x.N
	h := wire.Put{TgtAddr: x.TgtAddr, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr}
	if t.noticing != nil {
		c.putByLink(t, x, &h)
		return codes.Success
	}
	if c.putGoesDirect(t, n, x.way()) && c.wentDirect(t, x, PutErr, n, c.copyDirect(t, false, x.OrgAddr, x.TgtAddr, n)) {
		return codes.Success
	}
	if n <= uint64(t.sendMax) && c.sendNow(t, wire.MsgPut, PutErr, h.Encode(c.header[:]), x.OrgAddr, n, x.OrgCntr) {
		c.sendDone(x.done(), t, codes.Success)
		return codes.Success
	}
	m := c.newOutgoing(t, wire.MsgPut, PutErr)
	m.user, m.orgCntr, m.done = true, x.OrgCntr, x.done()
	m.data, m.n = x.OrgAddr, n
	if n <= uint64(t.sendMax) {
		m.hdrLen, m.first = len(h.Encode(m.hdr[:])), n
	} else {
		t.nextID++
		f := wire.PutFragment{Put: h, Total: n, ID: t.nextID}
		m.id, m.part = wire.MsgPutFragment, wire.MsgPutFragment
		m.hdrLen, m.first = len(f.Encode(m.hdr[:])), uint64(t.sendMax)
	}
	c.start(m)
	return codes.Success
}

// checkMove checks what put and get have: the addresses may be 0 only if there is nothing to move.
func checkMove(x *Transfer) codes.Code {
	switch {
	case x.N > wire.MaxMessageSize:
		return codes.ErrDataLen
	case x.N > 0 && x.TgtAddr == 0:
		return codes.ErrTgtAddrNull
	case x.N > 0 && x.OrgAddr == 0:
		return codes.ErrOrgAddrNull
	}
	return codes.Success
}

// onPut is the target's side of a put that came whole.
func (c *Context) onPut(m *transport.Msg) transport.Verdict {
	var h wire.Put
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	if err := memory.CopyIn(h.TgtAddr, m.Data); err != nil {
		c.targetFault(err, PutErr, int(m.From), 0)
		return transport.Accept
	}
	c.putComplete(h.TgtCntr, h.CmplCntr, int(m.From))
	return transport.Accept
}

// onPutDirect is the target's side of a put whose data the origin has copied into this memory by itself.
func (c *Context) onPutDirect(m *transport.Msg) transport.Verdict {
	var h wire.PutDirect
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return c.malformed(m)
	}
	c.tasks[m.From].countReceived(h.Length)
	c.putComplete(h.TgtCntr, h.CmplCntr, int(m.From))
	return transport.Accept
}

// onPutFragment is onPut for a part of a put.
func (c *Context) onPutFragment(m *transport.Msg) transport.Verdict {
	var h wire.PutFragment
	if !h.Decode(m.Hdr, len(m.Data)) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	in := c.findIncoming(t, uint64(h.ID)|putIDs)
	if in == nil {
		in = c.newIncoming(t, uint64(h.ID)|putIDs)
	}
	if !in.failed {
		if err := memory.CopyIn(h.TgtAddr+transport.Addr(h.Offset), m.Data); err != nil {
			in.failed = true
			c.targetFault(err, PutErr, t.id, 0)
		}
	}
	in.received += uint64(len(m.Data))
	if in.received >= h.Total {
		if !in.failed {
			c.putComplete(h.TgtCntr, h.CmplCntr, t.id)
		}
		c.freeIncoming(t, in)
	}
	return transport.Accept
}

// putComplete: all data of a put is in place.
func (c *Context) putComplete(tgtCntr, cmplCntr transport.Addr, origin int) {
	c.completed(recvComplete)
	c.count(tgtCntr, PutErr, origin)
	c.tellComplete(origin, cmplCntr)
}

// owed is what a turn of the dispatcher has completed for one counter of one origin, who is yet to be told: many small messages come in one
// packet, and one message answers them all.
type owed struct {
	holding  bool // the link delivers: more may follow
	origin   int
	cmplCntr transport.Addr
	count    uint64
}

// tellComplete adds 1 to the completion counter at the origin, if there is one.
func (c *Context) tellComplete(origin int, cmplCntr transport.Addr) {
	o := &c.owed
	switch {
	case cmplCntr == 0:
	case !o.holding:
		c.sendCounter(origin, cmplCntr, 1)
	case o.count > 0 && o.count < layout.RingSlots && o.origin == origin && o.cmplCntr == cmplCntr:
		o.count++
	default:
		c.tellOwed()
		o.origin, o.cmplCntr, o.count = origin, cmplCntr, 1
	}
}

// tellOwed tells the origin of what is owed to it.
func (c *Context) tellOwed() {
	if o := &c.owed; o.count > 0 {
		n := o.count
		o.count = 0
		c.sendCounter(o.origin, o.cmplCntr, n)
	}
}

// sendCounter adds n, at most layout.RingSlots, to the completion counter at the origin.
func (c *Context) sendCounter(origin int, cmplCntr transport.Addr, n uint64) {
	h := wire.Completion{Cntr: cmplCntr, More: n - 1}
	c.sendControl(&c.tasks[origin], wire.MsgCounter, IntErr, h.Encode)
}

// onCounter is the origin's side of it.
func (c *Context) onCounter(m *transport.Msg) transport.Verdict {
	var h wire.Completion
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	c.hearLane()
	t.expected = max(0, t.expected-int(h.More+1))
	c.countMore(h.Cntr, t.lastKind, t.id, int32(h.More+1))
	return transport.Accept
}
