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

// Next takes the first message off b, the rest of a packet behind its header; rest is what follows it.
func (m *Message) Next(b []byte) (rest []byte, err error) {
	if len(b) < MessageSize {
		return nil, ErrMalformed
	}
	header := int(binary.LittleEndian.Uint16(b[2:]))
	data := uint64(binary.LittleEndian.Uint32(b[4:]))
	if b[1] != 0 || header&7 != 0 || uint64(MessageSize+header)+data > uint64(len(b)) {
		return nil, ErrMalformed
	}
	end := MessageSize + header + int(data)
	m.ID = b[0]
	m.Hdr = b[MessageSize : MessageSize+header : MessageSize+header]
	m.Data = b[MessageSize+header : end : end]
	return b[min(Align8(end), len(b)):], nil
}

// Count walks the messages of b, the part of a Data packet behind its header, and returns how many there are.
func Count(b []byte) (n int, err error) {
	var m Message
	for len(b) > 0 {
		if b, err = m.Next(b); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Block tells of BlockSpan sequence numbers from First on, in an Ack or Bye packet:
//
//	 0                               31 32                            63
//	+-----------------------------------+--------------------------------+
//	|  first sequence number            |  0                             |
//	+-----------------------------------+--------------------------------+
//	|  received: accepted and never needed again                         |
//	+--------------------------------------------------------------------+
//	|  refused: arrived, not accepted; wanted again later                |
//	+--------------------------------------------------------------------+
type Block struct {
	First    Seq
	Received uint64
	Refused  uint64
}

// Put writes k to the first BlockSize bytes of b.
func (k *Block) Put(b []byte) {
	_ = b[BlockSize-1]
	binary.LittleEndian.PutUint32(b, uint32(k.First))
	binary.LittleEndian.PutUint32(b[4:], 0)
	binary.LittleEndian.PutUint64(b[8:], k.Received)
	binary.LittleEndian.PutUint64(b[16:], k.Refused)
}

// Next takes the first block off b, the rest of an Ack or Bye packet behind its header.
func (k *Block) Next(b []byte) (rest []byte, err error) {
	if len(b) < BlockSize {
		return nil, ErrMalformed
	}
	k.First = Seq(binary.LittleEndian.Uint32(b))
	k.Received = binary.LittleEndian.Uint64(b[8:])
	k.Refused = binary.LittleEndian.Uint64(b[16:])
	return b[BlockSize:], nil
}
