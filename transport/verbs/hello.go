package verbs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// hello is the datagram that joins two queue pairs.
type hello struct {
	open     bool   // the sender has seen its own queue pair in an echo: no answer is needed
	answer   bool   // it was said because a Hello came
	lane     uint8  // which of its queue pairs for the receiver this is; pair.lane
	own, his uint8  // it is between the sender's and the receiver's ports of these numbers
	from, to uint32 // tasks
	qpn, psn uint32 // of the sender's queue pair
	echo     uint32 // the receiver's queue pair that it is connected to; 0: none
	life     uint32 // counts the sender's connections to the receiver
	hisLife  uint32 // the receiver's, as the sender knows it; 0: not yet
	round    uint64 // counts the sender's queue pairs of this lane
	expected uint64 // the number of the packet that the sender wants next
	credit   uint64 // as in a packet
	at       place  // where the sender's port is
}

const (
	helloSize = 56 + placeSize + proofSize
	proofSize = 16
)

// encode writes h with its proof. The proof's key is the job's with both incarnations, which are
// told only where tasks are brought together.
func (h *hello) encode(key []byte, from, to uint64) []byte {
	b := make([]byte, helloSize-proofSize, helloSize)
	b[0] = version
	if h.open {
		b[1] = 1
	}
	if h.answer {
		b[1] |= 2
	}
	b[2], b[3] = h.lane, h.own<<4|h.his
	for i, v := range []uint32{h.from, h.to, h.qpn, h.psn, h.echo, h.life, h.hisLife} {
		binary.LittleEndian.PutUint32(b[4+4*i:], v)
	}
	for i, v := range []uint64{h.round, h.expected, h.credit} {
		binary.LittleEndian.PutUint64(b[32+8*i:], v)
	}
	h.at.encode(b[56:])
	return append(b, prove(key, from, to, b)...)
}

// decode reads h; only proven says whether it is genuine.
func (h *hello) decode(b []byte) bool {
	if len(b) != helloSize || b[0] != version {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4+4*i:]) }
	long := func(i int) uint64 { return binary.LittleEndian.Uint64(b[32+8*i:]) }
	*h = hello{open: b[1]&1 != 0, answer: b[1]&2 != 0, lane: b[2], own: b[3] >> 4, his: b[3] & 15, from: word(0),
		to: word(1), qpn: word(2), psn: word(3), echo: word(4), life: word(5), hisLife: word(6),
		round: long(0), expected: long(1), credit: long(2)}
	h.at.decode(b[56:])
	return true
}

func proven(b, key []byte, from, to uint64) bool {
	return hmac.Equal(b[helloSize-proofSize:], prove(key, from, to, b[:helloSize-proofSize]))
}

func prove(key []byte, from, to uint64, b []byte) []byte {
	m := hmac.New(sha256.New, key)
	var lives [16]byte
	binary.LittleEndian.PutUint64(lives[:], from)
	binary.LittleEndian.PutUint64(lives[8:], to)
	m.Write(lives[:])
	m.Write(b)
	return m.Sum(nil)[:proofSize]
}
