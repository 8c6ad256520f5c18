package wire

import "lapi/transport"

// Put is MsgPut, and MsgPutLast: the data goes to TgtAddr.
//
//	0 TgtAddr | 8 TgtCntr | 16 CmplCntr
type Put struct {
	TgtAddr, TgtCntr, CmplCntr transport.Addr
}

// PutSize is the length of a Put.
const PutSize = 24

// Encode writes h to b and returns its bytes.
func (h *Put) Encode(b []byte) []byte {
	return encode(b, uint64(h.TgtAddr), uint64(h.TgtCntr), uint64(h.CmplCntr))
}

// Decode says whether b is such a header.
func (h *Put) Decode(b []byte) bool {
	w, ok := decode(b, 3)
	*h = Put{transport.Addr(w[0]), transport.Addr(w[1]), transport.Addr(w[2])}
	return ok
}

// PutDirect is MsgPutDirect: the origin has put Length bytes into the receiver's memory.
//
//	0 Length | 8 TgtCntr | 16 CmplCntr
type PutDirect struct {
	Length            uint64
	TgtCntr, CmplCntr transport.Addr
}

// Encode writes h to b and returns its bytes.
func (h *PutDirect) Encode(b []byte) []byte {
	return encode(b, h.Length, uint64(h.TgtCntr), uint64(h.CmplCntr))
}

// Decode says whether b is such a header.
func (h *PutDirect) Decode(b []byte) bool {
	w, ok := decode(b, 3)
	*h = PutDirect{w[0], transport.Addr(w[1]), transport.Addr(w[2])}
	return ok
}

// PutFragment is MsgPutFragment. It says all that is needed to place and count this fragment,
// whichever arrives first.
//
//	0 Put | 24 Total | 32 Offset | 40 ID (32) | 44 zero (32)
type PutFragment struct {
	Put
	Total, Offset uint64
	ID            uint32
}

// PutFragmentSize is the length of a PutFragment.
const PutFragmentSize = 48

// Encode writes h to b and returns its bytes.
func (h *PutFragment) Encode(b []byte) []byte {
	encode(b[PutSize:], h.Total, h.Offset, uint64(h.ID))
	h.Put.Encode(b)
	return b[:PutFragmentSize]
}

// EncodeOffset changes the offset in b, an encoded PutFragment.
func (*PutFragment) EncodeOffset(b []byte, offset uint64) { Order.PutUint64(b[32:], offset) }

// Decode says whether b is such a header and n bytes of data lie inside the message.
func (h *PutFragment) Decode(b []byte, n int) bool {
	w, ok := decode(b, PutFragmentSize/8)
	h.Put = Put{transport.Addr(w[0]), transport.Addr(w[1]), transport.Addr(w[2])}
	h.Total, h.Offset, h.ID = w[3], w[4], uint32(w[5])
	return ok && Inside(h.Offset, uint64(n), h.Total)
}
