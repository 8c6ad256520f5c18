package shm

import (
	"sync/atomic"
	"time"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

// This file watches over peers. A peer from which something is due, and nothing comes for TIMEOUT,
// has failed, as over UDP. Operations that wait for a peer that has left end once all that it sent
// was received.
//
// A peer shows that it lives when it consumes what was sent to it, or sends. A task in interrupt
// mode does so while it computes; a task in polling mode only in its calls. A peer that a barrier
// waits for may have nothing to consume: it gets a message that says nothing.
//
// A look at the peers also gives back memory of chunks that was in use once and has not been for
// restAfter.
//
// One look counts for a quarter of TIMEOUT at most. So a task that was stopped itself, together
// with its peers, gives them time before it counts them as silent.

const (
	looksPerTimeout = 4
	lookTurns       = 64 // progress calls between looks at the clock
	lookPause       = int64(10 * time.Millisecond)
	restAfter       = int64(time.Second)
)

// watch is what is known of a peer.
type watch struct {
	due    bool   // something was due at the latest look
	heard  uint64 // changes whenever the peer shows that it lives
	silent int64  // ns
	waits  int64  // ns that a barrier has waited for it with nothing due
	left   bool   // the operations that waited for it have ended
	sent   uint64 // messages in chunks, at the latest look
	unused int64  // ns since then
}

// SetTimeout changes for how long a peer may be silent (LAPI_Senv TIMEOUT); 0: for ever.
func (l *Link) SetTimeout(d time.Duration) { l.config.Timeout = d }

// timeout is for how long a peer may be silent, ns; 0: for ever.
func (l *Link) timeout() int64 {
	if l.config.NoTimeout {
		return 0
	}
	return int64(l.config.Timeout)
}

// share is what one look counts for at most.
func (l *Link) share() int64 { return l.timeout() / looksPerTimeout }

// lookAtPeers is a part of each progress call.
func (l *Link) lookAtPeers() {
	turn := l.node.Turn
	if !l.lookSoon && turn-l.lookedTurn < lookTurns {
		return
	}
	l.lookedTurn = turn
	now := l.config.Clock()
	if l.lookSoon || now-l.lookedAt >= lookPause {
		gap := now - l.lookedAt
		l.lookedAt, l.lookSoon = now, false
		for _, p := range l.rings {
			if p != nil && !p.gone {
				l.rest(p, gap)
				l.lookAt(p, min(gap, l.share()))
			}
		}
	}
}

// rest gives memory back that was needed once, and was not for restAfter.
func (l *Link) rest(p *peer, gap int64) {
	chunks, w := &p.node.Chunks, &p.watch
	switch {
	case chunks.Used <= layout.ChunkLeast:
	case chunks.Sent != w.sent:
		w.sent, w.unused = chunks.Sent, 0
	default:
		if w.unused += gap; w.unused >= restAfter {
			node.Rest(l.node, p.ring)
		}
	}
}

func (l *Link) lookAt(p *peer, gap int64) {
	if p.watch.left || p.ring == l.index {
		return
	}
	if atomic.LoadUint64(&p.outHead.Armed) == layout.Closed {
		l.hasLeft(p)
		return
	}
	if l.timeout() == 0 {
		return
	}
	w := &p.watch
	due, heard := node.IsDue(l.node, p.ring)
	silent := heard == w.heard
	w.heard = heard
	if !due || !w.due || !silent {
		w.silent = 0
	} else if w.silent += gap; w.silent >= l.timeout() {
		if w.silent = 0; l.config.Runs == nil || !l.config.Runs(p.ep) {
			l.suspect(p, transport.ErrTimeout)
		}
	}
	w.due = due
	if due || !silent || !l.barrierAwaits(p) {
		w.waits = 0
	} else if w.waits += gap; w.waits >= l.share() {
		node.Ask(l.node, p.ring)
	}
}

// hasLeft ends operations that wait for a peer that has closed its link, once its last messages are
// here.
func (l *Link) hasLeft(p *peer) {
	if !node.IsOver(l.node, p.ring) {
		l.lookSoon = true // they come first
		return
	}
	p.watch.left = true
	l.dropQueues(p, transport.ErrUnreachable)
	p.settle()
}

// barrierAwaits says whether the node's barrier waits for p.
func (l *Link) barrierAwaits(p *peer) bool {
	b := &l.node.Barrier
	return b.Arrived != b.Over && b.Failed == 0 &&
		atomic.LoadUint64(&p.outHead.Barrier.Round[0].Value)-b.Arrived > 1
}

// isQuiet says whether nothing is due from any peer, and nothing was sent for as long as the least
// sleep with a timeout: a task that sends now and then must not end a sleep each time.
func (l *Link) isQuiet() bool {
	due, sent := false, uint64(0)
	for _, p := range l.rings {
		if p == nil || p.gone || p.ring == l.index {
			continue
		}
		owed, _ := node.IsDue(l.node, p.ring)
		due = due || owed && !p.watch.left
		sent += p.node.Sender.Tail
	}
	now := l.config.Clock()
	if due || sent != l.sent {
		l.sent, l.sentAt = sent, now
	}
	return now-l.sentAt >= l.share()
}

// watchSleep is the end of arming: when a look is due. The fast path may send while the service
// thread sleeps.
func (l *Link) watchSleep() {
	pause := l.share()
	if l.config.Told && l.isQuiet() {
		pause = 0
	}
	for _, p := range l.rings {
		if p != nil && !p.gone && p.node.Chunks.Used > layout.ChunkLeast &&
			(pause == 0 || pause > restAfter) {
			pause = restAfter
		}
	}
	l.lookAgain = 0
	if pause != 0 {
		l.lookAgain = l.config.Clock() + pause
	}
}

// watchAwake ends what watchSleep began.
func (l *Link) watchAwake() {
	if l.lookAgain != 0 && l.lookAgain <= l.config.Clock() {
		l.lookSoon = true
	}
	l.lookAgain = 0
}
