package wire

import (
	"encoding/binary"

	"lapi/transport"
)

// KeySize is the bytes of a region's key, which its task gives to others by whatever way it likes,
// little-endian:
//
//	 0        4        8
//	+--------+--------+----------------------+
//	| life   | opened | keys, by port        |
//	+--------+--------+----------------------+
//
// life is of the task's process, as its address has it, and not 0; opened has four bits for each port, the low ones of
// how often it was opened again. An address that has changed since makes keys stale.
const KeySize = 8 + 4*PortsMax

var _ [transport.KeyMax - KeySize]struct{}

// openedBits is how many a port has in opened.
const openedBits = 32 / PortsMax

// EncodeKeys is the key for others of a region of a's task.
func (a *Address) EncodeKeys(keys *Keys) []byte {
	b := make([]byte, KeySize)
	binary.LittleEndian.PutUint32(b, a.life())
	opened := uint32(0)
	for i := range a.Places {
		opened |= a.opened(i) << (i * openedBits)
	}
	binary.LittleEndian.PutUint32(b[4:], opened)
	for i, key := range keys {
		binary.LittleEndian.PutUint32(b[8+4*i:], key)
	}
	return b
}

// DecodeKeys is what of a region's key is still valid, as far as a's task is known to be where a
// says.
func (a *Address) DecodeKeys(b []byte) Keys {
	if len(b) != KeySize || binary.LittleEndian.Uint32(b) != a.life() {
		return Keys{}
	}
	keys, opened := RegionKeys(b), binary.LittleEndian.Uint32(b[4:])
	for i := range keys {
		if i >= len(a.Places) || opened>>(i*openedBits)&(1<<openedBits-1) != a.opened(i) {
			keys[i] = 0
		}
	}
	return keys
}

// RegionKeys is what a region's key has of its own task's ports.
func RegionKeys(b []byte) (keys Keys) {
	if len(b) == KeySize {
		for i := range keys {
			keys[i] = binary.LittleEndian.Uint32(b[8+4*i:])
		}
	}
	return keys
}

func (a *Address) life() uint32 { return uint32(a.Generation^a.Generation>>32) | 1 }

func (a *Address) opened(i int) uint32 { return uint32(a.Places[i].Opened) & (1<<openedBits - 1) }
