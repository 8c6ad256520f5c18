package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// queue is a queue pair of this task for a peer, made or to be made. Of each peer one carries
// the packets, over any of the ways; beside it there is one for each lane, over which only RDMA
// goes.
type queue struct {
	pair.Pair
	bulk.Lane
	paths.Queue
	peer *peer

	noted   bool // Config.RequestFailed was called for qp
	refused bool // an adapter has refused a request: the way is good
}

// init makes q ready, whose number is 0 where it carries packets, else 1 + the place in peer.lanes.
func (q *queue) init(p *peer, number int) {
	q.peer, q.Lane.Queue = p, q
	q.Pair.Init(number, &p.link.timers, q)
}

// packets says whether q carries packets.
func (q *queue) packets() bool { return q.Index() == 0 }

// another has p's packets, for which there is no queue pair, go over the next way, if there is one.
func (p *peer) another() {
	if w, ok := p.routes.Another(p.Way, p.Failures()); ok {
		p.queue.Route(w)
	}
}

// makePair makes q's queue pair, and the receive buffers for packets.
func (q *queue) makePair() error {
	requests, buffers := bulk.PiecesMax, 0
	if q.packets() {
		requests, buffers = depth, wire.Window+spare
	}
	qpn, psn, err := q.Create(q, requests, bulk.Segments(q.Info()), buffers)
	if err == nil {
		q.Make(qpn, psn)
	}
	return err
}

// dropPair ends q's queue pair, after everything that has come over it was taken in.
func (q *queue) dropPair() {
	if !q.Exists() {
		return
	}
	round := q.Round()
	q.Break()
	if !q.peer.gone {
		q.Drain()
	}
	if q.Exists() && q.Round() == round { // not given up meanwhile, by a handler
		q.destroyPair()
	}
}

// destroyPair ends q's queue pair as it is.
func (q *queue) destroyPair() {
	if q.packets() {
		q.peer.reclaim()
	}
	q.Destroy()
	q.Drop()
	q.refused, q.noted = false, false
	q.peer.transfers.Interrupted(&q.Lane)
}

// fail notes that q's queue pair does not work; the next turn makes another.
func (q *queue) fail() {
	q.Pair.Fail()
	if q.packets() {
		q.peer.Unuse()
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
	stay, last := p.refused, !p.routes.Sparable() || p.IsSpare()
	p.queue.dropPair()
	if p.gone || p.Exists() { // a handler has begun another
		return
	}
	often := p.Failures() > failuresMax+p.routes.Len()-1
	if often && last { // where there is a spare port adapters may fail as often as they like
		p.lost(transport.ErrUnreachable)
		return
	}
	if !stay || often {
		p.another()
	}
	p.queue.begin()
}

// restLane gives a lane up for a while. Its transfers under way go over others.
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
		if !q.Exists() && q.Own() != p.Own() && q.IsUp() && !p.gone &&
			q.Ready(l.cfg.Clock()) {
			q.begin()
		}
	}
}

// lane is the pair of a lane, which is made here.
func (p *peer) laneOf(k int) *queue {
	if p.lanes[k] == nil {
		p.lanes[k] = new(queue)
		p.lanes[k].init(p, 1+k)
		p.lanes[k].Route(p.routes.At(k))
	}
	return p.lanes[k]
}
