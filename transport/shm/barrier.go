package shm

import (
	"math/bits"
	"sync/atomic"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

// The barrier among the tasks of a node is C's (cshim/node/barrier.h). Here is who decides whether
// there is one, and how core gives it up.

// Barrier is this task's state of the barrier, nil if not every task of the node has said that it
// takes part (Config.Barrier), or one is not connected. All tasks come to the same answer. It is
// valid from the last Connect until Close.
//
// crowded, the same in all: some of the tasks have to share processors.
func (l *Link) Barrier(crowded bool) *layout.Barrier {
	if !l.config.Barrier {
		return nil
	}
	for ring, p := range l.rings {
		if ring == l.index {
			continue
		}
		if p == nil || p.flags&joinsBarrier == 0 {
			return nil
		}
	}
	b := &l.node.Barrier
	if !crowded {
		b.Rounds = uint32(bits.Len(uint(len(l.tasks) - 1)))
	}
	return b
}

// BarrierAwaits says whether this task waits at the barrier for a peer that has not arrived there.
func (l *Link) BarrierAwaits(ep transport.Endpoint) bool {
	return uint(ep) < uint(len(l.peers)) && l.peers[ep] != nil && l.barrierAwaits(l.peers[ep])
}

// BarrierRefusal is the code with which a peer has refused the barrier; 0: none has. Stores of that
// peer before the refusal are visible.
func (l *Link) BarrierRefusal() uint32 {
	return uint32(atomic.LoadUint64(&l.own.head().Barrier.Refused.Value))
}

// RefuseBarrier notifies all peers that this task takes part in the barrier no more, and why: code
// is one of core's. Peers that are gone are notified as well: they may live, and wait.
func (l *Link) RefuseBarrier(code uint32) {
	for _, p := range l.rings {
		if p != nil {
			atomic.StoreUint64(&p.outHead.Barrier.Refused.Value, uint64(code))
			node.Wake(l.node, p.ring)
		}
	}
}
