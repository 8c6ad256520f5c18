package cm

// A passive side that has accepted may give up before Ready has arrived. Its peer may have received
// Accept, and regard the connection as established. So Reject is repeated until the peer
// acknowledges it by Cancel, for at most answerTimeout.

// withdraw takes back an Accept.
func (c *Conn) withdraw(now int64) {
	c.state, c.private = withdrawn, nil
	c.m.withdrawn++
	c.m.remember(c)
	c.send(Reject)
	c.timer.begin(now, answerTimeout)
	c.m.timers.add(&c.timer)
}

// onWithdrawn takes the peer's message to a connection that was withdrawn.
func (c *Conn) onWithdrawn(kind Kind) {
	if kind == Ready { // the peer has not received Reject
		c.send(Reject)
		return
	}
	c.release()
	c.state = rejected // remembered still: its request may come once more
	c.m.withdrawn--
}

// Withdrawn is how many connections were withdrawn whose peers may not know it yet.
func (m *Machine) Withdrawn() int { return m.withdrawn }

// onReject takes a rejection. A rejection after Accept is acknowledged: the peer repeats it.
func (c *Conn) onReject(msg *Message, b []byte) bool {
	if c.asking() {
		if !c.agreed(msg, b) {
			return false
		}
	} else {
		if msg.From != c.remote || !proved(c.Secret[:], b) {
			return false
		}
		c.send(Cancel)
	}
	c.fail(Rejected, msg.Private)
	return true
}

// hold keeps the socket open that the peer of a passive connection sends to.
func (c *Conn) hold() {
	c.held = true
	c.m.cfg.Outlet.Hold(c.port)
}

func (c *Conn) release() {
	if c.held {
		c.held = false
		c.m.cfg.Outlet.Release(c.port)
	}
}
