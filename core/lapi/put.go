package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Put is LAPI_Put (guide, Chapter 18): copies n bytes at orgAddr to tgtAddr of the target. Counters may be 0.
func (c *Context) Put(tgt uint32, n uint64, tgtAddr, orgAddr, tgtCntr, orgCntr, cmplCntr transport.Addr) codes.Code {
	code := c.put(tgt, n, tgtAddr, orgAddr, tgtCntr, orgCntr, cmplCntr, Callback{}, noHint)
	if code == codes.Success && c.outboxes.Outboxes != nil {
		c.lend(&c.tasks[tgt])
	}
	return code
}

// put is Put; done, if any, is the send completion handler.
func (c *Context) put(tgt uint32, n uint64, tgtAddr, orgAddr, tgtCntr, orgCntr, cmplCntr transport.Addr, done Callback, way hint) codes.Code {
	memory.Guard()
	t, code := c.target(tgt)
	if code == codes.Success {
		code = checkMove(n, tgtAddr, orgAddr)
	}
	if code != codes.Success {
		return code
	}
	t.lastKind = PutErr
	if cmplCntr != 0 {
		t.expected++
	}
	h := wire.Put{TgtAddr: tgtAddr, TgtCntr: tgtCntr, CmplCntr: cmplCntr}
	if t.noticing != nil {
		c.putByLink(t, n, orgAddr, orgCntr, &h, done, way)
		c.publish()
		return codes.Success
	}
	if c.putGoesDirect(t, n, way) && c.putDirect(t, n, orgAddr, orgCntr, &h) {
		c.sendDone(done, t, codes.Success)
		c.publish()
		return codes.Success
	}
	if n <= uint64(t.sendMax) && c.sendNow(t, wire.MsgPut, PutErr, h.Encode(c.header[:]), orgAddr, n, orgCntr) {
		c.sendDone(done, t, codes.Success)
		c.publish()
		return codes.Success
	}
	m := c.newOutgoing(t, wire.MsgPut, PutErr)
	m.user, m.orgCntr, m.done = true, orgCntr, done
	m.data, m.n = orgAddr, n
	if n <= uint64(t.sendMax) {
		m.hdrLen, m.first = len(h.Encode(m.hdr[:])), n
	} else {
		t.nextID++
		f := wire.PutFragment{Put: h, Total: n, ID: t.nextID}
		m.id, m.part = wire.MsgPutFragment, wire.MsgPutFragment
		m.hdrLen, m.first = len(f.Encode(m.hdr[:])), uint64(t.sendMax)
	}
	c.start(m)
	c.publish()
	return codes.Success
}

// checkMove checks what put and get have: the addresses may be 0 only if there is nothing to move.
func checkMove(n uint64, tgtAddr, orgAddr transport.Addr) codes.Code {
	switch {
	case n > wire.MaxMessageSize:
		return codes.ErrDataLen
	case n > 0 && tgtAddr == 0:
		return codes.ErrTgtAddrNull
	case n > 0 && orgAddr == 0:
		return codes.ErrOrgAddrNull
	}
	return codes.Success
}

// putDirect copies straight into the target's memory; then a message without data carries the counters, and tells the target
// what it received. False: the link cannot, use messages.
func (c *Context) putDirect(t *task, n uint64, orgAddr, orgCntr transport.Addr, h *wire.Put) bool {
	err := c.copyDirect(t, false, orgAddr, h.TgtAddr, n)
	if fault, ok := err.(*transport.FaultError); ok {
		c.directFault(t, fault, PutErr)
		return true
	}
	if err != nil {
		t.direct = false
		return false
	}
	c.countFor(orgCntr, PutErr, c.me, t.id)
	c.completed(sendComplete)
	d := wire.PutDirect{Length: n, TgtCntr: h.TgtCntr, CmplCntr: h.CmplCntr}
	c.sendControl(t, wire.MsgPutDirect, PutErr, d.Encode)
	return true
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
