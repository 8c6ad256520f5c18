package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// putv is LAPI_Putv (guide, Chapters 6 and 18). The descriptions are read before it returns.
func (c *Context) putv(t *task, x *Transfer) codes.Code {
	m := c.newVectored(t, wire.MsgPutv, PutErr)
	if code := c.loadPair(m, x); code != codes.Success {
		return code
	}
	t.lastKind = PutErr
	if x.CmplCntr != 0 {
		t.expected++
	}
	if c.putvGoesDirect(t, &m.org, &m.tgt, m.n, x.way()) && c.wentDirect(t, x, PutErr, m.n, c.moveDirect(t, false, &m.org, &m.tgt, m.n)) {
		c.freeOutgoing(m)
		return codes.Success
	}
	m.part, m.user, m.orgCntr, m.done = wire.MsgPutv, true, x.OrgCntr, x.done()
	t.nextID++
	h := wire.Vector{TgtCntr: x.TgtCntr, Reply: uint64(x.CmplCntr), Total: m.n, ID: t.nextID}
	m.tgt.Describe(&h)
	m.hdrLen = len(h.Encode(m.hdr[:]))
	c.start(m)
	return codes.Success
}

// loadPair reads the vectors of a put or get into m. If they cannot be used, m is gone.
func (c *Context) loadPair(m *outgoing, x *Transfer) codes.Code {
	if err := c.loader().Pair(&m.org, &m.tgt, x.OrgAddr, x.TgtAddr, x.Flags&UseTgtVecType == 0); err != nil {
		c.freeOutgoing(m)
		return c.badVector(err)
	}
	m.n = min(m.org.Total(), m.tgt.Total()) // they differ only where nobody checked
	return codes.Success
}

// onPutv is the target's side of a part of a vector put.
func (c *Context) onPutv(m *transport.Msg) transport.Verdict {
	var h wire.Vector
	if !h.Decode(m.Hdr, len(m.Data)) {
		return c.malformed(m)
	}
	data := m.Data[h.Entries*wire.EntrySize:]
	if !wire.Inside(h.Offset, uint64(len(data)), h.Total) || h.Entries > 0 && !wire.EntriesHold(m.Data, h.Entries, uint64(len(data))) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	if h.Total == uint64(len(data)) { // nothing else will come
		if err := c.scattered.Place(&h, m.Data, data); err != nil {
			c.targetFault(err, PutErr, t.id, 0)
			return transport.Accept
		}
		c.putComplete(h.TgtCntr, transport.Addr(h.Reply), t.id)
		return transport.Accept
	}
	id := uint64(h.ID) | putIDs
	in := c.findIncoming(t, id)
	if in == nil {
		in = c.newIncoming(t, id)
	}
	if !in.failed {
		if err := c.scattered.Place(&h, m.Data, data); err != nil {
			in.failed = true
			c.targetFault(err, PutErr, t.id, 0)
		}
	}
	if in.received += uint64(len(data)); in.received >= h.Total {
		if !in.failed {
			c.putComplete(h.TgtCntr, transport.Addr(h.Reply), t.id)
		}
		c.freeIncoming(t, in)
	}
	return transport.Accept
}
