package shm

import (
	"slices"
	"sync/atomic"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

// When the process of a peer has ended, another may rejoin in its slot: with a segment of its own,
// and in this task's segment with the ring of its predecessor, which begins anew. The order is the
// owner's to keep:
//
//	connected ── Disconnect ──> gone ── Reset ──> as before Connect ── Connect ──> connected
//	                                                    └── Await ──> messages wait ──^
//
// Only after Reset may this task's segment be given to the new process.

// Reset forgets the peer of ep, whose process has ended, and empties its ring. ep is the task's id.
//
// ErrBusy: the peer is connected; ErrBadParam: no other task of this node has that id. A peer that
// was never connected may be reset too.
func (l *Link) Reset(ep transport.Endpoint) error {
	if l.closed {
		return transport.ErrClosed
	}
	ring, found := slices.BinarySearch(l.tasks, int(ep))
	if !found || ring == l.index || l.rings[ring] != l.peers[ep] {
		return transport.ErrBadParam
	}
	if p := l.rings[ring]; p != nil {
		if !p.gone {
			return transport.ErrBusy
		}
		l.forget(p)
	}
	l.locateOwn(ring)
	node.Clear(l.node, ring)
	return nil
}

// forget gives back what belongs to p, which is gone, and leaves no trace of it: neither may its
// failure be reported when another is in its place, nor its flushes be looked at.
func (l *Link) forget(p *peer) {
	l.drop(p, transport.ErrUnreachable)
	is := func(q *peer) bool { return q == p }
	l.broken = slices.DeleteFunc(l.broken, is)
	l.waiting = slices.DeleteFunc(l.waiting, is)
	l.rings[p.ring], l.peers[p.ep] = nil, nil
	_ = p.out.release() // an error would be a mapping that is not there
	_ = closeFile(p.bell)
}

// Await makes operations on ep, which is not connected, wait until Connect or Disconnect: gets and
// atomic operations here, the others at their caller, by ErrBusy. ErrBadParam: it is connected, or
// no endpoint.
func (l *Link) Await(ep transport.Endpoint) error {
	if l.closed {
		return transport.ErrClosed
	}
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] != nil {
		return transport.ErrBadParam
	}
	if l.awaited[ep] == nil {
		l.awaited[ep] = &opList{}
	}
	return nil
}

// Holds says whether messages of the peer of ep have come that were not taken. Some are the fast
// path's to take. Once HasLeft has said so, and Holds says no, nothing comes any more.
func (l *Link) Holds(ep transport.Endpoint) bool {
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] == nil || l.peers[ep].gone {
		return false
	}
	return node.Holds(l.node, l.peers[ep].ring)
}

// HasLeft says whether the peer of ep has closed its link, so that there is nobody to reconnect
// with.
func (l *Link) HasLeft(ep transport.Endpoint) bool {
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] == nil {
		return false
	}
	return atomic.LoadUint64(&l.peers[ep].outHead.Armed) == layout.Closed
}
