package verbs

import (
	"time"

	"lapi/transport"
	"lapi/transport/ibv"
)

// unansweredAfter is how long, in ns, a peer may leave Hellos without an answer until the owner is
// notified (Config.Unanswered). A peer that is polled late, or starts late, has answered by then.
const unansweredAfter = int64(5 * time.Second)

// Silence is what this task knows about a peer that does not respond.
type Silence struct {
	For    time.Duration // since it should have responded
	Local  ibv.Info      // the port that was tried last
	Remote ibv.Remote    // the peer's port; only GID and LID are set
	Ever   bool          // the peer has responded before
	Heard  bool          // Hellos of the peer arrive, but it does not respond to this task's
	Spare  bool          // the spare carrier was tried as well
	// Reason is why this task's adapter could not send the last Hello; nil: it was sent.
	Reason error
}

// silence is the state of a peer for that.
type silence struct {
	since    int64 // when the Hellos of this handshake began
	reported bool  // Config.Unanswered was called
	ever     bool  // a queue pair was open
	reason   error // see Silence.Reason
	last     *Silence
}

// describe is the peer's silence, which has begun at that time, up to now.
func (p *peer) describe(since, now int64) Silence {
	w := p.Way
	if w.IsSpare() {
		w = p.routes.At(0)
	}
	to := p.to.Places[w.Far()]
	return Silence{For: time.Duration(now - since), Local: w.Info(),
		Remote: ibv.Remote{GID: to.GID, LID: to.LID}, Ever: p.ever, Spare: p.routes.Sparable(),
		Heard: p.life.Known() && !p.ever, Reason: p.reason}
}

// noteUnanswered notifies the owner, once, of a peer that has not answered Hellos for
// unansweredAfter. It is called right after a Hello, whose error it takes along.
func (p *peer) noteUnanswered(now int64) {
	l := p.link
	if l.cfg.Unanswered == nil || p.reported || p.Works() || p.gone || now-p.since < unansweredAfter {
		return
	}
	p.reported = true
	l.cfg.Unanswered(p.ep, p.describe(p.since, now))
}

// silent gives up a peer that has not responded since that time.
func (p *peer) fallSilent(since, now int64) {
	found := p.describe(since, now)
	p.last = &found
	p.lost(transport.ErrTimeout)
}

// Silence is the state of ep when it was given up for its silence; false: it was not.
func (r *roster) Silence(ep transport.Endpoint) (Silence, bool) {
	if p := r.peers[ep]; p != nil && p.last != nil {
		return *p.last, true
	}
	return Silence{}, false
}
