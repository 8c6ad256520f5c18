package dat

import (
	"lapi/core/progress"
	"lapi/transport"
)

// Whether the processes that this one has links to are there.

const (
	tickPause = 50e6 // ns between looks for peers that have left
	pingTicks = 20   // of these from one ping of idle peers to the next
)

// onTimeout looks after the processes that this one has links to.
func (h *neighbourhood) onTimeout(now int64) {
	if now >= h.tickAt {
		h.tick(now)
	}
	if len(h.list) > 0 {
		h.visit(now)
	}
}

// nextTimeout is when onTimeout, or a link, has something to do even if nothing arrives; 0: never.
func (h *neighbourhood) nextTimeout() int64 {
	next := h.nextVisit()
	for _, d := range h.links {
		if w, ok := d.link.(transport.Waiter); ok {
			next = progress.Earlier(next, w.NextTimeout())
		}
		switch {
		case d.used == 0:
		case d.node != nil: // the line reports an end at once
			if h.asks(d) {
				next = progress.Earlier(next, h.pingAt)
			}
		default:
			next = progress.Earlier(next, h.tickAt)
		}
	}
	return next
}

// timed says whether a thread that sleeps wakes by itself to look after the processes of the node.
func (h *neighbourhood) timed() bool {
	for _, d := range h.links {
		if w, ok := d.link.(transport.Waiter); ok && d.node != nil &&
			(w.NextTimeout() != 0 || h.asks(d)) {
			return true
		}
	}
	return false
}

// nextVisit is when visit must run; 0: never.
func (h *neighbourhood) nextVisit() (next int64) {
	for _, n := range h.list {
		switch {
		case n.state == parted || n.ended:
			return 1
		case n.state == meeting && (next == 0 || n.until < next):
			next = n.until
		}
	}
	return next
}

// asks says whether the process at the other end of a link of the node is to be asked for a sign of
// life: if nobody reports its end, or if it owes something and may have been stopped.
func (h *neighbourhood) asks(d *dataLink) bool {
	n := d.node
	if n.inside {
		return false
	}
	return n.line == nil || !n.line.Watched() || len(n.peer().members) > 0 || h.users.owed(d.link)
}

// tick looks for peers that have left, and now and then asks idle ones for a sign of life, so that
// a dead process is noticed.
func (h *neighbourhood) tick(now int64) {
	h.tickAt = now + tickPause
	h.ticks++
	late := now >= h.pingAt // of links of the node, for which ticks may be rare
	if late {
		h.pingAt = now + pingTicks*tickPause
	}
	for _, d := range h.links {
		link, _ := d.link.(leaver)
		for _, p := range d.peers[:d.made] {
			if p == nil || !p.opened {
				continue
			}
			// A peer may leave at any moment, so the link is asked once for both cases.
			left := link != nil && link.HasLeft(p.ep)
			switch {
			case left && d.node != nil:
				h.part(d.node)
			case left:
				h.users.gone(p, true)
				h.failed(d, p.ep)
			case p.conns > 0 && (d.node == nil && h.ticks%pingTicks == 0 ||
				d.node != nil && late && h.asks(d)):
				op := &transport.Op{Done: func(*transport.Op, error) {}}
				_, _ = d.link.Send(p.ep, msgPing, nil, op)
			}
		}
	}
}
