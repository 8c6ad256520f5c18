package cm

import "net/netip"

// onRequest takes a request that has come to a listener's socket.
func (m *Machine) onRequest(now int64, at Port, local netip.Addr, from netip.AddrPort,
	msg *Message, b []byte) bool {
	if !proved(m.cfg.Shared, b) {
		return false
	}
	if c := m.requests[requestKey{from, msg.From}]; c != nil {
		c.hear(Request)
		c.again()
		return true
	}
	if m.ended[requestKey{from, msg.From}] { // a late copy: nobody waits for an answer
		return true
	}
	l := m.listeners[msg.Qualifier]
	switch {
	case l == nil:
		m.answer(Refuse, at, local, from, msg, 0)
		return true
	case !m.reaches(now, from, msg): // nothing is kept, and no secret made, before
		m.answer(Challenge, at, local, from, msg, m.cookie(now, from))
		return true
	case l.pending >= PendingMax:
		if l.stats != nil {
			l.stats.Full()
		}
		return true
	}
	c := m.newConn(at, from, msg.Qualifier, msg.Service, l.stats)
	c.Local = local
	if !c.agree(msg.From, msg.Key) {
		c.forget()
		return false
	}
	c.PeerCard, c.state = msg.Card, pending
	c.listener = l
	l.pending++
	c.hold()
	m.requests[requestKey{from, msg.From}] = c
	c.hear(Request)
	c.send(Wait)
	l.Service.Requested(c, msg.Private)
	return true
}

// answer answers a request of which nothing is kept.
func (m *Machine) answer(kind Kind, by Port, local netip.Addr, to netip.AddrPort, msg *Message,
	cookie uint64) {
	reply := Message{Kind: kind, Service: msg.Service, From: 1, To: msg.From,
		Qualifier: msg.Qualifier, Cookie: cookie}
	reply.put(m.out[:])
	seal(m.cfg.Shared, m.out[:])
	m.cfg.Outlet.Send(by, local, to, m.out[:])
}

// again answers a request that has come once more.
func (c *Conn) again() {
	switch c.state {
	case pending:
		c.send(Wait)
	case accepting, established:
		c.send(Accept)
	case rejected, withdrawn:
		c.send(Reject)
	}
}

// Accept accepts the request; private goes to the active side. The owner is notified of the
// outcome.
func (c *Conn) Accept(now int64, private []byte) error {
	return c.decide(now, accepting, Accept, private)
}

// Reject rejects the request. c is over.
func (c *Conn) Reject(now int64, private []byte) error {
	return c.decide(now, rejected, Reject, private)
}

func (c *Conn) decide(now int64, next state, kind Kind, private []byte) error {
	data, err := keep(private)
	if err != nil {
		return err
	}
	if c.state != pending {
		return ErrState
	}
	c.settled()
	c.state, c.private = next, data
	if next == rejected {
		c.m.remember(c)
	}
	c.send(kind)
	c.timer.begin(now, answerTimeout)
	c.m.timers.add(&c.timer)
	return nil
}

// remember keeps a rejected or withdrawn request, so that the peer still gets Reject if a message
// is lost. Only the newest RejectedMax are kept.
func (m *Machine) remember(c *Conn) {
	if len(m.rejected) == RejectedMax {
		if o := m.rejected[0]; o.state == rejected || o.state == withdrawn {
			o.forget()
		}
		m.rejected = append(m.rejected[:0], m.rejected[1:]...)
	}
	m.rejected = append(m.rejected, c)
}

// Linger forgets an established connection that has no owner any more, when no repetition of its
// messages can come.
func (c *Conn) Linger(now int64) {
	if c.state == established {
		c.Owner = nil
		c.timer.begin(now, answerTimeout)
		c.m.timers.add(&c.timer)
	}
}

// Keep gives a request's place at its listener back: the owner has places of its own for it.
func (c *Conn) Keep() { c.settled() }

// Drop forgets a request without a word. Its sender repeats it, so that it comes again.
func (c *Conn) Drop() {
	if c.state == pending {
		c.forget()
		delete(c.m.ended, requestKey{c.Peer, c.remote})
	}
}

// end notes that a request is over.
func (m *Machine) end(k requestKey) {
	if len(m.endings) < EndedMax {
		m.endings = append(m.endings, k)
	} else {
		delete(m.ended, m.endings[m.oldest])
		m.endings[m.oldest] = k
		m.oldest = (m.oldest + 1) % EndedMax
	}
	m.ended[k] = true
}

func (c *Conn) confirmed() {
	c.state = established
	c.m.timers.stop(&c.timer)
	c.release()
	c.stood(nil)
}

// onPassive takes what the active side says of a request.
func (c *Conn) onPassive(msg *Message, b []byte) bool {
	if !proved(c.proofKey(msg.Kind), b) {
		return false
	}
	c.hear(msg.Kind)
	switch {
	case c.state == withdrawn:
		c.onWithdrawn(msg.Kind)
	case msg.Kind == Cancel && c.state == rejected:
		c.forget()
	case msg.Kind == Cancel && c.state != established:
		c.fail(Cancelled, nil)
	case msg.Kind == Ready && c.state == accepting:
		c.PeerCard = msg.Card
		c.confirmed()
	}
	return true
}
