package wire

import (
	"encoding/binary"

	"lapi/transport/ibv"
)

// Version of the packets, of Hello and of the address.
const Version = 6

// Address is what Link.Address gives to peers, little-endian:
//
//	 0         2       3         4        8
//	+---------+-------+---------+--------+-------------+-----
//	| version | ports | nothing | task   | generation  | places of the ports
//	+---------+-------+---------+--------+-------------+-----
//	16: of each port
//	+-----+------+-----+-------+-----+--------+-----+
//	| qpn | qkey | mtu | reads | lid | opened | gid |
//	+-----+------+-----+-------+-----+--------+-----+
//	then, if JoinAddress has put it there: the address of the spare carrier
type Address struct {
	Task       uint32
	Generation uint64 // random: of the task's process; Hellos are proven by it, too
	Places     []Place
	Carrier    []byte // where the task is by the spare carrier; empty: nowhere
}

// Place is what peers must know of a port.
type Place struct {
	QPN, QKey  uint32 // of the datagram queue pair
	MTU, Reads uint16
	LID        uint16
	Opened     uint16 // how often the port was opened again: each time it is another place
	GID        ibv.GID
}

const addressHead, PlaceSize = 16, 32

// The bounds of an MTU, in bytes.
const MTUMin, MTUMax = 256, 4096

// Encode is a as others get it.
func (a *Address) Encode() []byte {
	b := make([]byte, addressHead+PlaceSize*len(a.Places))
	binary.LittleEndian.PutUint16(b, Version)
	b[2] = byte(len(a.Places))
	binary.LittleEndian.PutUint32(b[4:], a.Task)
	binary.LittleEndian.PutUint64(b[8:], a.Generation)
	for i := range a.Places {
		a.Places[i].Encode(b[addressHead+PlaceSize*i:])
	}
	return b
}

// Encode writes p.
func (p *Place) Encode(b []byte) {
	binary.LittleEndian.PutUint32(b, p.QPN)
	binary.LittleEndian.PutUint32(b[4:], p.QKey)
	binary.LittleEndian.PutUint16(b[8:], p.MTU)
	binary.LittleEndian.PutUint16(b[10:], p.Reads)
	binary.LittleEndian.PutUint16(b[12:], p.LID)
	binary.LittleEndian.PutUint16(b[14:], p.Opened)
	copy(b[16:], p.GID[:])
}

// Decode reads p.
func (p *Place) Decode(b []byte) {
	*p = Place{QPN: binary.LittleEndian.Uint32(b), QKey: binary.LittleEndian.Uint32(b[4:]),
		MTU: binary.LittleEndian.Uint16(b[8:]), Reads: binary.LittleEndian.Uint16(b[10:]),
		LID: binary.LittleEndian.Uint16(b[12:]), Opened: binary.LittleEndian.Uint16(b[14:])}
	copy(p.GID[:], b[16:PlaceSize])
}

// Follows says whether the port was opened at p after it was at other.
func (p *Place) Follows(other *Place) bool { return int16(p.Opened-other.Opened) > 0 }

// Decode reads a, and says whether b is an address.
func (a *Address) Decode(b []byte) bool {
	if len(b) < addressHead || binary.LittleEndian.Uint16(b) != Version || b[2] == 0 ||
		b[2] > PortsMax || len(b) < addressHead+PlaceSize*int(b[2]) {
		return false
	}
	*a = Address{Task: binary.LittleEndian.Uint32(b[4:]),
		Generation: binary.LittleEndian.Uint64(b[8:]), Places: make([]Place, b[2])}
	for i := range a.Places {
		a.Places[i].Decode(b[addressHead+PlaceSize*i:])
	}
	a.Carrier = b[addressHead+PlaceSize*len(a.Places):]
	return a.Generation != 0
}

// GenerationOf is that of an encoded address.
func GenerationOf(b string) uint64 { return binary.LittleEndian.Uint64([]byte(b[8:16])) }
