package verbs

import (
	"math/rand/v2"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/wire"
)

// queue is a queue pair of this task for a peer, made or to be made. Of each peer one carries
// the packets, over any of the ways; beside it there is one for each lane, over which only RDMA
// goes.
type queue struct {
	pair.Pair
	bulk.Lane
	peer *peer
	way  // where it is, or would be
	qp   ibv.QP
	path ibv.AH

	noted   bool // Config.RequestFailed was called for qp
	refused bool // an adapter has refused a request: the way is good
}

// init makes q ready, whose number is 0 where it carries packets, else 1 + the place in peer.lanes.
func (q *queue) init(p *peer, number int) {
	q.peer, q.Lane.Queue = p, q
	q.Pair.Init(number, &p.link.timers, q)
}

// packets says whether q carries packets.
func (q *queue) packets() bool { return q.Number() == 0 }

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
		RequestSegments: bulk.Segments(pt.info), MaxInline: pt.info.MaxInline}
	if !q.packets() { // only RDMA, whose requests carry nothing themselves
		attr.MaxRequests, attr.MaxInline = bulk.PiecesMax, 0
	}
	qp, qpn, err := pt.adapter.CreateQP(attr)
	if err != nil {
		return err
	}
	q.qp = qp
	q.Make(qpn, rand.Uint32()&0xffffff)
	pt.pairs[qpn] = q
	if !q.packets() {
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
	if q.packets() {
		q.peer.reclaim()
	}
	q.port.adapter.DestroyQP(q.qp)
	delete(q.port.pairs, q.QPN())
	if q.packets() {
		q.port.want(-window - spare)
	}
	q.Drop()
	q.qp, q.refused, q.noted = 0, false, false
	q.peer.transfers.Interrupted(&q.Lane)
}

// fail notes that q's queue pair does not work; the next turn makes another.
func (q *queue) fail() {
	q.Pair.Fail()
	if q.packets() {
		q.peer.Usable = 0
	}
	q.peer.Attend()
}

// repair replaces the queue pairs of p that have failed.
func (p *peer) repair() {
	l := p.link
	for _, q := range p.lanes {
		if q != nil && q.Broken() {
			l.replaced++
			q.restLane()
		}
	}
	if !p.Broken() || p.gone {
		return
	}
	p.Again()
	l.replaced++
	stay, last := p.refused, !p.sparable() || p.spares()
	p.queue.dropPair()
	if p.gone || p.qp != 0 { // a handler has begun another
		return
	}
	often := p.Failures() > failuresMax+len(p.ways)-1
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
	q.Suspend(l.cfg.Clock())
	q.peer.Attend()
}

// beginLanes begins those over ports that are up, and that do not rest.
func (p *peer) beginLanes() {
	l := p.link
	for k := range p.lanes {
		q := p.laneOf(k)
		if q.qp == 0 && q.port != p.port && q.port.state == PortUp && !p.gone &&
			q.Ready(l.cfg.Clock()) {
			q.begin()
		}
	}
}

// lane is the pair of a lane, which is made here.
func (p *peer) laneOf(k int) *queue {
	if p.lanes[k] == nil {
		p.lanes[k] = &queue{way: p.ways[k]}
		p.lanes[k].init(p, 1+k)
	}
	return p.lanes[k]
}
