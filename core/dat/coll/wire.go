package coll

import "encoding/binary"

// what a message says.
type what uint8

// The kinds of messages.
const (
	sayData     what = iota // a fragment of a message
	sayCredit               // Total bytes were consumed so far
	sayEnd                  // no operation from number Total on
	sayClock                // the clock is at least Total; Number is the sender's count of these
	sayClockSet             // the answer
	sayWake                 // a thread of the receiver's is to look at its rails
	lastWhat    = sayWake
)

// HeaderSize is the size of the header in front of every message.
const HeaderSize = 48

// Header is in front of every message, little-endian:
//
//	 0  Conn, Tag  u32 each  the receiver's group
//	 8  From       u32       the sender's rank
//	12  What, Kind u8 each   Kind: of the operation; 0 u16
//	16  Number     u32       of the message
//	20  Seq        u32       of the operation, its low bits
//	24  Total      u64       bytes of the message
//	32  Offset     u64       of the fragment
//	40  Check      u64       what all members' calls must have in common
type Header struct {
	Conn, Tag uint32
	From      uint32
	What      what
	Kind      Kind
	Number    uint32
	Seq       uint32
	Total     uint64
	Offset    uint64
	Check     uint64
}

// IsEnd says whether the message says that the sender takes part no more.
func (h *Header) IsEnd() bool { return h.What == sayEnd }

func (h *Header) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], h.Conn)
	le.PutUint32(b[4:], h.Tag)
	le.PutUint32(b[8:], h.From)
	le.PutUint32(b[12:], uint32(h.What)|uint32(h.Kind)<<8)
	le.PutUint32(b[16:], h.Number)
	le.PutUint32(b[20:], h.Seq)
	le.PutUint64(b[24:], h.Total)
	le.PutUint64(b[32:], h.Offset)
	le.PutUint64(b[40:], h.Check)
}

// Decode reads a header; false: it is none.
func (h *Header) Decode(b []byte) bool {
	if len(b) != HeaderSize || what(b[12]) > lastWhat {
		return false
	}
	le := binary.LittleEndian
	*h = Header{Conn: le.Uint32(b), Tag: le.Uint32(b[4:]), From: le.Uint32(b[8:]),
		What: what(b[12]), Kind: Kind(b[13]), Number: le.Uint32(b[16:]), Seq: le.Uint32(b[20:]),
		Total: le.Uint64(b[24:]), Offset: le.Uint64(b[32:]), Check: le.Uint64(b[40:])}
	return true
}
