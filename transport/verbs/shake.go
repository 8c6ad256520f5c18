package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// begin makes a queue pair if there is none, and says Hello.
func (q *queue) begin() {
	l := q.peer.link
	if q.Exists() || q.peer.gone {
		return
	}
	now := l.cfg.Clock()
	if q.Begin(now) && q.packets() {
		q.peer.since = now
	}
	// A failure may pass: the timer tries again.
	q.sayHello(now)
}

// sayHello sends Hello, and again after a pause. After some that nobody has answered, or for which
// there was no queue pair, it tries another way, if there is one.
func (q *queue) sayHello(now int64) {
	if q.packets() && (q.Exhausted() || q.IsGone()) &&
		(q.peer.routes.Len() > 1 || q.peer.routes.Sparable()) {
		q.dropPair()
		if q.peer.gone {
			return
		}
		if !q.Exists() { // no handler has begun another
			q.peer.another()
		}
	}
	var err error
	if !q.Exists() {
		err = q.makePair()
	}
	if q.Exists() {
		err = q.hello(false)
	}
	if q.packets() && !q.IsSpare() {
		q.peer.reason = err
	}
	if q.peer.gone {
		q.Stop()
	} else {
		q.Say(now)
	}
}

// OnTimer implements pair.Owner.
func (q *queue) OnTimer(now int64, over bool) {
	switch {
	case !over:
		q.sayHello(now)
		q.peer.noteUnanswered(now)
	case q.packets():
		q.peer.fallSilent(q.peer.since, now)
	default:
		q.restLane()
	}
}

// hello sends a Hello. If it is lost, or cannot be sent, another follows.
func (q *queue) hello(answer bool) error {
	l := q.peer.link
	p := q.peer
	if q.IsGone() {
		return ibv.ErrGone
	}
	to := p.place(q.Far())
	if err := q.FindPath(to); err != nil {
		q.Lost()
		return err
	}
	h := q.Hello(answer)
	p.life.Say(&h)
	h.From, h.To = l.own.Task, p.to.Task
	h.Own, h.Peer = uint8(q.Own()), uint8(q.Far())
	if !q.IsSpare() {
		h.At = l.ports.Places()[q.Own()]
	}
	if q.packets() {
		p.Window.Say(&h)
	}
	return q.Greet(to, h.Encode(l.cfg.Key, l.own.Generation, p.to.Generation))
}

// onDatagram takes in a datagram that has come to a datagram queue pair.
func (l *Link) onDatagram(b []byte) {
	var h wire.Hello
	if !h.Decode(b) || h.To != l.own.Task || !l.connected(transport.Endpoint(h.From)) ||
		!wire.Proven(b, l.cfg.Key, wire.GenerationOf(l.addresses[h.From]), l.own.Generation) {
		l.stats.GhostPackets++
		return
	}
	p := l.peers[transport.Endpoint(h.From)]
	if p == nil {
		p = newPeer(l, transport.Endpoint(h.From))
	}
	q := p.pairFor(&h)
	if q != nil && h.Own != wire.SpareIndex {
		p.movedTo(int(h.Own), &h.At)
	}
	if q == nil || p.gone || q.Past(&h) {
		l.stats.GhostPackets++
		return
	}
	q.onHello(&h)
}

// pairFor is the pair that h is for; nil: none of this connection.
func (p *peer) pairFor(h *wire.Hello) *queue {
	if _, ok := p.between(h); p.gone || !ok || int(h.Lane) > len(p.lanes) ||
		!p.life.Takes(h, p.Came() || p.Works()) {
		return nil
	}
	if h.Lane == 0 {
		return &p.queue
	}
	return p.laneOf(int(h.Lane) - 1)
}

func (q *queue) onHello(h *wire.Hello) {
	p := q.peer
	if q.Parts(h) {
		if q.disconnectPair(); p.gone || q.Past(h) {
			return
		}
	}
	if q.packets() && !p.agree(h) {
		return
	}
	if !q.Exists() {
		q.begin()
	}
	if !q.Exists() {
		return
	}
	joins := q.Joins(h)
	if joins && !q.join(h) {
		return
	}
	if h.Echo == q.QPN() {
		q.opened()
	}
	if q.Answers(h, joins) {
		_ = q.hello(true)
	}
}

// disconnectPair parts q from a queue pair of the peer that has failed. If q was open, it has
// failed too. Else nothing has gone over q; it stays, as a new generation (Round), so that the
// peer, which may be joined to it already, does not have to make another in turn: if both did, they
// could miss each other for ever.
//
// Whether anything has gone is known only once its port's completions were taken in: the Hello may
// have come by another port and so be ahead of packets that their sender counts as delivered. In
// the error state no more can come.
func (q *queue) disconnectPair() {
	round := q.Round()
	q.Break()
	q.Drain()
	if !q.Exists() || q.Round() != round || q.peer.gone {
		return // a handler, or a Hello after this one, has parted it
	}
	if q.State() != pair.Joined || q.Reset() != nil {
		q.dropPair()
		return
	}
	q.Part()
}

// between is the way that h is about; false: there is none such.
func (p *peer) between(h *wire.Hello) (paths.Way, bool) {
	w, ok := p.link.ports.Between(h.Peer, h.Own, &p.to)
	return w, ok && (!w.IsSpare() || h.Lane == 0)
}

// agree has the queue pair for p's packets be where h says. False: not now. Where both have begun
// at once, by different ways, that of the lower task counts, unless it leads nowhere.
func (p *peer) agree(h *wire.Hello) bool {
	l := p.link
	w, _ := p.between(h)
	if w == p.Way {
		return true
	}
	if w.IsGone() || !p.Yields(l.own.Task < p.to.Task) {
		return false
	}
	p.queue.dropPair()
	if p.gone || p.Exists() { // a handler has begun another
		return false
	}
	p.queue.Route(w)
	return true
}

// join has q receive from and send to the peer's.
func (q *queue) join(h *wire.Hello) bool {
	p := q.peer
	q.Aim(h)
	if q.Connect(q.PSN(), h, p.place(q.Far())) != nil {
		q.fail()
		return false
	}
	if q.packets() && !(p.Meet(h.Start) && p.restart(h.Expected)) {
		p.lost(transport.ErrUnreachable)
		return false
	}
	q.Join()
	if !q.packets() {
		return true
	}
	p.Window.Grant(h.Credit)
	return q.recover(h.First)
}

// restart has packets that the peer expects go again. False: it expects what there is not.
func (p *peer) restart(expected uint64) bool {
	again, ok := p.Restart(expected)
	p.link.stats.RetransmittedPackets += uint64(again)
	return ok
}

// opened: the peer can receive.
func (q *queue) opened() {
	if !q.Open() {
		return
	}
	q.peer.ever = q.peer.ever || q.packets()
	q.noteOpen()
	if q.packets() {
		q.peer.Window.Begin()
		q.peer.post()
		q.peer.offload()
	}
	q.peer.Attend()
}
