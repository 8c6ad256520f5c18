package paths

import (
	"time"
)

const (
	// mostMisses: if a path did not answer this many probes in a row, while another did, the
	// path fails, not the peer.
	mostMisses = 3
	// TurnTimeout bounds how long a peer with several paths may take for an answer by one.
	TurnTimeout = 100 * time.Millisecond
)

// suspicion is about a live path whose answer is overdue: does the path fail, or does the peer not
// run? Nothing new goes there from the first moment, as long as another path works, because that
// costs nothing. To mark it down takes more. It is probed again, and so is another path, if nothing
// goes there anyway. Once that path has answered a packet sent later, the peer is known to have
// run, and an answer by the suspect must be right behind: that is a corroborating acknowledgement.
// If the answer is not there, that is a miss. mostMisses in a row, each with a probe of its own,
// tell that the path does not work: one alone may come of a peer that lost the processor between
// two looks. If all paths are silent alike, none is marked down.
type suspicion struct {
	since          int64 // when an answer became overdue; 0: none is
	askedAt        int64 // when it was asked for last
	corroboratedAt int64 // when another path answered what was sent later; 0: none has yet
	misses         int   // in a row
}

// Suspect begins to suspect r, by which no answer has come in time. False: it is suspected already,
// or there is nothing to compare it with.
func (s *Set) Suspect(r *Path, now int64) bool {
	if !r.Works() || !s.Several() {
		return false
	}
	r.since, r.misses = now, 0
	s.probeBoth(r, now)
	return true
}

// probeBoth asks for an answer by r, and by another path so that there is something to compare. The
// next look is at probeDue.
func (s *Set) probeBoth(r *Path, now int64) {
	r.askedAt, r.corroboratedAt = now, 0
	s.Probe(r, now)
	if o := s.Usable(); o != r && o.InFlight() == 0 {
		s.session.Ask(o, now)
	}
	r.probeDue = now + r.probePause()
	s.session.Timer(r.probeDue)
}

// Corroborate: r has answered what was sent at r.AckedSent, so the peer has run since then.
// Whatever was asked before by other paths is due.
func (s *Set) Corroborate(r *Path, now int64) {
	if !s.Several() {
		return
	}
	for i := range s.all {
		o := &s.all[i]
		if o != r && o.health == live && o.since != 0 && o.corroboratedAt == 0 &&
			o.askedAt <= r.AckedSent() {
			o.corroboratedAt = now
			o.probeDue = now + min(o.RTT().Timeout(), int64(TurnTimeout))
			s.session.Timer(o.probeDue)
		}
	}
}

// missed is called when r should have answered: the peer has run since it was asked.
func (s *Set) missed(r *Path, now int64) {
	if r.misses++; r.misses >= mostMisses {
		s.markDown(r, now)
		return
	}
	if s.OthersWork(r) { // packets still in flight there are resent
		s.session.Redirect(r, now)
	}
	s.probeBoth(r, now)
}
