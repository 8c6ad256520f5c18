package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Hello is the datagram that joins two queue pairs.
type Hello struct {
	Open      bool   // the sender has seen its own queue pair in an echo: no answer is needed
	Answer    bool   // it was said because a Hello came
	Lane      uint8  // which of its queue pairs for the receiver this is; pair.lane
	Own, Peer uint8  // it is between the sender's and the receiver's ports of these numbers
	From, To  uint32 // tasks
	QPN, PSN  uint32 // of the sender's queue pair
	Echo      uint32 // the receiver's queue pair that it is connected to; 0: none
	Life      uint32 // counts the sender's connections to the receiver
	PeerLife  uint32 // the receiver's, as the sender knows it; 0: not yet
	Round     uint64 // counts the sender's queue pairs of this lane
	Start     uint64 // the number of the sender's first packet of this connection
	First     uint64 // of the oldest that it can send: the receiver's adapter has those before
	Expected  uint64 // the number of the packet that the sender wants next; 0: the first
	Credit    uint64 // as in a packet
	At        Place  // where the sender's port is
}

const (
	helloSize = 72 + PlaceSize + proofSize
	proofSize = 16
)

// Encode writes h with its proof. The proof's key is the job's with both generations, which
// tasks learn only where they are brought together.
func (h *Hello) Encode(key []byte, from, to uint64) []byte {
	b := make([]byte, helloSize-proofSize, helloSize)
	b[0] = Version
	if h.Open {
		b[1] = 1
	}
	if h.Answer {
		b[1] |= 2
	}
	b[2], b[3] = h.Lane, h.Own<<4|h.Peer
	for i, v := range []uint32{h.From, h.To, h.QPN, h.PSN, h.Echo, h.Life, h.PeerLife} {
		binary.LittleEndian.PutUint32(b[4+4*i:], v)
	}
	for i, v := range []uint64{h.Round, h.Start, h.First, h.Expected, h.Credit} {
		binary.LittleEndian.PutUint64(b[32+8*i:], v)
	}
	h.At.Encode(b[72:])
	return append(b, prove(key, from, to, b)...)
}

// Decode reads h; only Proven says whether it is genuine.
func (h *Hello) Decode(b []byte) bool {
	if len(b) != helloSize || b[0] != Version {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4+4*i:]) }
	long := func(i int) uint64 { return binary.LittleEndian.Uint64(b[32+8*i:]) }
	*h = Hello{Open: b[1]&1 != 0, Answer: b[1]&2 != 0, Lane: b[2], Own: b[3] >> 4,
		Peer: b[3] & 15, From: word(0),
		To: word(1), QPN: word(2), PSN: word(3), Echo: word(4), Life: word(5), PeerLife: word(6),
		Round: long(0), Start: long(1), First: long(2), Expected: long(3), Credit: long(4)}
	h.At.Decode(b[72:])
	return true
}

// Proven says whether b is genuine.
func Proven(b, key []byte, from, to uint64) bool {
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
