package rendezvous

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxCard is the most bytes of a card.
const MaxCard = 16 << 10

const (
	magic       = "LAPImeet"
	version     = 1
	nonceSize   = 32
	openingSize = len(magic) + 4 + nonceSize
	maxShown    = 64 // bytes of a partition's name in messages
	helloHead   = 4 + 4 + sha256.Size + 1
	maxHello    = helloHead + maxShown + MaxCard
	maxReason   = 1024
)

// errStranger is what no task of this job says.
var errStranger = errors.New("it does not speak as a task of this job does")

// opening is the first that either side says.
type opening struct {
	version uint16
	keyed   bool
	nonce   [nonceSize]byte
}

// newOpening is this side's of one conversation.
func newOpening(version uint16, keyed bool) opening {
	o := opening{version: version, keyed: keyed}
	rand.Read(o.nonce[:]) // never fails, says its documentation
	return o
}

func (o *opening) encode() []byte {
	b := binary.LittleEndian.AppendUint16([]byte(magic), o.version)
	if o.keyed {
		b = append(b, 1, 0)
	} else {
		b = append(b, 0, 0)
	}
	return append(b, o.nonce[:]...)
}

// readOpening reads one and returns its bytes, too.
func readOpening(r io.Reader) (o opening, b []byte, err error) {
	b = make([]byte, openingSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return o, nil, err
	}
	rest := b[len(magic):]
	if string(b[:len(magic)]) != magic || rest[2] > 1 {
		return o, nil, errStranger
	}
	o.version, o.keyed = binary.LittleEndian.Uint16(rest), rest[2] == 1
	copy(o.nonce[:], rest[4:])
	return o, b, nil
}

type kind uint8

const (
	kindChallenge kind = iota // not a message of its own: in proofs only
	kindHello
	kindCards
	kindRefused
	kindFailed
	kindBye
)

// hello is what a caller says of itself.
type hello struct {
	task, numTasks int
	partition      digest
	shown          string // the partition's name, cut, for messages
	card           []byte
}

func (h *hello) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(h.task))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.numTasks))
	b = append(b, h.partition[:]...)
	b = append(b, byte(len(h.shown)))
	b = append(b, h.shown...)
	return append(b, h.card...)
}

// decodeHello reads one; its card stays where it is in b.
func decodeHello(b []byte) (h hello, err error) {
	if len(b) < helloHead || len(b) > maxHello || b[helloHead-1] > maxShown {
		return h, errStranger
	}
	end := helloHead + int(b[helloHead-1])
	if len(b) < end || len(b)-end > MaxCard {
		return h, errStranger
	}
	task, numTasks := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if task > 1<<30 || numTasks > 1<<30 { // an int may have 32 bits
		return h, errStranger
	}
	h.task, h.numTasks = int(task), int(numTasks)
	copy(h.partition[:], b[8:])
	h.shown, h.card = string(b[helloHead:end]), b[end:]
	return h, nil
}

// shown is a partition's name as far as messages have it.
func shown(partition string) string { return partition[:min(len(partition), maxShown)] }

// maxCards is the most bytes of n tasks' cards.
func maxCards(n int) int { return n * (4 + MaxCard) }

// encodeCards writes each task's card behind its length.
func encodeCards(cards [][]byte) []byte {
	size := 0
	for _, card := range cards {
		size += 4 + len(card)
	}
	b := make([]byte, 0, size)
	for _, card := range cards {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(card)))
		b = append(b, card...)
	}
	return b
}

// decodeCards reads n cards, which stay where they are in b.
func decodeCards(b []byte, n int) ([][]byte, error) {
	if len(b) < 4*n {
		return nil, errStranger
	}
	cards := make([][]byte, n)
	for i := range cards {
		if len(b) < 4 {
			return nil, errStranger
		}
		length := binary.LittleEndian.Uint32(b)
		if b = b[4:]; length > MaxCard || int(length) > len(b) {
			return nil, errStranger
		}
		cards[i], b = b[:length:length], b[length:]
	}
	if len(b) > 0 {
		return nil, errStranger
	}
	return cards, nil
}

// readContent reads n bytes. Memory is taken as they come, not as they are announced.
func readContent(r io.Reader, n int) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, fmt.Errorf("after %d of %d bytes: %w", b.Len(), n, err)
	}
	return b.Bytes(), nil
}
