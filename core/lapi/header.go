package lapi

import (
	"encoding/binary"

	"lapi/transport"
)

// Message kinds of this package. A header is little-endian, its length a multiple of 8, the same for 32- and 64-bit tasks.
const (
	msgPut         transport.MsgID = 1 + iota // a whole put
	msgPutFragment                            // a part of a put; each can be placed by itself
	msgGet                                    // asks for data
	msgGetData                                // answers with a part of it
	msgAm                                     // begins an active message
	msgAmFragment                             // a part of its stream: user header, then user data
	msgFetched                                // the target of a direct active message has read the data, or cannot
	msgCounter                                // adds 1 to a counter of the receiver: message completion
	msgExchange                               // a round of Gfence or Address_init
	msgFault                                  // an address that the receiver of this message named was bad
	msgAtomic                                 // emul: request
	msgAtomicReply                            // emul: reply
	msgPutDirect                              // the data of a put is in the receiver's memory already: counters, statistics
	msgPutv                                   // a part of a vector put; each can be placed by itself
	msgGetv                                   // asks for a part of a vector
	msgAmv                                    // begins an active message of a vector; msgAmFragment carries the rest
	msgRead                                   // the sender has read the receiver's memory: target counter, statistics
	msgAmPieces                               // is a direct active message of data that a DGSP has placed, its headers are those of msgAmv
)

var order = binary.LittleEndian

// putHeader is msgPut: the data of the message goes to tgtAddr. In msgPutDirect the data's length stands in its place.
//
//	0 tgtAddr | 8 tgtCntr | 16 cmplCntr
type putHeader struct {
	tgtAddr, tgtCntr, cmplCntr transport.Addr
}

const putHeaderSize = 24

func (h *putHeader) encode(b []byte) []byte {
	_ = b[putHeaderSize-1]
	order.PutUint64(b[0:], uint64(h.tgtAddr))
	order.PutUint64(b[8:], uint64(h.tgtCntr))
	order.PutUint64(b[16:], uint64(h.cmplCntr))
	return b[:putHeaderSize]
}

func (h *putHeader) decode(b []byte) bool {
	if len(b) != putHeaderSize {
		return false
	}
	h.tgtAddr = transport.Addr(order.Uint64(b[0:]))
	h.tgtCntr = transport.Addr(order.Uint64(b[8:]))
	h.cmplCntr = transport.Addr(order.Uint64(b[16:]))
	return true
}

// putPartHeader is msgPutPart: a part of a put, but the last, where messages stay in order. The last part is a putHeader.
//
//	0 address of this part | 8 flags: layout.PartFirst, layout.PartHuge
type putPartHeader struct {
	addr  transport.Addr
	flags uint64
}

const putPartHeaderSize = 16

func (h *putPartHeader) encode(b []byte) []byte {
	_ = b[putPartHeaderSize-1]
	order.PutUint64(b[0:], uint64(h.addr))
	order.PutUint64(b[8:], h.flags)
	return b[:putPartHeaderSize]
}

func (h *putPartHeader) decode(b []byte) bool {
	if len(b) != putPartHeaderSize {
		return false
	}
	h.addr = transport.Addr(order.Uint64(b[0:]))
	h.flags = order.Uint64(b[8:])
	return true
}

// putFragmentHeader is msgPutFragment: everything to place and count this part, whatever arrives first.
//
//	0 putHeader | 24 total | 32 offset | 40 message id (32) | 44 zero (32)
type putFragmentHeader struct {
	putHeader
	total, offset uint64
	id            uint32
}

const putFragmentHeaderSize = 48

func (h *putFragmentHeader) encode(b []byte) []byte {
	_ = b[putFragmentHeaderSize-1]
	h.putHeader.encode(b)
	order.PutUint64(b[24:], h.total)
	order.PutUint64(b[32:], h.offset)
	order.PutUint64(b[40:], uint64(h.id))
	return b[:putFragmentHeaderSize]
}

// decode says whether b is such a header and n bytes of data lie inside the message.
func (h *putFragmentHeader) decode(b []byte, n int) bool {
	if len(b) != putFragmentHeaderSize || !h.putHeader.decode(b[:putHeaderSize]) {
		return false
	}
	h.total = order.Uint64(b[24:])
	h.offset = order.Uint64(b[32:])
	h.id = order.Uint32(b[40:])
	return inside(h.offset, uint64(n), h.total)
}

