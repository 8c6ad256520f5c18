package proved

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Sizes of what is sent: the opening, the challenge that answers it, and a message's head.
const (
	OpeningSize   = len(magic) + 4 + nonceSize
	ChallengeSize = OpeningSize + proofSize
	HeadSize      = 8 + proofSize
)

const (
	magic     = "LAPImeet"
	nonceSize = 32
)

// Kind says what a message means to the two sides.
type Kind uint8

// challenge is in proofs only.
const challenge Kind = 0

// ErrStranger is the error of bytes that no process of this job sends.
var ErrStranger = errors.New("it does not speak as a task of this job does")

// Opening is the first message of either side.
type Opening struct {
	Version uint16 // of what follows the opening
	Keyed   bool   // it has a job key
	nonce   [nonceSize]byte
}

// NewOpening is this side's opening of one conversation.
func NewOpening(version uint16, keyed bool) Opening {
	o := Opening{Version: version, Keyed: keyed}
	rand.Read(o.nonce[:]) // never fails, says its documentation
	return o
}

// Encode returns the bytes that are sent.
func (o *Opening) Encode() []byte {
	b := binary.LittleEndian.AppendUint16([]byte(magic), o.Version)
	if o.Keyed {
		b = append(b, 1, 0)
	} else {
		b = append(b, 0, 0)
	}
	return append(b, o.nonce[:]...)
}

// readOpening reads an opening and returns its bytes, too.
func readOpening(r io.Reader) (o Opening, b []byte, err error) {
	b = make([]byte, OpeningSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return o, nil, err
	}
	rest := b[len(magic):]
	if string(b[:len(magic)]) != magic || rest[2] > 1 {
		return o, nil, ErrStranger
	}
	o.Version, o.Keyed = binary.LittleEndian.Uint16(rest), rest[2] == 1
	copy(o.nonce[:], rest[4:])
	return o, b, nil
}

// readContent reads n bytes. Memory is taken as they come, not as they are announced.
func readContent(r io.Reader, n int) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, fmt.Errorf("after %d of %d bytes: %w", b.Len(), n, err)
	}
	return b.Bytes(), nil
}
