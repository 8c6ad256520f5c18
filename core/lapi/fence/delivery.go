package fence

import (
	"time"

	"lapi/core/lapi/peer"
	"lapi/transport"
)

// A task may compute for long after a collective call, without a call to LAPI, while others are
// still in it and wait for its last messages. So the call does not return before these messages
// need this task no more: they are acknowledged, or lie in memory that the receiver reads by
// itself.
//
// The last acknowledgement can be lost, too, and a receiver that has returned and computes repeats
// none. So a message without acknowledgement is repeated, as it may be lost itself: after lastSends
// transmissions in lastPatience it lies at the receiver's socket.
const (
	lastSends    = 4
	lastPatience = int64(500 * time.Millisecond)
)

// Medium is what Collectives ask of the links to other nodes.
type Medium interface {
	// Posted says whether nothing that was sent to p waits in this task for a progress call.
	Posted(p *peer.Peer) bool
	// Flush is transport.Link's, of the link that acknowledges messages to p.
	Flush(p *peer.Peer, op *transport.Op) (transport.Status, error)
	// Sends is how often the oldest message to p that is not acknowledged was sent.
	Sends(p *peer.Peer) int
}

// delivery tracks a collective call's messages to one task. Its link may hold op when the call is
// over.
type delivery struct {
	p     *peer.Peer
	op    transport.Op
	asked bool // since then the link has op, or is done with it
	since int64
	done  bool
}

// deliver keeps track of what was sent to p.
func (c *Collectives) deliver(x *exchange, p *peer.Peer) {
	d := &delivery{p: p}
	if n := len(c.delivered); n > 0 {
		d, c.delivered = c.delivered[n-1], c.delivered[:n-1]
		*d = delivery{p: p}
	}
	x.deliveries = append(x.deliveries, d)
	c.isDelivered(d) // asks for the acknowledgement while the packet has not gone
}

// isDelivered says whether d needs no further call of this task's.
func (c *Collectives) isDelivered(d *delivery) bool {
	if _, waits := c.cfg.Out.Waits(d.p); waits && !d.p.Dead() {
		return false
	}
	switch {
	case d.done || d.p.Shared || d.p.IsSelf || d.p.Dead():
		return true
	case !d.asked && !c.cfg.Medium.Posted(d.p):
		return false
	case !d.asked:
		d.asked, d.since = true, c.cfg.Clock()
		d.op.Owner = d
		d.op.Done = func(op *transport.Op, _ error) { op.Owner.(*delivery).done = true }
		status, err := c.cfg.Medium.Flush(d.p, &d.op)
		d.done = err != nil || status == transport.Done
		return d.done
	}
	return c.cfg.Medium.Sends(d.p) >= lastSends && c.cfg.Clock()-d.since >= lastPatience
}

// mayLeave says whether no task that is still in x's call needs this one.
func (c *Collectives) mayLeave(x *exchange) bool {
	for len(x.deliveries) > 0 {
		last := len(x.deliveries) - 1
		d := x.deliveries[last]
		if !c.isDelivered(d) {
			return false
		}
		x.deliveries = x.deliveries[:last]
		if d.done || !d.asked { // else the link has it still
			c.delivered = append(c.delivered, d)
		}
	}
	return true
}
