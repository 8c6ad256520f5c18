package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// getv is LAPI_Getv (guide, Chapters 6 and 18). The descriptions are read before it returns.
func (c *Context) getv(t *task, x *Transfer) codes.Code {
	m := c.newVectored(t, wire.MsgGetv, GetErr)
	if code := c.loadPair(m, x); code != codes.Success {
		return code
	}
	t.lastKind = GetErr
	if c.getvGoesDirect(t, &m.org, &m.tgt, m.n, x.way()) && c.wentDirect(t, x, GetErr, m.n, c.moveDirect(t, true, &m.org, &m.tgt, m.n)) {
		c.freeOutgoing(m)
		return codes.Success
	}
	o := c.newOriginOp(t, GetErr)
	o.local, o.n, o.orgCntr, o.done = 0, m.n, x.OrgCntr, x.done()
	o.vectored = true
	o.org, m.org = m.org, o.org // the operation outlives its request
	m.part = wire.MsgGetv
	t.nextID++
	h := wire.Vector{TgtCntr: x.TgtCntr, Reply: o.token(), Total: m.n, Single: c.single, ID: t.nextID}
	m.tgt.Describe(&h)
	m.hdrLen = len(h.Encode(m.hdr[:]))
	c.start(m)
	return codes.Success
}

// worthDirectGet: a get by messages takes the target's help and two ways, so a direct one pays even for short blocks if they are few.
func (c *Context) worthDirectGet(near, far *vector.Vector, n uint64) bool {
	return far.Pieces() <= directGetFew && near.Pieces() <= directLocal*directGetFew || c.worthDirect(near, far, n)
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
