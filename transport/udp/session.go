package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/wire"
)

// sessionState is where a session is; doc.go draws it.
type sessionState uint8

const (
	idle        sessionState = iota
	handshaking              // a Hello has gone out or come in
	open                     // data may go
	closed                   // the peer said Bye
	failed                   // disconnected, timed out, or the machine is closed
)

// session is who the peer is, whether it is there, and how that begins and ends; doc.go says why
// this way.
type session struct {
	p        *peer
	self     uint32 // this task's number, as the peer knows it
	key      []byte // of the two tasks
	state    sessionState
	expected uint64    // the peer's generation by its address; 0: not known
	nonce    uint64    // ours for this peer
	theirs   wire.Side // the peer's by its latest Hello; final once the state is open
	known    bool      // theirs is set
	buffer   int       // bytes that the peer's sockets hold, each
	admission
	helloDue   int64 // when to repeat Hello; 0: nothing waits for the session
	helloWait  int64 // the pause before
	nextHello  int64 // not before then to packets that do not fit
	reconnects bool  // by Reconnect: the two tasks have not begun together, rounds mean nothing

	// since when something has been due from the peer without a sign of life; 0: nothing is
	waitSince int64
	tries     uint  // how often in a row the peer was asked for one
	stallDue  int64 // when to give up because no path can be used; 0: one can
	expectDue int64 // when to see whether the owner waits for the peer; 0: it does not

	reported    bool     // Config.Unanswered was called
	lastSilence *Silence // when the peer was given up; nil: it was not, for its silence

	closeDue  int64 // when to send the close notice again; 0: not at all
	lost      error // once closed: the peer did not take all that was sent to it; nil: it did
	closeSent int
}

// anyRound in a Hello says that its sender has reconnected to the peer.
const anyRound = 0

func (s *session) alive() bool { return s.state < closed }

// move looks for the peer elsewhere: the session has not been open yet.
func (p *peer) move(now int64, addrs []netip.AddrPort, incarnation uint64) {
	p.setPaths(addrs)
	s := &p.session
	s.expected, s.theirs, s.known, s.in, s.out = incarnation, wire.Side{}, false, nil, nil
	if s.helloDue == 0 {
		s.state = idle
		return
	}
	s.helloDue = 0
	s.greet(now)
}

// greet begins the handshake, because something waits for the session.
func (s *session) greet(now int64) {
	if s.helloDue != 0 {
		return
	}
	s.state = handshaking
	s.waitSince, s.tries = now, 0
	s.helloWait = int64(helloDelay)
	s.sendHello(s.p.paths.Usable(), 0)
	s.helloDue = now + s.helloWait
	s.p.timer(s.helloDue)
}

// sendHello sends Hello by r.
func (s *session) sendHello(r *paths.Path, flags wire.Flags) {
	m := s.p.m
	if r.IsOffline() {
		return
	}
	s.makeHelloKeys()
	h := wire.Hello{
		Level: m.cfg.Level, Flags: flags, Instance: uint16(m.cfg.Instance),
		Task: s.self, Target: uint32(s.p.ep),
		NumTasks: uint32(m.cfg.NumTasks), Partition: m.partition, Incarnation: m.cfg.Incarnation,
		Nonce:             s.nonce,
		TargetIncarnation: s.theirs.Incarnation, TargetNonce: s.theirs.Nonce,
		ReceiveBuffer: uint32(min(m.cfg.ReceiveBuffer, largestBuffer)),
		Round:         m.cfg.Round,
	}
	if s.reconnects {
		h.Round = anyRound
	}
	h.Put(m.scratch[:], s.helloOut)
	if m.out.Transmit(Path(r.Number()), r.Addr(), m.scratch[:wire.HelloSize], 0, 0) != Full {
		m.stats.PacketsSent++
	}
}

// onHello takes in a Hello. Nothing of it is believed before its address and its signature fit.
func (m *Machine) onHello(now int64, path Path, from netip.AddrPort, b []byte) {
	var h wire.Hello
	p, r := m.helloFrom(path, from, b, &h)
	if p == nil {
		m.stats.GhostPackets++
		return
	}
	s := &p.session
	theirs := wire.Side{Task: h.Task, Incarnation: h.Incarnation, Nonce: h.Nonce}
	// another generation, or a session that is over
	if s.state >= open && theirs != s.theirs || !s.alive() {
		m.stats.GhostPackets++
		return
	}
	m.stats.PacketsReceived++
	if s.state != open {
		s.learn(theirs)
		s.buffer = int(min(h.ReceiveBuffer, largestBuffer))
		for i := range p.paths.Len() {
			p.paths.At(i).Congestion().Reset(s.buffer)
		}
		if h.TargetIncarnation == m.cfg.Incarnation && h.TargetNonce == s.nonce {
			s.opened(r, now)
		}
	}
	if h.Flags&wire.FlagAnswer == 0 {
		var flags wire.Flags
		if s.state == open {
			flags = wire.FlagAnswer
		}
		s.sendHello(r, flags)
	}
}

