package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// readNews is what single-copy gets have read of other tasks' memory, and has not been reported to
// these. Such a get works without the target. MsgRead reports it: a target counter, and how many
// bytes the target has sent in this way, for its statistics (guide, Chapter 8). Bytes alone are no
// reason for a message: they wait for the next one, or for a fence.
type readNews struct {
	bytes []uint64 // by task
	tasks []int32  // that may have some, each once
	noted []bool   // by task: in tasks
}

// tellRead notes that n bytes of p's memory were read; tgtCntr of p is to change, if it is not 0.
func (c *Context) tellRead(p *peer.Peer, n uint64, tgtCntr transport.Addr) {
	r := &c.reads
	if p.IsSelf {
		n = 0 // its link has counted both ends
	}
	if n > 0 && !r.noted[p.ID] {
		r.noted[p.ID] = true
		r.tasks = append(r.tasks, int32(p.ID))
	}
	r.bytes[p.ID] += n
	if tgtCntr != 0 {
		c.sendRead(p, tgtCntr)
	}
}

func (c *Context) sendRead(p *peer.Peer, tgtCntr transport.Addr) {
	h := wire.Read{TgtCntr: tgtCntr, Bytes: c.reads.bytes[p.ID]}
	c.reads.bytes[p.ID] = 0
	c.out.Control(p, wire.MsgRead, codes.GetErr, h.Encode)
}

// tellAllReads sends what no message has carried yet; a fence does it, so that statistics are true
// after one.
func (c *Context) tellAllReads() {
	r := &c.reads
	for _, id := range r.tasks {
		r.noted[id] = false
		if p := &c.peers[id]; r.bytes[id] > 0 && !p.Dead() {
			c.sendRead(p, 0)
		}
	}
	r.tasks = r.tasks[:0]
}

// onRead is the target's side.
func (c *Context) onRead(m *transport.Msg) transport.Verdict {
	var h wire.Read
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	if h.Bytes > 0 {
		s := p.Link.Stats()
		s.PacketsSent++
		s.DataSent += h.Bytes
	}
	if h.TgtCntr != 0 {
		c.completed(sendComplete)
		c.counters.Add(h.TgtCntr, codes.GetErr, p.ID)
	}
	return transport.Accept
}
