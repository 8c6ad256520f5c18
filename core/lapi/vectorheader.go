package lapi

import "lapi/transport"

// vectorHeader is msgPutv, a part of a put, and msgGetv, a part of a get's request. Each says by itself where its bytes belong in the
// target's memory, so that parts may come in any order and none must be kept: either they are bytes offset … of equal blocks, or
// a list of entries (address, length; 8 bytes each) leads the message's data, behind it (msgPutv) as many bytes as they say.
//
//	0 tgtCntr | 8 cmplCntr (msgPutv), token of the origin (msgGetv) | 16 total bytes; the highest bit is single (msgGetv) | 24 offset
//	32 message id (32) | 36 entries (32) | 40 base | 48 block | 56 stride
type vectorHeader struct {
	tgtCntr       transport.Addr
	reply         uint64 // cmplCntr or token
	total, offset uint64
	single        bool // the answer keeps to one address
	id, entries   uint32
	base          transport.Addr
	block, stride uint64
}

const (
	vectorHeaderSize   = 64
	vectorOffsetAt     = 24
	vectorEntriesAt    = 36
	vectorEntrySize    = 16
	vectorEntryMinData = 64 // bytes: fragments end rather than begin a block with less
)

func (h *vectorHeader) encode(b []byte) []byte {
	_ = b[vectorHeaderSize-1]
	order.PutUint64(b[0:], uint64(h.tgtCntr))
	order.PutUint64(b[8:], h.reply)
	order.PutUint64(b[16:], h.total)
	if h.single {
		order.PutUint64(b[16:], h.total|getSingle)
	}
	order.PutUint64(b[vectorOffsetAt:], h.offset)
	order.PutUint32(b[32:], h.id)
	order.PutUint32(b[vectorEntriesAt:], h.entries)
	order.PutUint64(b[40:], uint64(h.base))
	order.PutUint64(b[48:], h.block)
	order.PutUint64(b[56:], h.stride)
	return b[:vectorHeaderSize]
}

// decode says whether b is such a header and its entries fit in n bytes of data.
func (h *vectorHeader) decode(b []byte, n int) bool {
	if len(b) != vectorHeaderSize {
		return false
	}
	h.tgtCntr = transport.Addr(order.Uint64(b[0:]))
	h.reply = order.Uint64(b[8:])
	h.total = order.Uint64(b[16:]) &^ getSingle
	h.single = order.Uint64(b[16:])&getSingle != 0
	h.offset = order.Uint64(b[vectorOffsetAt:])
	h.id = order.Uint32(b[32:])
	h.entries = order.Uint32(b[vectorEntriesAt:])
	h.base = transport.Addr(order.Uint64(b[40:]))
	h.block = order.Uint64(b[48:])
	h.stride = order.Uint64(b[56:])
	return h.offset <= h.total && h.total <= longestMessage && uint64(h.entries)*vectorEntrySize <= uint64(n) &&
		h.block <= h.stride && (h.block > 0 || h.entries > 0 || h.total == 0)
}

// strided is the target's vector if there are no entries. Its extent may be anything: addresses wrap, and are checked when used.
func (h *vectorHeader) strided(v *vector) {
	v.reset()
	v.kind, v.base, v.block, v.stride, v.total = vecStrided, h.base, h.block, h.stride, h.total
	if h.block > 0 {
		v.count = (h.total + h.block - 1) / h.block
	}
}

// entry reads entry i of a message's data.
func entry(data []byte, i uint32) (a transport.Addr, n uint64) {
	b := data[int(i)*vectorEntrySize:]
	return transport.Addr(order.Uint64(b[0:])), order.Uint64(b[8:])
}

func putEntry(data []byte, i int, a transport.Addr, n uint64) {
	b := data[i*vectorEntrySize:]
	order.PutUint64(b[0:], uint64(a))
	order.PutUint64(b[8:], n)
}

// amvHeader follows amHeader in msgAmv: the origin's vector as far as the target needs it. The lengths of a list's blocks, 8 bytes
// each, come at the head of the stream (behind a split user header), unless the message is direct: then the list lies at base in
// the origin's memory.
//
//	0 vec_type (32) | 4 blocks (32) | 8 base | 16 block | 24 stride
type amvHeader struct {
	kind, count   uint32
	base          transport.Addr
	block, stride uint64
}

const amvHeaderSize = 32

func (h *amvHeader) encode(b []byte) {
	_ = b[amvHeaderSize-1]
	order.PutUint32(b[0:], h.kind)
	order.PutUint32(b[4:], h.count)
	order.PutUint64(b[8:], uint64(h.base))
	order.PutUint64(b[16:], h.block)
	order.PutUint64(b[24:], h.stride)
}

// lengths is how many bytes of lengths there are.
func (h *amvHeader) lengths() uint64 {
	if h.kind == vecStrided {
		return 0
	}
	return 8 * uint64(h.count)
}

// decodeAmv reads the headers of msgAmv with n bytes of data, and returns the user header that came along.
func decodeAmv(h *amHeader, v *amvHeader, b []byte, n int) (uhdr []byte, ok bool) {
	const size = amHeaderSize + amvHeaderSize
	if len(b) < size {
		return nil, false
	}
	h.fields(b)
	v.kind, v.count = order.Uint32(b[amHeaderSize:]), order.Uint32(b[amHeaderSize+4:])
	v.base = transport.Addr(order.Uint64(b[amHeaderSize+8:]))
	v.block, v.stride = order.Uint64(b[amHeaderSize+16:]), order.Uint64(b[amHeaderSize+24:])
	switch {
	case h.uhdrLen > MaxUhdrSize || h.length > longestMessage || v.kind > vecGeneric:
		return nil, false
	case v.kind == vecStrided && (v.block > v.stride || v.block*uint64(v.count) != h.length):
		return nil, false
	case v.kind != vecStrided && v.count > blocksMax, v.count == 0 && h.length > 0:
		return nil, false
	case (h.split || h.isDirect) && n != 0, h.split && h.isDirect:
		return nil, false
	case uint64(n) > v.lengths()+h.length:
		return nil, false
	case h.split:
		return nil, len(b) == size && h.uhdrLen != 0
	case len(b) != size+pad8(int(h.uhdrLen)):
		return nil, false
	}
	return b[size : size+int(h.uhdrLen)], true
}
