package wire

import "lapi/transport"

// Get is MsgGet.
//
//	0 TgtAddr | 8 Length; the highest bit is Single | 16 TgtCntr | 24 Token of the origin
type Get struct {
	TgtAddr transport.Addr
	Length  uint64
	TgtCntr transport.Addr
	Token   uint64
	Single  bool // the answer keeps to one address
}

const (
	getSize   = 32
	getSingle = 1 << 63
)

// Encode writes h to b and returns its bytes.
func (h *Get) Encode(b []byte) []byte {
	_ = b[getSize-1]
	Order.PutUint64(b[0:], uint64(h.TgtAddr))
	Order.PutUint64(b[8:], singly(h.Length, h.Single))
	Order.PutUint64(b[16:], uint64(h.TgtCntr))
	Order.PutUint64(b[24:], h.Token)
	return b[:getSize]
}

// singly is a length with the bit that says whether its data keeps to one address.
func singly(n uint64, single bool) uint64 {
	if single {
		return n | getSingle
	}
	return n
}

// Decode says whether b is such a header.
func (h *Get) Decode(b []byte) bool {
	if len(b) != getSize {
		return false
	}
	n := Order.Uint64(b[8:])
	*h = Get{TgtAddr: addr(b[0:]), Length: n &^ getSingle, Single: n&getSingle != 0,
		TgtCntr: addr(b[16:]), Token: Order.Uint64(b[24:])}
	return true
}

// Part is MsgGetData and MsgAmFragment: which message, and where in it the data belongs.
//
//	0 Message: token of the get, or id of the active message | 8 Offset
type Part struct {
	Message, Offset uint64
}

// PartSize is the length of a Part.
const PartSize = 16

// Encode writes h to b and returns its bytes.
func (h *Part) Encode(b []byte) []byte {
	_ = b[PartSize-1]
	Order.PutUint64(b[0:], h.Message)
	Order.PutUint64(b[8:], h.Offset)
	return b[:PartSize]
}

// Decode says whether b is such a header.
func (h *Part) Decode(b []byte) bool {
	if len(b) != PartSize {
		return false
	}
	h.Message, h.Offset = Order.Uint64(b[0:]), Order.Uint64(b[8:])
	return true
}
