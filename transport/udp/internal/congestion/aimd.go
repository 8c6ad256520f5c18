package congestion

import (
	"math"
	"time"

	"lapi/transport/udp/internal/rtt"
)

const (
	// The window begins at firstPackets or firstBytes, whichever is more, at most the peer's
	// receive buffer divided by firstShare; where many share the target, at firstTotal packets
	// divided by their number.
	firstPackets = 4
	firstBytes   = 1 << 16
	firstShare   = 8
	firstTotal   = 16
	// leastTotal packets, divided by the number of origins, are what losses leave of a window.
	leastTotal = 4
	// many origins of one target divide what is known to be a queue there: see increase.
	many = 4

	// increase and decrease are those of RFC 9438, section 4.3, for Reno's share beside others:
	// packets a round trip, and the part of the window that a loss costs.
	increase = 0.53
	decrease = 0.3
	// Below fullIncrease packets the increase falls with the window to the power smallExponent,
	// so that the losses stay below a hundredth; of many origins it is manyIncrease divided by
	// the square of their number, and at most mostGrowth of the square of the window.
	fullIncrease  = 40
	smallExponent = 1.45
	manyIncrease  = 2.4
	mostGrowth    = 0.03
	// While no queue shows, the window grows by this part of it each round trip.
	idleGrowth, manyIdleGrowth = 1. / 64, 1. / 256

	// A window of fewer packets is kept to by pauses.
	pacedPackets = 4
	// A queue shows if the shortest of the latest samples is longer than the shortest of all by
	// queueTime, and a queueShare of it, and half their usual spread; where many share the
	// target, by the lesser of each, whatever the spread.
	queueTime, manyQueueTime   = 50 * time.Microsecond, 10 * time.Microsecond
	queueShare, manyQueueShare = 4, 16
	// longQueue, and twice the shortest round trip, end the doubling.
	longQueue = 1600 * time.Microsecond
	// leastRound is the shortest round in which losses are counted, and leastCounted how many
	// packets it has once the doubling is over.
	leastRound   = 50 * time.Microsecond
	leastCounted = 32
)

// aimd is the law in use: additive increase and multiplicative decrease, as TCP's (RFC 5681, RFC
// 9438), with windows of less than a packet, which pauses keep to, and a smaller increase where
// windows are small (Briscoe, De Schepper: Scaling TCP's Congestion Window for Small Round Trip
// Times; Kumar and others: Swift, SIGCOMM 2020, for the pauses). A loss by itself does not say that
// the path is full, as in TCP Veno (Fu, Liew 2003): while no queue shows it changes nothing, unless
// more than a quarter of a round was lost. The window doubles in each round trip at first, until a
// loss behind a queue, or a long queue.
//
// How many origins share the target, the peer says: its limit is what its buffer divided by their
// number is. They all know the same number, so they all increase by the same; losses, of which each
// has its share, then make the windows equal.
type aimd struct {
	packetSize int
	window     int     // bytes that may be in flight
	rest       float64 // and a part of a byte
	limit      int     // the peer's
	buffer     int     // what its socket holds
	recoveryTx uint64  // losses of transmissions up to this one have been answered already
	found      bool    // the doubling is over
	shared     bool    // many share the target, and the window began anew for it

	roundAt    int64 // since when the following are counted
	roundBytes int   // acknowledged
	newBytes   int   // of these since the last Update
	roundLost  int   // lost
	blocked    bool  // the window was what held packets back
}

// New makes the law of a path whose packets have up to packetSize bytes. Nothing may be in flight
// before Reset.
func New(packetSize int) Controller { return &aimd{packetSize: packetSize} }

func (c *aimd) Reset(buffer int) {
	*c = aimd{packetSize: c.packetSize, limit: buffer, buffer: buffer}
	first := max(firstPackets*c.packet(), firstBytes)
	c.window = max(min(buffer/firstShare, first), c.least())
}

// packet is what the longest packet counts for.
func (c *aimd) packet() int { return c.packetSize + PacketOverhead }

// least is what may always be in flight, so that a lost packet is noticed by the next. Pauses keep
// to a window below that.
func (c *aimd) least() int { return 2 * c.packet() }

// origins is how many share the peer's socket.
func (c *aimd) origins() float64 { return max(1, float64(c.buffer)/float64(max(c.limit, 1))) }

