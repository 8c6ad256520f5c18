package cm

import "testing"

// TestReportsUnansweredConnection: requests that nothing answers are reported once after 5 s; requests
// that a listener has put off are not.
func TestReportsUnansweredConnection(t *testing.T) {
	for name, k := range map[string]struct {
		lose float64
		want int
	}{"nothing passes": {1, 1}, "the consumer decides late": {0, 0}} {
		n := newNetwork(t, 5)
		a, b := n.host(""), n.host("")
		b.listen(7)
		b.decide = func(*Conn, []byte) {}
		n.lose = k.lose
		var reported []*Conn
		a.m.cfg.Unanswered = func(c *Conn) { reported = append(reported, c) }
		c := a.connect(b, 7, "", 30)
		n.run(4)
		if len(reported) != 0 {
			t.Errorf("%s: reported before 5 s", name)
		}
		n.run(20)
		if len(reported) != k.want || k.want > 0 && reported[0] != c {
			t.Errorf("%s: %d reports", name, len(reported))
		}
	}
}
