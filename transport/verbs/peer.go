package verbs

import (
	"slices"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/verbs/adapter"
)

// peer is what the link keeps of a task that it has talked to.
type peer struct {
	ep      transport.Endpoint
	to      *address
	gone    bool // given up, disconnected, or left: no operation is taken any more
	left    bool // it has closed
	queued  bool // in Link.active
	starved bool // in Link.starved

	// What is sent.
	number uint64 // of the next packet
	credit uint64 // the first number that may not be sent
	// lastData is behind the number of the last packet of a message or a copied put.
	lastData uint64
	ring     ring
	owed     []reply // answers that there was no room for
	first    int     // of owed, the first that is still there

	// What is received.
	expected uint64 // number of the next packet
	told     uint64 // the credit that the peer was told last
	held     hold.Queue
	holding  bool         // counted in Link.holding
	asked    []flushAsked // flushes of the peer that are not answered

	// Operations of this task.
	calls   []*call // in the order of their beginning
	issued  uint64  // how many there were
	moving  int     // RDMA requests under way
	flushes []*transport.Op
	flushed uint64 // the number of the last flush that was answered
	numbers uint64 // of flushes; as many were issued
	said    uint64 // of these, the last that was sent
	granted int    // keys that the peer has

	faulty map[uint64]bool // the peer's transfers whose bad address was told (notice.go)

	shake
	signs
}

// newPeer makes ep's peer; its queue pair comes later.
func (l *Link) newPeer(ep transport.Endpoint) *peer {
	p := &peer{ep: ep, to: &l.addresses[ep], credit: window, told: window}
	p.life = 1
	p.held.Init(&l.pool, func(m *hold.Message) transport.Verdict {
		l.stats.RetransmittedPackets++
		return l.handlers[m.ID](&m.Msg)
	})
	l.peers[ep] = p
	return p
}

// attend has the next turn look at p.
func (l *Link) attend(p *peer) {
	if !p.queued {
		p.queued = true
		l.active = append(l.active, p)
	}
}

// giveUp ends everything with p: flushes with what flushErr says of them, puts and gets with err.
// The queue pair goes first: from then on nothing touches the memory of operations.
func (l *Link) giveUp(p *peer, err, flushErr error) {
	p.gone = true
	l.dropPair(p)
	l.forgetTimer(p)
	if p.path != 0 {
		l.adapter.Free(p.path)
		p.path = 0
	}
	for p.ring.count > 0 {
		l.releaseFirst(p)
	}
	for i := range l.grants {
		if l.grants[i].peer == p {
			l.release(uint32(i))
		}
	}
	p.owed, p.first, p.asked = nil, 0, nil
	calls, flushes := p.calls, p.flushes
	p.calls, p.flushes = nil, nil
	for _, c := range calls {
		l.end(c, err)
	}
	for _, op := range flushes {
		if flushErr == nil {
			op.Done(op, p.missed(op.Link.Mark))
			continue
		}
		op.Done(op, flushErr)
	}
}

// ring is the packets that were made and are not known to be complete, in the order of their
// numbers. Those before posted are with the adapter.
type ring struct {
	packets [ringSize]sent
	head    int
	count   int
	posted  int
	done    uint64 // packets that this queue pair has completed
	since   int    // posted since the last that makes a completion
}

type sent struct {
	slot     int32
	n        uint32
	number   uint64
	numbered bool
}

func (r *ring) at(i int) *sent { return &r.packets[(r.head+i)%ringSize] }

func (r *ring) push(s sent) {
	r.count++
	*r.at(r.count - 1) = s
}

// releaseFirst forgets the oldest packet.
func (l *Link) releaseFirst(p *peer) {
	r := &p.ring
	l.slots.put(r.at(0).slot)
	l.sending--
	r.head = (r.head + 1) % ringSize
	r.count--
	r.posted = max(r.posted-1, 0)
}

// restart makes the ring ready for another queue pair: what the peer has is forgotten, and what it
// has not is to be posted again. False: the peer wants what there is not.
func (l *Link) restart(p *peer, expected uint64) bool {
	r := &p.ring
	if expected > p.number {
		return false
	}
	var again []sent
	for i := range r.count {
		s := *r.at(i)
		if s.numbered && s.number >= expected {
			again = append(again, s)
			continue
		}
		l.slots.put(s.slot)
		l.sending--
	}
	l.stats.RetransmittedPackets += uint64(min(r.posted, len(again)))
	*r = ring{}
	for _, s := range again {
		r.push(s)
	}
	return uint64(len(again)) == p.number-expected
}

// dropPair ends p's queue pair, after everything that has come over it was taken in.
func (l *Link) dropPair(p *peer) {
	if p.qp == 0 {
		return
	}
	qp := p.qp
	l.adapter.Fail(qp)
	if !p.gone {
		l.drain()
	}
	if p.qp == qp { // not given up meanwhile, by a handler
		l.destroyPair(p)
	}
}

// destroyPair ends p's queue pair as it is.
func (l *Link) destroyPair(p *peer) {
	qp := p.qp
	l.adapter.Destroy(qp)
	delete(l.byQP, qp)
	l.wanted -= window + spare
	l.moving -= p.moving
	if p.joined {
		p.used = p.hisRound
	}
	p.qp, p.moving = 0, 0
	p.joined, p.open, p.broken = false, false, false
	for _, c := range p.calls {
		c.interrupted()
	}
}

// makePair makes p's queue pair and the receive buffers for it.
func (l *Link) makePair(p *peer) error {
	qp, err := l.adapter.Create(depth)
	if err != nil {
		return err
	}
	p.qp, p.psn = qp, randomPSN()
	p.round++
	l.byQP[qp] = p
	l.wanted += window + spare
	l.fillReceives()
	if l.receives == 0 {
		l.destroyPair(p)
		return adapter.ErrNoMemory
	}
	return nil
}

// removeCall takes c out of p's calls.
func (p *peer) removeCall(c *call) {
	if i := slices.Index(p.calls, c); i >= 0 {
		p.calls = slices.Delete(p.calls, i, i+1)
	}
}
