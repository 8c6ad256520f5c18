package congestion

import (
	"time"

	"lapi/transport/udp/internal/rtt"
)

const (
	// The window begins at firstPackets or firstBytes, whichever is more, at most the peer's
	// receive buffer divided by firstShare.
	firstPackets = 4
	firstBytes   = 1 << 16
	firstShare   = 8
	// A window that shrinks leaves room for what the path delivers in its shortest round trip and
	// slackTime. That stands for the time that acknowledgements are held back and tasks wait for
	// processors.
	slackTime = 400 * time.Microsecond
	// leastRound is the shortest time over which a rate is measured.
	leastRound = 50 * time.Microsecond
)

// delivery is the law in use. The window doubles in each round trip until a queue shows, or the
// peer's limit is met. Then it grows by a packet or a 32nd, whichever is more. A loss by itself
// does not say that the path is full: while round trips are near the shortest there is no queue,
// and a loss changes nothing. Else it takes the window back to what the path has delivered in its
// shortest round trip and some slack, at most to a half. Where more than a quarter of a round was
// lost, the window is halved whatever else is known. So losses at random cost little, and a full
// queue drains.
type delivery struct {
	packetSize int
	window     int    // bytes that may be in flight
	limit      int    // the peer's
	recoveryTx uint64 // losses of transmissions up to this one have been answered already
	found      bool   // the doubling is over
	rate       int64  // bytes a millisecond that the path delivers; 0: not known

	roundAt    int64 // since when the following are counted
	roundBytes int   // acknowledged
	newBytes   int   // of these since the last Update
	roundLost  int   // lost
	blocked    bool  // the window was what held packets back
}

// New makes the law of a path whose packets have up to packetSize bytes. Nothing may be in flight
// before Reset.
func New(packetSize int) Controller { return &delivery{packetSize: packetSize} }

func (c *delivery) Reset(buffer int) {
	*c = delivery{packetSize: c.packetSize, limit: buffer}
	first := max(firstPackets*(c.packetSize+PacketOverhead), firstBytes)
	c.window = max(min(buffer/firstShare, first), c.least())
}

// least is what a window is never below, so that a lost packet is noticed by the next.
func (c *delivery) least() int { return 2 * (c.packetSize + PacketOverhead) }

func (c *delivery) SetLimit(bytes int) { c.limit = bytes }
func (c *delivery) Window() int        { return c.window }
func (c *delivery) Allowed() int       { return min(c.window, c.limit) }
func (c *delivery) Blocked()           { c.blocked = true }
func (c *delivery) Acked(bytes int)    { c.newBytes += bytes }
func (c *delivery) Collapse()          { c.window = c.least() }

func (c *delivery) Update(now int64, t *rtt.Estimator) {
	c.grow(t)
	elapsed := now - c.roundAt
	if elapsed < max(t.Smooth(), int64(leastRound)) {
		return
	}
	if c.roundAt != 0 && elapsed < int64(time.Second) {
		c.endRound(elapsed)
	}
	c.roundAt, c.roundBytes, c.roundLost, c.blocked = now, 0, 0, false
}

// grow opens the window by what was acknowledged, as long as it was in use and no long queue shows.
func (c *delivery) grow(t *rtt.Estimator) {
	bytes := c.newBytes
	c.newBytes = 0
	c.roundBytes += bytes
	if !c.blocked || c.window >= c.limit || t.Smooth() > 3*t.Shortest()+4*int64(slackTime) {
		return
	}
	step := bytes
	if c.found {
		step = max(bytes*max(c.packetSize, c.window/32)/c.window, 1)
	}
	c.window = min(c.window+step, max(c.limit, c.window))
}

// endRound measures the rate of a round that took elapsed, and halves the window if much was lost.
func (c *delivery) endRound(elapsed int64) {
	rate := int64(c.roundBytes) * int64(time.Millisecond) / elapsed
	if rate >= c.rate {
		c.rate = rate
	} else if c.blocked { // what was not asked of the path says nothing of it
		c.rate -= (c.rate - rate) / 8
	}
	if c.roundLost > (c.roundBytes+c.roundLost)/4 && c.roundLost > c.packetSize {
		c.window, c.found = max(c.window/2, c.least()), true
	}
}

// Lost shrinks the window once for all that was in flight at that time.
func (c *delivery) Lost(l Loss, t *rtt.Estimator) {
	c.roundLost += l.Bytes
	if l.Tx <= c.recoveryTx {
		return
	}
	c.recoveryTx = l.Newest
	if !t.Queueing() {
		return
	}
	c.found = true
	c.window = min(c.window, c.limit)
	round := t.Shortest() + int64(slackTime)
	delivered := int(min(c.rate*round/int64(time.Millisecond), int64(c.window)))
	c.window = max(min(c.window, max(delivered, c.window/2)), c.least())
}
