package paths

import "time"

const (
	// A path that does not answer while others do is marked down, and dead when it has not
	// answered for deadAfter. A dead one is reinstated after recoverAnswers probes in a row
	// were answered, probeGap apart; after twice as many, up to mostAnswers, each time that it
	// died again within flapTime.
	deadAfter      = 500 * time.Millisecond
	recoverAnswers = 3
	mostAnswers    = 48
	probeGap       = 20 * time.Millisecond
	flapTime       = 10 * time.Second
	// While a session is used, a path that has not answered for idleProbe is probed, probeGap
	// apart, doubled up to idleProbe while there is no answer. measureGap is in its place while
	// something long is on its way, which gains by each path.
	idleProbe  = 400 * time.Millisecond
	measureGap = 10 * time.Millisecond
)

// Probe asks for an answer by r. False: it cannot go now.
func (s *Set) Probe(r *Path, now int64) bool {
	if r.offline || !s.session.Ask(r, now) {
		return false
	}
	r.probeTx = r.Transmissions()
	r.probes++
	return true
}

// Used makes sure that the paths' health is looked at while the session is used. long: something
// long is on its way. When that begins, the paths that carry nothing are probed, and then as often
// as idleGap says: a path that was slow when it was measured may not be so any more.
func (s *Set) Used(now int64, long bool) {
	s.usedAt = now
	if !s.watched {
		s.watch(now)
	}
	if !long {
		return
	}
	begins := now-s.longAt >= 2*int64(measureGap)
	s.longAt = now
	if !begins {
		return
	}
	for i := range s.all {
		if r := &s.all[i]; r.Works() && r.InFlight() == 0 && now-r.answeredAt >= int64(measureGap) {
			r.probeDue = now
			r.RTT().Renew()
			s.session.Timer(now)
		}
	}
}

func (s *Set) watch(now int64) {
	s.watched = true
	for i := range s.all {
		r := &s.all[i]
		if r.probeDue == 0 && !r.offline {
			if r.probeDue = now; r.Works() { // its own packets show first
				r.probeDue += int64(idleProbe)
			}
			s.session.Timer(r.probeDue)
		}
	}
}

// idleGap is how long a path may go without an answer before it is probed.
func (s *Set) idleGap(now int64) int64 {
	if now-s.longAt < 2*int64(measureGap) {
		return int64(measureGap)
	}
	return int64(idleProbe)
}

// OnTimer looks at r's health, if the session is open. While it is not used nothing is probed: it
// costs nothing, and nobody needs to know.
func (s *Set) OnTimer(r *Path, now int64, open bool) {
	r.probeDue = 0
	if r.offline || !open {
		return
	}
	if now-s.usedAt >= 2*int64(idleProbe) && !s.window.Outstanding() {
		s.watched = false
		return
	}
	switch {
	case r.Works() && now-r.answeredAt < s.idleGap(now):
		r.probeDue = r.answeredAt + s.idleGap(now)
	case r.Works() && r.probeTx != 0 && s.Suspect(r, now):
	case r.health == live && r.corroboratedAt != 0:
		s.missed(r, now)
	case r.health == live && r.since != 0:
		s.probeBoth(r, now)
	default:
		if r.health == down && now-r.downAt >= int64(deadAfter) && s.OthersWork(r) {
			r.die(now)
		}
		if r.health == dead && r.probeTx != 0 {
			r.answers = 0
		}
		s.Probe(r, now)
		r.probeDue = now + r.probePause()
	}
	s.session.Timer(r.probeDue)
}

// probePause is how long an answer to the latest probe may take before there is another: longer the
// more stay without one.
func (r *Path) probePause() int64 {
	t := int64(probeGap) << min(max(r.probes, 1)-1, 10)
	return min(max(t, r.RTT().Timeout()), int64(idleProbe))
}

// markDown stops the use of r, by which no answer comes though the peer answers by another path.
// Packets in flight there are resent, and r is probed.
func (s *Set) markDown(r *Path, now int64) {
	r.health, r.downAt, r.suspicion = down, now, suspicion{}
	r.probes, r.probeDue = 0, now
	s.session.Timer(now)
	s.session.Changed(r, false)
	if s.OthersWork(r) {
		s.session.Redirect(r, now)
	}
}

// die: more than one answer is needed before r is used again.
func (r *Path) die(now int64) {
	if r.health == dead {
		return
	}
	if r.needed == 0 || now-r.reinstatedAt > int64(flapTime) {
		r.needed = recoverAnswers
	} else {
		r.needed = min(2*r.needed, mostAnswers)
	}
	r.health, r.answers, r.probes, r.suspicion = dead, 0, 0, suspicion{}
}

// Answered: a new transmission is known to have arrived by r, and its acknowledgement came back by
// r.
func (s *Set) Answered(r *Path, now int64) {
	r.answeredAt = now
	r.EndBackoff()
	probed := r.probeTx != 0 && r.AckedTx() >= r.probeTx
	if probed {
		r.probeTx, r.probes = 0, 0
		r.ProbeAnswered()
	}
	if r.health == live {
		r.probeTx, r.probes = 0, 0
	}
	if r.Works() || r.offline || !s.Several() { // offline: the answer waited at the socket
		return
	}
	last := !s.OthersWork(r)
	if last {
		s.allSilent(now)
	}
	if r.health == live {
		r.suspicion = suspicion{}
		return
	}
	if r.health != dead || s.isBack(r, now, probed, last) {
		s.reinstate(r)
	}
}

// isBack counts an answer by r, which is dead. True: it is one too many for that, or no path works.
func (s *Set) isBack(r *Path, now int64, probed, last bool) bool {
	if !probed && !last {
		return false
	}
	if r.answers++; r.answers < r.needed && !last {
		r.probeDue = now + int64(probeGap)
		s.session.Timer(r.probeDue)
		return false
	}
	r.reinstatedAt = now
	s.session.Renewed(r)
	return true
}

func (s *Set) reinstate(r *Path) {
	if r.health != untested {
		s.session.Changed(r, true)
	}
	r.health = live
}

// allSilent: the first of the paths answers after all were silent, perhaps as the peer did not run.
// The others have deadAfter from now on.
func (s *Set) allSilent(now int64) {
	for i := range s.all {
		s.all[i].downAt = now
	}
}

// Offline reports that nothing can be sent from, or comes to, r's local address. Packets in flight
// from there are resent by other paths at once.
func (s *Set) Offline(r *Path, now int64) {
	if r.health == live && s.Several() {
		s.session.Changed(r, false)
	}
	r.die(now)
	r.offline, r.probeDue = true, 0
	s.session.Redirect(r, now)
}

// Online tells that the address may be used again. It is, when probes by it have been answered.
func (s *Set) Online(r *Path, now int64) {
	r.offline = false
	if s.watched {
		r.probeDue = now
		s.session.Timer(now)
	}
}

// SetOffline marks a path offline whose session has not begun.
func (r *Path) SetOffline() { r.offline = true }
