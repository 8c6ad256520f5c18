package udp

import "time"

// congestion finds how many bytes may be in flight on one path. The window doubles in each round trip until a queue shows, or
// the limit that the peer sets, then grows by a packet or a 32nd, whichever is more. A loss by itself does not say that the path is full. While round
// trips are near the shortest, there is no queue, and it changes nothing. Else it takes the window back to what the path has delivered in its
// shortest round trip and some slack, at most to a half. Only where more than a quarter of a round was lost the window is halved whatever else
// is known. So losses at random cost little, and a full queue drains.
type congestion struct {
	window     int    // bytes that may be in flight, packetOverhead a packet included
	most       int    // what the peer's socket has for us: not more, whatever the window
	recoveryTx uint64 // losses of transmissions up to this one have been answered already
	found      bool   // the doubling is over
	rate       int64  // bytes a millisecond that the path delivers; 0: not known

	roundAt    int64 // since when the following are counted
	roundBytes int   // acknowledged
	newBytes   int   // of these since the last grow
	roundLost  int   // lost
	filled     bool  // the window was what held packets back
}

// start sets the window for a peer whose socket holds buffer bytes.
func (c *congestion) start(buffer, packetSize int) {
	*c = congestion{most: buffer / mostShare}
	c.window = max(min(buffer/firstShare, max(firstPackets*(packetSize+packetOverhead), firstBytes)), c.least(packetSize))
}

// least is what a window is never below, so that a lost packet is noticed by the next.
func (c *congestion) least(packetSize int) int { return 2 * (packetSize + packetOverhead) }

// allowed is how many bytes may be in flight.
func (c *congestion) allowed() int { return min(c.window, c.most) }

// acked: bytes have arrived.
func (c *congestion) acked(bytes int) { c.newBytes += bytes }

// grow draws the conclusions from what was acknowledged since the last time; t is the path's round trip.
func (c *congestion) grow(now int64, packetSize int, t *rtt) {
	bytes := c.newBytes
	c.newBytes = 0
	c.roundBytes += bytes
	if c.filled && c.window < c.most && t.smooth <= 3*t.shortest+4*int64(slackTime) {
		step := bytes
		if c.found {
			step = max(bytes*max(packetSize, c.window/32)/c.window, 1)
		}
		c.window = min(c.window+step, max(c.most, c.window))
	}
	elapsed := now - c.roundAt
	if elapsed < max(t.smooth, int64(leastRound)) {
		return
	}
	if c.roundAt != 0 && elapsed < int64(time.Second) {
		rate := int64(c.roundBytes) * int64(time.Millisecond) / elapsed
		if rate >= c.rate {
			c.rate = rate
		} else if c.filled { // what was not asked of the path says nothing of it
			c.rate -= (c.rate - rate) / 8
		}
		if c.roundLost > (c.roundBytes+c.roundLost)/4 && c.roundLost > packetSize {
			c.window, c.found = max(c.window/2, c.least(packetSize)), true
		}
	}
	c.roundAt, c.roundBytes, c.roundLost, c.filled = now, 0, 0, false
}

// lost: transmission tx of bytes was, of sent so far. The window shrinks once for all that was in flight at that time.
func (c *congestion) lost(tx, sent uint64, bytes, packetSize int, t *rtt) {
	c.roundLost += bytes
	if tx <= c.recoveryTx {
		return
	}
	c.recoveryTx = sent
	if !t.waits() {
		return
	}
	c.found = true
	c.window = min(c.window, c.most)
	delivered := int(min(c.rate*(t.shortest+int64(slackTime))/int64(time.Millisecond), int64(c.window)))
	c.window = max(min(c.window, max(delivered, c.window/2)), c.least(packetSize))
}

// rtt estimates the round trip, in nanoseconds, as RFC 6298 does.
type rtt struct {
	smooth, deviation int64 // 0: not known yet
	shortest          int64 // met lately
	shortestAt        int64
	next              int64 // shortest since shortestAt, which follows it in time
	anew              bool  // the average is old: the next sample begins another
}

func (r *rtt) sample(now, t int64) {
	if t < 0 {
		return
	}
	t = min(max(t, 1), int64(maxTimeout)) // longer: this task was away itself
	r.keepShortest(now, t)
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

// keepShortest forgets the shortest after shortestTime, in favour of the shortest since.
func (r *rtt) keepShortest(now, t int64) {
	switch {
	case r.shortest == 0 || t <= r.shortest:
		r.shortest, r.shortestAt, r.next = t, now, 0
	case r.next == 0 || t < r.next:
		r.next = t
	}
	if now-r.shortestAt > int64(shortestTime) { // so next is set
		r.shortest, r.shortestAt, r.next = r.next, now, 0
	}
}

// waits says whether packets seem to wait on their way.
func (r *rtt) waits() bool { return r.smooth > r.shortest+max(r.shortest/4, int64(queueTime)) }

// timeout is how long an acknowledgement may take before it is missed.
func (r *rtt) timeout() int64 {
	if r.smooth == 0 {
		return int64(initialTimeout)
	}
	return max(r.smooth+4*r.deviation, int64(minTimeout))
}

// tail is how long one may take before the peer is asked.
func (r *rtt) tail() int64 {
	if r.smooth == 0 {
		return int64(initialTimeout)
	}
	return max(r.smooth+4*r.deviation+int64(ackDelay), int64(tailTimeout))
}
