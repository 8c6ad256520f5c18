package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// Putv is LAPI_Putv (guide, Chapters 6 and 18): copies the blocks of the vector at orgVec to those of the vector at tgtVec, whose
// addresses are the target's. long: tgtVec is a lapi_lvec_t. The descriptions are read before Putv returns. done, if any, runs when
// the origin's blocks may be overwritten.
func (c *Context) Putv(tgt uint32, tgtVec, orgVec transport.Addr, long bool, tgtCntr, orgCntr, cmplCntr transport.Addr, done Callback) codes.Code {
	return c.putv(tgt, tgtVec, orgVec, long, tgtCntr, orgCntr, cmplCntr, done, noHint)
}

// putv is Putv for a caller that may prefer a way.
func (c *Context) putv(tgt uint32, tgtVec, orgVec transport.Addr, long bool, tgtCntr, orgCntr, cmplCntr transport.Addr, done Callback, way hint) codes.Code {
	memory.Guard()
	t, code := c.target(tgt)
	if code != codes.Success {
		return code
	}
	m := c.newVectored(t, wire.MsgPutv, PutErr)
	if err := c.loader().Pair(&m.org, &m.tgt, orgVec, tgtVec, long); err != nil {
		c.freeOutgoing(m)
		return c.badVector(err)
	}
	t.lastKind = PutErr
	if cmplCntr != 0 {
		t.expected++
	}
	m.n, m.part = min(m.org.Total(), m.tgt.Total()), wire.MsgPutv // they differ only where nobody checked
	m.user, m.orgCntr, m.done = true, orgCntr, done
	if c.putvGoesDirect(t, &m.org, &m.tgt, m.n, way) && c.putvDirect(m, tgtCntr, cmplCntr) {
		c.publish()
		return codes.Success
	}
	t.nextID++
	h := wire.Vector{TgtCntr: tgtCntr, Reply: uint64(cmplCntr), Total: m.n, ID: t.nextID}
	m.tgt.Describe(&h)
	m.hdrLen = len(h.Encode(m.hdr[:]))
	c.start(m)
	c.publish()
	return codes.Success
}

// putvDirect is putDirect for vectors. False: use messages. True: m is gone.
func (c *Context) putvDirect(m *outgoing, tgtCntr, cmplCntr transport.Addr) bool {
	t := m.t
	err := c.moveDirect(t, false, &m.org, &m.tgt, m.n)
	if fault, ok := err.(*transport.FaultError); ok {
		c.directFault(t, fault, PutErr)
		c.sendDone(m.done, t, codes.Success) // its data will not be read again
		c.freeOutgoing(m)
		return true
	}
	if err != nil {
		t.direct = false
		return false
	}
	c.countFor(m.orgCntr, PutErr, c.me, m.t.id)
	c.completed(sendComplete)
	c.sendDone(m.done, t, codes.Success)
	h := wire.PutDirect{Length: m.n, TgtCntr: tgtCntr, CmplCntr: cmplCntr}
	c.freeOutgoing(m)
	c.sendControl(t, wire.MsgPutDirect, PutErr, h.Encode)
	return true
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
