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
	return encode(b, uint64(h.TgtCntr), h.Reply, singly(h.Total, h.Single), h.Offset,
		halves(h.ID, h.Entries), uint64(h.Base), h.Block, h.Stride)
}

// EncodePlace changes offset and entries in b, an encoded Vector.
func (*Vector) EncodePlace(b []byte, offset uint64, entries uint32) {
	Order.PutUint64(b[vectorOffsetAt:], offset)
	Order.PutUint32(b[vectorEntriesAt:], entries)
}

// Decode says whether b is such a header and its entries fit in n bytes of data.
func (h *Vector) Decode(b []byte, n int) bool {
	w, ok := decode(b, VectorSize/8)
	*h = Vector{TgtCntr: transport.Addr(w[0]), Reply: w[1], Total: w[2] &^ getSingle,
		Single: w[2]&getSingle != 0, Offset: w[3], ID: uint32(w[4]), Entries: uint32(w[4] >> 32),
		Base: transport.Addr(w[5]), Block: w[6], Stride: w[7]}
	return ok && h.Offset <= h.Total && h.Total <= LongestMessage &&
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
	encode(data[i*EntrySize:], uint64(a), n)
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
