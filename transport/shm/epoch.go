package shm

import (
	"fmt"
	"sync/atomic"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

// A peer that was disconnected while both tasks live can be connected anew, over the same rings: a
// new generation of the connection. While the peer is gone its messages are not read. To tell
// earlier messages from later ones, each side announces its new generation with a message of its
// own in the ring: a receiver that has reconnected drops the messages before the sender's
// announcement.
//
//	gone ── Reconnect ──> awaiting the announcement ──> open
//	          └── it came before, when this side had not disconnected yet ──^
//
// The two sides reconnect at different times, but equally often.

// epoch is a peer's state of its generations.
type epoch struct {
	awaiting bool // messages that come are of the previous generation
	// the announcement came although this side has not reconnected: that is for the next
	// Reconnect
	early     bool
	announced bool // ours is in the ring, or none is due
}

// Reconnect ends what Disconnect began. The address is not looked at: the peer is the same process
// as before.
//
// ErrUnreachable: the peer has left, or has broken the protocol. ErrBusy: it is not disconnected.
func (l *Link) Reconnect(ep transport.Endpoint, _ transport.Address) error {
	if l.closed {
		return transport.ErrClosed
	}
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] == nil {
		return fmt.Errorf("shm: endpoint %d was never connected: %w", ep, transport.ErrBadParam)
	}
	p := l.peers[ep]
	switch {
	case !p.gone:
		return transport.ErrBusy
	case p.failure != nil && p.failure != transport.ErrTimeout || atomic.LoadUint64(&p.outHead.Armed) == layout.Closed:
		return transport.ErrUnreachable
	}
	p.gone, p.reoffered = false, false
	p.failure, p.watch = nil, watch{}
	p.node.Blocked = 0
	p.awaiting, p.early, p.announced = !p.early, false, false
	// the refused messages were dropped; release, as in offerHeld
	atomic.StoreUint64(&p.inControl.Held, 0)
	p.settle()
	node.Activate(l.node, p.ring)
	l.changingEpoch++
	l.announce(p)
	return nil
}

// announce puts the announcement into p's ring if there is room. Nothing else may be sent before
// it.
func (l *Link) announce(p *peer) error {
	if rc := node.BeginEpoch(l.node, p.ring); rc != node.Sent {
		return l.outcome(p, rc)
	}
	p.announced = true
	p.settle()
	l.changingEpoch--
	return nil
}

// announceAll tries those for which there was no room.
func (l *Link) announceAll() {
	for _, p := range l.rings {
		if p != nil && !p.gone && !p.announced {
			_ = l.announce(p) // if the peer is gone Send will say so
		}
	}
}

// endEpochChange: p is gone again.
func (l *Link) endEpochChange(p *peer) {
	if !p.announced {
		p.announced = true
		p.settle()
		l.changingEpoch--
	}
}

// epochBegan takes in the peer's announcement.
func (p *peer) epochBegan() {
	if p.awaiting {
		p.awaiting = false
		p.settle()
		return
	}
	p.early = true
}
