package lapi

import (
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// A direct get reads the target's memory without the target. What the target is to know of it comes by wire.MsgRead: a target counter, and
// how many bytes it has so sent, for its statistics (guide, Chapter 8). Bytes alone are no reason for a message: they wait for
// the next one, or for a fence.

// tellRead notes that n bytes of t's memory were read; tgtCntr of t is to change, if it is not 0.
func (c *Context) tellRead(t *task, n uint64, tgtCntr transport.Addr) {
	if t.isSelf {
		n = 0 // its link has counted both ends
	}
	if !t.unsaid && n > 0 {
		t.unsaid = true
		c.unsaidTasks = append(c.unsaidTasks, int32(t.id))
	}
	t.unsaidReads += n
	if tgtCntr != 0 {
		c.sendRead(t, tgtCntr)
	}
}

func (c *Context) sendRead(t *task, tgtCntr transport.Addr) {
	h := wire.Read{TgtCntr: tgtCntr, Bytes: t.unsaidReads}
	t.unsaidReads = 0
	c.sendControl(t, wire.MsgRead, GetErr, h.Encode)
}

// tellAllReads sends what no message has carried yet; a fence does it, so that statistics are true after one.
func (c *Context) tellAllReads() {
	for _, id := range c.unsaidTasks {
		t := &c.tasks[id]
		t.unsaid = false
		if t.unsaidReads > 0 && !t.dead {
			c.sendRead(t, 0)
		}
	}
	c.unsaidTasks = c.unsaidTasks[:0]
}

// onRead is the target's side.
func (c *Context) onRead(m *transport.Msg) transport.Verdict {
	var h wire.Read
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	if h.Bytes > 0 {
		s := c.tasks[m.From].link.Stats()
		s.PacketsSent++
		s.DataSent += h.Bytes
	}
	if h.TgtCntr != 0 {
		c.completed(sendComplete)
		c.count(h.TgtCntr, GetErr, int(m.From))
	}
	return transport.Accept
}
