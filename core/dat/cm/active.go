package cm

import (
	"net/netip"
	"slices"
)

// refusalsMax is how many times in a row a peer may say, or its kernel, that nobody listens, in
// some three seconds: a program may be about to listen.
const refusalsMax = 9

// refusalsKnown is likewise where somebody is known to have listened before (Conn.Known).
const refusalsKnown = 3

// Call is what Connect begins.
type Call struct {
	To        netip.AddrPort
	Qualifier uint64
	Service   uint8
	Card      [CardSize]byte
	Private   []byte
	Timeout   int64 // ns; 0: none
	Owner     Owner // is notified of the outcome, never from inside Connect
	Stats     Stats // nil: nothing is counted
}

// Connect begins a connection to the process that listens at a qualifier of an address.
func (m *Machine) Connect(now int64, call *Call) (*Conn, error) {
	data, err := keep(call.Private)
	if err != nil {
		return nil, err
	}
	c := m.newConn(Own, call.To, call.Qualifier, call.Service, call.Stats)
	c.Active, c.private, c.Card, c.Owner = true, data, call.Card, call.Owner
	c.cookie = m.cookies[call.To]
	c.timer.begin(now, call.Timeout)
	c.send(Request)
	m.timers.add(&c.timer)
	return c, nil
}

// Refused: the kernel says that there is nobody at the peer's port. It is believed after several.
func (m *Machine) Refused(now int64, to netip.AddrPort) {
	for _, c := range m.conns {
		if c.Active && c.asking() && c.Peer == to {
			c.refused(now)
		}
	}
}

// asking says whether c waits for the peer's decision.
func (c *Conn) asking() bool { return c.state == requesting || c.state == waiting }

// refused waits for the next repetition; the last one ends it.
func (c *Conn) refused(now int64) {
	if c.timer.refusedAt == c.timer.sent {
		return // of the same request
	}
	c.timer.refusedAt = c.timer.sent
	c.hear(Refuse)
	most := refusalsMax
	if c.Known {
		most = refusalsKnown
	}
	if c.refusals++; c.refusals >= most {
		c.fail(NobodyThere, nil)
	}
}

// onActive takes an answer. False: it proves nothing.
func (c *Conn) onActive(now int64, msg *Message, b []byte) bool {
	switch msg.Kind {
	case Challenge:
		if !proved(c.m.cfg.Shared, b) || !c.asking() || msg.Cookie == 0 {
			return false
		}
		c.challenged = true
		if msg.Cookie != c.cookie { // else it answers a repetition
			c.cookie = msg.Cookie
			c.m.keepCookie(c.Peer, c.cookie)
			c.transmit(Request)
		}
	case Wait:
		if !proved(c.m.cfg.Shared, b) {
			return false
		}
		c.hear(Wait)
		c.refusals = 0
		if c.state == requesting { // else it is late, or comes again
			c.state = waiting
			c.m.timers.slow(&c.timer, now)
		}
	case Refuse:
		if !proved(c.m.cfg.Shared, b) || !c.asking() {
			return false
		}
		c.refused(now)
	case Accept:
		return c.onAccept(msg, b)
	case Reject:
		return c.onReject(msg, b)
	}
	return true
}

// onAccept takes the answer that makes the connection. It is answered each time it comes.
func (c *Conn) onAccept(msg *Message, b []byte) bool {
	switch c.state {
	case established:
		if msg.From != c.remote || !proved(c.Secret[:], b) {
			return false
		}
		c.hear(Accept)
		c.send(Ready)
	case requesting, waiting:
		if !c.agreed(msg, b) {
			return false
		}
		c.hear(Accept)
		c.state, c.PeerCard = confirming, msg.Card
		c.private = slices.Clone(msg.Private)
		if c.Owner == nil || c.Owner.Accepted(c) {
			c.Proceed()
		}
	case confirming: // once more; the answer comes when the owner is ready
		if msg.From != c.remote || !proved(c.Secret[:], b) {
			return false
		}
		c.hear(Accept)
	}
	return true
}

// Proceed establishes a connection for which Owner.Accepted returned false, once the owner is
// ready. It does nothing if the connection has failed or was closed meanwhile.
func (c *Conn) Proceed() {
	if c.state != confirming {
		return
	}
	c.state = established
	c.m.timers.stop(&c.timer)
	c.stood(c.private) // the owner may change the card, which Ready carries
	c.private = nil
	if c.state == over { // the owner could not use it, and the peer must not take it for made
		c.send(Cancel)
		return
	}
	c.send(Ready)
}

// agreed makes the secret with the peer that has answered, and says whether the secret proves the
// answer. If not, nothing changes.
func (c *Conn) agreed(msg *Message, b []byte) bool {
	before := *c
	if c.agree(msg.From, msg.Key) && proved(c.Secret[:], b) {
		return true
	}
	c.remote, c.Pair, c.Secret = before.remote, before.Pair, before.Secret
	c.PeerKey = before.PeerKey
	return false
}
