package shm

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lapi/transport/layout"
)

// Descriptors implements transport.Waiter: the bell.
func (l *Link) Descriptors() []int { return []int{l.bell} }

// Arm implements transport.Waiter. From here on whoever has news for this task rings its bell; what was there before is seen here. Where that
// cannot be had, NextTimeout makes the sleep short.
func (l *Link) Arm() bool {
	if l.closed {
		return true
	}
	l.sleeps++
	atomic.StoreUint64(&l.own.head().Armed, l.sleeps*layout.Sleep|layout.Asleep) // sequentially consistent: before all loads below
	for _, p := range l.rings {
		if p != nil && (p.blocked || p.flushes != nil) {
			atomic.StoreUint32(&p.outControl.Waiting, 1)
		}
	}
	l.orderPeers() // peers store what there is to see, then look at these words, without a fence: see docs/fastlane.md
	if l.hasWork() {
		l.Disarm()
		return true
	}
	return false
}

// hasWork looks at everything that a Progress could do something about.
func (l *Link) hasWork() bool {
	if len(l.broken) > 0 {
		return true
	}
	for i := range l.own.head().Pending {
		if atomic.LoadUint64(&l.own.head().Pending[i]) != 0 {
			return true
		}
	}
	for _, ring := range l.paths.Active[:l.paths.NumActive] {
		p := l.rings[ring]
		if p.hasMessage() && !(p.reoffered && p.holding) { // a refused one that cannot be held waits for those that are
			return true
		}
	}
	if due := l.NextTimeout(); due != 0 && due <= l.config.Clock() {
		return true
	}
	return l.hasRoom() || l.hasFlushed()
}

// hasRoom says whether a peer whose ring was full has consumed something.
func (l *Link) hasRoom() bool {
	some := false
	for _, p := range l.rings {
		if p == nil || !p.blocked {
			continue
		}
		if p.gone || atomic.LoadUint64(&p.outControl.Consumed) != p.sender.Consumed || atomic.LoadUint64(&p.outHead.Armed) == layout.Closed {
			p.blocked = false
			some = true
		}
	}
	return some
}

// hasFlushed says whether a flush can be completed.
func (l *Link) hasFlushed() bool {
	for _, p := range l.waiting {
		if p.flushes == nil {
			continue
		}
		if done, err := l.flushed(p, p.flushes.Link.Mark); done || err != nil {
			return true
		}
	}
	return false
}

// Disarm implements transport.Waiter. A peer that is slow may ring after this: then the next sleep is short.
func (l *Link) Disarm() {
	if l.closed {
		return
	}
	atomic.StoreUint64(&l.own.head().Armed, layout.Awake)
	_, _ = unix.Read(l.bell, l.bellBuffer[:]) // EAGAIN: nobody has rung. Who rings does so before it takes armed, so armed does not tell.
}

// NextTimeout implements transport.Waiter: when a refused message is to be offered again, or a peer may not have rung.
func (l *Link) NextTimeout() int64 {
	var next int64
	if l.unordered {
		next = l.config.Clock() + lookAgainNs
	}
	if l.holding == 0 {
		return next
	}
	for _, p := range l.rings {
		if p == nil || !p.holding {
			continue
		}
		if due := p.held.Due(); due != 0 && (next == 0 || due < next) {
			next = due
		}
	}
	return next
}
