package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/wire"
)

// admission is what decides whether a packet from a peer is one of the session's; doc.go,
// "Admission".
type admission struct {
	in, out           *wire.Secret // of packets from and to the peer; nil until its nonce is known
	helloIn, helloOut wire.HelloKey
	hasKeys           bool // the two keys are there
	disagreed         bool // the owner was notified: the peer has another level or key
}

// makeHelloKeys makes the keys of Hellos from and to the peer.
func (s *session) makeHelloKeys() {
	if s.hasKeys {
		return
	}
	level := s.p.m.cfg.Level
	s.helloIn = wire.NewHelloKey(s.key, level, uint32(s.p.ep), s.self)
	s.helloOut = wire.NewHelloKey(s.key, level, s.self, uint32(s.p.ep))
	s.hasKeys = true
}

// authentic returns the peer whose session b, no Hello, belongs to, and the path that it came by,
// or nil. Only the kind, the origin's task number and lengths are used before the check has shown
// that the packet is genuine.
func (m *Machine) authentic(now int64, path Path, from netip.AddrPort, b []byte) (*peer,
	*paths.Path) {
	if len(b) < wire.HeaderSize || int(wire.Task(b)) >= len(m.peers) {
		return nil, nil
	}
	p := m.peers[wire.Task(b)]
	if p == nil || p.session.state == idle || p.session.state == failed {
		return nil, nil
	}
	r := p.paths.From(uint8(path), from)
	if r == nil {
		return nil, nil
	}
	s := &p.session
	if s.in == nil || !s.in.Open(b) {
		// it may have a session with us that we do not know: it must tell us its nonce
		// again
		if s.state == handshaking && now >= s.nextHello {
			s.nextHello = now + int64(helloDelay)
			s.sendHello(r, 0)
		}
		return nil, nil
	}
	if s.waitSince != 0 {
		s.waitSince = now
	}
	if s.state == handshaking { // its secret depends on our nonce: the peer is alive
		s.opened(r, now)
	}
	return p, r
}

// helloFrom returns the peer that a Hello is from, and the path, if all in it fits. Before the
// signature has been looked at, its fields only choose the peer and lead to its being dropped.
func (m *Machine) helloFrom(path Path, from netip.AddrPort, b []byte, h *wire.Hello) (*peer,
	*paths.Path) {
	if h.Decode(b) != nil || h.Task >= uint32(len(m.peers)) || m.leaving {
		return nil, nil
	}
	p := m.connected(transport.Endpoint(h.Task))
	if p == nil || p.session.state == failed {
		return nil, nil
	}
	r := p.paths.From(uint8(path), from)
	if r == nil || !p.session.fits(h) {
		return nil, nil
	}
	s := &p.session
	if s.makeHelloKeys(); h.Level != m.cfg.Level || !wire.Verify(b, s.helloIn) {
		s.disagree(h.Level)
		return nil, nil
	}
	return p, r
}

// fits says whether h is for this task, from a task of this job that the session may be with.
func (s *session) fits(h *wire.Hello) bool {
	m := s.p.m
	return h.Target == s.self && h.NumTasks == uint32(m.cfg.NumTasks) &&
		h.Partition == m.partition &&
		h.Instance == uint16(m.cfg.Instance) &&
		(h.Round == m.cfg.Round || h.Round == anyRound || s.reconnects) &&
		h.Incarnation != 0 && h.Nonce != 0 && (s.expected == 0 || s.expected == h.Incarnation)
}

// disagree tells the owner, once, of a peer that wants a session but seems to have another level or
// job key. Once there is a session it can only be somebody else.
func (s *session) disagree(theirs wire.Level) {
	if s.state >= open || s.disagreed {
		return
	}
	s.disagreed = true
	if s.p.m.cfg.Disagreement != nil {
		s.p.m.cfg.Disagreement(s.p.ep, theirs)
	}
}
