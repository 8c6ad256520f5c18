package verbs

import (
	"slices"
	"time"

	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/detour"
	"lapi/transport/verbs/internal/wire"
)

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	l.hear()
	n := 0
	for _, pt := range l.ports {
		n += pt.take(max - n)
	}
	if l.spare != nil {
		n += l.spare.take(max - n)
	}
	for _, pt := range l.ports {
		pt.adapt()
	}
	l.turns += 1 + l.shared.Looks
	l.shared.Looks, l.shared.Wants = 0, 0
	if l.turns >= eventsEach {
		l.turns = 0
		l.events()
		l.probe()
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
	p.Waits = 0 // who finds no room says so again
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
		l.events()
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
	if p.untold != 0 {
		p.tellPlaces()
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

// events asks the adapters what they have to tell.
func (l *Link) events() {
	for _, pt := range l.ports {
		pt.events()
	}
	if l.spare != nil {
		l.spare.events()
	}
}

// leave tells the peers that this task closes.
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
		if l.sent() == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// sent takes in completions of sends, and drops what is received.
func (l *Link) sent() (n int) {
	ports := l.ports
	if l.UsesSpare() {
		l.spare.adapter.(*detour.Adapter).Drive()
		ports = append(slices.Clone(ports), l.spare)
	}
	for _, pt := range ports {
		var c [8]ibv.Completion
		found := max(pt.adapter.PollCQ(pt.cq, c[:]), 0)
		n += found
		for i := range found {
			q := pt.pairs[c[i].QPN]
			if q == nil {
				continue
			}
			if c[i].Status != ibv.Success {
				q.Pair.Fail()
			} else if c[i].ID&idMask == idSend {
				q.peer.packetsSent(c[i].ID &^ idMask)
			}
		}
	}
	return n
}

// Descriptors implements transport.Waiter.
func (l *Link) Descriptors() (files []int) {
	if l.gate > 0 {
		return []int{l.gate}
	}
	for _, pt := range l.ports {
		files = append(files, pt.adapter.Files()...)
	}
	return files
}

// Arm implements transport.Waiter.
func (l *Link) Arm() bool {
	if l.closed {
		return false
	}
	l.hear()
	work := len(l.active) > l.holding
	for _, pt := range l.ports {
		pt.adapter.Quiet(nil)
		if work = work || pt.Next < pt.Count; work {
			return true
		}
		if pt.state != PortGone && pt.adapter.ArmCQ(pt.cq, false) != nil {
			return true
		}
		// What came before Arm wakes nobody.
		if pt.poll(len(pt.Batch)) {
			return true
		}
	}
	return len(l.active) > l.holding || l.spare != nil && l.spare.poll(len(l.spare.Batch))
}

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {
	if !l.closed {
		for _, pt := range l.ports {
			pt.adapter.Quiet(nil)
		}
		l.events()
		l.turns = eventsEach - 1 // the next turn also looks at the clock
	}
}

// NextTimeout implements transport.Waiter.
func (l *Link) NextTimeout() int64 {
	due := l.timers.Due()
	for _, pt := range l.ports {
		if at := max(pt.lookAt, l.probeAt, 1); l.isSought(pt) && (due == 0 || at < due) {
			due = at
		}
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
