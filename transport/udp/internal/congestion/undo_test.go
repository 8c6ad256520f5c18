package congestion

import (
	"testing"

	"lapi/transport/udp/internal/rtt"
)

// queued is an estimator that knows of a queue.
func queued() *rtt.Estimator {
	var t rtt.Estimator
	t.Sample(1, 1e6)
	for i := range int64(64) {
		t.Sample(2+i, 4e6)
	}
	return &t
}

// A reduction is undone when all that seemed to be lost has arrived; not earlier, and not by a
// packet of another flight.
func TestLateLossesAreUndone(t *testing.T) {
	c := New(packet)
	c.Reset(1 << 22)
	e, before := queued(), c.Window()
	a, b := Loss{Tx: 10, Newest: 20, Bytes: packet}, Loss{Tx: 12, Newest: 21, Bytes: packet}
	c.Lost(a, e)
	c.Lost(b, e)
	reduced := c.Window()
	if reduced >= before {
		t.Fatalf("a window of %d bytes after losses, %d before", reduced, before)
	}
	c.Late(Loss{Tx: 25, Newest: 30, Bytes: packet})
	c.Late(b)
	if w := c.Window(); w != reduced {
		t.Errorf("%d bytes before all has arrived", w)
	}
	c.Late(a)
	if w := c.Window(); w != before {
		t.Errorf("%d bytes when all has arrived, want %d", w, before)
	}
	c.Lost(Loss{Tx: 40, Newest: 50, Bytes: packet}, e)
	reduced = c.Window()
	c.Late(a) // of the flight before
	if w := c.Window(); w != reduced || reduced >= before {
		t.Errorf("%d bytes, reduced to %d", w, reduced)
	}
}

// After a time-out the window is small and doubles up to the size that a loss leaves; all of it
// comes back at once if the packets sent before have arrived.
func TestCollapse(t *testing.T) {
	for _, late := range []bool{false, true} {
		p := newPath(125000, 1e6, 1<<20)
		for range 6 {
			p.round(0)
		}
		before := p.c.Window()
		p.c.Collapse()
		p.c.Collapse() // the next time-out changes nothing in that
		if w := p.c.Window(); w != 2*(packet+PacketOverhead) {
			t.Fatalf("a window of %d bytes after a time-out", w)
		}
		if late {
			p.c.Revive()
			if w := p.c.Window(); w != before {
				t.Errorf("a window of %d bytes, want %d", w, before)
			}
			continue
		}
		for range 12 {
			p.round(0)
		}
		if w := p.c.Window(); w < before*6/10 {
			t.Errorf("a window of %d bytes 12 round trips later, %d before", w, before)
		}
	}
}
