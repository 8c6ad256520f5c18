package verbs

import (
	"slices"
	"time"

	"lapi/transport/verbs/internal/wire"
)

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	l.collect()
	n := l.ports.Take(max)
	l.turns += 1 + l.shared.Looks
	l.shared.Looks, l.shared.Wants = 0, 0
	if l.turns >= eventsEach {
		l.turns = 0
		l.ports.Events()
		l.probe()
	}
	if l.ports.Returns() {
		l.ports.Look(l.cfg.Clock())
	}
	if len(l.active) > 0 {
		n += l.work(max)
	}
	if l.timers.Due() != 0 && !l.closed {
		l.timers.Run(l.cfg.Clock())
	}
	return n
}

// work sees to the peers that have something to do.
func (l *Link) work(max int) (n int) {
	now := l.active
	l.active, l.turned = l.turned[:0], nil
	for _, p := range now {
		p.queued = false
		n += p.workFor(max)
	}
	l.turned = now[:0]
	return n
}

func (p *peer) workFor(max int) (n int) {
	l := p.link
	if l.closed {
		return 0
	}
	p.Window.Starve(false) // a message that finds no room says so again
	if p.holding {
		n = p.offer(max)
		if p.holding {
			p.Attend()
		}
	}
	if p.gone {
		return n
	}
	if p.fails() {
		l.ports.Events()
		if p.repair(); p.gone {
			return n
		}
	}
	if p.came {
		p.sweep()
	}
	if p.found != nil {
		p.goBack()
	}
	if p.gone {
		return n
	}
	p.payFlushes()
	p.transfers.Pay()
	p.Ended()
	p.sayFlushes()
	p.transfers.Pump()
	p.payCredit()
	return n
}

// fails says whether one of p's queue pairs does not work.
func (p *peer) fails() bool {
	return p.Broken() || slices.ContainsFunc(p.lanes,
		func(q *queue) bool { return q != nil && q.Broken() })
}

// leave notifies the peers that this task closes.
func (l *Link) leave() {
	waits := func() bool {
		for _, p := range l.peers {
			if p.Works() && p.Ring.Count > 0 {
				return true
			}
		}
		return false
	}
	for _, p := range l.peers {
		if p.Works() {
			_ = p.transmit(wire.KindBye, 0, nil, 0, 0) // no room: it finds out by itself
		}
	}
	for end := l.cfg.Clock() + lingerMax; waits() && l.cfg.Clock() < end; {
		if l.ports.TakeSent() == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// Descriptors implements transport.Waiter.
func (l *Link) Descriptors() (files []int) { return l.ports.Files() }

// Arm implements transport.Waiter.
func (l *Link) Arm() bool {
	if l.closed {
		return false
	}
	l.collect()
	return len(l.active) > l.holding || !l.ports.Arm() || len(l.active) > l.holding
}

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {
	if !l.closed {
		l.ports.Quiet()
		l.ports.Events()
		l.turns = eventsEach - 1 // the next turn also looks at the clock
	}
}

// NextTimeout implements transport.Waiter.
func (l *Link) NextTimeout() int64 {
	due := l.timers.Due()
	if at := l.ports.NextLook(l.probeAt); at != 0 && (due == 0 || at < due) {
		due = at
	}
	for _, p := range l.active {
		if at := p.held.Due(); at != 0 && (due == 0 || at < due) {
			due = at
		}
	}
	for _, p := range l.peers {
		if (p.awaited() || p.seeks()) && (due == 0 || l.probeAt < due) {
			due = max(l.probeAt, 1)
		}
	}
	return due
}
