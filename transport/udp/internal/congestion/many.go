package congestion

import "lapi/transport/udp/internal/rtt"

// More than many origins of one target divide a queue that is known to be there.
const many = 4

// Where many origins share the target each knows how many they are, as the peer says so: the limit
// is the peer's buffer divided by the number of origins. They increase by manyPackets a round trip,
// divided by the square of their number, and at most by mostGrowth of the square of the window;
// while no queue shows by idleGrowth of it, or of its square if that is less. As that is the same
// for all, losses, of which each has its share, make the windows equal.
const (
	manyPackets = 3.6
	mostGrowth  = 0.03
	idleGrowth  = 1. / 256
)

// isMany says whether many origins share the peer's socket.
func (c *law) isMany() bool { return c.origins() > many }

// manyIncrease is by how many packets the window w of one of n origins grows in a round trip.
func manyIncrease(n, w float64, queueing bool) float64 {
	a := min(cubicAlpha, manyPackets/n/n, mostGrowth*w*w)
	if !queueing {
		a = max(a, idleGrowth*w*min(w, 1))
	}
	return a
}

// crest is about the longest round trip, while the queue is full: it rises by a crestUp-th of the
// difference with a sample, and falls by a crestDown-th. Origins that pause reckon by it, and at
// most by crestMost times the average, which one late answer does not spoil for long.
//
// The average itself, or the latest, will not do: all origins see the same queue, and each answers
// it with its own next packet only, several round trips later. A queue that is filled and emptied
// in less than one swings then from end to end, whatever the increase.
type crest float64

const (
	crestUp, crestDown = 8, 128
	crestMost          = 2
)

// sample takes in the latest round trip.
func (r *crest) sample(t *rtt.Estimator) {
	if !t.Known() {
		return
	}
	d := crest(t.Latest()) - *r
	if d > 0 {
		*r += d / crestUp
	} else {
		*r += d / crestDown
	}
}

// round is the round trip to reckon by.
func (r crest) round(t *rtt.Estimator) float64 {
	smooth := float64(t.Smooth())
	return min(max(float64(r), smooth), crestMost*smooth)
}
