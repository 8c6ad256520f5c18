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
	_ = b[PutSize-1]
	Order.PutUint64(b[0:], uint64(h.TgtAddr))
	Order.PutUint64(b[8:], uint64(h.TgtCntr))
	Order.PutUint64(b[16:], uint64(h.CmplCntr))
	return b[:PutSize]
}

// Decode says whether b is such a header.
func (h *Put) Decode(b []byte) bool {
	if len(b) != PutSize {
		return false
	}
	h.TgtAddr, h.TgtCntr, h.CmplCntr = addr(b[0:]), addr(b[8:]), addr(b[16:])
	return true
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
	return (&Put{transport.Addr(h.Length), h.TgtCntr, h.CmplCntr}).Encode(b)
}

// Decode says whether b is such a header.
func (h *PutDirect) Decode(b []byte) bool {
	var p Put
	ok := p.Decode(b)
	*h = PutDirect{uint64(p.TgtAddr), p.TgtCntr, p.CmplCntr}
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
	_ = b[PutFragmentSize-1]
	h.Put.Encode(b)
	Order.PutUint64(b[24:], h.Total)
	h.EncodeOffset(b, h.Offset)
	Order.PutUint64(b[40:], uint64(h.ID))
	return b[:PutFragmentSize]
}

// EncodeOffset changes the offset in b, an encoded PutFragment.
func (*PutFragment) EncodeOffset(b []byte, offset uint64) { Order.PutUint64(b[32:], offset) }

// Decode says whether b is such a header and n bytes of data lie inside the message.
func (h *PutFragment) Decode(b []byte, n int) bool {
	if len(b) != PutFragmentSize || !h.Put.Decode(b[:PutSize]) {
		return false
	}
	h.Total, h.Offset, h.ID = Order.Uint64(b[24:]), Order.Uint64(b[32:]), Order.Uint32(b[40:])
	return Inside(h.Offset, uint64(n), h.Total)
}
