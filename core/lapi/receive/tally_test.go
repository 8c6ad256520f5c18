package receive

import (
	"testing"

	"lapi/core/lapi/peer"
)

// TestTally: parts of several messages of two tasks are counted apart, and what is forgotten begins
// anew.
func TestTally(t *testing.T) {
	peers := [2]peer.Peer{{ID: 0}, {ID: 1}}
	tally := NewTally(2)
	add := func(p, id int, n uint64) bool {
		return tally.Add(&peers[p], tally.Of(&peers[p], uint32(id)), n, 10)
	}
	if add(0, 1, 4) || add(0, 2, 9) || add(1, 1, 5) {
		t.Fatal("a message ends too soon")
	}
	tally.Of(&peers[0], 2).Failed = true
	if !add(0, 1, 6) || !tally.Busy(&peers[0]) {
		t.Error("the first message does not end, or takes the second along")
	}
	tally.GiveUp(&peers[0])
	if tally.Busy(&peers[0]) || !tally.Busy(&peers[1]) {
		t.Error("what is given up is still there, or more is gone")
	}
	if m := tally.Of(&peers[0], 2); m.Failed || add(0, 2, 9) {
		t.Error("it does not begin anew")
	}
	if !add(1, 1, 5) {
		t.Error("the other task's message does not end")
	}
	once := func() { add(1, 7, 4); add(1, 8, 4); add(1, 7, 6); add(1, 8, 6) }
	once()
	if n := testing.AllocsPerRun(100, once); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
