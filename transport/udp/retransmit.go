package udp

import (
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// onRetryTimer asks what has arrived by r, or resends the oldest packet there. If there are several
// paths, r is suspected, and the packet goes by a path that works, or by the next in turn. The
// other packets in flight on r follow when the answer shows that they are lost, or at the next
// timeout. The window stays, because a peer that merely does not run looks the same; only a long
// silence closes it.
func (s *sender) onRetryTimer(r *paths.Path, now int64) {
	if r.InFlight() == 0 {
		r.Rearm(now)
		return
	}
	k := s.window.Oldest(&r.Path)
	if now < r.RetryDue() && now-k.SentAt() < r.RTT().Timeout() {
		return // only Check looks so early
	}
	if s.p.session.isSilent(now) {
		s.p.session.fail(now)
		return
	}
	s.p.session.tries++
	if r.Backoff() == 0 && r.RTT().Known() && k.Size() >= packet.ShareBytes && r.Works() &&
		s.p.paths.Probe(r, now) {
		r.BackOff(1)
		r.RetryIn(now, r.RTT().Timeout())
		return
	}
	r.BackOff(r.Backoff() + 1)
	if r.Backoff() == longSilence {
		r.Congestion().Collapse()
	}
	s.timedOut(k, r, now)
	r.Rearm(now)
	s.pump(now)
}

// timedOut sees to it that k, the oldest in flight on r, is resent.
func (s *sender) timedOut(k *recovery.Packet, r *paths.Path, now int64) {
	long := s.isLong(k, r)
	// Something that went later has arrived. A lone packet that goes from path to path has
	// nothing behind it: there an answer must do.
	if k.Tx() < r.AckedTx() || k.Sends() > lonelySends && r.AnsweredAt() > k.SentAt() {
		s.lostLong(k, r, now)
	}
	suspected := s.p.paths.Suspect(r, now)
	switch {
	case !s.p.paths.OthersWork(r):
		s.retry(k, r, now)
		if long && r.Backoff() > 1 { // a short one: perhaps only long ones are lost
			s.p.paths.Probe(r, now)
		}
	case suspected:
		s.window.SetLost(k)
	default: // it was before, and there is still no answer
		s.window.Strand(&r.Path)
	}
}

// retry sends k again by the next path in turn, as none works, or by the only one.
func (s *sender) retry(k *recovery.Packet, r *paths.Path, now int64) {
	if s.p.paths.Several() {
		s.p.paths.NextTurn()
	}
	other := s.p.paths.Usable()
	if !s.transmit(k, other, now, wire.FlagAckNow) || other == r {
		return
	}
	other.BackOff(r.Backoff())
	other.Rearm(now)
}

// Redirect implements paths.Session.
func (s *sender) Redirect(r *paths.Path, now int64) {
	s.window.Strand(&r.Path)
	s.pump(now)
}

// Timer implements paths.Session.
func (s *sender) Timer(at int64) { s.p.timer(at) }

// Changed implements paths.Session.
func (s *sender) Changed(r *paths.Path, used bool) {
	if s.m.cfg.PathChanged != nil {
		s.m.cfg.PathChanged(s.p.ep, Path(r.Number()), used)
	}
}

// Renewed implements paths.Session.
func (s *sender) Renewed(r *paths.Path) { r.Renewed(s.p.session.buffer) }
