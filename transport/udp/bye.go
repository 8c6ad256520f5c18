package udp

import "lapi/transport/udp/wire"

// farewell is the end of a session in good order.
type farewell struct {
	byeDue  int64 // when to say Bye again; 0: not at all
	byeSent int
}

// Leave says Bye to every peer with a session. From now on nothing is offered to handlers, and new operations fail. What the
// owner wants delivered it flushes before.
func (m *Machine) Leave(now int64) {
	if m.leaving || m.closed {
		return
	}
	m.leaving = true
	for _, p := range m.peers {
		if p != nil && p.state == stateOpen {
			p.bye(now)
		}
	}
}

// Left says whether every peer has answered Leave, or been told often enough.
func (m *Machine) Left() bool {
	for _, p := range m.peers {
		if p != nil && p.byeDue != 0 {
			return false
		}
	}
	return true
}

// bye says Bye, and that it will be said again unless it has been often enough.
func (p *peer) bye(now int64) {
	if p.byeSent == byeCount || p.state != stateOpen {
		p.byeDue = 0
		return
	}
	if p.byeSent > 0 {
		p.nextTurn()
	}
	p.sendAck(p.farewellRoute(), wire.KindBye, 0)
	p.byeDue = now + min(int64(byeDelay)<<p.byeSent, int64(p.m.cfg.PollingInterval))
	p.byeSent++
	p.timer(p.byeDue)
}

// onBye takes in a peer's Bye, or its answer to ours.
func (p *peer) onBye(now int64, r *route, h *wire.Header, rest []byte) {
	if !p.onAck(now, r, h, rest) {
		p.m.stats.GhostPackets++
		return
	}
	p.m.stats.PacketsReceived++
	p.byeDue = 0
	if h.Flags&wire.FlagAnswer != 0 {
		return // it may be going on: all that it is owed is acknowledged
	}
	p.sendAck(r, wire.KindBye, wire.FlagAnswer)
	if p.state == stateOpen {
		p.drop(stateLeft, nil, &p.m.done)
	}
}

// farewellRoute is the path for the next Bye: first the best, then each that can be used in turn, as no health is looked at any more.
func (p *peer) farewellRoute() *route {
	r := &p.routes[p.turn]
	if p.byeSent == 0 || r.down {
		return p.usable()
	}
	return r
}
