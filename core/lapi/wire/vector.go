package wire

import "lapi/transport"

// The values of lapi_vectype_t.
const (
	VectorIO uint32 = iota
	VectorStrided
	VectorGeneric
)

// Vector is MsgPutv, a fragment of a put, and MsgGetv, a part of a get's request. Each says by
// itself where its bytes belong in the target's memory, so that they may come in any order and none
// must be kept. Either they are bytes Offset … of equal blocks, or a list of entries (address,
// length; 8 bytes each) leads the message's data. Behind the list of MsgPutv there are as many
// bytes as its entries say.
//
//	0 TgtCntr | 8 CmplCntr (MsgPutv), token of the origin (MsgGetv)
//	16 Total bytes; the highest bit is Single (MsgGetv) | 24 Offset
//	32 ID (32) | 36 Entries (32) | 40 Base | 48 Block | 56 Stride
type Vector struct {
	TgtCntr       transport.Addr
	Reply         uint64 // CmplCntr or token
	Total, Offset uint64
	Single        bool // the answer keeps to one address
	ID, Entries   uint32
	Base          transport.Addr
	Block, Stride uint64
}

const (
	// VectorSize is the length of a Vector, EntrySize that of an entry.
	VectorSize = 64
	EntrySize  = 16

	vectorOffsetAt  = 24
	vectorEntriesAt = 36
)

// Encode writes h to b and returns its bytes.
func (h *Vector) Encode(b []byte) []byte {
	_ = b[VectorSize-1]
	Order.PutUint64(b[0:], uint64(h.TgtCntr))
	Order.PutUint64(b[8:], h.Reply)
	Order.PutUint64(b[16:], singly(h.Total, h.Single))
	h.EncodePlace(b, h.Offset, h.Entries)
	Order.PutUint32(b[32:], h.ID)
	Order.PutUint64(b[40:], uint64(h.Base))
	Order.PutUint64(b[48:], h.Block)
	Order.PutUint64(b[56:], h.Stride)
	return b[:VectorSize]
}

// EncodePlace changes offset and entries in b, an encoded Vector.
func (*Vector) EncodePlace(b []byte, offset uint64, entries uint32) {
	Order.PutUint64(b[vectorOffsetAt:], offset)
	Order.PutUint32(b[vectorEntriesAt:], entries)
}

// Decode says whether b is such a header and its entries fit in n bytes of data.
func (h *Vector) Decode(b []byte, n int) bool {
	if len(b) != VectorSize {
		return false
	}
	total := Order.Uint64(b[16:])
	*h = Vector{TgtCntr: addr(b[0:]), Reply: Order.Uint64(b[8:]), Total: total &^ getSingle,
		Single: total&getSingle != 0,
		Offset: Order.Uint64(b[vectorOffsetAt:]), ID: Order.Uint32(b[32:]),
		Entries: Order.Uint32(b[vectorEntriesAt:]),
		Base:    addr(b[40:]), Block: Order.Uint64(b[48:]), Stride: Order.Uint64(b[56:])}
	return h.Offset <= h.Total && h.Total <= LongestMessage &&
		uint64(h.Entries)*EntrySize <= uint64(n) &&
		h.Block <= h.Stride && (h.Block > 0 || h.Entries > 0 || h.Total == 0)
}

// Entry reads entry i of a message's data.
func Entry(data []byte, i uint32) (a transport.Addr, n uint64) {
	b := data[int(i)*EntrySize:]
	return addr(b[0:]), Order.Uint64(b[8:])
}

// PutEntry writes entry i of a message's data.
func PutEntry(data []byte, i int, a transport.Addr, n uint64) {
	b := data[i*EntrySize:]
	Order.PutUint64(b[0:], uint64(a))
	Order.PutUint64(b[8:], n)
}

// EntriesHold says whether a message's entries have n bytes in all.
func EntriesHold(data []byte, entries uint32, n uint64) bool {
	for i := range entries {
		_, length := Entry(data, i)
		if length > n {
			return false
		}
		n -= length
	}
	return n == 0
}