// inside says whether [offset, offset+n) lies in [0, total).
func inside(offset, n, total uint64) bool { return offset <= total && n <= total-offset }

// getHeader is msgGet.
//
//	0 tgtAddr | 8 length | 16 tgtCntr | 24 token of the origin
type getHeader struct {
	tgtAddr transport.Addr
	length  uint64
	tgtCntr transport.Addr
	token   uint64
	single  bool // the answer keeps to one address: the highest bit of the length
}

const (
	getHeaderSize = 32
	getSingle     = 1 << 63
)

func (h *getHeader) encode(b []byte) []byte {
	_ = b[getHeaderSize-1]
	order.PutUint64(b[0:], uint64(h.tgtAddr))
	order.PutUint64(b[8:], h.length)
	if h.single {
		order.PutUint64(b[8:], h.length|getSingle)
	}
	order.PutUint64(b[16:], uint64(h.tgtCntr))
	order.PutUint64(b[24:], h.token)
	return b[:getHeaderSize]
}

func (h *getHeader) decode(b []byte) bool {
	if len(b) != getHeaderSize {
		return false
	}
	h.tgtAddr = transport.Addr(order.Uint64(b[0:]))
	h.length = order.Uint64(b[8:]) &^ getSingle
	h.single = order.Uint64(b[8:])&getSingle != 0
	h.tgtCntr = transport.Addr(order.Uint64(b[16:]))
	h.token = order.Uint64(b[24:])
	return true
}

// partHeader is msgGetData (token of the get) and msgAmFragment (message id): which message, where in it.
//
//	0 message | 8 offset
type partHeader struct {
	message, offset uint64
}

const partHeaderSize = 16

func (h *partHeader) encode(b []byte) []byte {
	_ = b[partHeaderSize-1]
	order.PutUint64(b[0:], h.message)
	order.PutUint64(b[8:], h.offset)
	return b[:partHeaderSize]
}

func (h *partHeader) decode(b []byte) bool {
	if len(b) != partHeaderSize {
		return false
	}
	h.message = order.Uint64(b[0:])
	h.offset = order.Uint64(b[8:])
	return true
}

// amHeader is msgAm. The user header follows in the link's header, padded to 8 bytes, unless it is split: then it begins
// the stream that msgAmFragment carries. direct != 0: no data follows; the target fetches it from there, then sends
// msgFetched with token.
//
//	0 handler | 8 length of user data | 16 tgtCntr | 24 cmplCntr | 32 direct | 40 token
//	48 message id (32) | 52 length of user header (16) | 54 flags (16)
type amHeader struct {
	handler           transport.Addr
	length            uint64
	tgtCntr, cmplCntr transport.Addr
	direct            transport.Addr
	token             uint64
	id                uint32
	uhdrLen           uint16
	split, isDirect   bool
	atom              uint8 // atom_size of the DGSP that gathers the data; 0: none
}

const (
	amHeaderSize = 56
	amFlagSplit  = 1
	amFlagDirect = 2
	amAtomShift  = 8 // of the flags, the upper byte is atom_size
)

func (h *amHeader) encode(b []byte) []byte {
	_ = b[amHeaderSize-1]
	order.PutUint64(b[0:], uint64(h.handler))
	order.PutUint64(b[8:], h.length)
	order.PutUint64(b[16:], uint64(h.tgtCntr))
	order.PutUint64(b[24:], uint64(h.cmplCntr))
	order.PutUint64(b[32:], uint64(h.direct))
	order.PutUint64(b[40:], h.token)
	order.PutUint32(b[48:], h.id)
	order.PutUint16(b[52:], h.uhdrLen)
	var flags uint16
	if h.split {
		flags |= amFlagSplit
	}
	if h.isDirect {
		flags |= amFlagDirect
	}
	order.PutUint16(b[54:], flags|uint16(h.atom)<<amAtomShift)
	return b[:amHeaderSize]
}

