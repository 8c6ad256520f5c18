package shm

import (
	"slices"
	"sync/atomic"

	"lapi/transport"
	"lapi/transport/layout"
)

// When the process of a peer has ended, another may take the peer's place: with a segment of its own, and in this task's segment with
// the ring of its predecessor, which begins anew. The order is the owner's to keep:
//
//	connected ── Disconnect ──> gone ── Vacate ──> as before Connect ── Connect ──> connected
//	                                                    └── Await ──> messages wait ──^
//
// Only after Vacate may this task's segment be given to the new process.

// Vacate forgets the peer of ep, whose process has ended, and empties its ring. ep is the task's id.
//
// ErrBusy: the peer is connected; ErrBadParam: no other task of this node has that id. A peer that was never connected may be vacated too.
func (l *Link) Vacate(ep transport.Endpoint) error {
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
	l.clearRing(ring)
	return nil
}

// forget gives back what belongs to p, which is gone, and leaves no trace of it: neither may its failure be reported when another is
// in its place, nor its flushes be looked at.
func (l *Link) forget(p *peer) {
	l.drop(p, transport.ErrUnreachable)
	is := func(q *peer) bool { return q == p }
	l.broken = slices.DeleteFunc(l.broken, is)
	l.waiting = slices.DeleteFunc(l.waiting, is)
	l.rings[p.ring], l.peers[p.ep] = nil, nil
	_ = p.out.release() // an error would be a mapping that is not there
	_ = closeFile(p.bell)
}

// clearRing makes a ring of this task's segment, and what this task knows of its messages to that peer, as they were in the
// beginning. Nobody else writes there: the old process has ended, the new one does not have the segment yet. It gets the
// segment by a system call, which orders these stores for it.
func (l *Link) clearRing(ring int) {
	slots := l.own.ring(ring, len(l.tasks))
	for position := range uint64(ringSlots) {
		atomic.StoreUint64(slots.head(position), 0)
	}
	control := l.own.control(ring)
	atomic.StoreUint64(&control.Consumed, 0)
	atomic.StoreUint64(&control.Held, 0)
	atomic.StoreUint32(&control.Cold, 0)
	atomic.StoreUint32(&control.Waiting, 0)
	atomic.AndUint64(&l.own.head().Pending[ring/64], ^(uint64(1) << (ring % 64)))
	l.private.path(ring).Sender = layout.Sender{}
	l.private.path(ring).Receiver = layout.Receiver{}
	l.private.path(ring).Chunks = layout.Chunks{}
}

// Await makes operations on ep, which is not connected, return ErrBusy until Connect or Disconnect, so that they wait for the task
// to come. ErrBadParam: it is connected, or no endpoint.
func (l *Link) Await(ep transport.Endpoint) error {
	if l.closed {
		return transport.ErrClosed
	}
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] != nil {
		return transport.ErrBadParam
	}
	l.awaited[ep] = true
	return nil
}

// Left says whether the peer of ep has closed its link, so that there is nobody to reconnect with.
func (l *Link) Left(ep transport.Endpoint) bool {
	if uint(ep) >= uint(len(l.peers)) || l.peers[ep] == nil {
		return false
	}
	return atomic.LoadUint64(&l.peers[ep].outHead.Armed) == layout.Closed
}
