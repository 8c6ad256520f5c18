package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/dchest/siphash"
)

// Level is how packets prove where they come from: LAPI_AUTH. All tasks of a job must have the
// same.
type Level uint8

// Levels.
const (
	LevelCookie Level = iota // the check covers all of a packet but the data of its last message
	LevelMAC                 // it covers the whole packet
	// as LevelCookie, but without a secret: a checksum that also tells sessions apart
	LevelNone
)

// String is the level as LAPI_AUTH writes it.
func (l Level) String() string {
	if l > LevelNone {
		return fmt.Sprintf("level %d", uint8(l))
	}
	return [...]string{"cookie", "mac", "none"}[l]
}

// public stands for the job key where there is none.
const public = "LAPI over UDP without a job key: this is no secret"

// derive makes n bytes for one purpose from the job key, by HKDF (RFC 5869) with SHA-256.
func derive(key []byte, level Level, purpose string, salt, info []byte, n int) []byte {
	if len(key) == 0 || level == LevelNone {
		key = []byte(public)
	}
	b, err := hkdf.Key(sha256.New, key, salt,
		fmt.Sprintf("lapi udp %d %s %v %s", Version, purpose, level, info), n)
	if err != nil {
		panic("wire: " + err.Error()) // n and the key's length are as they should be
	}
	return b
}

// Side is one end of a session, as its secrets depend on it.
type Side struct {
	Task               uint32
	Incarnation, Nonce uint64
}

// Secret proves that packets belong to one direction of a session. Both ends make the same from the
// job key and the handshake; a process that knows neither the key nor (in a job without one) the
// handshake cannot. Not for concurrent use. Its methods allocate nothing.
//
// The check is SipHash-2-4 over what it covers, with the high halves of sequence and
// acknowledgement numbers in the place of the check itself: so a packet from before the numbers
// wrapped around is not valid now. Long stretches are hashed by GMAC first, and SipHash is over the
// header and their hashes. GMAC's nonce is always the same, which does no harm because its result
// is never seen; a forgery is accepted with a probability of 2^-64.
type Secret struct {
	level    Level
	k0, k1   uint64
	gmac     cipher.AEAD
	seq, ack uint64 // the latest numbers, with their high halves
	nonce    []byte // zeros
	buf      [shortCheck]byte
}

// shortCheck: up to this many bytes SipHash alone is the faster. A multiple of 8.
const shortCheck = 512

// NewSecret makes the secret of packets from origin to target whose first sequence number is first.
func NewSecret(key []byte, level Level, origin, target Side, first Seq) *Secret {
	var salt, info [24]byte
	le := binary.LittleEndian
	le.PutUint64(salt[0:], origin.Nonce)
	le.PutUint64(salt[8:], target.Nonce)
	le.PutUint64(info[0:], origin.Incarnation)
	le.PutUint64(info[8:], target.Incarnation)
	le.PutUint32(info[16:], origin.Task)
	le.PutUint32(info[20:], target.Task)
	k := derive(key, level, "session", salt[:16], info[:], 32)
	defer clear(k)
	block, err := aes.NewCipher(k[16:32])
	if err == nil {
		var gmac cipher.AEAD
		if gmac, err = cipher.NewGCM(block); err == nil {
			return &Secret{level: level, k0: le.Uint64(k[0:]), k1: le.Uint64(k[8:]), gmac: gmac,
				seq: uint64(first), ack: uint64(first),
				nonce: make([]byte, gmac.NonceSize())}
		}
	}
	panic("wire: " + err.Error()) // the key's size is right
}

// Seal writes the check of a packet of total bytes: head, and data behind it, which is nil if head
// is all or the level is not LevelMAC: then it does not count; and the packet's length, total. The
// header is complete but for these, and the lengths inside are right, else Seal panics. It must be
// called again whenever the header has changed.
func (s *Secret) Seal(head, data []byte, total int) {
	front, ok := front(head, total)
	if !ok {
		panic("wire: a packet to be sealed is malformed")
	}
	binary.LittleEndian.PutUint16(head[lengthAt:], uint16(total))
	seq, ack := s.numbers(head)
	s.advance(seq, ack)
	put(head, seq, ack)
	binary.LittleEndian.PutUint64(head[checkAt:], s.sum(head, front, data, total))
}

