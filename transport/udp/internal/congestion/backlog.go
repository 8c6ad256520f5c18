package congestion

import (
	"time"

	"lapi/transport/udp/internal/rtt"
)

const (
	// A queue shows if the shortest of the latest samples is longer than the shortest of all by
	// queueTime, and a queueShare of it, and half their usual spread; where many share the
	// target, by the lesser of each, whatever the spread.
	queueTime, manyQueueTime   = 50 * time.Microsecond, 10 * time.Microsecond
	queueShare, manyQueueShare = 16, 16
)

// isQueueing says whether packets seem to wait in a queue: only then a loss says that the path is
// full, as in TCP Veno (Fu, Liew, 2003).
func isQueueing(t *rtt.Estimator) bool {
	return t.Standing(rtt.Recent)-t.Shortest() >
		max(int64(queueTime), t.Shortest()/queueShare)+t.Deviation()
}

// isManyQueueing says the same where many origins share the target. This origin's window is packets
// long: the queue hardly empties there, and no more samples are looked at than a round trip has.
func isManyQueueing(t *rtt.Estimator, packets int) bool {
	return t.Standing(max(packets, 2))-t.Shortest() >
		max(int64(manyQueueTime), t.Shortest()/manyQueueShare)
}
