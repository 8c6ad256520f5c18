package wire

import "encoding/binary"

// A message inside a Data packet:
//
//	 0       7 8     15 16            31 32                           63
//	+--------+--------+-----------------+--------------------------------+
//	|  id    |   0    | header length   |  data length                   |
//	+--------+--------+-----------------+--------------------------------+
//	|  header (a multiple of 8 bytes), data, and, before another message,|
//	|  up to 7 bytes of padding                                          |
//	+--------------------------------------------------------------------+
//
// As the packet's own header has 40 bytes, data starts on a multiple of 8 if the packet does.

// Align8 rounds n up to a multiple of 8.
func Align8(n int) int { return (n + 7) &^ 7 }

// PartID is the id of a message that holds a part of a longer packet, which was made before its
// path was found to take less, and is cut. It is the only message of its packet. Its header says
// where the part belongs (see Part), its data are bytes from behind the longer packet's header.
const PartID = 0

// PartSize is the length of a part's header in bytes.
const PartSize = 16

// Part is the header of such a message:
//
//	 0                               31 32                            63
//	+-----------------------------------+--------------------------------+
//	|  longer packet's sequence number  |  bytes of the whole to keep    |
//	+-----------------------------------+--------------------------------+
//	|  offset of the part               |  length of the whole           |
//	+-----------------------------------+--------------------------------+
type Part struct {
	Of            Seq
	Offset, Total int // bytes
	// likewise; less than Total if the sender could not read all: bytes behind are not to be
	// used
	Keep int
}

// Put writes k to the first PartSize bytes of b.
func (k *Part) Put(b []byte) {
	_ = b[PartSize-1]
	binary.LittleEndian.PutUint32(b, uint32(k.Of))
	binary.LittleEndian.PutUint32(b[4:], uint32(k.Keep))
	binary.LittleEndian.PutUint32(b[8:], uint32(k.Offset))
	binary.LittleEndian.PutUint32(b[12:], uint32(k.Total))
}

// Decode reads the header of a part that has n bytes of data, at least 1.
func (k *Part) Decode(header []byte, n int) error {
	if len(header) != PartSize || n == 0 {
		return ErrMalformed
	}
	keep, offset, total := binary.LittleEndian.Uint32(header[4:]),
		binary.LittleEndian.Uint32(header[8:]), binary.LittleEndian.Uint32(header[12:])
	if total > MaxDatagram-HeaderSize || keep > total || uint64(offset)+uint64(n) > uint64(total) {
		return ErrMalformed
	}
	*k = Part{Of: Seq(binary.LittleEndian.Uint32(header)), Offset: int(offset), Total: int(total),
		Keep: int(keep)}
	return nil
}

// PutMessage writes the front of a message to the first MessageSize bytes of b.
func PutMessage(b []byte, id uint8, header, data int) {
	b[0], b[1] = id, 0
	binary.LittleEndian.PutUint16(b[2:], uint16(header))
	binary.LittleEndian.PutUint32(b[4:], uint32(data))
}

// Message is one message of a Data packet; Hdr and Data are parts of the packet.
type Message struct {
	ID   uint8
	Hdr  []byte
	Data []byte
}

// Next takes the first message off b, the rest of a packet behind its header; rest are the bytes
// behind it.
func (m *Message) Next(b []byte) (rest []byte, err error) {
	header, data, ok := bounds(b)
	if !ok {
		return nil, ErrMalformed
	}
	*m = Message{ID: b[0], Hdr: b[MessageSize:header:header], Data: b[header:data:data]}
	return b[min(Align8(data), len(b)):], nil
}

// Count walks the messages of b, the part of a Data packet behind its header, and returns how many
// there are.
func Count(b []byte) (n int, err error) {
	for at := 0; at < len(b); n++ {
		_, data, ok := bounds(b[at:])
		if !ok {
			return n, ErrMalformed
		}
		at += Align8(data)
	}
	return n, nil
}

// bounds is where header and data of b's first message end, if that is one. Where an int has 32
// bits, too long a length makes data less than header.
func bounds(b []byte) (header, data int, ok bool) {
	if len(b) < MessageSize {
		return 0, 0, false
	}
	_, header, data = Split(b)
	return header, data, b[1] == 0 && header&7 == 0 && header <= data && data <= len(b)
}

// Split is Next for the first of messages that Count has found good, and costs a quarter: its id,
// and where in b its header and its data end.
func Split(b []byte) (id uint8, header, data int) {
	header = MessageSize + int(binary.LittleEndian.Uint16(b[2:]))
	return b[0], header, header + int(binary.LittleEndian.Uint32(b[4:]))
}

// Block acknowledges BlockSpan sequence numbers from First on, in an Ack or Bye packet:
//
//	 0                               31 32                            63
//	+-----------------------------------+--------------------------------+
//	|  first sequence number            |  0                             |
//	+-----------------------------------+--------------------------------+
//	|  received: accepted and never needed again                         |
//	+--------------------------------------------------------------------+
//	|  not ready: arrived, not accepted; wanted again later              |
//	+--------------------------------------------------------------------+
type Block struct {
	First    Seq
	Received uint64
	NotReady uint64
}

// Put writes k to the first BlockSize bytes of b.
func (k *Block) Put(b []byte) {
	_ = b[BlockSize-1]
	binary.LittleEndian.PutUint32(b, uint32(k.First))
	binary.LittleEndian.PutUint32(b[4:], 0)
	binary.LittleEndian.PutUint64(b[8:], k.Received)
	binary.LittleEndian.PutUint64(b[16:], k.NotReady)
}

// Next takes the first block off b, the rest of an Ack or Bye packet behind its header.
func (k *Block) Next(b []byte) (rest []byte, err error) {
	if len(b) < BlockSize {
		return nil, ErrMalformed
	}
	k.First = Seq(binary.LittleEndian.Uint32(b))
	k.Received = binary.LittleEndian.Uint64(b[8:])
	k.NotReady = binary.LittleEndian.Uint64(b[16:])
	return b[BlockSize:], nil
}
