package pair

import (
	"slices"
	"time"
)

// Times, in nanoseconds.
const (
	helloFirst = int64(10 * time.Millisecond) // pause before the second Hello; then doubled
	helloLast  = int64(time.Second)
	// laneTimeout is how long a lane may leave Hellos unanswered; it is left for lanePause then,
	// and longer each time that it fails.
	laneTimeout  = int64(5 * time.Second)
	lanePause    = int64(time.Second)
	lanePauseMax = int64(time.Minute)
)

// Owner has a Pair.
type Owner interface {
	// OnTimer: Hello is to go again; over: nobody has answered in time.
	OnTimer(now int64, over bool)
}

// timing is of a Pair.
type timing struct {
	timers   *Timers
	owner    Owner
	timer    int64 // when Hello goes again; 0: no timer
	pause    int64 // then
	deadline int64 // when the peer, or the lane, is given up
	ready    int64 // of a lane: when it may be tried again
}

// Timers are those of all queue pairs of a link.
type Timers struct {
	timeout int64
	endless bool    // no peer is given up
	all     []*Pair // with a timer
	due     int64   // of the earliest; 0: none
}

// Init sets how long peers may leave Hellos unanswered. endless: none is given up.
func (t *Timers) Init(timeout int64, endless bool) { t.timeout, t.endless = timeout, endless }

// SetTimeout sets how long peers may leave Hellos unanswered, from now on.
func (t *Timers) SetTimeout(now, timeout int64) {
	t.timeout = timeout
	for _, p := range t.all {
		if p.lane == 0 {
			p.deadline = now + timeout
		}
	}
}

// Due is when to call Run; 0: never.
func (t *Timers) Due() int64 { return t.due }

// Run has owners say Hello where it is time, and give up who has never answered.
func (t *Timers) Run(now int64) {
	if t.due == 0 || now < t.due {
		return
	}
	for _, p := range slices.Clone(t.all) {
		if p.timer != 0 && p.timer <= now {
			p.owner.OnTimer(now, now >= p.deadline && (p.lane != 0 || !t.endless))
		}
	}
	t.due = 0
	for _, p := range t.all {
		t.hasten(p.timer)
	}
}

func (t *Timers) hasten(at int64) {
	if t.due == 0 || at < t.due {
		t.due = at
	}
}

// Begin: Hellos begin, unless they go already.
func (p *Pair) Begin(now int64) bool {
	if p.timer != 0 {
		return false
	}
	p.pause, p.deadline = helloFirst, now+p.timers.timeout
	if p.lane != 0 {
		p.deadline = now + min(p.timers.timeout, laneTimeout)
	}
	return true
}

// Greets says whether Hellos go.
func (p *Pair) Greets() bool { return p.timer != 0 }

// Say: a Hello was said, and another goes after a pause, unless it is open.
func (p *Pair) Say(now int64) {
	if p.tries++; p.state == Open {
		p.Stop()
		return
	}
	if p.timer == 0 {
		p.timers.all = append(p.timers.all, p)
	}
	p.timer = now + p.pause
	p.pause = min(2*p.pause, helloLast)
	p.timers.hasten(p.timer)
}

// Stop ends its timer.
func (p *Pair) Stop() {
	if p.timer != 0 {
		p.timer = 0
		p.timers.all = slices.DeleteFunc(p.timers.all, func(q *Pair) bool { return q == p })
	}
}

// Lost: Hellos cannot go this way. Soon another is tried, and a lane is left.
func (p *Pair) Lost() {
	if p.tries = max(p.tries, triesMax); p.lane != 0 {
		p.deadline = 0
	}
}

// Suspend has a lane that has failed be left for a while.
func (p *Pair) Suspend(now int64) {
	p.Stop()
	p.ready = now + min(lanePause<<min(p.failures, 8), lanePauseMax)
	p.failures++
}

// Wake ends that: its port is up, or somewhere else.
func (p *Pair) Wake() { p.ready, p.failures = 0, 0 }

// Ready says whether it may be tried again.
func (p *Pair) Ready(now int64) bool { return now >= p.ready }
