package wire

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/dchest/siphash"
)

// Hello begins a session. It is symmetric: either side sends it, and it names what it knows of the
// other.
//
//	 0       7 8     15 16            31 32                           63
//	+--------+--------+-----------------+--------------------------------+
//	| V | K  | L | F  |  LAPI instance  |  origin task                   |   0
//	+--------+--------+-----------------+--------------------------------+
//	|  target task                      |  number of tasks               |   8
//	+-----------------------------------+--------------------------------+
//	|  hash of the job's partition                                       |  16
//	+--------------------------------------------------------------------+
//	|  origin's generation                                               |  24
//	+--------------------------------------------------------------------+
//	|  origin's nonce                                                    |  32
//	+--------------------------------------------------------------------+
//	|  target's generation, 0 if not known                               |  40
//	+--------------------------------------------------------------------+
//	|  target's nonce, 0 if not known                                    |  48
//	+-----------------------------------+--------------------------------+
//	|  origin's receive buffer, bytes   |  round                         |  56
//	+-----------------------------------+--------------------------------+
//	|  SipHash-2-4-128 of all before, with the HelloKey                   |  64
//	|                                                                    |  72
//	+--------------------------------------------------------------------+
//
// L is the origin's Level, F are flags. The fields are those of the packet, in its order, but for
// the first two, which Put and Decode see to.
type Hello struct {
	Level             Level
	Flags             Flags
	Instance          uint16
	Task              uint32 // origin
	Target            uint32
	NumTasks          uint32
	Partition         uint64
	Incarnation       uint64
	Nonce             uint64
	TargetIncarnation uint64
	TargetNonce       uint64
	ReceiveBuffer     uint32
	Round             uint32 // counts the uses of a fixed address; both sides must be in the same
}

// HelloSize is a Hello's length in bytes.
const HelloSize = 80

const (
	helloSigned = 64   // bytes that the signature covers
	helloFlags  = 0x0f // bits of the second byte
)

// HelloKey signs the Hellos of one task to another.
type HelloKey struct{ k0, k1 uint64 }

// NewHelloKey derives it from the job key. Without one, and at LevelNone, a signature is a
// checksum, no proof.
func NewHelloKey(key []byte, level Level, origin, target uint32) HelloKey {
	var info [8]byte
	binary.LittleEndian.PutUint32(info[0:], origin)
	binary.LittleEndian.PutUint32(info[4:], target)
	k := derive(key, level, "hello", nil, info[:], 16)
	defer clear(k)
	return HelloKey{binary.LittleEndian.Uint64(k), binary.LittleEndian.Uint64(k[8:])}
}

// Put writes h to the first HelloSize bytes of b and signs it.
func (h *Hello) Put(b []byte, key HelloKey) {
	_ = b[HelloSize-1]
	le := binary.LittleEndian
	_, _ = binary.Encode(b, le, h) // there is room
	b[0] = Version<<4 | byte(KindHello)
	b[1] = byte(h.Level)<<4 | byte(h.Flags&helloFlags)
	lo, hi := siphash.Hash128(key.k0, key.k1, b[:helloSigned])
	le.PutUint64(b[helloSigned:], lo)
	le.PutUint64(b[helloSigned+8:], hi)
}

// Decode reads a Hello. It proves nothing: Verify does.
func (h *Hello) Decode(b []byte) error {
	k, err := KindOf(b)
	if err != nil {
		return err
	}
	if k != KindHello {
		return ErrKind
	}
	if len(b) != HelloSize {
		return ErrShort
	}
	_, err = binary.Decode(b, binary.LittleEndian, h)
	h.Level, h.Flags = Level(b[1]>>4), Flags(b[1])&helloFlags
	return err
}

// Verify says whether b, a Hello, was signed with key. Its time does not depend on where a forgery
// differs.
func Verify(b []byte, key HelloKey) bool {
	if len(b) != HelloSize {
		return false
	}
	lo, hi := siphash.Hash128(key.k0, key.k1, b[:helloSigned])
	return (binary.LittleEndian.Uint64(b[helloSigned:])^lo)|
		(binary.LittleEndian.Uint64(b[helloSigned+8:])^hi) == 0
}

// PartitionHash is a job's name as Hello carries it.
func PartitionHash(partition string) uint64 {
	s := sha256.Sum256([]byte("lapi partition " + partition))
	return binary.LittleEndian.Uint64(s[:])
}
