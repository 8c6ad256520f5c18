package udp

// congestion bounds the bytes in flight to one peer: additive increase, multiplicative decrease. The embedding peer's window
// field is it. A later, better controller goes here.
type congestion struct {
	window     int    // bytes that may be in flight, packetOverhead a packet included
	most       int    // it never exceeds
	recoveryTx uint64 // losses of transmissions up to this one have been answered already
}

// start sets the window for a peer whose socket holds buffer bytes.
func (c *congestion) start(buffer, packetSize int) {
	c.most = max(buffer/mostShare, c.least(packetSize))
	c.window = min(max(buffer/firstShare, c.least(packetSize)), c.most)
}

// least is what is always allowed, so that a lost packet is noticed by the next.
func (c *congestion) least(packetSize int) int { return 2 * (packetSize + packetOverhead) }

// acked: bytes have arrived.
func (c *congestion) acked(bytes, packetSize int) {
	if c.window < c.most {
		c.window = min(c.window+max(bytes*packetSize/c.window, 1), c.most)
	}
}

// lost: transmission tx was, of sent so far. The window shrinks once for all that was in flight at that time.
func (c *congestion) lost(tx, sent uint64, packetSize int) {
	if tx <= c.recoveryTx {
		return
	}
	c.recoveryTx = sent
	c.window = max(c.window/2, c.least(packetSize))
}

// rtt estimates the round trip, in nanoseconds, as RFC 6298 does.
type rtt struct {
	smooth, deviation int64 // 0: not known yet
}

func (r *rtt) sample(t int64) {
	if t < 0 {
		return
	}
	t = min(t, int64(maxTimeout)) // this task was away itself
	if r.smooth == 0 {
		r.smooth, r.deviation = max(t, 1), t/2
		return
	}
	d := t - r.smooth
	r.smooth += d / 8
	if d < 0 {
		d = -d
	}
	r.deviation += (d - r.deviation) / 4
}

// timeout is how long an acknowledgement may take before it is missed.
func (r *rtt) timeout() int64 {
	if r.smooth == 0 {
		return int64(initialTimeout)
	}
	return max(r.smooth+4*r.deviation, int64(minTimeout))
}

// retryAfter is the time to the next retransmission, with backoff, bounded by POLLING_INTERVAL.
func (p *peer) retryAfter() int64 {
	return min(p.rtt.timeout()<<min(p.backoff, 20), int64(maxTimeout), int64(p.m.cfg.PollingInterval))
}
