package wire

import "lapi/transport"

// Reply is MsgLaneReply, cshim_reply_header.
//
//	0 Token (32) | 4 State (32) | 8 Value; of a get, where in it the data belongs
type Reply struct {
	Token, State uint32
	Value        uint64
}

// ReplySize is the length of a Reply.
const ReplySize = 16

// Encode writes h to b and returns its bytes.
func (h *Reply) Encode(b []byte) []byte {
	_ = b[ReplySize-1]
	Order.PutUint32(b[0:], h.Token)
	Order.PutUint32(b[4:], h.State)
	Order.PutUint64(b[8:], h.Value)
	return b[:ReplySize]
}

// LaneGet is MsgLaneGet, cshim_get_header.
//
//	0 TgtAddr | 8 Length | 16 TgtCntr | 24 Token (32) | 28 zero (32)
type LaneGet struct {
	TgtAddr, TgtCntr transport.Addr
	Length           uint64
	Token            uint32
}

const laneSize = 32

// Decode says whether b is such a header.
func (h *LaneGet) Decode(b []byte) bool {
	if len(b) != laneSize {
		return false
	}
	*h = LaneGet{TgtAddr: addr(b[0:]), Length: Order.Uint64(b[8:]), TgtCntr: addr(b[16:]),
		Token: Order.Uint32(b[24:])}
	return h.Length <= LongestMessage
}

// LaneRmw is MsgLaneRmw, cshim_rmw_header.
//
//	0 Variable | 8 Operand | 16 Compare | 24 Token (32)
//	28 Op, RMW_ops_t (8) | 29 Width (8) | 30 zero (16)
type LaneRmw struct {
	Variable         transport.Addr
	Operand, Compare uint64
	Token            uint32
	Op, Width        uint8
}

// Decode says whether b is such a header.
func (h *LaneRmw) Decode(b []byte) bool {
	if len(b) != laneSize {
		return false
	}
	*h = LaneRmw{addr(b[0:]), Order.Uint64(b[8:]), Order.Uint64(b[16:]), Order.Uint32(b[24:]),
		b[28], b[29]}
	return uint32(h.Op) <= CompareAndSwap && (h.Width == 4 || h.Width == 8)
}

// The values of RMW_ops_t.
const (
	FetchAndAdd uint32 = iota
	FetchAndOr
	Swap
	CompareAndSwap
)
