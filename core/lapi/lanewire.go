package lapi

import (
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// onAmSmall is the target's side of the lane's active messages.
func (c *Context) onAmSmall(m *transport.Msg) transport.Verdict {
	h, uhdr, ok := wire.DecodeSmall(m)
	if !ok {
		return c.malformed(m)
	}
	return c.wholeAm(&c.tasks[m.From], &h, uhdr, m.Data)
}

// onLaneGet is the target's side of the lane's get.
func (c *Context) onLaneGet(m *transport.Msg) transport.Verdict {
	var h wire.LaneGet
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return c.malformed(m)
	}
	c.answerLane(&c.tasks[m.From], h.Token, h.TgtAddr, h.Length, 0, h.TgtCntr)
	return transport.Accept
}

// answerLane sends what the lane of t asked for, in parts, but for what lies before offset, which went.
func (c *Context) answerLane(t *task, token uint32, data transport.Addr, n, offset uint64, tgtCntr transport.Addr) {
	a := c.newOutgoing(t, wire.MsgLaneReply, GetErr)
	a.part, a.message, a.skipped = wire.MsgLaneReply, uint64(token), offset
	a.data, a.n, a.step = data+transport.Addr(offset), n-offset, t.partSize(n)
	a.orgCntr, a.user = tgtCntr, true
	c.start(a)
}

// LaneGetRest goes on with an answer whose first parts, up to offset, the lane has sent.
func (c *Context) LaneGetRest(origin int, token uint32, n uint64, data transport.Addr, offset uint64, tgtCntr transport.Addr) {
	memory.Guard()
	c.answerLane(&c.tasks[origin], token, data, n, offset, tgtCntr)
	c.publish()
}

// replyPart makes the header of the next part of m's answer, of n bytes.
func (m *outgoing) replyPart(n uint64) []byte {
	h := wire.Reply{Token: uint32(m.message), Value: m.skipped + m.offset}
	if m.offset+n < m.n {
		h.State = layout.ReplyPart
	}
	return h.Encode(m.hdr[:])
}

// onLaneRmw is the target's side of the lane's read-modify-write.
func (c *Context) onLaneRmw(m *transport.Msg) transport.Verdict {
	var h wire.LaneRmw
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	old, err := memory.Atomic(atomicKinds[h.Op], h.Variable, h.Width, h.Operand, h.Compare)
	if err != nil {
		c.targetFault(err, RmwErr, t.id, 0)
		c.laneFailed(t, h.Token, RmwErr)
		return transport.Accept
	}
	r := wire.Reply{Token: h.Token, Value: old}
	c.sendControl(t, wire.MsgLaneReply, RmwErr, r.Encode)
	return transport.Accept
}

// laneFailed answers a get or read-modify-write whose address was bad; the fault itself was told already.
func (c *Context) laneFailed(t *task, token uint32, kind ErrType) {
	h := wire.Reply{Token: token, State: layout.ReplyFailed}
	c.sendControl(t, wire.MsgLaneReply, kind, h.Encode)
}

// laneGetFailed is about the answer to the lane's get whose data could not be read.
func (c *Context) laneGetFailed(m *outgoing, f *transport.FaultError) {
	c.targetFault(f, GetErr, m.t.id, 0)
	c.laneFailed(m.t, uint32(m.message), GetErr)
}
