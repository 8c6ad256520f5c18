package recovery

import (
	"testing"

	"lapi/transport/udp/wire"
)

// A block for numbers in front of the window, or behind what was sent, says nothing of the packets
// that have their places now.
func TestBlockOutsideOfTheWindow(t *testing.T) {
	w, r, o := newWindow(6)
	for range 3 {
		w.Sent(w.FirstUnsent(), 0, 1, 0)
	}
	for _, from := range []wire.Seq{first - Numbers, first + 3} {
		b := make([]byte, wire.BlockSize)
		(&wire.Block{First: from, Received: 7, NotReady: 7}).Put(b)
		_, news := w.Take(2, &Ack{r, &wire.Header{Kind: wire.KindAck, Ack: first}, b})
		if news || len(o.acked) != 0 || w.InFlight() != 3 || w.NotReadyDue() != 0 {
			t.Errorf("a block from %d: %v are acknowledged, %d in flight", int32(from-first), o.acked,
				w.InFlight())
		}
	}
}
