package sock

import (
	"bytes"
	"testing"
)

// takes receives from the set until something comes, and returns the socket's number and in how
// many looks.
func takes(t *testing.T, s *Set) (i, looks int, b []byte) {
	t.Helper()
	for looks = 1; looks < 1e6; looks++ {
		if i, b, _, ok := s.Receive(); ok {
			return i, looks, b
		}
	}
	t.Fatal("nothing comes")
	return 0, 0, nil
}

// Sockets to which nothing comes are not looked at, but nothing is missed there either.
func TestSet(t *testing.T) {
	var s Set
	a := open(t, loopback)
	for range 3 {
		s.Add(open(t, loopback))
	}
	packet := pattern(t, 1, 100)
	for range quietRounds + 2 { // only socket 1 is used
		for range 2 * roundTurns {
			s.Receive()
		}
		a.Send(s.At(1).Local(), packet, 0, 0)
		if i, _, b := takes(t, &s); i != 1 || !bytes.Equal(b, packet) {
			t.Fatalf("socket %d has it", i)
		}
	}
	if s.lively != 1<<1 {
		t.Errorf("sockets looked at: %#b", s.lively)
	}
	a.Send(s.At(1).Local(), packet, 0, 0)
	if _, looks, _ := takes(t, &s); looks != 1 {
		t.Errorf("the only socket in use is reached in %d looks", looks)
	}
	a.Send(s.At(2).Local(), packet, 0, 0)
	if i, looks, _ := takes(t, &s); i != 2 || looks > roundTurns+3 {
		t.Errorf("socket %d has it, after %d looks", i, looks)
	}
	a.Send(s.At(0).Local(), packet, 0, 0)
	s.Woken()
	if i, looks, _ := takes(t, &s); i != 0 || looks > 3 {
		t.Errorf("after a sleep socket %d has it, after %d looks", i, looks)
	}
	for s.Receive(); !s.Empty(); s.Receive() {
	}
	if s.Waiting() {
		t.Error("empty, and something waits")
	}
	for range 100 * roundTurns { // all are silent: one is still looked at
		s.Receive()
	}
	if s.lively == 0 {
		t.Error("no socket is looked at")
	}
	a.Send(s.At(1).Local(), packet, 0, 0)
	takes(t, &s)
	if n := testing.AllocsPerRun(3*roundTurns, func() { s.Receive() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Two busy sockets: neither keeps the other waiting.
func TestSetTurns(t *testing.T) {
	var s Set
	a := open(t, loopback)
	s.Add(open(t, loopback))
	s.Add(open(t, loopback))
	packet := pattern(t, 1, 100)
	for range 20 {
		a.Send(s.At(0).Local(), packet, 0, 0)
	}
	a.Send(s.At(1).Local(), packet, 0, 0)
	got := [2]int{}
	for range 21 {
		i, _, _ := takes(t, &s)
		if got[i]++; i == 1 && got[0] > 2*fairShare {
			t.Errorf("the other comes after %d", got[0])
		}
	}
	if got != [2]int{20, 1} {
		t.Errorf("%v arrive", got)
	}
}

// One call shows whether datagrams have come to any socket, and the next look finds them.
func TestSilent(t *testing.T) {
	var s Set
	a := open(t, loopback)
	for range 3 {
		s.Add(open(t, loopback))
	}
	if !s.Silent() {
		t.Fatal("nothing has come")
	}
	packet := pattern(t, 1, 100)
	for i := range 3 {
		a.Send(s.At(i).Local(), packet, 0, 0)
		if s.Silent() {
			t.Errorf("a packet at socket %d is not seen", i)
		}
		if got, _, _, ok := s.Receive(); !ok || got != i {
			t.Errorf("the next look goes to socket %d, %v, not to %d", got, ok, i)
		}
		if !s.Silent() {
			t.Errorf("socket %d is not empty", i)
		}
	}
	for i := range 2 {
		a.Send(s.At(i).Local(), packet, 0, 0)
	}
	if s.Silent() || s.Empty() {
		t.Error("two packets are not seen")
	}
	takes(t, &s)
	if s.Silent() {
		t.Error("the second packet is not seen")
	}
	if n := testing.AllocsPerRun(100, func() { s.Silent() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
