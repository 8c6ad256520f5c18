package rendezvous

import (
	"crypto/sha256"
	"encoding/binary"

	"lapi/core/job/proved"
)

// MaxCard is the most bytes of a card.
const MaxCard = 16 << 10

const (
	version   = 2
	maxShown  = 64 // bytes of a partition's name in messages
	helloHead = 4 + 4 + sha256.Size + 1
	maxHello  = helloHead + maxShown + MaxCard
	maxReason = 1024
)

const (
	kindHello proved.Kind = iota + 1
	kindCards
	kindRefused
	kindFailed
	kindBye
)

// digest is the SHA-256 of something.
type digest = [sha256.Size]byte

// hello is a caller's message about itself.
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
		return h, proved.ErrStranger
	}
	end := helloHead + int(b[helloHead-1])
	if len(b) < end || len(b)-end > MaxCard {
		return h, proved.ErrStranger
	}
	task, numTasks := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if task > 1<<30 || numTasks > 1<<30 { // an int may have 32 bits
		return h, proved.ErrStranger
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
		return nil, proved.ErrStranger
	}
	cards := make([][]byte, n)
	for i := range cards {
		if len(b) < 4 {
			return nil, proved.ErrStranger
		}
		length := binary.LittleEndian.Uint32(b)
		if b = b[4:]; length > MaxCard || int(length) > len(b) {
			return nil, proved.ErrStranger
		}
		cards[i], b = b[:length:length], b[length:]
	}
	if len(b) > 0 {
		return nil, proved.ErrStranger
	}
	return cards, nil
}
