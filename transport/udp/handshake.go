package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// handshake is how a session begins; doc.go says why this way.
type handshake struct {
	expected uint64    // the peer's incarnation as its address told; 0: not known
	nonce    uint64    // ours for this peer
	theirs   wire.Side // the peer's as its latest Hello told; final once the state is open
	known    bool      // theirs is set
	admission
	helloDue  int64 // when to repeat Hello; 0: nothing waits for the session
	helloWait int64 // the pause before
	regreetAt int64 // not before then
	again     bool  // by Reconnect: the two tasks have not begun together, rounds mean nothing
}

// anyRound in a Hello says that its sender has reconnected to the peer.
const anyRound = 0

func newPeer(m *Machine, ep transport.Endpoint, addrs []netip.AddrPort, incarnation uint64) *peer {
	p := &peer{m: m, ep: ep}
	p.routes = m.routesTo(addrs)
	p.sendMax = m.limits.SendMax
	p.fit()
	p.handshake.expected = incarnation
	for p.nonce == 0 {
		p.nonce = m.cfg.Random()
	}
	p.base, p.sendNext, p.nextSeq = firstSeq, firstSeq, firstSeq
	p.incoming.expect, p.highest = firstSeq, firstSeq
	return p
}

// move looks for the peer elsewhere: the session has not been open yet.
func (p *peer) move(now int64, addrs []netip.AddrPort, incarnation uint64) {
	p.routes = p.m.routesTo(addrs)
	p.fit()
	p.best, p.turn = 0, 0
	p.expected, p.theirs, p.known, p.in, p.out = incarnation, wire.Side{}, false, nil, nil
	if p.helloDue == 0 {
		p.state = stateUnmet
		return
	}
	p.helloDue = 0
	p.greet(now)
}

// greet begins the session, because something waits for it.
func (p *peer) greet(now int64) {
	if p.helloDue != 0 {
		return
	}
	p.state = stateGreeting
	p.waitSince, p.tries = now, 0
	p.helloWait = int64(helloDelay)
	p.sendHello(p.usable(), 0)
	p.helloDue = now + p.helloWait
	p.timer(p.helloDue)
}

// regreet tells a peer whose packets do not fit that it must tell us its nonce again.
func (p *peer) regreet(r *route, now int64) {
	if now >= p.regreetAt {
		p.regreetAt = now + int64(helloDelay)
		p.sendHello(r, 0)
	}
}

// sendHello says Hello by r.
func (p *peer) sendHello(r *route, flags wire.Flags) {
	m := p.m
	if r.down {
		return
	}
	p.signatures()
	h := wire.Hello{
		Level: m.cfg.Level, Flags: flags, Instance: uint16(m.cfg.Instance), Task: uint32(m.cfg.Task), Target: uint32(p.ep), NumTasks: uint32(m.cfg.NumTasks),
		Partition: m.partition, Incarnation: m.cfg.Incarnation, Nonce: p.nonce,
		TargetIncarnation: p.theirs.Incarnation, TargetNonce: p.theirs.Nonce, ReceiveBuffer: uint32(min(m.cfg.ReceiveBuffer, largestBuffer)), Round: m.cfg.Round,
	}
	if p.again {
		h.Round = anyRound
	}
	h.Put(m.scratch[:], p.helloOut)
	if m.out.Transmit(r.path, r.addr, m.scratch[:wire.HelloSize], 0, 0) != Full {
		m.stats.PacketsSent++
	}
}

// onHello takes in a Hello. Nothing of it is believed before its address and its signature fit.
func (m *Machine) onHello(now int64, path Path, from netip.AddrPort, b []byte) {
	var h wire.Hello
	p, r := m.greeter(path, from, b, &h)
	if p == nil {
		m.stats.GhostPackets++
		return
	}
	theirs := wire.Side{Task: h.Task, Incarnation: h.Incarnation, Nonce: h.Nonce}
	if p.state >= stateOpen && theirs != p.theirs || !p.alive() { // another incarnation, or a session that is over
		m.stats.GhostPackets++
		return
	}
	m.stats.PacketsReceived++
	if p.state != stateOpen {
		p.meet(theirs)
		p.hasBuffer(int(min(h.ReceiveBuffer, largestBuffer)))
		if h.TargetIncarnation == m.cfg.Incarnation && h.TargetNonce == p.nonce {
			p.opened(r, now)
		}
	}
	if h.Flags&wire.FlagAnswer == 0 {
		var flags wire.Flags
		if p.state == stateOpen {
			flags = wire.FlagAnswer
		}
		p.sendHello(r, flags)
	}
}

// meet notes who the peer says it is; the latest word counts until the session is open.
func (p *peer) meet(theirs wire.Side) {
	if p.state == stateUnmet {
		p.state = stateGreeting
	}
	if p.known && p.theirs == theirs {
		return
	}
	p.theirs, p.known = theirs, true
	ours := wire.Side{Task: uint32(p.m.cfg.Task), Incarnation: p.m.cfg.Incarnation, Nonce: p.nonce}
	p.in = wire.NewSecret(p.m.cfg.Key, p.m.cfg.Level, theirs, ours, firstSeq)
	p.out = wire.NewSecret(p.m.cfg.Key, p.m.cfg.Level, ours, theirs, firstSeq)
}

// largestBuffer is the most that is believed of a peer's buffer, bytes: it fits an int of any width.
const largestBuffer = 1 << 30

// hasBuffer sets the windows for a peer whose sockets hold so many bytes each.
func (p *peer) hasBuffer(bytes int) {
	p.buffer = bytes
	for i := range p.routes {
		p.routes[i].start(bytes, p.m.cfg.PacketSize)
	}
}

// opened: the peer has proved, by r, that it is alive and knows our nonce.
func (p *peer) opened(r *route, now int64) {
	p.begin()
	p.state = stateOpen
	p.helloDue, p.waitSince, p.tries = 0, 0, 0
	r.health, r.answeredAt, p.best = live, now, int(r.path)
	p.survey(now)
	p.pump(now)
}
