package lapi

import (
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Puts in parts, between tasks of one node. There messages stay in order, and no other put's parts come between those of one. So a part
// says only where it goes, the last one carries the counters, and nothing is kept at the target but whether an address was bad.

// Where in outgoing.hdr the header of the next part is made, behind that of the whole put.
const putPartAt = 32

// inParts makes m a put in parts; h is that of all of it. Not first: the lane has sent parts already.
func (m *outgoing) inParts(h *wire.Put, first bool) {
	m.id, m.part = wire.MsgPutPart, wire.MsgPutPart
	m.step = m.t.partSize(m.n)
	h.Encode(m.hdr[:])
	m.continued = !first
}

// putPart is nextFragment for such a message.
func (m *outgoing) putPart() (id transport.MsgID, hdr []byte, data transport.Addr, n uint64) {
	at, b := transport.Addr(m.offset), m.hdr[putPartAt:]
	var h wire.Put
	h.Decode(m.hdr[:wire.PutSize])
	data, n = m.data+at, m.n-m.offset
	if n <= m.step {
		h.TgtAddr += at
		return wire.MsgPutLast, h.Encode(b), data, n
	}
	p := wire.PutPart{Addr: h.TgtAddr + at}
	if m.offset == 0 && !m.continued {
		p.Flags |= layout.PartFirst
	}
	if m.n >= layout.HugeMin {
		p.Flags |= layout.PartHuge
	}
	return wire.MsgPutPart, p.Encode(b), data, m.step
}

// LanePutRest goes on with a put whose first parts the lane has sent; all arguments are about the rest.
func (c *Context) LanePutRest(tgt int, n uint64, tgtAddr, orgAddr, tgtCntr, orgCntr, cmplCntr transport.Addr) {
	memory.Guard()
	t := &c.tasks[tgt]
	if cmplCntr != 0 {
		t.expected++
	}
	m := c.newOutgoing(t, wire.MsgPutPart, PutErr)
	m.user, m.orgCntr = true, orgCntr
	m.data, m.n = orgAddr, n
	m.inParts(&wire.Put{TgtAddr: tgtAddr, TgtCntr: tgtCntr, CmplCntr: cmplCntr}, false)
	c.start(m)
	c.publish()
}

// putFailed is where the target notes that an address of t's put was bad: the lane looks there, if there is one.
func (t *task) putFailed() *uint32 {
	if t.path != nil {
		return &t.path.PutFailed
	}
	return &t.ownPutFailed
}

// onPutPart is the target's side of a part but the last.
func (c *Context) onPutPart(m *transport.Msg) transport.Verdict {
	var h wire.PutPart
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	if h.Flags&layout.PartFirst != 0 {
		*t.putFailed() = 0
	}
	c.placePart(t, h.Addr, m.Data)
	return transport.Accept
}

// onPutLast is the target's side of the last part.
func (c *Context) onPutLast(m *transport.Msg) transport.Verdict {
	var h wire.Put
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	c.placePart(t, h.TgtAddr, m.Data)
	if *t.putFailed() == 0 {
		c.putComplete(h.TgtCntr, h.CmplCntr, t.id)
	}
	*t.putFailed() = 0
	return transport.Accept
}

// placePart copies a part to a, unless an earlier one of the same put could not be.
func (c *Context) placePart(t *task, a transport.Addr, data []byte) {
	if *t.putFailed() != 0 {
		return
	}
	if err := memory.CopyIn(a, data); err != nil {
		*t.putFailed() = 1
		c.targetFault(err, PutErr, t.id, 0)
	}
}
