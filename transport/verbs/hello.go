package verbs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"lapi/transport/verbs/adapter"
)

// version of the packets, of Hello and of the address.
const version = 1

// address is what Link.Address gives to peers.
type address struct {
	task        uint32
	qpn, qkey   uint32 // of the datagram queue pair
	mtu, reads  uint16
	lid         uint16
	gid         adapter.GID
	incarnation uint64 // random: one life of a task; also what proves Hellos
}

const addressSize = 48

func (a *address) encode() []byte {
	b := make([]byte, addressSize)
	binary.LittleEndian.PutUint16(b, version)
	binary.LittleEndian.PutUint16(b[2:], a.lid)
	binary.LittleEndian.PutUint32(b[4:], a.task)
	binary.LittleEndian.PutUint32(b[8:], a.qpn)
	binary.LittleEndian.PutUint32(b[12:], a.qkey)
	binary.LittleEndian.PutUint16(b[16:], a.mtu)
	binary.LittleEndian.PutUint16(b[18:], a.reads)
	copy(b[24:], a.gid[:])
	binary.LittleEndian.PutUint64(b[40:], a.incarnation)
	return b
}

func (a *address) decode(b []byte) bool {
	if len(b) != addressSize || binary.LittleEndian.Uint16(b) != version {
		return false
	}
	*a = address{lid: binary.LittleEndian.Uint16(b[2:]), task: binary.LittleEndian.Uint32(b[4:]),
		qpn: binary.LittleEndian.Uint32(b[8:]), qkey: binary.LittleEndian.Uint32(b[12:]),
		mtu: binary.LittleEndian.Uint16(b[16:]), reads: binary.LittleEndian.Uint16(b[18:]),
		incarnation: binary.LittleEndian.Uint64(b[40:])}
	copy(a.gid[:], b[24:])
	return true
}

// hello is the datagram that joins two queue pairs.
type hello struct {
	from, to uint32 // tasks
	qpn, psn uint32 // of the sender's queue pair
	echo     uint32 // the receiver's queue pair that it is connected to; 0: none
	open     bool   // the sender has seen its own queue pair in an echo: no answer is needed
	round    uint64 // counts the sender's queue pairs for this peer
	expected uint64 // the number of the packet that the sender wants next
	credit   uint64 // as in a packet
	life     uint64 // counts the sender's connections with the receiver (owner.go)
	of       uint64 // the receiver's, as the sender has heard; 0: not yet
}

const (
	helloSize = 96
	proofSize = 16
)

// encode writes h with its proof. The proof's key is the job's with both incarnations, which are
// told only where tasks are brought together.
func (h *hello) encode(key []byte, from, to uint64) []byte {
	b := make([]byte, helloSize-proofSize, helloSize)
	binary.LittleEndian.PutUint16(b, version)
	if h.open {
		b[2] = 1
	}
	for i, v := range []uint32{h.from, h.to, h.qpn, h.psn, h.echo} {
		binary.LittleEndian.PutUint32(b[4+4*i:], v)
	}
	for i, v := range []uint64{h.round, h.expected, h.credit, h.life, h.of} {
		binary.LittleEndian.PutUint64(b[24+8*i:], v)
	}
	return append(b, prove(key, from, to, b)...)
}

// decode reads h; only proven says whether it is genuine.
func (h *hello) decode(b []byte) bool {
	if len(b) != helloSize || binary.LittleEndian.Uint16(b) != version {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4+4*i:]) }
	long := func(i int) uint64 { return binary.LittleEndian.Uint64(b[24+8*i:]) }
	*h = hello{open: b[2] == 1, from: word(0), to: word(1), qpn: word(2), psn: word(3),
		echo: word(4), round: long(0), expected: long(1), credit: long(2), life: long(3),
		of: long(4)}
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