// learn notes who the peer says it is; the latest word counts until the session is open.
func (s *session) learn(theirs wire.Side) {
	if s.state == idle {
		s.state = handshaking
	}
	if s.known && s.theirs == theirs {
		return
	}
	s.theirs, s.known = theirs, true
	cfg := &s.p.m.cfg
	ours := wire.Side{Task: s.self, Incarnation: cfg.Incarnation, Nonce: s.nonce}
	s.in = wire.NewSecret(s.key, cfg.Level, theirs, ours, firstSeq)
	s.out = wire.NewSecret(s.key, cfg.Level, ours, theirs, firstSeq)
}

// opened: the peer has proved, by r, that it is alive and knows our nonce.
func (s *session) opened(r *paths.Path, now int64) {
	s.state = open
	s.helloDue, s.waitSince, s.tries = 0, 0, 0
	s.p.paths.Opened(r, now)
	s.p.sender.learnMTUs(now)
	s.p.sender.pump(now)
}

func (s *session) onHelloTimer(now int64) {
	if s.isSilent(now) {
		s.fail(now)
		return
	}
	s.p.paths.NextTurn()
	s.sendHello(s.p.paths.Usable(), 0)
	s.noteUnanswered(now)
	s.tries++
	s.helloWait = min(2*s.helloWait, int64(helloDelayMax), int64(s.p.m.cfg.PollingInterval))
	s.helloDue = now + s.helloWait
}

// waits: something has gone that the peer must answer.
func (s *session) waits(now int64) {
	if s.waitSince == 0 {
		s.waitSince = now
	}
}

// heard: the peer has answered. outstanding: it must answer more.
func (s *session) heard(now int64, outstanding bool) {
	s.tries, s.waitSince = 0, 0
	if outstanding {
		s.waitSince = now
	} else {
		s.expect(now) // an answer may be due
	}
}

// Expect says that the owner waits for something from ep that is no acknowledgement, as an answer
// that the peer makes in its own time. While it does (Config.Expected), the peer is asked for a
// sign of life now and then, so that its silence is noticed although nothing is in flight.
func (m *Machine) Expect(now int64, ep transport.Endpoint) {
	if p := m.connected(ep); p != nil && p.session.alive() && !m.leaving {
		p.session.expect(now)
		if p.session.state != open {
			p.session.greet(now)
		}
	}
}

// expect looks whether the owner waits for the peer, after a while.
func (s *session) expect(now int64) {
	cfg := &s.p.m.cfg
	if s.expectDue == 0 && cfg.Expected != nil && !cfg.NoTimeout {
		s.expectDue = now + int64(cfg.Timeout)/expectTimes
		s.p.timer(s.expectDue)
	}
}

// onExpectTimer asks for a sign of life, unless what is in flight does, by each path in turn.
func (s *session) onExpectTimer(now int64) {
	s.expectDue = 0
	if !s.p.m.cfg.Expected(s.p.ep) {
		return
	}
	if s.state == open && !s.p.sender.window.Outstanding() {
		if s.isSilent(now) {
			s.fail(now)
			return
		}
		if s.tries++; s.tries > 1 {
			s.p.paths.NextTurn()
		}
		s.waits(now)
		s.p.sender.Ask(s.p.paths.Usable(), now)
	}
	s.expect(now)
}

// isSilent says whether nothing came from the peer for TIMEOUT, although it was asked several
// times: if this task itself did not run for so long, the answer waits at its socket.
func (s *session) isSilent(now int64) bool {
	cfg := &s.p.m.cfg
	return !cfg.NoTimeout && s.waitSince != 0 && now-s.waitSince >= int64(cfg.Timeout) &&
		s.tries >= timeoutTries
}

// fail gives the peer up for its silence.
func (s *session) fail(now int64) {
	p, silence := s.p, s.silence(now)
	s.lastSilence = &silence
	reason := transport.ErrTimeout
	switch {
	case p.paths.AllOffline():
		reason = transport.ErrAdaptersDown
	case p.paths.Several():
		reason = transport.ErrUnreachable
	}
	p.drop(failed, transport.ErrUnreachable, &p.m.done)
	if p.m.cfg.PeerFailed != nil {
		p.m.cfg.PeerFailed(p.ep, reason)
	}
}

// stalled makes sure that the owner is notified if this task can send by no address.
func (s *session) stalled(now int64) {
	p := s.p
	if s.stallDue != 0 || !s.isStalled() {
		return
	}
	s.waits(now)
	s.stallDue = s.waitSince + int64(p.m.cfg.Timeout)
	p.timer(s.stallDue)
}

// isStalled says whether something waits and this task can send by no address.
func (s *session) isStalled() bool {
	return !s.p.m.cfg.NoTimeout && s.p.sender.window.Outstanding() && s.p.paths.AllOffline()
}

// onStallTimer: TIMEOUT has passed since this task could send by no address. It may have come back,
// and be in another such time now.
func (s *session) onStallTimer(now int64) {
	s.stallDue = 0
	if !s.isStalled() {
		return
	}
	if s.waitSince != 0 && now-s.waitSince >= int64(s.p.m.cfg.Timeout) {
		s.fail(now)
		return
	}
	s.stalled(now)
}

// end stops every timer.
func (s *session) end(to sessionState) {
	s.helloDue, s.stallDue, s.expectDue, s.closeDue, s.waitSince = 0, 0, 0, 0, 0
	s.state = to
}
