package coll

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

// BlobSize is the size of a member's blob, bytes.
const BlobSize = 128

// magic begins each blob; its last byte is the version.
const magic = 0x31_42_4d_4c_4c_4f_43_4c // "LCOLLMB1"

// Blob is what the others must know to reach a member: where it listens, and the public key of its
// process, so that no other process can be taken for it.
//
//	 0  magic             u64
//	 8  Address           16 bytes, an IPv4 address mapped
//	24  Qualifier         u64
//	32  0                 16 bytes
//	48  Key               32 bytes
//	80  0                 16 bytes
//	96  SHA-256 of all before, 32 bytes
//
// The sum detects damage on the way. The key proves a member.
type Blob struct {
	Address   netip.Addr
	Qualifier uint64
	Key       [32]byte
}

// Bytes is the blob as programs pass it on.
func (b *Blob) Bytes() (out [BlobSize]byte) {
	le := binary.LittleEndian
	le.PutUint64(out[0:], magic)
	ip := b.Address.As16()
	copy(out[8:], ip[:])
	le.PutUint64(out[24:], b.Qualifier)
	copy(out[48:], b.Key[:])
	sum := sha256.Sum256(out[:96])
	copy(out[96:], sum[:])
	return out
}

// IsBlob says whether what begins so is a blob, and not the address and qualifier of a service
// point: no pointer of a process has this value.
func IsBlob(first uint64) bool { return first == magic }

// ReadBlob reads a blob; false: it is none, or is damaged.
func ReadBlob(in []byte) (b Blob, ok bool) {
	le := binary.LittleEndian
	if len(in) != BlobSize || le.Uint64(in) != magic {
		return b, false
	}
	if sum := sha256.Sum256(in[:96]); sum != [32]byte(in[96:]) {
		return b, false
	}
	b.Address = netip.AddrFrom16([16]byte(in[8:24])).Unmap()
	b.Qualifier = le.Uint64(in[24:])
	copy(b.Key[:], in[48:])
	return b, true
}
