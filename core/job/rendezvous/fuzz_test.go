package rendezvous

import (
	"bytes"
	"testing"
)

// A decoder accepts only what the encoder writes.

func FuzzHello(f *testing.F) {
	f.Add((&hello{task: 1, numTasks: 2, shown: "4711", card: card(1)}).encode())
	f.Add((&hello{}).encode())
	f.Add(bytes.Repeat([]byte{255}, maxHello+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			return
		}
		if len(h.card) > MaxCard || len(h.shown) > maxShown || h.task < 0 || h.numTasks < 0 {
			t.Fatalf("%x gives %+v", b, h)
		}
		if again := h.encode(); !bytes.Equal(again, b) {
			t.Fatalf("%x gives %x", b, again)
		}
	})
}

func FuzzCards(f *testing.F) {
	f.Add(encodeCards([][]byte{card(0), nil, card(2)}), 3)
	f.Add([]byte{255, 255, 255, 255}, 1)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 1 || n > 1<<14 {
			return // Open has checked it
		}
		cards, err := decodeCards(b, n)
		if err != nil {
			return
		}
		if again := encodeCards(cards); len(cards) != n || !bytes.Equal(again, b) {
			t.Fatalf("%x gives %x", b, again)
		}
	})
}
