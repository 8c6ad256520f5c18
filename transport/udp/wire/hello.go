package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
)

// Hello begins a session. It is symmetric: either side sends it, and it names what it knows of the other.
//
//	 0       7 8     15 16            31 32                           63
//	+--------+--------+-----------------+--------------------------------+
//	| V | K  | flags  |  LAPI instance  |  origin task                   |   0
//	+--------+--------+-----------------+--------------------------------+
//	|  target task                      |  number of tasks               |   8
//	+-----------------------------------+--------------------------------+
//	|  hash of the job's partition                                       |  16
//	+--------------------------------------------------------------------+
//	|  origin's incarnation                                              |  24
//	+--------------------------------------------------------------------+
//	|  origin's nonce                                                    |  32
//	+--------------------------------------------------------------------+
//	|  target's incarnation, 0 if not known                              |  40
//	+--------------------------------------------------------------------+
//	|  target's nonce, 0 if not known                                    |  48
//	+-----------------------------------+--------------------------------+
//	|  origin's receive buffer, bytes   |  round                         |  56
//	+-----------------------------------+--------------------------------+
//	|  HMAC-SHA256 of all before, with the job key, its first 16 bytes   |  64
//	|                                                                    |  72
//	+--------------------------------------------------------------------+
type Hello struct {
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

const helloSigned = 64 // bytes that the HMAC covers

func helloMAC(key, b []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("lapi udp hello"))
	m.Write(b[:helloSigned])
	return m.Sum(nil)[:HelloSize-helloSigned]
}

// Put writes h to the first HelloSize bytes of b and signs it with key. An empty key gives a checksum, no proof.
func (h *Hello) Put(b, key []byte) {
	_ = b[HelloSize-1]
	le := binary.LittleEndian
	b[0] = Version<<4 | byte(KindHello)
	b[1] = byte(h.Flags)
	le.PutUint16(b[2:], h.Instance)
	le.PutUint32(b[4:], h.Task)
	le.PutUint32(b[8:], h.Target)
	le.PutUint32(b[12:], h.NumTasks)
	le.PutUint64(b[16:], h.Partition)
	le.PutUint64(b[24:], h.Incarnation)
	le.PutUint64(b[32:], h.Nonce)
	le.PutUint64(b[40:], h.TargetIncarnation)
	le.PutUint64(b[48:], h.TargetNonce)
	le.PutUint32(b[56:], h.ReceiveBuffer)
	le.PutUint32(b[60:], h.Round)
	copy(b[helloSigned:HelloSize], helloMAC(key, b))
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
	le := binary.LittleEndian
	*h = Hello{
		Flags: Flags(b[1]), Instance: le.Uint16(b[2:]), Task: le.Uint32(b[4:]), Target: le.Uint32(b[8:]), NumTasks: le.Uint32(b[12:]),
		Partition: le.Uint64(b[16:]), Incarnation: le.Uint64(b[24:]), Nonce: le.Uint64(b[32:]),
		TargetIncarnation: le.Uint64(b[40:]), TargetNonce: le.Uint64(b[48:]),
		ReceiveBuffer: le.Uint32(b[56:]), Round: le.Uint32(b[60:]),
	}
	return nil
}

// Verify says whether b, a Hello, was signed with key. Its time does not depend on where a forgery differs.
func Verify(b, key []byte) bool {
	return len(b) == HelloSize && subtle.ConstantTimeCompare(b[helloSigned:], helloMAC(key, b)) == 1
}

// Side is one end of a session, as the cookies depend on it.
type Side struct {
	Task               uint32
	Incarnation, Nonce uint64
}

// Cookie is what each packet from origin to target carries in the session between them. Both ends compute it; who saw neither the
// key nor (without a key) the handshake cannot. It is never 0.
func Cookie(key []byte, origin, target Side) uint64 {
	var b [40]byte
	le := binary.LittleEndian
	le.PutUint32(b[0:], origin.Task)
	le.PutUint32(b[4:], target.Task)
	le.PutUint64(b[8:], origin.Incarnation)
	le.PutUint64(b[16:], target.Incarnation)
	le.PutUint64(b[24:], origin.Nonce)
	le.PutUint64(b[32:], target.Nonce)
	m := hmac.New(sha256.New, key)
	m.Write([]byte("lapi udp cookie"))
	m.Write(b[:])
	c := le.Uint64(m.Sum(nil))
	if c == 0 {
		return 1
	}
	return c
}

// PartitionHash is a job's name as Hello carries it.
func PartitionHash(partition string) uint64 {
	s := sha256.Sum256([]byte("lapi partition " + partition))
	return binary.LittleEndian.Uint64(s[:])
}