func (c *aimd) isMany() bool { return c.origins() > many }

// isPaced says whether the window is so small that pauses keep to it.
func (c *aimd) isPaced() bool { return c.found && c.window < pacedPackets*c.packet() }

func (c *aimd) SetLimit(bytes int) { c.limit = bytes }
func (c *aimd) Window() int        { return max(c.window, c.least()) }
func (c *aimd) Allowed() int       { return min(c.Window(), c.limit) }
func (c *aimd) Blocked()           { c.blocked = true }
func (c *aimd) Acked(bytes int)    { c.newBytes += bytes }
func (c *aimd) Collapse()          { c.window, c.rest = c.least(), 0 }

func (c *aimd) Pause(bytes int, t *rtt.Estimator) int64 {
	if !c.isPaced() {
		return 0
	}
	return t.Smooth() * int64(bytes) / int64(max(c.window, 1))
}

func (c *aimd) Update(now int64, t *rtt.Estimator) {
	if !c.shared && c.isMany() {
		c.shared = true
		c.window = min(c.window, int(firstTotal*float64(c.packet())/c.origins()))
	}
	c.grow(t)
	elapsed := now - c.roundAt
	if elapsed < max(t.Smooth(), int64(leastRound)) ||
		c.found && c.roundBytes+c.roundLost < leastCounted*c.packet() {
		return
	}
	if c.roundAt != 0 && elapsed < int64(time.Second) && c.roundLost > c.packetSize &&
		c.roundLost > (c.roundBytes+c.roundLost)/4 {
		c.shrink(0.5)
	}
	c.roundAt, c.roundBytes, c.roundLost, c.blocked = now, 0, 0, false
}

// grow opens the window by what was acknowledged, as long as it was in use.
func (c *aimd) grow(t *rtt.Estimator) {
	bytes := c.newBytes
	c.newBytes = 0
	c.roundBytes += bytes
	if !c.blocked && !c.isPaced() || c.window >= c.limit {
		return
	}
	step := float64(bytes)
	switch {
	case c.found:
		w := float64(c.window) / float64(c.packet())
		step *= c.increase(w, c.isQueueing(t)) / w
	case c.isMany() && c.isQueueing(t):
		c.found = true
		return
	case t.Smooth() > 3*t.Shortest()+int64(longQueue):
		return
	}
	step += c.rest
	c.window = min(c.window+int(step), c.limit)
	c.rest = step - math.Floor(step)
}

// increase is by how many packets a window of w grows in a round trip.
func (c *aimd) increase(w float64, queueing bool) float64 {
	n, a, idle := c.origins(), increase, idleGrowth*w
	switch {
	case n > many:
		a, idle = min(a, manyIncrease/n/n, mostGrowth*w*w), manyIdleGrowth*w
	case w < fullIncrease:
		a *= math.Pow(w/fullIncrease, smallExponent)
	}
	if queueing {
		return a
	}
	if w > fullIncrease {
		idle = max(idle, 1)
	}
	return max(a, idle)
}

// isQueueing says whether packets seem to wait in a queue. Where many share the target the queue
// hardly empties, and no more samples are looked at than a round trip has.
func (c *aimd) isQueueing(t *rtt.Estimator) bool {
	if c.isMany() {
		return t.Standing(max(c.window/c.packet(), 2))-t.Shortest() >
			max(int64(manyQueueTime), t.Shortest()/manyQueueShare)
	}
	return t.Standing(rtt.Recent)-t.Shortest() >
		max(int64(queueTime), t.Shortest()/queueShare)+t.Deviation()/2
}

// shrink leaves the part to of the window, and not less than this origin's share of leastTotal.
func (c *aimd) shrink(to float64) {
	c.found = true
	window := min(c.window, c.limit)
	least := min(window, int(leastTotal*float64(c.packet())/c.origins()))
	c.window, c.rest = max(int(float64(window)*to), least), 0
}

// Lost shrinks the window once for all that was in flight at that time.
func (c *aimd) Lost(l Loss, t *rtt.Estimator) {
	c.roundLost += l.Bytes
	if l.Tx <= c.recoveryTx {
		return
	}
	c.recoveryTx = l.Newest
	if c.isQueueing(t) {
		c.shrink(1 - decrease)
	}
}