// Open says whether b is as it was sealed. It looks at the kind and at lengths only, before it
// knows.
func (s *Secret) Open(b []byte) bool {
	if len(b) < HeaderSize || len(b) != lengthOf(b) {
		return false
	}
	front, ok := front(b, len(b))
	if !ok {
		return false
	}
	check := binary.LittleEndian.Uint64(b[checkAt:])
	seq, ack := s.numbers(b)
	put(b, seq, ack)
	if s.sum(b, front, nil, len(b)) != check {
		return false
	}
	s.advance(seq, ack)
	return true
}

// advance takes in the numbers of a genuine packet. They only go forward: else replays, each from
// less than half of the numbers ago, would lead back to the oldest packet, which would be new
// again.
func (s *Secret) advance(seq, ack uint64) { s.seq, s.ack = max(s.seq, seq), max(s.ack, ack) }

// numbers are the sequence and acknowledgement numbers of a packet with the high halves that bring
// them nearest to the latest. The number 0 of packets that have none changes nothing.
func (s *Secret) numbers(b []byte) (seq, ack uint64) {
	seq = s.seq
	if Kind(b[0] & 15).Numbered() {
		seq = extend(s.seq, binary.LittleEndian.Uint32(b[seqAt:]))
	}
	return seq, extend(s.ack, binary.LittleEndian.Uint32(b[ackAt:]))
}

func extend(latest uint64, low uint32) uint64 {
	return latest + uint64(int64(int32(low-uint32(latest))))
}

// put writes what stands in the place of the check while it is computed. Of packets without a
// sequence number, which one came last is not the same to both ends.
func put(b []byte, seq, ack uint64) {
	if !Kind(b[0] & 15).Numbered() {
		seq = 0
	}
	binary.LittleEndian.PutUint32(b[checkAt:], uint32(seq>>32))
	binary.LittleEndian.PutUint32(b[checkAt+4:], uint32(ack>>32))
}

// sum is the check of head and data, total bytes together. At LevelMAC a packet of more than
// shortCheck bytes is hashed in two pieces, which join where the last message's data begins,
// because there the sender's memory may be in two parts.
func (s *Secret) sum(head []byte, front int, data []byte, total int) uint64 {
	if s.level != LevelMAC {
		if front <= shortCheck {
			return siphash.Hash(s.k0, s.k1, head[:front])
		}
		b := append(s.buf[:0], head[:HeaderSize]...)
		return siphash.Hash(s.k0, s.k1, s.gmac.Seal(b, s.nonce, nil, head[HeaderSize:front]))
	}
	if total <= shortCheck {
		if data != nil {
			head = append(append(s.buf[:0], head...), data...)
		}
		return siphash.Hash(s.k0, s.k1, head)
	}
	if data == nil {
		data = head[front:]
	}
	b := append(s.buf[:0], head[:HeaderSize]...)
	b = s.gmac.Seal(b, s.nonce, nil, head[HeaderSize:front])
	return siphash.Hash(s.k0, s.k1, s.gmac.Seal(b, s.nonce, nil, data))
}

// front is how many bytes of a packet of total bytes stand before the data of its last message;
// all, if it is not of messages. Only these need to be in b. False: lengths inside do not fit.
func front(b []byte, total int) (n int, ok bool) {
	if Kind(b[0]&15) != KindData {
		return total, len(b) == total
	}
	for n = HeaderSize; n < total; {
		if len(b)-n < MessageSize {
			return 0, false
		}
		if b[n] == PartID { // there are headers in its data
			return total, len(b) == total
		}
		data := n + MessageSize + int(binary.LittleEndian.Uint16(b[n+2:]))
		length := uint64(binary.LittleEndian.Uint32(b[n+4:]))
		if data > len(b) || length > uint64(total-data) {
			return 0, false
		}
		if n = Align8(data + int(length)); n >= total {
			return data, true
		}
	}
	return n, n == total
}
