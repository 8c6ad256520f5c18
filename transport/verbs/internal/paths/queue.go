package paths

import (
	"errors"
	"math/rand/v2"

	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// ErrNoMemory is of memory, or of objects of an adapter.
var ErrNoMemory = errors.New("verbs: out of memory or of objects")

// Queue is a queue pair over a way, made or to be made.
type Queue struct {
	Way     // where it is, or would be
	qp      ibv.QP
	qpn     uint32
	path    ibv.AH
	buffers int // receive buffers that the peer may fill
}

// Port implements bulk.Queue.
func (q *Queue) Port() (own, peer int) {
	if q.port.isSpare() {
		return -1, q.peer
	}
	return q.port.index, q.peer
}

func (q *Queue) Exists() bool   { return q.qp != 0 } // whether there is a queue pair
func (q *Queue) Handle() ibv.QP { return q.qp }      // the queue pair; 0: there is none

// Route has q, which has no queue pair, be over w.
func (q *Queue) Route(w Way) {
	if q.Way != w {
		q.FreePath()
		q.Way = w
	}
}

// FreePath forgets the path to the peer's port.
func (q *Queue) FreePath() {
	if q.path != 0 {
		q.port.adapter.DestroyAH(q.path)
		q.path = 0
	}
}

// Create makes the queue pair, with room for requests with segments. With buffers its peer may send packets, and
// fill that number of receive buffers, which are made here. It returns number and first PSN.
func (q *Queue) Create(owner Pair, requests, segments, buffers int) (qpn, psn uint32, err error) {
	pt := q.port
	if pt.gone() {
		return 0, 0, ibv.ErrGone
	}
	attr := ibv.QPAttr{PD: pt.pd, SendCQ: pt.cq, RecvCQ: pt.cq, SRQ: pt.srq,
		MaxRequests: requests, RequestSegments: segments}
	if buffers > 0 { // RDMA requests carry nothing themselves
		attr.MaxInline = pt.info.MaxInline
	}
	if q.qp, q.qpn, err = pt.adapter.CreateQP(attr); err != nil {
		q.qp = 0
		return 0, 0, err
	}
	q.buffers = buffers
	pt.pairs[q.qpn] = owner
	if buffers > 0 {
		pt.want(buffers)
		pt.fillReceives()
		if pt.Receives == 0 {
			q.Destroy()
			return 0, 0, ErrNoMemory
		}
	}
	return q.qpn, rand.Uint32() & 0xffffff, nil
}

// Destroy ends the queue pair as it is.
func (q *Queue) Destroy() {
	q.port.keep(q.qpn)
	q.port.adapter.DestroyQP(q.qp)
	delete(q.port.pairs, q.qpn)
	if q.buffers > 0 {
		q.port.want(-q.buffers)
	}
	q.qp, q.qpn, q.buffers = 0, 0, 0
}

// Break puts the queue pair into its error state: no more comes over it.
func (q *Queue) Break() { q.port.adapter.FailQP(q.qp) }

// Drain takes in all that has come over its port.
func (q *Queue) Drain() {
	for q.port.take(len(q.port.Batch)) > 0 {
	}
}

// Reset makes the queue pair ready to be joined to another.
func (q *Queue) Reset() error { return q.port.adapter.ResetQP(q.qp) }

// Connect joins the queue pair to the peer's, which is at a place.
func (q *Queue) Connect(psn uint32, h *wire.Hello, to *wire.Place) error {
	return q.port.adapter.ConnectQP(q.qp, psn, ibv.Remote{QPN: h.QPN, PSN: h.PSN, GID: to.GID,
		LID: to.LID, MTU: min(q.port.info.MTU, int(to.MTU)), Reads: int(to.Reads)})
}

// FindPath finds the path to a place, for datagrams. Over Ethernet the kernel asks for the
// neighbour, and has the caller wait for that for a second.
func (q *Queue) FindPath(to *wire.Place) (err error) {
	if q.path == 0 {
		q.path, err = q.port.adapter.CreateAH(q.port.pd, to.GID, to.LID)
	}
	return err
}

// Greet sends a datagram to a place.
func (q *Queue) Greet(to *wire.Place, b []byte) error {
	return q.port.sendDatagram(q.path, to.QPN, to.QKey, b)
}

// Packet sends n bytes of a slot: the upTo-th packet over q.
func (q *Queue) Packet(s *Set, slot int32, n uint32, upTo uint64, signaled bool) error {
	pt := q.port
	pt.segment[0] = ibv.Segment{Addr: uint64(s.slots.addr(slot)), N: n, Key: s.slots.key(slot, pt)}
	pt.request = ibv.Work{ID: idSend | upTo, Op: ibv.OpSend, Segments: pt.segment[:],
		Signaled: signaled, Inline: int(n) <= pt.info.MaxInline}
	return pt.adapter.PostSend(q.qp, &pt.request)
}

// Post implements bulk.Queue.
func (q *Queue) Post(w *ibv.Work) error {
	w.ID |= idMove
	return q.port.adapter.PostSend(q.qp, w)
}

// Share has C find the owner of packets from the queue pair, at that address. It returns what C also
// uses of the port; nil: C does not use the port.
func (q *Queue) Share(owner uint64) *layout.VerbsPort {
	if q.port.isSpare() || q.port.Cq == 0 {
		return nil
	}
	if pair := &q.port.Pairs[q.qpn%layout.VerbsPairs]; pair.Peer == 0 {
		*pair = layout.VerbsPair{Peer: owner, Qpn: q.qpn}
	}
	return q.port.VerbsPort
}

// Unshare ends that.
func (q *Queue) Unshare() {
	if pair := &q.port.Pairs[q.qpn%layout.VerbsPairs]; pair.Qpn == q.qpn {
		*pair = layout.VerbsPair{}
	}
}
