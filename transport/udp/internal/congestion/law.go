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
	// heavyLoss is the part of a round whose loss halves the window, queue or not.
	heavyLoss = 0.25

	// Below fullIncrease packets, times the number of origins, the increase falls with the window
	// to the power smallExponent, so that the losses stay below a hundredth (Briscoe, De
	// Schepper: Scaling TCP's Congestion Window for Small Round Trip Times, 2015).
	fullIncrease  = 8
	smallExponent = 1.45

	// A window of fewer packets is kept to by pauses.
	pacedPackets = 4
	// leastRound is the shortest round in which losses are counted, and leastCounted how many
	// packets it has once the beginning is over.
	leastRound   = 50 * time.Microsecond
	leastCounted = 32
)

// law is the law in use: CUBIC (RFC 9438), whose beginning HyStart++ ends (RFC 9406). All else has
// files of its own: which losses say that the path is full (backlog.go), the increase where many
// origins share the target (many.go), and reductions that are undone (undo.go). Windows of less
// than a packet are kept to by pauses (Kumar and others: Swift, SIGCOMM 2020).
type law struct {
	packetSize int
	window     float64 // bytes that may be in flight
	limit      int     // the peer's
	buffer     int     // what its socket holds
	start      start
	cubic      cubic
	flight     flight
	collapsed  bool // and not known whether that was right
	silent     before
	shared     bool  // many share the target, and the window began anew for it
	crest      crest // of the round trips, for pauses of many

	newBytes  int   // acknowledged since the last Update
	updatedAt int64 // when that was
	blocked   bool  // the window held packets back, in this round
	round     round
}

// round counts the outcome of about a round trip's packets.
type round struct {
	at          int64 // when it began
	bytes, lost int   // acknowledged and lost
}

// New makes the law of a path whose packets have up to packetSize bytes. Nothing may be in flight
// before Reset.
func New(packetSize int) Controller { return &law{packetSize: packetSize} }

func (c *law) Reset(buffer int) {
	*c = law{packetSize: c.packetSize, limit: buffer, buffer: buffer}
	first := max(firstPackets*c.packet(), firstBytes)
	c.window = float64(max(min(buffer/firstShare, first), c.least()))
}

// packet is what the longest packet counts for.
func (c *law) packet() int { return c.packetSize + PacketOverhead }

// packets is the window in packets.
func (c *law) packets() float64 { return c.window / float64(c.packet()) }

// least is what may always be in flight, so that a lost packet is noticed by the next. Pauses keep
// to a window below that.
func (c *law) least() int { return 2 * c.packet() }

// origins is how many share the peer's socket.
func (c *law) origins() float64 { return max(1, float64(c.buffer)/float64(max(c.limit, 1))) }

// isPaced says whether the window is so small that pauses keep to it.
func (c *law) isPaced() bool { return c.start.over && c.packets() < pacedPackets }

func (c *law) SetLimit(bytes int) { c.limit = bytes }
func (c *law) Window() int        { return max(int(c.window), c.least()) }
func (c *law) Allowed() int       { return min(c.Window(), c.limit) }
func (c *law) Blocked()           { c.blocked = true }
func (c *law) Acked(bytes int)    { c.newBytes += bytes }

func (c *law) Pause(bytes int, t *rtt.Estimator) int64 {
	if !c.isPaced() {
		return 0
	}
	round := float64(t.Smooth())
	if c.isMany() {
		round = c.crest.round(t)
	}
	return int64(round * float64(bytes) / max(c.window, 1))
}

func (c *law) Update(now int64, t *rtt.Estimator) {
	if !c.shared && c.isMany() {
		c.shared = true
		c.window = min(c.window, firstTotal*float64(c.packet())/c.origins())
	}
	c.crest.sample(t)
	bytes := c.newBytes
	c.newBytes = 0
	c.round.bytes += bytes
	if (c.blocked || c.isPaced()) && c.window < float64(c.limit) {
		c.grow(float64(bytes), min(now-c.updatedAt, t.Smooth()), t)
	}
	c.updatedAt = now
	c.endRound(now, t)
}

// endRound halves the window at the end of a round in which much was lost.
func (c *law) endRound(now int64, t *rtt.Estimator) {
	r := &c.round
	elapsed := now - r.at
	if elapsed < max(t.Smooth(), int64(leastRound)) ||
		c.start.over && r.bytes+r.lost < leastCounted*c.packet() {
		return
	}
	if r.at != 0 && elapsed < int64(time.Second) && r.lost > c.packetSize &&
		float64(r.lost) > heavyLoss*float64(r.bytes+r.lost) {
		c.reduce(0.5)
	}
	c.round, c.blocked = round{at: now}, false
}

// grow opens the window by what was acknowledged, elapsed after what was before.
func (c *law) grow(bytes float64, elapsed int64, t *rtt.Estimator) {
	w, acked, packet := c.packets(), bytes/float64(c.packet()), float64(c.packet())
	switch {
	case !c.start.over && c.isMany() && isManyQueueing(t, int(w)):
		c.endStart()
	case !c.start.over:
		c.window += c.start.grown(c.window, bytes, t)
		if c.start.over {
			c.endStart()
		}
	case c.isMany():
		c.window += manyIncrease(c.origins(), w, isManyQueueing(t, int(w))) * bytes / w
	default:
		friendliness := 1.
		if full := fullIncrease * c.origins(); w < full {
			friendliness = math.Pow(w/full, smallExponent)
		}
		w = c.cubic.grown(w, acked, float64(elapsed)/1e9, float64(t.Smooth())/1e9, friendliness)
		c.window = w * packet
	}
	c.window = min(c.window, float64(c.limit))
}

// endStart: the beginning is over, without a loss.
func (c *law) endStart() {
	c.start.over, c.collapsed = true, false
	c.cubic.begin(c.packets())
}

// Lost shrinks the window once for all that was in flight at that time.
func (c *law) Lost(l Loss, t *rtt.Estimator) {
	c.round.lost += l.Bytes
	if c.flight.lost(l) && c.isFull(t) {
		c.reduce(cubicBeta)
	}
}

// isFull says whether a loss now says that the path is.
func (c *law) isFull(t *rtt.Estimator) bool {
	if c.isMany() {
		return isManyQueueing(t, int(c.packets()))
	}
	return isQueueing(t)
}

// reduce leaves the part to of the window, and not less than this origin's share of leastTotal.
func (c *law) reduce(to float64) {
	c.flight.reduces(c)
	window := min(c.window, float64(c.limit))
	least := min(window, leastTotal*float64(c.packet())/c.origins())
	after := max(window*to, least)
	packet := float64(c.packet())
	c.cubic.reduced(window/packet, after/packet)
	c.window, c.start.over, c.collapsed = after, true, false
}

// Late undoes the latest reduction if all that made it has arrived.
func (c *law) Late(l Loss) {
	c.round.lost = max(c.round.lost-l.Bytes, 0)
	c.flight.late(l, c)
}

// Collapse begins anew, up to what RFC 9438 leaves of the window after a time-out (section 4.8).
func (c *law) Collapse() {
	if !c.collapsed {
		c.collapsed, c.silent = true, c.kept()
		c.start = start{limit: c.window * cubicBeta}
	}
	c.window = float64(c.least())
}

// Revive undoes Collapse.
func (c *law) Revive() {
	if c.collapsed {
		c.collapsed = false
		c.restore(c.silent)
	}
}
