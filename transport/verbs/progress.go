package verbs

import (
	"time"

	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	n := l.take(max)
	if n > 0 {
		l.idle = 0
	} else if l.idle++; l.idle%eventsEach == 0 {
		l.events()
		l.probe()
	}
	if len(l.active) > 0 {
		n += l.work(max)
	}
	if l.due != 0 && !l.closed {
		l.onTimers()
	}
	return n
}

// work sees to the peers that have something to do.
func (l *Link) work(max int) (n int) {
	now := l.active
	l.active, l.spare = l.spare[:0], nil
	for _, p := range now {
		p.queued = false
		n += l.workFor(p, max)
	}
	l.spare = now[:0]
	return n
}

func (l *Link) workFor(p *peer, max int) (n int) {
	if l.closed {
		return 0
	}
	if p.holding {
		n = l.offer(p, max)
		if p.holding {
			l.attend(p)
		}
	}
	if p.gone {
		return n
	}
	if p.broken {
		l.events()
		if l.repair(p); p.gone {
			return n
		}
	}
	l.payFlushes(p)
	l.payOwed(p)
	l.sayFlushes(p)
	l.pump(p)
	l.payCredit(p)
	return n
}

// events asks the adapter what it has to tell.
func (l *Link) events() {
	for e := l.adapter.Event(); e.Kind != adapter.NoEvent; e = l.adapter.Event() {
		switch e.Kind {
		case adapter.QueuePairFailed:
			if p := l.byQP[e.QP]; p != nil {
				l.fail(p)
			}
		case adapter.Fatal:
			l.lose()
			return
		}
	}
}

// lose: the adapter is gone for good, and everything over it.
func (l *Link) lose() {
	if l.dead != nil {
		return
	}
	l.dead = transport.ErrAdaptersDown
	for _, p := range l.peers {
		if !p.gone {
			l.lost(p, l.dead)
		}
	}
}

// leave tells the peers that this task closes.
func (l *Link) leave() {
	waits := func() bool {
		for _, p := range l.peers {
			if p.open && !p.broken && p.ring.count > 0 {
				return true
			}
		}
		return false
	}
	for _, p := range l.peers {
		if p.open && !p.broken {
			_ = l.transmit(p, kindBye, 0, nil, 0, 0) // no room: it finds out by itself
		}
	}
	for end := l.cfg.Clock() + lingerMax; waits() && l.cfg.Clock() < end; {
		if l.sent() == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// sent takes in completions of sends, and drops what is received.
func (l *Link) sent() int {
	var c [8]adapter.Completion
	n := max(l.adapter.Poll(c[:]), 0)
	for i := range n {
		p := l.byQP[c[i].QP]
		if p == nil {
			continue
		}
		if c[i].State != adapter.OK {
			p.broken = true
		} else if c[i].ID&idMask == idSend {
			l.packetsSent(p, c[i].ID&^idMask)
		}
	}
	return n
}

// Descriptors implements transport.Waiter.
func (l *Link) Descriptors() []int { return l.adapter.Files() }

// Arm implements transport.Waiter.
func (l *Link) Arm() bool {
	if l.closed {
		return false
	}
	l.adapter.Quiet()
	if l.next < l.count || len(l.active) > l.holding || l.adapter.Arm() != nil {
		return true
	}
	// What came before Arm wakes nobody.
	l.next, l.count = 0, max(l.adapter.Poll(l.batch[:]), 0)
	return l.count > 0
}

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {
	if !l.closed {
		l.adapter.Quiet()
		l.events()
		l.idle = eventsEach - 1 // the next empty turn also looks at the clock
	}
}

// NextTimeout implements transport.Waiter.
func (l *Link) NextTimeout() int64 {
	due := l.due
	for _, p := range l.active {
		if at := p.held.Due(); at != 0 && (due == 0 || at < due) {
			due = at
		}
	}
	for _, p := range l.peers {
		if p.awaited() && (due == 0 || l.probeAt < due) {
			due = max(l.probeAt, 1)
		}
	}
	return due
}
