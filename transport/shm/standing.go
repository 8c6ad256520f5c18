package shm

import (
	"sync/atomic"
	"time"

	"lapi/cshim/node"
	"lapi/transport"
)

// Standing implements transport.Standings. It counts the slots of the peer's ring; those that
// the peer has taken are acknowledged.
func (l *Link) Standing(ep transport.Endpoint) transport.Standing {
	s := transport.Standing{State: "idle", Unit: "slots"}
	p, err := l.path(ep)
	if err != nil {
		s.State = "gone"
		return s
	}
	s.State = "open"
	if p.watch.left {
		s.State = "left"
	}
	s.Sent = p.node.Sender.Tail
	s.Acknowledged = min(atomic.LoadUint64(&p.out.control(l.index).Consumed), s.Sent)
	s.Unsent = p.entered - p.left
	if due, heard := node.IsDue(l.node, p.ring); due && heard == p.watch.heard {
		s.Silent = time.Duration(p.watch.silent)
	}
	return s
}