// fields reads amHeader without judging it.
func (h *amHeader) fields(b []byte) {
	_ = b[amHeaderSize-1]
	h.handler = transport.Addr(order.Uint64(b[0:]))
	h.length = order.Uint64(b[8:])
	h.tgtCntr = transport.Addr(order.Uint64(b[16:]))
	h.cmplCntr = transport.Addr(order.Uint64(b[24:]))
	h.direct = transport.Addr(order.Uint64(b[32:]))
	h.token = order.Uint64(b[40:])
	h.id = order.Uint32(b[48:])
	h.uhdrLen = order.Uint16(b[52:])
	flags := order.Uint16(b[54:])
	h.split = flags&amFlagSplit != 0
	h.isDirect = flags&amFlagDirect != 0
	h.atom = uint8(flags >> amAtomShift)
}

// decode returns the user header that came along (empty if split) and whether all lengths agree with n bytes of data.
func (h *amHeader) decode(b []byte, n int) (uhdr []byte, ok bool) {
	if len(b) < amHeaderSize {
		return nil, false
	}
	h.fields(b)
	if h.uhdrLen > MaxUhdrSize || uint64(n) > h.length || (h.split || h.isDirect) && n != 0 {
		return nil, false
	}
	if h.split {
		return nil, len(b) == amHeaderSize && h.uhdrLen != 0
	}
	if len(b) != amHeaderSize+pad8(int(h.uhdrLen)) {
		return nil, false
	}
	return b[amHeaderSize : amHeaderSize+int(h.uhdrLen)], true
}

func pad8(n int) int { return (n + 7) &^ 7 }

// pairHeader serves the small messages: msgCounter (counter, how many times beyond the first), msgRead (counter or 0, bytes), msgFetched (token, what the target did with the data).
//
//	0 a | 8 b
type pairHeader struct{ a, b uint64 }

// What msgFetched says.
const (
	fetchRefused = 0 // it cannot be read: send it in fragments
	fetchDone    = 1 // it was read: its memory is free
	fetchPlaced  = 3 // it is to go where a DGSP says: send it in fragments, this time
	fetchNothing = 2 // of a vector: nor could the list of its blocks: send the lengths, too
	fetchUnread  = 4 // it will not be read, the message is buried or has failed: its memory is free
)

func (h *pairHeader) encode(b []byte) []byte {
	return (&partHeader{h.a, h.b}).encode(b)
}

func (h *pairHeader) decode(b []byte) bool {
	var p partHeader
	ok := p.decode(b)
	h.a, h.b = p.message, p.offset
	return ok
}

// exchangeHeader is msgExchange: count values of 8 bytes, those of the tasks first, first+1 … relative to the sender.
//
//	0 generation (32) | 4 round (32) | 8 first (32) | 12 count (32)
type exchangeHeader struct{ generation, round, first, count uint32 }

const exchangeHeaderSize = 16

func (h *exchangeHeader) encode(b []byte) []byte {
	_ = b[exchangeHeaderSize-1]
	order.PutUint32(b[0:], h.generation)
	order.PutUint32(b[4:], h.round)
	order.PutUint32(b[8:], h.first)
	order.PutUint32(b[12:], h.count)
	return b[:exchangeHeaderSize]
}

func (h *exchangeHeader) decode(b []byte, n int) bool {
	if len(b) != exchangeHeaderSize {
		return false
	}
	h.generation = order.Uint32(b[0:])
	h.round = order.Uint32(b[4:])
	h.first = order.Uint32(b[8:])
	h.count = order.Uint32(b[12:])
	return uint64(h.count)*8 == uint64(n)
}

// faultHeader is msgFault: code of LAPI, kind of operation (lapi_err_t), the bad address, and the token of a get that ends so (0: none).
//
//	0 code (32) | 4 kind (32) | 8 addr | 16 token
type faultHeader struct {
	code, kind uint32
	addr       transport.Addr
	token      uint64
}

const faultHeaderSize = 24

func (h *faultHeader) encode(b []byte) []byte {
	_ = b[faultHeaderSize-1]
	order.PutUint32(b[0:], h.code)
	order.PutUint32(b[4:], h.kind)
	order.PutUint64(b[8:], uint64(h.addr))
	order.PutUint64(b[16:], h.token)
	return b[:faultHeaderSize]
}

func (h *faultHeader) decode(b []byte) bool {
	if len(b) != faultHeaderSize {
		return false
	}
	h.code = order.Uint32(b[0:])
	h.kind = order.Uint32(b[4:])
	h.addr = transport.Addr(order.Uint64(b[8:]))
	h.token = order.Uint64(b[16:])
	return true
}
