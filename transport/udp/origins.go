package udp

import "time"

// originsTime is how long "lately" is.
const originsTime = 10 * time.Millisecond

// origins counts the peers whose data have come lately, so that this task can send each its share
// of this task's sockets.
type origins struct {
	epoch   uint32 // counts the times of originsTime in which data came
	since   int64  // when it began
	now     int    // peers in it
	earlier int    // and in the one before
}

// count notes that data have come from c's peer.
func (o *origins) count(now int64, c *receiver) {
	if now-o.since >= int64(originsTime) || o.epoch == 0 {
		o.earlier = o.now
		if now-o.since >= 2*int64(originsTime) {
			o.earlier = 0
		}
		o.epoch, o.since, o.now = o.epoch+1, now, 0
	}
	if c.epoch != o.epoch {
		c.epoch = o.epoch
		o.now++
	}
}

// room is how many bytes each peer may have on its way to each of this task's sockets, which hold
// buffer bytes each. The kernel counts its bookkeeping too, and allows for it: it takes twice as
// much.
func (o *origins) room(buffer int) uint32 {
	return uint32(min(buffer/max(o.now, o.earlier, 1), largestBuffer))
}
