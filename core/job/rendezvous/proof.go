package rendezvous

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"lapi/core/job/wire"
)

const proofSize = sha256.Size

// digest is the SHA-256 of something.
type digest = [sha256.Size]byte

// deriveKey makes the key of proofs. It does not lead back to the job key, so what crypto/hmac
// copies of it is of no use for anything else. The job key is one block of the hash, which reads it
// where it is.
func deriveKey(key []byte) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	if len(key) != wire.KeySize {
		return nil, fmt.Errorf("a job key of %d bytes; it must have %d", len(key), wire.KeySize)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "lapi rendezvous", proofSize)
	wire.Wipe(nil)
	return derived, err
}

// direction says who sends, so that no message can be sent back to where it came from.
type direction uint8

const (
	toHost direction = iota + 1
	toCaller
)

// prover makes the proofs of one conversation.
type prover struct {
	key  []byte
	bind digest // both sides' openings, and so both nonces
}

func (p *prover) proof(d direction, k kind, length int, content digest) []byte {
	h := hmac.New(sha256.New, p.key)
	h.Write([]byte{byte(d), byte(k), byte(length), byte(length >> 8), byte(length >> 16),
		byte(length >> 24)})
	h.Write(p.bind[:])
	h.Write(content[:])
	return h.Sum(nil)
}

// proved compares in a time that says nothing of where they differ.
func proved(a, b []byte) bool { return hmac.Equal(a, b) }
