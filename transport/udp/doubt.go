package udp

// doubt is about a live path whose answer is overdue: does the path fail, or does the peer not run? Nothing new goes there from the first moment,
// as long as another path speaks, because that costs nothing. To leave it takes more. It is asked again, and so is another path, if nothing goes there
// anyway. Once that one has answered what was sent later, the peer is known to have run, and an answer by the doubtful path must be right
// behind. If it is not, that is a miss; enoughMisses in a row, each with a question of its own, tell that the path does not work: one alone may
// come of a peer that lost the processor between two looks. If all paths are silent alike, none is left.
type doubt struct {
	silentAt  int64 // since when an answer has been overdue; 0: none is
	askedAt   int64 // when it was asked for last
	witnessAt int64 // when another path answered what was sent later; 0: none has yet
	misses    int   // in a row
}

// speaks says whether r works, as far as is known: what is sent goes by such paths.
func (r *route) speaks() bool { return r.health == live && r.silentAt == 0 }

// othersSpeak says whether another path than r speaks.
func (p *peer) othersSpeak(r *route) bool {
	for i := range p.routes {
		if o := &p.routes[i]; o != r && o.speaks() {
			return true
		}
	}
	return false
}

// doubt begins to doubt r, by which no answer has come in time. False: it is doubted already, or there is nothing to compare it with.
func (p *peer) doubt(r *route, now int64) bool {
	if !r.speaks() || !p.striped() {
		return false
	}
	r.silentAt, r.misses = now, 0
	p.question(r, now)
	return true
}

// question asks for an answer by r, and by another path so that there is something to compare. The next look is at probeDue.
func (p *peer) question(r *route, now int64) {
	r.askedAt, r.witnessAt = now, 0
	p.probe(r, now)
	if o := p.usable(); o != r && o.flying == 0 {
		p.sendAckNow(o, now)
	}
	r.probeDue = now + r.probePause()
	p.timer(r.probeDue)
}

// witness: r has answered what was sent at r.ackedSent, so the peer has run since then. Whatever was asked before by other paths is due.
func (p *peer) witness(r *route, now int64) {
	for i := range p.routes {
		o := &p.routes[i]
		if o != r && o.health == live && o.silentAt != 0 && o.witnessAt == 0 && o.askedAt <= r.ackedSent {
			o.witnessAt = now
			o.probeDue = now + min(o.timeout(), int64(turnTimeout))
			p.timer(o.probeDue)
		}
	}
}

// missed is called when r should have answered: the peer has run since it was asked.
func (p *peer) missed(r *route, now int64) {
	if r.misses++; r.misses >= enoughMisses {
		p.leave(r, now)
		return
	}
	if p.othersSpeak(r) { // what is still in flight there goes again
		p.strand(r)
		p.pump(now)
	}
	p.question(r, now)
}
