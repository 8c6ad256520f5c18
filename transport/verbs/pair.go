package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/wire"
)

// pair is a queue pair of this task for a peer, or one that there may be. Of each peer one carries
// the packets, over any of the ways; beside it there is one for each lane, over which only RDMA
// goes.
type queue struct {
	peer *peer
	bulk.Lane
	way      // where it is, or would be
	lane int // 0: packets; else 1 + the place in peer.lanes
	qp   ibv.QP
	qpn  uint32 // its number
	psn  uint32
	path ibv.AH

	round    uint64 // counts the queue pairs made
	heard    uint32 // the peer's queue pair that qp is joined to, or was
	hisRound uint64 // its round
	used     uint64 // the last of its rounds that a queue pair of before was joined to
	joined   bool   // qp can receive
	open     bool   // so can the peer's
	broken   bool   // qp has failed
	noted    bool   // Config.RequestFailed was called for qp
	refused  bool   // an adapter has refused a request: the way is good
	failures int    // queue pairs that failed since something was sent or received
	tries    int    // to say Hello, since there is another queue pair
	timer    int64  // when Hello goes again; 0: no timer
	pause    int64  // then
	deadline int64  // when the peer, or the lane, is given up
	rest     int64  // of a lane: not before is it tried again
}

// way is from a port of this task to one of the peer's.
type way struct {
	port *port
	his  int
}

// ways lists all, the best first: those by which, with the others' help, each port has something to
// do. Of so many, lanes, which both tasks number alike, are made.
func (l *Link) ways(to *wire.Address) (all []way, lanes int) {
	mine, his := len(l.ports), len(to.Places)
	lanes = max(mine, his)
	for k := range lanes {
		all = append(all, way{l.ports[k%mine], k % his})
	}
	for i, pt := range l.ports {
		for j := range his {
			if mine >= his && i%his != j || mine < his && j%mine != i {
				all = append(all, way{pt, j})
			}
		}
	}
	return all, lanes
}

// another has p's packets go over the next way whose port is up, if there is one, or over the spare
// one where adapters lead nowhere. There is no queue pair.
func (p *peer) another() {
	if p.wantsSpare() {
		p.strayed = 0
		p.queue.route(p.spared)
		return
	}
	at := 0
	for i, w := range p.ways {
		if w == p.way {
			at = i
		}
	}
	for i := range p.ways {
		if w := p.ways[(at+1+i)%len(p.ways)]; w.port.state == PortUp {
			p.strayed++
			p.queue.route(w)
			return
		}
	}
}

// route has q, which has no queue pair, be over w.
func (q *queue) route(w way) {
	if q.way != w {
		q.freePath()
		q.way = w
	}
}

func (q *queue) freePath() {
	if q.path != 0 {
		q.port.adapter.DestroyAH(q.path)
		q.path = 0
	}
}

// makePair makes q's queue pair, and the receive buffers for packets.
func (q *queue) makePair() error {
	pt := q.port
	if pt.state == PortGone {
		return ibv.ErrGone
	}
	attr := ibv.QPAttr{PD: pt.pd, SendCQ: pt.cq, RecvCQ: pt.cq, SRQ: pt.srq, MaxRequests: depth,
		RequestSegments: 1, MaxInline: pt.info.MaxInline}
	if q.lane != 0 { // only RDMA, whose requests carry nothing themselves
		attr.MaxRequests, attr.MaxInline = bulk.PiecesMax, 0
	}
	qp, qpn, err := pt.adapter.CreateQP(attr)
	if err != nil {
		return err
	}
	q.qp, q.qpn, q.psn, q.tries = qp, qpn, randomPSN(), 0
	q.round++
	pt.pairs[qpn] = q
	if q.lane != 0 {
		return nil
	}
	pt.want(window + spare)
	pt.fillReceives()
	if pt.Receives == 0 {
		q.destroyPair()
		return errNoMemory
	}
	return nil
}

// dropPair ends q's queue pair, after everything that has come over it was taken in.
func (q *queue) dropPair() {
	if q.qp == 0 {
		return
	}
	qp := q.qp
	q.port.adapter.FailQP(qp)
	if !q.peer.gone {
		q.port.drain()
	}
	if q.qp == qp { // not given up meanwhile, by a handler
		q.destroyPair()
	}
}

// destroyPair ends q's queue pair as it is.
func (q *queue) destroyPair() {
	if q.lane == 0 {
		q.peer.reclaim()
	}
	q.port.adapter.DestroyQP(q.qp)
	delete(q.port.pairs, q.qpn)
	if q.lane == 0 {
		q.port.want(-window - spare)
	}
	if q.joined {
		q.used = q.hisRound
	}
	q.qp, q.qpn = 0, 0
	q.joined, q.open, q.broken, q.refused, q.noted = false, false, false, false, false
	q.peer.transfers.Interrupted(&q.Lane)
}

// fail notes that q's queue pair does not work; the next turn makes another.
func (q *queue) fail() {
	q.broken = true
	if q.lane == 0 {
		q.peer.Usable = 0
	}
	q.peer.Attend()
}

// repair replaces the queue pairs of p that have failed.
func (p *peer) repair() {
	l := p.link
	for _, q := range p.lanes {
		if q != nil && q.broken {
			l.replaced++
			q.restLane()
		}
	}
	if !p.broken || p.gone {
		return
	}
	p.failures++
	l.replaced++
	stay, last := p.refused, !p.sparable() || p.spares()
	p.queue.dropPair()
	if p.gone || p.qp != 0 { // a handler has begun another
		return
	}
	often := p.failures > failuresMax+len(p.ways)-1
	if often && last { // where there is a spare port adapters may fail as often as they like
		p.lost(transport.ErrUnreachable)
		return
	}
	if !stay || often {
		p.another()
	}
	p.queue.begin()
}

// restLane gives a lane up for a while. What was under way over it goes over others.
func (q *queue) restLane() {
	l := q.peer.link
	q.dropPair()
	q.forgetTimer()
	q.rest = l.cfg.Clock() + min(laneRest<<min(q.failures, 8), laneRestMax)
	q.failures++
	q.peer.Attend()
}

// beginLanes begins those over ports that are up, and that do not rest.
func (p *peer) beginLanes() {
	l := p.link
	for k := range p.lanes {
		q := p.laneOf(k)
		if q.qp == 0 && q.port != p.port && q.port.state == PortUp && !p.gone &&
			l.cfg.Clock() >= q.rest {
			q.begin()
		}
	}
}

// lane is the pair of a lane, which is made here.
func (p *peer) laneOf(k int) *queue {
	if p.lanes[k] == nil {
		p.lanes[k] = &queue{peer: p, way: p.ways[k], lane: 1 + k}
		p.lanes[k].Lane.Queue = p.lanes[k]
	}
	return p.lanes[k]
}
