package lapi

import (
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Message kinds that the lane of the origin writes (cshim/message.h) and that core understands as well, for tasks without a lane and for
// what the lane leaves to it. The answers (layout.MsgLaneReply) only the origin's lane takes.
const (
	msgAmSmall   transport.MsgID = layout.MsgAmSmall
	msgLaneGet   transport.MsgID = layout.MsgLaneGet
	msgLaneRmw   transport.MsgID = layout.MsgLaneRmw
	msgLaneReply transport.MsgID = layout.MsgLaneReply
	msgPutPart   transport.MsgID = layout.MsgPutPart
	msgPutLast   transport.MsgID = layout.MsgPutLast
)

// Kinds that core and lane write alike.
var (
	_ [layout.MsgPut - int(msgPut)]struct{}
	_ [int(msgPut) - layout.MsgPut]struct{}
	_ [layout.MsgCounter - int(msgCounter)]struct{}
	_ [int(msgCounter) - layout.MsgCounter]struct{}
)

const (
	smallHeaderSize = 24
	smallAddress    = 1<<layout.AmPaddingShift - 1
	replyHeaderSize = 16
	laneGetSize     = 32
	laneRmwSize     = 32
)

// decodeSmall reads cshim_am_header: a whole active message.
//
//	0 handler (56) and padding behind the user header (8) | 8 tgtCntr | 16 cmplCntr | 24 user header
func decodeSmall(m *transport.Msg) (h amHeader, uhdr []byte, ok bool) {
	b := m.Hdr
	if len(b) < smallHeaderSize {
		return h, nil, false
	}
	first := order.Uint64(b)
	padding := int(first >> layout.AmPaddingShift)
	n := len(b) - smallHeaderSize - padding
	if padding > 7 || n < 0 || n > MaxUhdrSize {
		return h, nil, false
	}
	h.handler = transport.Addr(first & smallAddress)
	h.length = uint64(len(m.Data))
	h.tgtCntr, h.cmplCntr = transport.Addr(order.Uint64(b[8:])), transport.Addr(order.Uint64(b[16:]))
	h.uhdrLen = uint16(n)
	if h.handler < AddressTableSize { // it has no number: one of its index stands for all in Context.unknown
		h.id = laneUnknown | uint32(h.handler)
	}
	return h, b[smallHeaderSize : smallHeaderSize+n], true
}

// onAmSmall is the target's side of the lane's active messages.
func (c *Context) onAmSmall(m *transport.Msg) transport.Verdict {
	h, uhdr, ok := decodeSmall(m)
	if !ok {
		return c.malformed(m)
	}
	return c.wholeAm(&c.tasks[m.From], &h, uhdr, m.Data)
}

// replyHeader is cshim_reply_header.
//
//	0 token (32) | 4 state (32) | 8 value; of a get, where in it the data belongs
type replyHeader struct {
	token, state uint32
	value        uint64
}

func (h *replyHeader) encode(b []byte) []byte {
	_ = b[replyHeaderSize-1]
	order.PutUint32(b[0:], h.token)
	order.PutUint32(b[4:], h.state)
	order.PutUint64(b[8:], h.value)
	return b[:replyHeaderSize]
}

// onLaneGet is the target's side of the lane's get (cshim_get_header).
//
//	0 address | 8 length | 16 tgtCntr | 24 token (32) | 28 zero (32)
func (c *Context) onLaneGet(m *transport.Msg) transport.Verdict {
	b := m.Hdr
	if len(b) != laneGetSize || len(m.Data) != 0 || order.Uint64(b[8:]) > longestMessage {
		return c.malformed(m)
	}
	c.answerLane(&c.tasks[m.From], order.Uint32(b[24:]), transport.Addr(order.Uint64(b)), order.Uint64(b[8:]), 0, transport.Addr(order.Uint64(b[16:])))
	return transport.Accept
}

// answerLane sends what the lane of t asked for, in parts, but for what lies before offset, which went.
func (c *Context) answerLane(t *task, token uint32, data transport.Addr, n, offset uint64, tgtCntr transport.Addr) {
	a := c.newOutgoing(t, msgLaneReply, GetErr)
	a.part, a.message, a.skipped = msgLaneReply, uint64(token), offset
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
	h := replyHeader{token: uint32(m.message), value: m.skipped + m.offset}
	if m.offset+n < m.n {
		h.state = layout.ReplyPart
	}
	return h.encode(m.hdr[:])
}

// onLaneRmw is the target's side of the lane's read-modify-write (cshim_rmw_header).
//
//	0 variable | 8 operand | 16 compare | 24 token (32) | 28 RMW_ops_t (8) | 29 width (8) | 30 zero (16)
func (c *Context) onLaneRmw(m *transport.Msg) transport.Verdict {
	b := m.Hdr
	if len(b) != laneRmwSize || len(m.Data) != 0 || uint32(b[28]) > CompareAndSwap || b[29] != 4 && b[29] != 8 {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	old, err := memory.Atomic(atomicKinds[b[28]], transport.Addr(order.Uint64(b)), b[29], order.Uint64(b[8:]), order.Uint64(b[16:]))
	if err != nil {
		c.targetFault(err, RmwErr, t.id, 0)
		c.laneFailed(t, order.Uint32(b[24:]), RmwErr)
		return transport.Accept
	}
	h := replyHeader{token: order.Uint32(b[24:]), value: old}
	c.sendControl(t, msgLaneReply, RmwErr, h.encode)
	return transport.Accept
}

// laneFailed answers a get or read-modify-write whose address was bad; the fault itself was told already.
func (c *Context) laneFailed(t *task, token uint32, kind ErrType) {
	h := replyHeader{token: token, state: layout.ReplyFailed}
	c.sendControl(t, msgLaneReply, kind, h.encode)
}

// laneGetFailed is about the answer to the lane's get whose data could not be read.
func (c *Context) laneGetFailed(m *outgoing, f *transport.FaultError) {
	c.targetFault(f, GetErr, m.t.id, 0)
	c.laneFailed(m.t, uint32(m.message), GetErr)
}
