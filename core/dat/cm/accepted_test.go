package cm

import (
	"fmt"
	"testing"
)

// TestAccepted: an owner that is not ready when it was accepted is established when it says so; its
// time and its end come first.
func TestAccepted(t *testing.T) {
	for _, end := range []string{"", "timeout", "close"} {
		n := newNetwork(t, 1)
		a, b := n.host("k"), n.host("k")
		b.listen(7)
		b.decide = func(c *Conn, private []byte) { _ = c.Accept(n.now, []byte("welcome")) }
		a.slow = 3e9
		c := a.connect(b, 7, "", map[string]float64{"": 10, "timeout": 2, "close": 10}[end])
		n.run(1)
		if len(a.unconfirmed) != 1 || a.times[c] != 0 || len(b.heard) != 0 {
			t.Fatalf("%q: told %q before it was ready", end, a.heard[c])
		}
		if end == "close" {
			c.Close(n.now)
		}
		n.run(30)
		switch {
		case end == "" && (a.heard[c] != "established" || string(a.private[c]) != "welcome" ||
			b.heard[b.other()] != "established"):
			t.Errorf("told %q with %q, and %q", a.heard[c], a.private[c], b.heard[b.other()])
		case end == "timeout" && a.heard[c] != fmt.Sprintf("failed %d", TimedOut),
			end == "close" && a.times[c] != 0:
			t.Errorf("%q: told %q", end, a.heard[c])
		case end != "" && b.heard[b.other()] != fmt.Sprintf("failed %d", Cancelled):
			t.Errorf("%q: the peer was told %q", end, b.heard[b.other()])
		}
	}
}
