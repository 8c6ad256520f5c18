package recovery

import (
	"math/rand/v2"
	"testing"

	"lapi/transport/udp/wire"
)

// Whatever order packets come in, the acknowledgements agree with a map of them.
func TestReceived(t *testing.T) {
	const first = wire.Seq(1<<32 - 1000)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var got Received
		got.Init(first)
		model := map[wire.Seq]bool{}
		b := make([]byte, (1+Numbers/wire.BlockSpan)*wire.BlockSize)
		for range 5000 {
			s := got.Expect() + wire.Seq(r.IntN(1+r.IntN(Numbers)))
			if !got.InWindow(s) {
				t.Fatalf("%d is not in the window from %d on", s, got.Expect())
			}
			if got.Has(s) != model[s] {
				t.Fatalf("%d: %v", s, got.Has(s))
			}
			if !model[s] {
				model[s] = true
				got.Mark(s)
			}
			if model[got.Expect()] || !model[got.Expect()-1] && got.Expect() != first {
				t.Fatalf("the first missing is not %d", got.Expect())
			}
			if r.IntN(50) > 0 {
				continue
			}
			var h wire.Header
			got.PutHeader(&h)
			check(t, model, h.AckFirst(), h.Bits)
			told := 0
			for rest := b[:got.PutBlocks(b)]; len(rest) > 0; {
				var k wire.Block
				rest, _ = k.Next(rest)
				told += check(t, model, k.First, k.Received)
			}
			ahead := 0
			for i := range wire.Seq(Numbers) {
				if model[got.Expect()+i] {
					ahead++
				}
			}
			if told != ahead {
				t.Fatalf("%d of %d are told of", told, ahead)
			}
		}
	}
}

// check holds 64 bits against the model, and counts them.
func check(t *testing.T, model map[wire.Seq]bool, first wire.Seq, bits uint64) (n int) {
	t.Helper()
	for i := range wire.Seq(wire.BlockSpan) {
		has := bits>>i&1 != 0
		if has != model[first+i] {
			t.Fatalf("%d: told %v", first+i, has)
		}
		if has {
			n++
		}
	}
	return n
}

func TestArrivals(t *testing.T) {
	var a Arrivals
	a.Heard(1)
	if a.TellSoon() {
		t.Error("nothing is missing")
	}
	a.Heard(3)
	a.Heard(2)
	n := 0
	for a.TellSoon() {
		n++
	}
	if n != reorderPackets+1 || a.Newest() != 3 {
		t.Errorf("%d packets are told of soon; the newest is %d", n, a.Newest())
	}
}
