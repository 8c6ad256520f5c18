// Package rtt estimates the round trip of one path, as RFC 6298 does. It has no clock: every call
// takes now. Times are nanoseconds.
package rtt

import "time"

const (
	// Initial is the time-out until the first round trip is known.
	Initial = 10 * time.Millisecond
	// Longest bounds a sample, and every time-out: a longer one says that this task was away
	// itself.
	Longest = time.Second
	// leastTimeout is the shortest time-out. A peer that is descheduled looks like loss, and a
	// superfluous retransmission costs little.
	leastTimeout = 2 * time.Millisecond
	// leastTail is the shortest time before a peer is asked what has arrived: the usual loss of
	// a last packet is found that way.
	leastTail = 300 * time.Microsecond
	// believed is how long the shortest round trip is trusted without being measured again.
	believed = 10 * time.Second
	// Recent samples are kept.
	Recent = 16
)

// Estimator is what is known of a path's round trip. The zero value knows nothing.
type Estimator struct {
	smooth, deviation int64 // 0: not known yet
	shortest          int64 // measured lately
	shortestAt        int64
	next              int64         // shortest since shortestAt, which follows it in time
	recent            [Recent]int64 // the latest samples, a ring
	count             int           // samples so far
	anew              bool          // the average is old: the next sample begins another
}

// Sample takes in a round trip of t.
func (r *Estimator) Sample(now, t int64) {
	if t < 0 {
		return
	}
	t = min(max(t, 1), int64(Longest))
	r.keepShortest(now, t)
	r.recent[r.count%Recent] = t
	r.count++
	if r.smooth == 0 || r.anew {
		r.smooth, r.deviation, r.anew = t, t/2, false
		return
	}
	d := t - r.smooth
	r.smooth = max(r.smooth+d/8, 1)
	if d < 0 {
		d = -d
	}
	r.deviation += (d - r.deviation) / 4
}

// keepShortest forgets the shortest after a while, in favour of the shortest since.
func (r *Estimator) keepShortest(now, t int64) {
	switch {
	case r.shortest == 0 || t <= r.shortest:
		r.shortest, r.shortestAt, r.next = t, now, 0
	case r.next == 0 || t < r.next:
		r.next = t
	}
	if now-r.shortestAt > int64(believed) { // so next is set
		r.shortest, r.shortestAt, r.next = r.next, now, 0
	}
}

func (r *Estimator) Renew()        { r.anew = true }        // the next sample begin another average
func (r *Estimator) Known() bool   { return r.smooth != 0 } // whether there was a sample
func (r *Estimator) Smooth() int64 { return r.smooth }      // the average; 0: not known

// Deviation is how far samples are from the average, on the average.
func (r *Estimator) Deviation() int64 { return r.deviation }

// Shortest is the shortest that was measured lately; 0: not known.
func (r *Estimator) Shortest() int64 { return r.shortest }

// Standing is the shortest of the latest n samples, or of the later half if there are less than
// twice as many: it includes the queue's delay, but not jitter.
func (r *Estimator) Standing(n int) int64 {
	if r.count == 0 {
		return 0
	}
	least := r.recent[(r.count-1)%Recent]
	for i := 2; i <= min(n, r.count/2, Recent); i++ {
		least = min(least, r.recent[(r.count-i)%Recent])
	}
	return least
}

// Samples is how many there were.
func (r *Estimator) Samples() int { return r.count }

// Latest is the latest sample; there must be one.
func (r *Estimator) Latest() int64 { return r.recent[(r.count-1)%Recent] }

// Timeout is how long an acknowledgement may take before it is missed.
func (r *Estimator) Timeout() int64 {
	if r.smooth == 0 {
		return int64(Initial)
	}
	return max(r.smooth+4*r.deviation, int64(leastTimeout))
}

// Tail is how long one may take before the peer is asked, which may delay it by ackDelay.
func (r *Estimator) Tail(ackDelay time.Duration) int64 {
	if r.smooth == 0 {
		return int64(Initial)
	}
	return max(r.smooth+4*r.deviation+int64(ackDelay), int64(leastTail))
}
