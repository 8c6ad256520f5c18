package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/receive"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// put is LAPI_Put (guide, Chapter 18).
func (c *Context) put(p *peer.Peer, x *Transfer) codes.Code {
	if code := checkMove(x); code != codes.Success {
		return code
	}
	if key := c.keyOf(p, x); key != nil {
		// The link reports that the data is in place: the target takes no part.
		c.counters.Issued(p.ID, codes.PutErr, 0)
		c.out.PutByKey(p, x.TgtAddr, key, x.OrgAddr, x.N, send.After{OrgCntr: x.CmplCntr, User: true})
		return codes.Success
	}
	c.counters.Issued(p.ID, codes.PutErr, x.CmplCntr)
	h := wire.Put{TgtAddr: x.TgtAddr, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr}
	route := c.copier.Route(p, x.N, x.hint())
	if p.OverAdapter() && x.N <= uint64(c.attributes.bufCopy) {
		route = transport.RouteMessages // an adapter would read it when the call has returned
	}
	if !p.Transfers(x.N, route) && c.putHere(p, x, &h) {
		return codes.Success
	}
	c.out.Put(p, &h, x.OrgAddr, x.N, route, x.after())
	return codes.Success
}

// putHere makes a put over at once, if it is a single copy, or one message that finds room. False:
// nothing happened.
func (c *Context) putHere(p *peer.Peer, x *Transfer, h *wire.Put) bool {
	if c.copier.Put(p, x.N, x.hint()) && c.singleCopied(p, x, codes.PutErr, x.N,
		c.copier.Copy(p, false, x.OrgAddr, x.TgtAddr, x.N)) {
		return true
	}
	if x.N > p.PartSize(x.N) ||
		!c.out.Now(p, wire.MsgPut, codes.PutErr, h.CmplCntr != 0, h.Encode(c.header[:]), x.OrgAddr,
			x.N) {
		return false
	}
	c.counters.AddFor(x.OrgCntr, codes.PutErr, c.me, p.ID)
	c.completed(sendComplete)
	c.due.Sent(x.done(), p, codes.Success)
	return true
}

// putv is LAPI_Putv (guide, Chapters 6 and 18). The descriptions are read before it returns.
func (c *Context) putv(p *peer.Peer, x *Transfer) codes.Code {
	m, org, tgt := c.out.NewVector(p, wire.MsgPutv, codes.PutErr)
	n, code := c.loadPair(m, org, tgt, x)
	if code != codes.Success {
		return code
	}
	c.counters.Issued(p.ID, codes.PutErr, x.CmplCntr)
	direct := c.copier.PutVector(p, org, tgt, n, x.hint())
	if direct && p.OverAdapter() {
		c.movePut(p, m, org, tgt, n, x)
		return codes.Success
	}
	if direct && c.singleCopied(p, x, codes.PutErr, n,
		c.copier.CopyVector(p, false, org, tgt, n)) {
		c.out.Drop(m)
		return codes.Success
	}
	m.After = x.after()
	c.out.StartVector(m, &wire.Vector{TgtCntr: x.TgtCntr, Reply: uint64(x.CmplCntr)}, n)
	return codes.Success
}

// onPut is the target's side of a put that came whole.
func (c *Context) onPut(m *transport.Msg) transport.Verdict {
	var h wire.Put
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	if err := memory.CopyIn(h.TgtAddr, m.Data); err != nil {
		c.faults.Target(err, codes.PutErr, p, 0)
		return transport.Accept
	}
	c.putComplete(h.TgtCntr, h.CmplCntr, p)
	return transport.Accept
}

// onPutDirect is the target's side of a put whose data the origin has copied into this memory by
// itself.
func (c *Context) onPutDirect(m *transport.Msg) transport.Verdict {
	var h wire.PutDirect
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return p.Malformed()
	}
	p.CountReceived(h.Length, singlecopy.Copies(h.Length))
	c.putComplete(h.TgtCntr, h.CmplCntr, p)
	return transport.Accept
}

// onPutFragment is onPut for a fragment of a put.
func (c *Context) onPutFragment(m *transport.Msg) transport.Verdict {
	var h wire.PutFragment
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr, len(m.Data)) {
		return p.Malformed()
	}
	parts := c.parts.Of(p, h.ID)
	if !parts.Failed {
		c.partFailed(p, parts, memory.CopyIn(h.TgtAddr+transport.Addr(h.Offset), m.Data))
	}
	if c.parts.Add(p, parts, uint64(len(m.Data)), h.Total) && !parts.Failed {
		c.putComplete(h.TgtCntr, h.CmplCntr, p)
	}
	return transport.Accept
}

// partFailed notes the result of one part of a put; err may be nil.
func (c *Context) partFailed(p *peer.Peer, parts *receive.Parts, err error) {
	if err != nil {
		parts.Failed = true
		c.faults.Target(err, codes.PutErr, p, 0)
	}
}

// onPutv is the target's side of a fragment of a vector put.
func (c *Context) onPutv(m *transport.Msg) transport.Verdict {
	var h wire.Vector
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr, len(m.Data)) {
		return p.Malformed()
	}
	data := m.Data[h.Entries*wire.EntrySize:]
	if n := uint64(len(data)); !wire.Inside(h.Offset, n, h.Total) || h.Entries > 0 &&
		!wire.EntriesHold(m.Data, h.Entries, n) {
		return p.Malformed()
	}
	parts := &c.onePart
	*parts = receive.Parts{}
	whole := h.Total == uint64(len(data)) // nothing else will come
	if !whole {
		parts = c.parts.Of(p, h.ID)
	}
	if !parts.Failed {
		c.partFailed(p, parts, c.scattered.Place(&h, m.Data, data))
	}
	if (whole || c.parts.Add(p, parts, uint64(len(data)), h.Total)) && !parts.Failed {
		c.putComplete(h.TgtCntr, transport.Addr(h.Reply), p)
	}
	return transport.Accept
}

// putComplete: all data of a put is in place.
func (c *Context) putComplete(tgtCntr, cmplCntr transport.Addr, origin *peer.Peer) {
	c.completed(recvComplete)
	c.counters.Add(tgtCntr, codes.PutErr, origin.ID)
	c.counters.Acknowledge(origin.ID, cmplCntr)
}

// tellCompletion sends an acknowledgement.
func (c *Context) tellCompletion(origin int, h wire.Completion) {
	c.out.Control(&c.peers[origin], wire.MsgCounter, codes.IntErr, h.Encode)
}

// onCounter is the origin's side of a completion.
func (c *Context) onCounter(m *transport.Msg) transport.Verdict {
	var h wire.Completion
	if !h.Decode(m.Hdr) {
		return c.peers[m.From].Malformed()
	}
	c.hearLane()
	c.counters.Completed(int(m.From), &h)
	return transport.Accept
}
