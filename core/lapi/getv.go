package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// Getv is LAPI_Getv (guide, Chapters 6 and 18): copies the blocks of the vector at tgtVec, whose addresses are the target's, to those
// of the vector at orgVec. long: tgtVec is a lapi_lvec_t. The descriptions are read before Getv returns. done, if any, is queued for the
// completion handler threads when the data is here.
func (c *Context) Getv(tgt uint32, tgtVec, orgVec transport.Addr, long bool, tgtCntr, orgCntr transport.Addr, done Callback) codes.Code {
	return c.getv(tgt, tgtVec, orgVec, long, tgtCntr, orgCntr, done, noHint)
}

// getv is Getv for a caller that may prefer a way.
func (c *Context) getv(tgt uint32, tgtVec, orgVec transport.Addr, long bool, tgtCntr, orgCntr transport.Addr, done Callback, way hint) codes.Code {
	memory.Guard()
	t, code := c.target(tgt)
	if code != codes.Success {
		return code
	}
	m := c.newVectored(t, wire.MsgGetv, GetErr)
	if err := c.loader().Pair(&m.org, &m.tgt, orgVec, tgtVec, long); err != nil {
		c.freeOutgoing(m)
		return c.badVector(err)
	}
	t.lastKind = GetErr
	m.n, m.part = min(m.org.Total(), m.tgt.Total()), wire.MsgGetv
	if c.getvGoesDirect(t, &m.org, &m.tgt, m.n, way) && c.getvDirect(m, tgtCntr, orgCntr, done) {
		c.publish()
		return codes.Success
	}
	o := c.newOriginOp(t, GetErr)
	o.local, o.n, o.orgCntr, o.done = 0, m.n, orgCntr, done
	o.vectored = true
	o.org, m.org = m.org, o.org // the operation outlives its request
	t.nextID++
	h := wire.Vector{TgtCntr: tgtCntr, Reply: o.token(), Total: m.n, Single: c.single, ID: t.nextID}
	m.tgt.Describe(&h)
	m.hdrLen = len(h.Encode(m.hdr[:]))
	c.start(m)
	c.publish()
	return codes.Success
}

// worthDirectGet: a get by messages takes the target's help and two ways, so a direct one pays even for short blocks if they are few.
func (c *Context) worthDirectGet(near, far *vector.Vector, n uint64) bool {
	return far.Pieces() <= directGetFew && near.Pieces() <= directLocal*directGetFew || c.worthDirect(near, far, n)
}

// getvDirect is getDirect for vectors. False: use messages. True: m is gone.
func (c *Context) getvDirect(m *outgoing, tgtCntr, orgCntr transport.Addr, done Callback) bool {
	t, n := m.t, m.n
	err := c.moveDirect(t, true, &m.org, &m.tgt, n)
	if fault, ok := err.(*transport.FaultError); ok {
		c.directFault(t, fault, GetErr)
		c.freeOutgoing(m)
		return true
	}
	if err != nil {
		t.direct = false
		return false
	}
	c.freeOutgoing(m)
	c.countFor(orgCntr, GetErr, c.me, t.id)
	c.completed(recvComplete)
	c.received(done)
	c.tellRead(t, n, tgtCntr)
	return true
}

// request is the part of a vector get that a message of data answers, at the target.
type request struct {
	id      uint64 // of the incoming that counts the parts
	total   uint64
	tgtCntr transport.Addr
}

// onGetv is the target's side of a part of a request: it answers with the data, in fragments.
func (c *Context) onGetv(m *transport.Msg) transport.Verdict {
	var h wire.Vector
	if !h.Decode(m.Hdr, len(m.Data)) || int(h.Entries)*wire.EntrySize != len(m.Data) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	a := c.newVectored(t, wire.MsgGetData, GetErr)
	if !a.org.Asked(&h, m.Data) {
		c.freeOutgoing(a)
		return c.malformed(m)
	}
	a.part, a.message, a.skipped = wire.MsgGetData, h.Reply, h.Offset
	a.hdrLen = len((&wire.Part{Message: h.Reply, Offset: h.Offset}).Encode(a.hdr[:]))
	a.n, a.single = a.org.Total(), h.Single
	a.first = min(a.n, uint64(t.sendMax))
	if a.n == h.Total {
		a.orgCntr, a.user = h.TgtCntr, true
	} else {
		a.asked = request{uint64(h.ID) | putIDs, h.Total, h.TgtCntr}
		a.finished = c.partAnswered
	}
	c.start(a)
	return transport.Accept
}

// partAnswered: the data of one part of a request has left. After the last part the user may change the target's blocks.
func (c *Context) partAnswered(m *outgoing) {
	t, r := m.t, m.asked
	if t.dead {
		return
	}
	in := c.findIncoming(t, r.id)
	if in == nil {
		in = c.newIncoming(t, r.id)
	}
	in.failed = in.failed || m.failed
	if in.received += m.n; in.received < r.total {
		return
	}
	if !in.failed {
		c.count(r.tgtCntr, GetErr, t.id)
		c.completed(sendComplete)
	}
	c.freeIncoming(t, in)
}

// received queues a get's completion handler: the data is here.
func (c *Context) received(done Callback) {
	if done.Handler != 0 {
		c.queueCompletion(completion{handler: done.Handler, info: done.Info, origin: c.me})
	}
}
