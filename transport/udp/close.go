package udp

import (
	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/wire"
)

// Leave sends a close notice (Bye) to every peer with a session. From now on nothing is offered to
// handlers, and new operations fail. Before Leave, the owner flushes the operations that it wants
// delivered.
func (m *Machine) Leave(now int64) {
	if m.leaving || m.closed {
		return
	}
	m.leaving = true
	for _, p := range m.peers {
		if p != nil && p.session.state == open {
			p.session.notify(now)
		}
	}
}

// Left says whether every peer has answered the Bye, or Bye was sent to it often enough.
func (m *Machine) Left() bool {
	for _, p := range m.peers {
		if p != nil && p.session.closeDue != 0 {
			return false
		}
	}
	return true
}

// HasLeft says whether ep's task has closed its session in good order.
func (m *Machine) HasLeft(ep transport.Endpoint) bool {
	return ep >= 0 && int(ep) < len(m.peers) && m.peers[ep] != nil &&
		m.peers[ep].session.state == closed
}

// notify sends the close notice, and sees to it that it is sent again unless it has been often
// enough: first by the best path, then by each that can be used in turn, as no health is looked at
// any more.
func (s *session) notify(now int64) {
	if s.closeSent == closeCount || s.state != open {
		s.closeDue = 0
		return
	}
	r := s.p.paths.Usable()
	if s.closeSent > 0 {
		s.p.paths.NextTurn()
		r = s.p.paths.Turn()
	}
	s.p.receiver.sendAck(r, wire.KindBye, 0)
	s.closeDue = now + min(int64(closeDelay)<<s.closeSent, int64(s.p.m.cfg.PollingInterval))
	s.closeSent++
	s.p.timer(s.closeDue)
}

// onClose takes in a peer's close notice, or its answer to ours.
func (s *session) onClose(now int64, r *paths.Path, h *wire.Header, rest []byte) {
	m := s.p.m
	if !s.p.sender.onAck(now, r, h, rest) {
		m.stats.GhostPackets++
		return
	}
	m.stats.PacketsReceived++
	s.closeDue = 0
	if h.Flags&wire.FlagAnswer != 0 {
		return // it may be going on: all that it waits for is acknowledged
	}
	s.p.receiver.sendAck(r, wire.KindBye, wire.FlagAnswer)
	if s.state == open {
		if s.p.sender.window.Outstanding() { // it will not take this any more
			s.lost = transport.ErrUnreachable
		}
		s.p.drop(closed, s.lost, &m.done)
	}
}
