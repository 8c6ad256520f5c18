package cm

import "testing"

// counted is Stats that remembers.
type counted struct {
	sent, heard      map[Kind][2]int // the first ones, and those that came again
	unexpected, full int
}

func (s *counted) Sent(_ *Conn, kind Kind, again bool)  { bump(s.sent, kind, again) }
func (s *counted) Heard(_ *Conn, kind Kind, again bool) { bump(s.heard, kind, again) }
func (s *counted) Unexpected(*Conn)                     { s.unexpected++ }
func (s *counted) Full()                                { s.full++ }

func bump(m map[Kind][2]int, kind Kind, again bool) {
	n := m[kind]
	if again {
		n[1]++
	} else {
		n[0]++
	}
	m[kind] = n
}

// TestStats: each message is counted once at the sender and once at the receiver, the first of its
// kind separately. A request dropped for lack of room is counted, too.
func TestStats(t *testing.T) {
	n := newNetwork(t, 1)
	a, b := n.host(""), n.host("")
	var of [2]*counted
	for i, h := range []*host{a, b} {
		of[i] = &counted{sent: map[Kind][2]int{}, heard: map[Kind][2]int{}}
		h.stats = of[i]
	}
	l := b.listen(7)
	l.pending = PendingMax
	c := a.connect(b, 7, "", 100)
	n.run(0.05) // the first and its repetition
	if of[1].full != 2 || len(of[1].heard) != 0 {
		t.Errorf("%d requests found no room, heard %v", of[1].full, of[1].heard)
	}
	l.pending = 0
	n.run(10)
	if a.heard[c] != "established" {
		t.Fatalf("told %q", a.heard[c])
	}
	for _, kind := range []Kind{Request, Ready} {
		if s, h := of[0].sent[kind], of[1].heard[kind]; s[0] != 1 || h[0] != 1 {
			t.Errorf("kind %d: sent %v, heard %v", kind, s, h)
		}
	}
	for _, kind := range []Kind{Wait, Accept} {
		if s, h := of[1].sent[kind], of[0].heard[kind]; s != h || s[0] != 1 {
			t.Errorf("kind %d: sent %v, heard %v", kind, s, h)
		}
	}
	if s := of[0].sent[Request]; s[1] != 2 {
		t.Errorf("the request was repeated %d times", s[1])
	}
	if of[0].unexpected+of[1].unexpected != 0 {
		t.Errorf("%d and %d were unexpected", of[0].unexpected, of[1].unexpected)
	}
}
