// Package wire is the packet format of LAPI over UDP/IP: the contents of a datagram, byte by byte.
// All numbers are little-endian and of fixed width, so 32- and 64-bit tasks and processors of
// either byte order understand each other.
//
// Every packet starts alike:
//
//	 0       7 8     15 16            31 32           47 48          63
//	+--------+--------+-----------------+----------------+---------------+
//	| V | K  | B | F  |  origin task    |  transmission  |  echo         |   0
//	+--------+--------+-----------------+----------------+---------------+
//	|  check, with the secret of this direction of this session          |   8
//	+-----------------------------------+--------------------------------+
//	|  sequence number                  |  next expected (Ack)           |  16
//	+-----------------------------------+--------------------------------+
//	|  ack bits: bit i tells of sequence number Ack + 64 B + i           |  24
//	+-----------------+-----------------+--------------------------------+
//	|  packet length  |   0             |  room: of Ack and Bye, else 0  |  32
//	+-----------------+-----------------+--------------------------------+
//
// V is the version (high four bits of byte 0), K the kind, B the block that the ack bits are of
// (high five bits of byte 1), F the flags. Each time that a Data packet is sent, or an Ack packet
// that asks for an answer, it gets the next transmission number of its path, while a sequence
// number belongs to the session and stays. Echo is the newest transmission number that has come
// from the other side by the path that the packet itself takes: so the origin knows which
// transmission arrived there, and whether later ones have overtaken others.
//
// The length is in bytes, of the whole packet: by it what the receiver's kernel has put together is
// taken apart again (see Length). Room is how many bytes the origin of the data may have in flight
// on each path, by the receiver's judgement of its own socket and of how many others send to it.
//
// The bytes behind the header depend on the kind:
//
//   - Data: messages (see Message), each starting on a multiple of 8 bytes. The sequence number
//     counts packets.
//   - Ack, Bye: blocks (see Block) that acknowledge more sequence numbers. They have no sequence
//     number of their own.
//   - Hello has a layout of its own behind byte 8; see Hello.
package wire

import (
	"encoding/binary"
	"errors"
)

// Version of the format. Packets of another version are not understood at all.
const Version = 4

// Kind of a packet.
type Kind uint8

// Kinds of packets.
const (
	KindHello Kind = 1 + iota // begins a session
	KindData                  // messages
	KindAck                   // acknowledgements alone
	KindBye                   // the origin leaves in good order; carries its last acknowledgements

	lastKind = KindBye
)

// Numbered says whether packets of this kind have a sequence number.
func (k Kind) Numbered() bool { return k == KindData }

// Blocks says whether packets of kind k acknowledge all that has arrived (see Block), not only the
// 64 numbers in the header.
func (k Kind) Blocks() bool { return k == KindAck || k == KindBye }

// Flags of a packet. Their meaning depends on the kind.
type Flags uint8

// Flags of packets.
const (
	FlagAckNow  Flags = 1 << iota // Data, Ack: acknowledge at once, by the same path
	FlagAckSoon                   // Data: acknowledge when there is nothing else to do
	FlagAnswer                    // Bye: answers a Bye. Hello: no answer needed, the session stands

	flagBits = 0x07
	blockAt  = 3 // where the block's number begins in the flags' byte
)

// Ranges of header fields.
const (
	MaxTask     = 1<<16 - 1
	MaxAckBlock = 31
)

// Sizes in bytes.
const (
	HeaderSize  = 40 // of every packet but Hello
	MessageSize = 8  // in front of each message
	BlockSize   = 24
	BlockSpan   = 64 // sequence numbers that a block, and the header's ack bits, cover
	// MaxDatagram is the most that UDP over IPv4 carries.
	MaxDatagram = 65507
)

// Errors of decoding. Their packets are dropped and counted.
var (
	ErrShort     = errors.New("wire: packet too short")
	ErrVersion   = errors.New("wire: packet of another version")
	ErrKind      = errors.New("wire: packet of an unknown kind")
	ErrMalformed = errors.New("wire: lengths inside the packet do not fit")
)

// Seq is a packet's sequence number; it wraps around.
type Seq uint32

// Before says whether s comes before t, for numbers less than 2^31 apart.
func (s Seq) Before(t Seq) bool { return int32(s-t) < 0 }

