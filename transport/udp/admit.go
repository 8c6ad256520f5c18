package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// admission is what decides whether a packet from a peer is one of the session's; doc.go, "Admission".
type admission struct {
	in, out           *wire.Secret // of packets from and to the peer; nil until its nonce is known
	helloIn, helloOut wire.HelloKey
	signed            bool // the two keys are there
	disagreed         bool // the owner was told that the peer has another level or key
}

// signatures makes the keys of Hellos from and to the peer.
func (p *peer) signatures() {
	if p.signed {
		return
	}
	cfg := &p.m.cfg
	p.helloIn = wire.NewHelloKey(cfg.Key, cfg.Level, uint32(p.ep), uint32(cfg.Task))
	p.helloOut = wire.NewHelloKey(cfg.Key, cfg.Level, uint32(cfg.Task), uint32(p.ep))
	p.signed = true
}

// seal completes a packet: head, which has everything but the check, and n bytes of user memory at data. False: the user memory cannot be
// read, and the packet must not go.
func (p *peer) seal(head []byte, data transport.Addr, n int) bool {
	if n == 0 || p.m.cfg.Level != wire.LevelMAC {
		p.out.Seal(head, nil, len(head)+n)
		return true
	}
	return memory.Read(data, uint64(n), func(b []byte) { p.out.Seal(head, b, len(head)+n) }) == nil
}

// authentic returns the peer whose session b, no Hello, belongs to, and the path that it came by, or nil. Only the kind, the origin's task number and lengths
// are used before the check has shown that the packet is genuine.
func (m *Machine) authentic(now int64, path Path, from netip.AddrPort, b []byte) (*peer, *route) {
	if len(b) < wire.HeaderSize || int(wire.Task(b)) >= len(m.peers) {
		return nil, nil
	}
	p := m.peers[wire.Task(b)]
	if p == nil || p.state == stateUnmet || p.state == stateFailed {
		return nil, nil
	}
	r := p.from(path, from)
	if r == nil {
		return nil, nil
	}
	if p.in == nil || !p.in.Open(b) {
		if p.state == stateGreeting { // it has a session with us that we do not know: tell it so
			p.regreet(r, now)
		}
		return nil, nil
	}
	if p.waitSince != 0 {
		p.waitSince = now
	}
	if p.state == stateGreeting { // its secret depends on our nonce: the peer is alive
		p.opened(r, now)
	}
	return p, r
}

// greeter returns the peer that a Hello is from, and the path, if all in it fits. Before the signature has been looked at, its fields only choose the peer and lead
// to its being dropped.
func (m *Machine) greeter(path Path, from netip.AddrPort, b []byte, h *wire.Hello) (*peer, *route) {
	if h.Decode(b) != nil || h.Task >= uint32(len(m.peers)) || m.leaving {
		return nil, nil
	}
	p := m.peers[h.Task]
	if p == nil || p.state == stateFailed {
		return nil, nil
	}
	r := p.from(path, from)
	if r == nil {
		return nil, nil
	}
	fits := h.Target == uint32(m.cfg.Task) && h.NumTasks == uint32(m.cfg.NumTasks) && h.Partition == m.partition &&
		h.Instance == uint16(m.cfg.Instance) && (h.Round == m.cfg.Round || h.Round == anyRound || p.again) && h.Incarnation != 0 && h.Nonce != 0 &&
		(p.expected == 0 || p.expected == h.Incarnation)
	if !fits {
		return nil, nil
	}
	if p.signatures(); h.Level != m.cfg.Level || !wire.Verify(b, p.helloIn) {
		p.disagree(h.Level)
		return nil, nil
	}
	return p, r
}

// disagree tells the owner, once, of a peer that wants a session but seems to have another level or job key. Once there is a session it can only be
// somebody else.
func (p *peer) disagree(theirs wire.Level) {
	if p.state >= stateOpen || p.disagreed {
		return
	}
	p.disagreed = true
	if p.m.cfg.Disagreement != nil {
		p.m.cfg.Disagreement(p.ep, theirs)
	}
}
