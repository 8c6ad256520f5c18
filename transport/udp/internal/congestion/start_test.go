package congestion

import (
	"math/rand/v2"
	"testing"

	"lapi/transport/udp/internal/rtt"
)

// rounds runs a beginning with rounds of 16 samples each, and says how the window grew.
func rounds(s *start, count int, trip func(round int) int64) (w float64) {
	var t rtt.Estimator
	w = 1e5
	now := int64(1)
	for i := range count {
		first := w
		for range 16 {
			now += 1e5
			t.Sample(now, trip(i))
			w += s.grown(w, first/16, &t)
		}
		if s.over {
			break
		}
	}
	return w
}

// The window doubles in each round while nothing waits; a queue that grows slows that, and ends it.
func TestStartEndsByDelay(t *testing.T) {
	var s start
	if w := rounds(&s, 5, func(int) int64 { return 1e6 }); s.over || w != 32e5 {
		t.Errorf("without a queue it is over: %v, and the window %v", s.over, w)
	}
	s = start{}
	w := rounds(&s, 50, func(i int) int64 { return 1e6 + int64(max(i-2, 0))*1e6 })
	if !s.over || w > 1e5*16*4 {
		t.Errorf("with a queue it is over: %v, and the window %v", s.over, w)
	}
}

// A short queue of others' packets does not: the round trip is short again, and the window doubles.
func TestStartGoesOn(t *testing.T) {
	var s start
	w := rounds(&s, 10, func(i int) int64 {
		if i == 3 {
			return 4e6
		}
		return 1e6
	})
	if s.over || s.slow != 0 || w < 1e5*256 {
		t.Errorf("over: %v, and the window %v", s.over, w)
	}
}

// Jitter that is longer than the round trip ends it seldom.
func TestStartThroughJitter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	over := 0
	for range 100 {
		var s start
		rounds(&s, 6, func(int) int64 { return 4e5 + random.Int64N(3e6) })
		if s.over {
			over++
		}
	}
	if over > 5 {
		t.Errorf("it is over in %d of 100 beginnings", over)
	}
}