// InWindow says whether s is one of the n numbers that start with first.
func (s Seq) InWindow(first Seq, n uint32) bool { return uint32(s-first) < n }

// Header is the part that all packets but Hello share.
type Header struct {
	Kind     Kind
	Flags    Flags
	AckBlock uint8  // at most MaxAckBlock
	Task     uint16 // origin
	Tx       uint16 // of Data, and of Ack with FlagAckNow: number of this transmission on its path
	Echo     uint16 // newest Tx that came from the other side by this path
	Seq      Seq    // of Data
	Ack      Seq    // every sequence number before it has arrived
	Bits     uint64 // bit i: AckFirst()+i has arrived
	Room     uint32 // of Ack and Bye, bytes
}

// AckFirst is the sequence number that the ack bits begin with.
func (h *Header) AckFirst() Seq { return h.Ack + Seq(h.AckBlock)*BlockSpan }

// Where fields are that Secret looks at.
const (
	checkAt  = 8
	seqAt    = 16
	ackAt    = 20
	bitsAt   = 24
	lengthAt = 32
	roomAt   = 36
)

// Put writes h to the first HeaderSize bytes of b, without length and check: those are
// Secret.Seal's.
func (h *Header) Put(b []byte) {
	_ = b[HeaderSize-1]
	b[0] = Version<<4 | byte(h.Kind)
	b[1] = h.AckBlock<<blockAt | byte(h.Flags&flagBits)
	binary.LittleEndian.PutUint16(b[2:], h.Task)
	binary.LittleEndian.PutUint16(b[4:], h.Tx)
	binary.LittleEndian.PutUint16(b[6:], h.Echo)
	binary.LittleEndian.PutUint64(b[checkAt:], 0)
	binary.LittleEndian.PutUint32(b[seqAt:], uint32(h.Seq))
	binary.LittleEndian.PutUint32(b[ackAt:], uint32(h.Ack))
	binary.LittleEndian.PutUint64(b[bitsAt:], h.Bits)
	binary.LittleEndian.PutUint32(b[lengthAt:], 0)
	binary.LittleEndian.PutUint32(b[roomAt:], h.Room)
}

// KindOf looks at the first byte: the kind, or why this is no packet of ours.
func KindOf(b []byte) (Kind, error) {
	if len(b) == 0 {
		return 0, ErrShort
	}
	if b[0]>>4 != Version {
		return 0, ErrVersion
	}
	k := Kind(b[0] & 15)
	if k < KindHello || k > lastKind {
		return 0, ErrKind
	}
	return k, nil
}

// Task is the origin of a packet, as it says, before anything is known to be true; len(b) >=
// HeaderSize.
func Task(b []byte) uint16 { return binary.LittleEndian.Uint16(b[2:]) }

// Decode reads the header of a packet that is no Hello. It proves nothing: Secret.Open does.
func (h *Header) Decode(b []byte) error {
	k, err := KindOf(b)
	if err != nil {
		return err
	}
	if k == KindHello {
		return ErrKind
	}
	if len(b) < HeaderSize {
		return ErrShort
	}
	h.Kind = k
	h.Flags = Flags(b[1]) & flagBits
	h.AckBlock = b[1] >> blockAt
	h.Task = binary.LittleEndian.Uint16(b[2:])
	h.Tx = binary.LittleEndian.Uint16(b[4:])
	h.Echo = binary.LittleEndian.Uint16(b[6:])
	h.Seq = Seq(binary.LittleEndian.Uint32(b[seqAt:]))
	h.Ack = Seq(binary.LittleEndian.Uint32(b[ackAt:]))
	h.Bits = binary.LittleEndian.Uint64(b[bitsAt:])
	h.Room = binary.LittleEndian.Uint32(b[roomAt:])
	return nil
}

// Length is the length that the packet at the beginning of b states, before anything of it is
// checked; 0: it cannot be a packet. Receivers get packets of one length in one piece, and see by
// the first where the others begin.
func Length(b []byte) int {
	switch k, err := KindOf(b); {
	case err != nil:
		return 0
	case k == KindHello:
		return HelloSize
	case len(b) < HeaderSize:
		return 0
	}
	if n := lengthOf(b); n >= HeaderSize {
		return n
	}
	return 0
}

// lengthOf is the length field of a header.
func lengthOf(b []byte) int { return int(binary.LittleEndian.Uint16(b[lengthAt:])) }
