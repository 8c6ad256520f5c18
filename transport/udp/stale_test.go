package udp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lapi/transport"
)

// TestStaleHellos: two tasks that live disconnect and reconnect many times, by turns and at once.
// Hellos and other packets of all earlier sessions come again before, between and after those of the
// present one. Each message arrives once, in the session in which it was sent, and no session fails.
func TestStaleHellos(t *testing.T) {
	for seed := range uint64(40) {
		testStaleHellos(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func testStaleHellos(t *testing.T, seed uint64) {
	p, r := newPair(t, 2, nil), rand.New(rand.NewPCG(seed, 7))
	p.meet()
	var kept [2][]datagram // by sender
	p.lose = func(from int, b []byte) bool {
		kept[from] = append(kept[from], datagram{pairAddr(1 - from), slices.Clone(b)})
		return false
	}
	stale := func() {
		for range r.IntN(6) {
			if from := r.IntN(2); len(kept[from]) > 0 {
				p.hand(pairAddr(from), kept[from][r.IntN(len(kept[from]))])
			}
		}
	}
	got := [2]*int{p.counted(0), p.counted(1)}
	for round := 1; round <= 12; round++ {
		first := r.IntN(2)
		for _, i := range []int{first, 1 - first} {
			p.ms[i].Disconnect(transport.Endpoint(1-i), transport.ErrUnreachable)
			if r.IntN(2) == 0 {
				stale()
			}
			if err := p.reconnect(i, 1-i, pairAddr(1-i)); err != nil {
				t.Fatal(err)
			}
			stale()
		}
		sends := []*sent{p.send(first, 1-first, 1, 8)}
		stale()
		for range r.IntN(4) {
			p.pass(time.Duration(r.IntN(2000)) * time.Microsecond)
			stale()
		}
		sends = append(sends, p.send(1-first, first, 1, 8000))
		stale()
		p.pass(2 * time.Second)
		for i, s := range sends {
			if !s.over() || s.err != nil {
				t.Errorf("round %d, message %d: over %v, %v", round, i, s.over(), s.err)
			}
		}
		if *got[0] != round || *got[1] != round || len(p.failed) > 0 {
			t.Fatalf("round %d: %d and %d messages, failures %v", round, *got[0], *got[1], p.failed)
		}
	}
}
