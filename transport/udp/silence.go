package udp

import (
	"net/netip"
	"time"

	"lapi/transport"
)

// unansweredAfter is how long a peer may leave Hellos without an answer until the owner is notified
// (Config.Unanswered). A peer that is polled late, or starts late, has answered by then.
const unansweredAfter = int64(5 * time.Second)

// Silence is what this task knows about a peer that does not respond.
type Silence struct {
	For   time.Duration  // since the oldest packet that the peer should have answered
	Path  Path           // the path that was tried last
	Peer  netip.AddrPort // the peer's address on it
	Ever  bool           // the peer has answered before
	Heard bool           // Hellos of the peer arrive, but it does not respond to this task's
	// Reason is the kernel's last error for packets to Peer, since anything came from there;
	// nil: there was none.
	Reason error
}

// Reasoner is an Outlet that knows why packets do not arrive.
type Reasoner interface {
	// LastError is the last error of a packet to that address, since anything came from there.
	LastError(path Path, to netip.AddrPort) error
}

// silence describes the peer's silence up to now.
func (s *session) silence(now int64) Silence {
	path := s.p.paths.Usable()
	found := Silence{Path: Path(path.Number()), Peer: path.Addr(), Ever: s.state == open,
		Heard: s.known && s.state == handshaking}
	if s.waitSince != 0 {
		found.For = time.Duration(now - s.waitSince)
	}
	if outlet, ok := s.p.m.out.(Reasoner); ok {
		found.Reason = outlet.LastError(found.Path, found.Peer)
	}
	return found
}

// noteUnanswered notifies the owner, once a session, of a peer that has not answered a Hello for
// unansweredAfter. It is called right after a Hello, whose error it takes along.
func (s *session) noteUnanswered(now int64) {
	report := s.p.m.cfg.Unanswered
	if report == nil || s.reported || s.waitSince == 0 || now-s.waitSince < unansweredAfter {
		return
	}
	s.reported = true
	report(s.p.ep, s.silence(now))
}

// Silence is the state of ep when it was given up for its silence; false: it was not.
func (m *Machine) Silence(ep transport.Endpoint) (Silence, bool) {
	if p := m.connected(ep); p != nil && p.session.lastSilence != nil {
		return *p.session.lastSilence, true
	}
	return Silence{}, false
}
