package fallback

import "encoding/binary"

// A message of the carrier is, little-endian, all of it a header, which carriers copy at once:
//
//	 0      1       2             4           8         12        16
//	+------+-------+-------------+-----------+---------+---------+------------
//	| kind | flags | n           | to        | from    | number  | n bytes, and zeros
//	+------+-------+-------------+-----------+---------+---------+------------
//
// to and from are queue pairs. number counts the pieces of a queue pair; of taken, the packets.
const headSize = 16

type kind uint8

const (
	kindPiece    kind = iota + 1 // a piece of a packet
	kindTaken                    // the number of packets that have come to a receive buffer
	kindNone                     // there is no such queue pair
	kindDatagram                 // for no queue pair
	kinds
)

// Flags of a piece.
const (
	first    uint8 = 1 << iota // of its packet
	last                       // likewise
	signaled                   // the sender wants an answer when the packet was taken
	flags
)

type head struct {
	kind     kind
	flags    uint8
	n        uint16
	to, from uint32
	number   uint32
}

// encode puts a message together in b, and returns it.
func (h *head) encode(b, data []byte) []byte {
	b = append(b[:0], byte(h.kind), h.flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = binary.LittleEndian.AppendUint32(b, h.to)
	b = binary.LittleEndian.AppendUint32(b, h.from)
	b = binary.LittleEndian.AppendUint32(b, h.number)
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// decode says whether b is a message, and returns its data.
func (h *head) decode(b []byte) (data []byte, ok bool) {
	if len(b) < headSize {
		return nil, false
	}
	*h = head{kind: kind(b[0]), flags: b[1], n: binary.LittleEndian.Uint16(b[2:]),
		to: binary.LittleEndian.Uint32(b[4:]), from: binary.LittleEndian.Uint32(b[8:]),
		number: binary.LittleEndian.Uint32(b[12:])}
	if h.kind == 0 || h.kind >= kinds || h.flags >= flags || h.kind != kindPiece && h.flags != 0 ||
		len(b) != headSize+(int(h.n)+7)&^7 {
		return nil, false
	}
	return b[headSize : headSize+int(h.n)], true
}
