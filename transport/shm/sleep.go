package shm

import (
	"golang.org/x/sys/unix"

	"lapi/cshim/node"
	"lapi/transport/layout"
)

// Descriptors implements transport.Waiter: the bell.
func (l *Link) Descriptors() []int { return []int{l.bell} }

// Arm implements transport.Waiter. From here on a peer with news for this task rings its bell; Arm
// sees the news that were there before. Where the kernel gives no such order, NextTimeout makes the
// sleep short.
func (l *Link) Arm() bool {
	if l.closed {
		return true
	}
	if node.Arm(l.node) || len(l.broken) > 0 || l.due() || l.hasFlushed() {
		l.Disarm()
		return true
	}
	l.watchSleep()
	return false
}

// due says whether Progress is due by the clock.
func (l *Link) due() bool {
	next := l.NextTimeout()
	return next != 0 && next <= l.config.Clock()
}

// Disarm implements transport.Waiter. A peer that is slow may ring after this: then the next sleep
// is short.
func (l *Link) Disarm() {
	if l.closed {
		return
	}
	node.Disarm(l.node)
	l.watchAwake()
	// EAGAIN: nobody has rung. A peer rings before it takes armed, so armed does not show it.
	_, _ = unix.Read(l.bell, l.bellBuffer[:])
}

// NextTimeout implements transport.Waiter: when a refused message is to be offered again, a peer
// may not have rung, or one may have been silent for too long.
func (l *Link) NextTimeout() int64 {
	next := l.lookAgain
	if l.node.Unordered != 0 {
		next = l.config.Clock() + layout.LookAgainNs
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
