package rc

import (
	"encoding/binary"

	"lapi/transport"
)

// The messages of a link that are this package's.
const (
	msgData     transport.MsgID = 1 + iota // a fragment of a send or a write
	msgAsk                                 // a read or an atomic operation
	msgReply                               // a fragment of what was asked for
	msgDone                                // everything before a number is done
	msgNotReady                            // there is no receive for a request
	msgReady                               // now there is: send it again
	msgEnd                                 // the connection is over
	msgPull                                // a write whose data the receiver may read by itself
	msgHalf                                // of such a write: the sender has written the first half
)

// Op is what a request does.
type Op uint8

// The operations.
const (
	Send Op = iota
	Write
	Read
	CompareSwap
	FetchAdd
	Bind // the owner does it when its turn comes; no message
)

// asks says whether the responder answers with data.
func (o Op) asks() bool { return o >= Read && o <= FetchAdd }

// header is in front of every message, 48 bytes, little-endian:
//
//	 0  Conn, Tag    u32 each  the receiver's connection
//	 8  Seq          u32       of the request
//	12  Op, Flags, Attempt, Status  u8 each
//	16  Total        u32       bytes of the request
//	20  Offset       u32       of the fragment
//	24  Addr         u64       of a write, read or atomic operation
//	32  Context      u32       likewise; of a send the context that it invalidates
//	36  Immediate    u32
//	40  Receive      u32       number of the receive that the request needs
//	44  Done         u32       of Data and Reply: everything before it is done, as Done says
//
// Ask of an atomic operation has operand and compare behind it; Pull what the lane has there.
type header struct {
	Conn, Tag                  uint32
	Seq                        uint32
	Op                         Op
	Flags, Attempt             uint8
	Status                     Status
	Total, Offset              uint32
	Addr                       uint64
	Context, Immediate, Number uint32
	Done                       uint32
	Operand, Compare           uint64 // of msgAsk
}

const (
	headerSize = 48
	askSize    = headerSize + 16
)

// Flags of a header.
const (
	flagImmediate  uint8 = 1 << iota // it has immediate data
	flagInvalidate                   // the context is to be invalidated
	flagSolicited                    // the receive's event is for solicited waits
	flagError                        // of msgEnd: an error; Seq and Status say which
	_                                // of msgAsk: the lane's, how the answer is to come
	_                                // likewise
	flagBehind                       // of a write: a write before it goes to the same memory
)

func (h *header) put(b []byte) []byte {
	b = b[:headerSize]
	le := binary.LittleEndian
	le.PutUint32(b[0:], h.Conn)
	le.PutUint32(b[4:], h.Tag)
	le.PutUint32(b[8:], h.Seq)
	b[12], b[13], b[14], b[15] = byte(h.Op), h.Flags, h.Attempt, byte(h.Status)
	le.PutUint32(b[16:], h.Total)
	le.PutUint32(b[20:], h.Offset)
	le.PutUint64(b[24:], h.Addr)
	le.PutUint32(b[32:], h.Context)
	le.PutUint32(b[36:], h.Immediate)
	le.PutUint32(b[40:], h.Number)
	le.PutUint32(b[44:], h.Done)
	return b
}

func (h *header) putAsk(b []byte) []byte {
	h.put(b)
	b = b[:askSize]
	binary.LittleEndian.PutUint64(b[48:], h.Operand)
	binary.LittleEndian.PutUint64(b[56:], h.Compare)
	return b
}

// decode reads a header; false: it is none of that kind.
func (h *header) decode(id transport.MsgID, b []byte) bool {
	size := headerSize
	if id == msgAsk || id == msgPull {
		size = askSize
	}
	if len(b) != size || Op(b[12]) >= Bind {
		return false
	}
	le := binary.LittleEndian
	*h = header{Conn: le.Uint32(b), Tag: le.Uint32(b[4:]), Seq: le.Uint32(b[8:]), Op: Op(b[12]),
		Flags: b[13], Attempt: b[14], Status: Status(b[15]), Total: le.Uint32(b[16:]),
		Offset: le.Uint32(b[20:]), Addr: le.Uint64(b[24:]), Context: le.Uint32(b[32:]),
		Immediate: le.Uint32(b[36:]), Number: le.Uint32(b[40:]),
		Done: le.Uint32(b[44:])}
	if size == askSize {
		h.Operand, h.Compare = le.Uint64(b[48:]), le.Uint64(b[56:])
	}
	return true
}
