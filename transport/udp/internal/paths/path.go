// Package paths knows of each path to a peer whether it works, and chooses the path of a packet. It
// has no clock and sends nothing: calls take now, in nanoseconds, and what must be sent is asked of
// the Session.
package paths

import (
	"net/netip"

	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/recovery"
)

// health is what is known of a path to a peer that has more than one; with one alone it says
// nothing.
//
//	            any answer          no answer, though another path answers (suspect.go)
//	untested ───────────────> live ──────────────────────────────────────────> down
//	                           ▲ ▲──────────── any answer ──────────────────────┘ │
//	   several answers in a row└──────────── dead <──deadAfter, another speaks────┘
//	                                          ▲── Offline, from any state
//
// An answer is an acknowledgement that came by the path and tells that a new transmission arrived
// by it: it proves both directions.
type health uint8

const (
	untested health = iota
	live
	down
	dead
)

// Path is all that is known of one path to one peer.
type Path struct {
	recovery.Path
	recovery.Arrivals
	addr    netip.AddrPort // the peer's
	health  health
	offline bool  // this task's address cannot send
	fullDue int64 // when to try the socket again; 0: it was not full
	liveness
	suspicion
}

// liveness is how a path's health is found.
type liveness struct {
	answeredAt   int64  // when the last answer came
	probeDue     int64  // when to look at the path's health again; 0: the session is not used
	probeTx      uint64 // the latest probe; 0: it was answered
	probes       uint   // without an answer, in a row
	downAt       int64  // since when it is down
	answers      int    // in a row, since it was dead
	needed       int    // bring it back
	reinstatedAt int64  // when they did last; 0: never
}

func (r *Path) Addr() netip.AddrPort { return r.addr }    // the peer's address
func (r *Path) IsOffline() bool      { return r.offline } // whether this task's address cannot send

// Works says whether r works, as far as is known: what is sent goes by such paths.
func (r *Path) Works() bool { return r.health == live && r.since == 0 }

// Health is the state in a word, for people.
func (r *Path) Health() string {
	return [...]string{untested: "untested", live: "live", down: "down", dead: "dead"}[r.health]
}

// AnsweredAt is when the last answer came.
func (r *Path) AnsweredAt() int64 { return r.answeredAt }

// SetFull says that the socket takes nothing before due; 0: perhaps it does.
func (r *Path) SetFull(due int64) { r.fullDue = due }

// FullDue is when to try the socket again; 0: it was not full.
func (r *Path) FullDue() int64 { return r.fullDue }

// ProbeDue is when to call Set.OnTimer; 0: never.
func (r *Path) ProbeDue() int64 { return r.probeDue }

// admits says whether r has room for k beside what is in flight: fewer than most packets on all
// paths, and no more bytes than r allows. One packet may always fly.
func (s *Set) admits(r *Path, k *recovery.Packet, most int) bool {
	if r.fullDue != 0 || r.offline {
		return false
	}
	if r.InFlight() == 0 {
		return true
	}
	if s.window.InFlight() < most && r.HasRoom(k.Size()) {
		return true
	}
	r.Congestion().Blocked()
	return false
}

// arrival is when k would be there if it were sent by r now, in nanoseconds from now. Of something
// long the losses do not count: others go on meanwhile, and the window is what losses leave.
func (r *Path) arrival(k *recovery.Packet) int64 {
	t := r.RTT().Shortest() / 2
	if !k.Long() {
		t = r.Latency()
	}
	return t + r.Queued(k.Size())
}

// Session is what path health needs of the session.
type Session interface {
	// Ask sends an acknowledgement by r that asks for one. False: it cannot go now.
	Ask(r *Path, now int64) bool
	// Redirect declares the packets in flight on r lost, and sends them by other paths.
	Redirect(r *Path, now int64)
	// Timer makes the session look at its timers at that time.
	Timer(at int64)
	// Changed reports that r is used again, or no more.
	Changed(r *Path, used bool)
	// Renewed: r works again and may be another route.
	Renewed(r *Path)
}

// Set is the paths to one peer.
type Set struct {
	all     []Path
	session Session
	window  *recovery.Window
	best    int   // the path of lowest latency, as it was found when nothing was in flight
	turn    int   // which path to try while none works
	usedAt  int64 // when data was sent last
	longAt  int64 // when a part of something long was
	watched bool  // the paths' health is looked at
}

// Init makes the paths to a peer at addrs, at least one. law makes a congestion law for each.
func (s *Set) Init(session Session, window *recovery.Window, addrs []netip.AddrPort,
	law func() congestion.Controller) {
	*s = Set{session: session, window: window, all: make([]Path, len(addrs))}
	for i := range s.all {
		s.all[i] = Path{Path: recovery.NewPath(law()), addr: addrs[i]}
	}
}

func (s *Set) Len() int       { return len(s.all) } // how many paths there are
func (s *Set) At(i int) *Path { return &s.all[i] }  // path i

// Recovery is the paths as loss detection has them.
func (s *Set) Recovery() (all []*recovery.Path) {
	for i := range s.all {
		all = append(all, &s.all[i].Path)
	}
	return all
}

// From is the path that a packet came by from a. Nil: a is not the peer's address there.
func (s *Set) From(number uint8, a netip.AddrPort) *Path {
	if int(number) >= len(s.all) || s.all[number].addr != a {
		return nil
	}
	return &s.all[number]
}

// Several says whether there is more than one path.
func (s *Set) Several() bool { return len(s.all) > 1 }

// Live has a bit for each path whose health is good, or every bit if there is one path.
func (s *Set) Live() (bits uint8) {
	if !s.Several() {
		return recovery.AllPaths
	}
	for i := range s.all {
		if s.all[i].health == live {
			bits |= 1 << i
		}
	}
	return bits
}

// AllOffline says whether this task can send by no path.
func (s *Set) AllOffline() bool {
	for i := range s.all {
		if !s.all[i].offline {
			return false
		}
	}
	return true
}

// OthersWork says whether another path than r does.
func (s *Set) OthersWork(r *Path) bool {
	for i := range s.all {
		if o := &s.all[i]; o != r && o.Works() {
			return true
		}
	}
	return false
}

// Opened: the session is open, by an answer that came by r.
func (s *Set) Opened(r *Path, now int64) {
	r.health, r.answeredAt, s.best = live, now, int(r.Number())
}

// Stop ends all timers: the session is over.
func (s *Set) Stop() {
	s.watched = false
	for i := range s.all {
		s.all[i].fullDue, s.all[i].probeDue = 0, 0
	}
}
