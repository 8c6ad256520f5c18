package proved

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"lapi/core/job/wire"
)

const proofSize = sha256.Size

// digest is the SHA-256 of something.
type digest = [sha256.Size]byte

// Key makes the key of proofs for one purpose, so that no conversation of another proves in it. It
// does not lead back to the job key, so what crypto/hmac copies of it is of no use for anything
// else. The job key is one block of the hash, which reads it where it is.
func Key(key []byte, purpose string) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	if len(key) != wire.KeySize {
		return nil, fmt.Errorf("a job key of %d bytes; it must have %d", len(key), wire.KeySize)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, purpose, proofSize)
	wire.Wipe(nil)
	return derived, err
}

// Direction says which side sends, so that no message can be sent back to its sender.
type Direction uint8

// The directions: what the caller, and what the host sends.
const (
	ToHost Direction = iota + 1
	ToCaller
)

// prover makes the proofs of one conversation.
type prover struct {
	key  []byte
	bind digest // both sides' openings, and so both nonces
}

// proof covers how many messages went before in its direction: so no message can be left out or
// repeated.
func (p *prover) proof(d Direction, k Kind, number uint64, length int, content digest) []byte {
	h := hmac.New(sha256.New, p.key)
	b := binary.LittleEndian.AppendUint64([]byte{byte(d), byte(k)}, number)
	h.Write(binary.LittleEndian.AppendUint32(b, uint32(length)))
	h.Write(p.bind[:])
	h.Write(content[:])
	return h.Sum(nil)
}

// proved compares in a time that says nothing of where they differ.
func proved(a, b []byte) bool { return hmac.Equal(a, b) }
