package wire

import (
	"encoding/binary"
	"math/bits"
)

// Of the packets KindWants and KindGrants: ranges of memory, and the keys for them.
const (
	// RangesMax is how many ranges there are at most, RangeSize how many bytes one takes: address
	// and length.
	RangesMax = 64
	RangeSize = 16
	// ListMax bounds the data of either packet, bytes.
	ListMax = max(RangesMax*RangeSize, RangesMax*4*PortsMax)
)

// PutRange writes a range.
func PutRange(b []byte, addr, n uint64) {
	binary.LittleEndian.PutUint64(b, addr)
	binary.LittleEndian.PutUint64(b[8:], n)
}

// Range reads it.
func Range(b []byte) (addr, n uint64) {
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}

// KeysSize is how many bytes the keys of a range take, one of each port in ports.
func KeysSize(ports uint32) int { return 4 * bits.OnesCount32(ports) }

// AppendKey writes a key.
func AppendKey(b []byte, key uint32) []byte { return binary.LittleEndian.AppendUint32(b, key) }

// KeysOf reads the keys of a range, of each port in ports.
func KeysOf(b []byte, ports uint32) (k Keys) {
	for i := range k {
		if ports&(1<<i) != 0 {
			k[i], b = binary.LittleEndian.Uint32(b), b[4:]
		}
	}
	return k
}
