package paths

import (
	"testing"

	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
)

// sought is ports of which each adapter is gone. They are found again once there says so.
func sought(t *testing.T, ports int) (s *Set, l *link, there *bool) {
	f := fake.New()
	s, l, devices := newSet(t, f, ports)
	there = new(bool)
	s.cfg.Reopen = func(int) (ibv.Device, error) {
		if !*there {
			return nil, ibv.ErrGone
		}
		return f.Device()
	}
	for _, d := range devices {
		d.Vanish()
	}
	s.Events()
	return s, l, there
}

// TestReopenedIsAlive: a task whose last adapter was gone for too many looks has lost the others; when
// the adapter is there again, new connections are made over it.
func TestReopenedIsAlive(t *testing.T) {
	s, l, there := sought(t, 1)
	for range 2 * looksMax {
		s.Look(s.NextLook(0))
	}
	if !s.Dead() || l.all != 1 {
		t.Fatalf("after %d looks in vain: dead %v, reported %d times", 2*looksMax, s.Dead(), l.all)
	}
	*there = true
	s.Look(s.NextLook(0))
	if s.ports[0].State() != Up || s.Dead() {
		t.Errorf("the adapter is there again: state %v, dead %v", s.ports[0].State(), s.Dead())
	}
}

// TestNextLookIsNotBeforeTheTurn: the owner looks for adapters in its own turns. A look that is due
// earlier wakes it then, and not before, but for a port of which only a queue has failed.
func TestNextLookIsNotBeforeTheTurn(t *testing.T) {
	s, _, _ := sought(t, 2)
	for range 3 {
		due := s.NextLook(0)
		s.Look(due)
		for _, turn := range []int64{due + 1, due + 10*reopenLast} {
			if at := s.NextLook(turn); at < turn {
				t.Errorf("the next turn is at %d, and it is woken at %d", turn, at)
			}
		}
	}
	s.ports[0].state = failed
	turn := s.ports[0].lookAt + reopenLast
	if at := s.NextLook(turn); at != s.ports[0].lookAt {
		t.Errorf("a failed queue waits until %d, not until %d", at, s.ports[0].lookAt)
	}
	s.ports[0].state = released
}
