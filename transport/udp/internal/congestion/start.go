package congestion

import (
	"time"

	"lapi/transport/udp/internal/rtt"
)

// The constants of RFC 9406, section 4.3, but for leastRise, where the RFC has 4 ms: the queues
// here are shorter than that.
const (
	startSamples = 8 // round trips that a round must have for its shortest to be compared
	startRise    = 8 // the round trip is longer if it is by this part of it
	slowerBy     = 4 // growth is, while it is not certain that a queue made it longer
	slowRounds   = 5 // of slower growth, until it is
	leastRise    = 50 * time.Microsecond
	mostRise     = 16 * time.Millisecond
)

// start is the beginning, where the window doubles in each round trip, as RFC 9406 (HyStart++) ends
// it: when the shortest round trip of a round is longer than that of the round before, the window
// grows slower; if that is so for some rounds, or at a loss, the beginning is over. The shortest of
// a round hides jitter, if there are enough; how far round trips usually are from each other is
// allowed for beside.
type start struct {
	over     bool
	limit    float64 // where a beginning ends that is not the first; 0: nowhere
	samples  int     // of the estimator, that were taken in
	count    int     // samples in this round
	shortest int64   // of them
	last     int64   // shortest of the round before; 0: there was none
	bytes    float64 // of this round, not acknowledged yet
	slow     int     // rounds of slower growth; 0: it is not slower
	baseline int64   // shortest round trip when that began
}

// grown is how much the window w grows after bytes were acknowledged.
func (s *start) grown(w, bytes float64, t *rtt.Estimator) float64 {
	if n := t.Samples(); n != s.samples {
		s.samples = n
		s.count++
		if r := t.Latest(); s.count == 1 || r < s.shortest {
			s.shortest = r
		}
	}
	s.compare(t)
	if s.bytes -= bytes; s.bytes <= 0 && s.count >= startSamples {
		s.next(w + bytes)
	}
	if s.slow > 0 {
		bytes /= slowerBy
	}
	if s.limit != 0 && w+bytes >= s.limit {
		s.over = true
	}
	return bytes
}

// compare looks whether this round's round trips are longer than before.
func (s *start) compare(t *rtt.Estimator) {
	if s.count < startSamples {
		return
	}
	if s.slow > 0 {
		if s.shortest < s.baseline { // it was not a queue
			s.slow = 0
		}
		return
	}
	rise := min(max(s.last/startRise, int64(leastRise)), int64(mostRise))
	if s.last != 0 && s.shortest >= s.last+max(rise, t.Deviation()/2) {
		s.slow, s.baseline = 1, s.shortest
	}
}

// next begins another round, with a window of w.
func (s *start) next(w float64) {
	s.last, s.count, s.bytes = s.shortest, 0, w
	if s.slow > 0 {
		s.slow++
		s.over = s.over || s.slow > slowRounds
	}
}
