package verbs

import (
	"encoding/binary"
	"slices"

	"lapi/transport"
	"lapi/transport/ibv"
)

// version of the packets, of Hello and of the address.
const version = 4

// address is what Link.Address gives to peers, little-endian:
//
//	 0         2       3         4        8
//	+---------+-------+---------+--------+-------------+-----
//	| version | ports | nothing | task   | incarnation | places of the ports
//	+---------+-------+---------+--------+-------------+-----
//	16: of each port
//	+-----+------+-----+-------+-----+--------+-----+
//	| qpn | qkey | mtu | reads | lid | opened | gid |
//	+-----+------+-----+-------+-----+--------+-----+
//	then, if JoinAddress has put it there: the address of the spare carrier
type address struct {
	task        uint32
	incarnation uint64 // random: one life of a task; also what proves Hellos
	places      []place
	carrier     []byte // where the task is by the spare carrier; empty: nowhere
}

// JoinAddress is the address of a task whose link has that one, and its spare carrier the other;
// see UseSpare.
func JoinAddress(link, carrier []byte) transport.Address {
	return transport.Address{Bytes: slices.Concat(link, carrier)}
}

// place is what peers must know of a port.
type place struct {
	qpn, qkey  uint32 // of the datagram queue pair
	mtu, reads uint16
	lid        uint16
	opened     uint16 // how often the port was opened again: each time it is another place
	gid        ibv.GID
}

const addressHead, placeSize = 16, 32

// What an MTU can be, in bytes.
const mtuMin, mtuMax = 256, 4096

func (a *address) encode() []byte {
	b := make([]byte, addressHead+placeSize*len(a.places))
	binary.LittleEndian.PutUint16(b, version)
	b[2] = byte(len(a.places))
	binary.LittleEndian.PutUint32(b[4:], a.task)
	binary.LittleEndian.PutUint64(b[8:], a.incarnation)
	for i := range a.places {
		a.places[i].encode(b[addressHead+placeSize*i:])
	}
	return b
}

func (p *place) encode(b []byte) {
	binary.LittleEndian.PutUint32(b, p.qpn)
	binary.LittleEndian.PutUint32(b[4:], p.qkey)
	binary.LittleEndian.PutUint16(b[8:], p.mtu)
	binary.LittleEndian.PutUint16(b[10:], p.reads)
	binary.LittleEndian.PutUint16(b[12:], p.lid)
	binary.LittleEndian.PutUint16(b[14:], p.opened)
	copy(b[16:], p.gid[:])
}

func (p *place) decode(b []byte) {
	*p = place{qpn: binary.LittleEndian.Uint32(b), qkey: binary.LittleEndian.Uint32(b[4:]),
		mtu: binary.LittleEndian.Uint16(b[8:]), reads: binary.LittleEndian.Uint16(b[10:]),
		lid: binary.LittleEndian.Uint16(b[12:]), opened: binary.LittleEndian.Uint16(b[14:])}
	copy(p.gid[:], b[16:placeSize])
}

// follows says whether the port was opened at p after it was at other.
func (p *place) follows(other *place) bool { return int16(p.opened-other.opened) > 0 }

func (a *address) decode(b []byte) bool {
	if len(b) < addressHead || binary.LittleEndian.Uint16(b) != version || b[2] == 0 ||
		b[2] > PortsMax || len(b) < addressHead+placeSize*int(b[2]) {
		return false
	}
	*a = address{task: binary.LittleEndian.Uint32(b[4:]),
		incarnation: binary.LittleEndian.Uint64(b[8:]), places: make([]place, b[2])}
	for i := range a.places {
		a.places[i].decode(b[addressHead+placeSize*i:])
	}
	a.carrier = b[addressHead+placeSize*len(a.places):]
	return a.incarnation != 0
}

// incarnationOf is that of an encoded address.
func incarnationOf(b string) uint64 { return binary.LittleEndian.Uint64([]byte(b[8:16])) }
