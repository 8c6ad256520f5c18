package verbs

import (
	"math/rand/v2"
	"slices"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/wire"
)

func randomPSN() uint32 { return rand.Uint32() & 0xffffff }

// begin makes a queue pair if there is none, and says Hello.
func (q *queue) begin() {
	l := q.peer.link
	if q.qp != 0 || q.peer.gone {
		return
	}
	now := l.cfg.Clock()
	if q.timer == 0 {
		q.pause, q.deadline = helloFirst, now+l.cfg.Timeout
		if q.lane != 0 {
			q.deadline = now + min(l.cfg.Timeout, laneTimeout)
		} else {
			q.peer.since = now
		}
	}
	// A failure may pass: the timer tries again.
	q.sayHello(now)
}

// sayHello sends Hello, and again after a pause. After some that nobody has answered, or for which
// there was no queue pair, it tries another way, if there is one.
func (q *queue) sayHello(now int64) {
	l := q.peer.link
	if q.lane == 0 && (q.tries >= triesMax || q.port.state == PortGone) &&
		(len(q.peer.ways) > 1 || q.peer.sparable()) {
		q.dropPair()
		if q.peer.gone {
			return
		}
		if q.qp == 0 { // no handler has begun another
			q.peer.another()
		}
	}
	var err error
	if q.qp == 0 {
		err = q.makePair()
	}
	if q.qp != 0 {
		err = q.hello(false)
	}
	if q.lane == 0 && !q.port.isSpare() {
		q.peer.reason = err
	}
	q.tries++
	if q.open || q.peer.gone {
		q.forgetTimer()
		return
	}
	if q.timer == 0 {
		l.shaking = append(l.shaking, q)
	}
	q.timer = now + q.pause
	q.pause = min(2*q.pause, helloLast)
	if l.due == 0 || q.timer < l.due {
		l.due = q.timer
	}
}

func (q *queue) forgetTimer() {
	l := q.peer.link
	if q.timer != 0 {
		q.timer = 0
		l.shaking = slices.DeleteFunc(l.shaking, func(other *queue) bool { return other == q })
	}
}

// onTimers says Hello where it is time, and gives up who never answered.
func (l *Link) onTimers() {
	now := l.cfg.Clock()
	if now < l.due {
		return
	}
	for _, q := range slices.Clone(l.shaking) {
		switch {
		case q.timer == 0 || q.timer > now:
		case now < q.deadline || q.lane == 0 && l.cfg.NoTimeout:
			q.sayHello(now)
			q.peer.noteUnanswered(now)
		case q.lane != 0:
			q.restLane()
		default:
			q.peer.fallSilent(q.peer.since, now)
		}
	}
	l.due = 0
	for _, q := range l.shaking {
		if l.due == 0 || q.timer < l.due {
			l.due = q.timer
		}
	}
}

// hello sends a Hello. If it is lost, or cannot be sent, another follows.
func (q *queue) hello(answer bool) error {
	l := q.peer.link
	p := q.peer
	if q.port.state == PortGone {
		return ibv.ErrGone
	}
	to := p.place(q.his)
	if q.path == 0 {
		path, err := q.port.adapter.CreateAH(q.port.pd, to.GID, to.LID)
		if err != nil {
			// Over Ethernet the kernel has asked for the neighbour, and has waited for that for
			// a second: soon another way is tried, and a lane rests.
			if q.tries = max(q.tries, triesMax); q.lane != 0 {
				q.deadline = 0
			}
			return err
		}
		q.path = path
	}
	h := wire.Hello{Lane: uint8(q.lane), Own: uint8(q.port.index), Peer: uint8(q.his),
		From: l.own.Task, To: p.to.Task, QPN: q.qpn, PSN: q.psn, Open: q.open,
		Answer: answer, Life: p.life, PeerLife: p.hisLife, Round: q.round}
	if !q.port.isSpare() {
		h.At = l.own.Places[q.port.index]
	}
	if q.joined {
		h.Echo = q.heard
	}
	if q.lane == 0 {
		h.Expected, h.Credit = p.Expected, p.grantable()
	}
	return q.port.sendDatagram(q.path, to.QPN, to.QKey,
		h.Encode(l.cfg.Key, l.own.Incarnation, p.to.Incarnation))
}

// onDatagram takes in what has come to a datagram queue pair.
func (l *Link) onDatagram(b []byte) {
	var h wire.Hello
	if !h.Decode(b) || h.To != l.own.Task || !l.connected(transport.Endpoint(h.From)) ||
		!wire.Proven(b, l.cfg.Key, wire.IncarnationOf(l.addresses[h.From]), l.own.Incarnation) {
		l.stats.GhostPackets++
		return
	}
	p := l.peers[transport.Endpoint(h.From)]
	if p == nil {
		p = l.newPeer(transport.Endpoint(h.From))
	}
	q := p.spokenOf(&h)
	if q != nil && h.Own != wire.SpareIndex {
		p.movedTo(int(h.Own), &h.At)
	}
	if q == nil || p.gone || q.past(&h) {
		l.stats.GhostPackets++
		return
	}
	q.onHello(&h)
}

// past says whether h is of a queue pair that the peer, or this task, has parted from.
func (q *queue) past(h *wire.Hello) bool {
	return h.Round <= q.used || h.Round < q.hisRound || h.Round == q.hisRound && h.QPN != q.heard
}

// spokenOf is the pair that h is about; nil: none of this connection.
func (p *peer) spokenOf(h *wire.Hello) *queue {
	if p.gone || !p.exists(h) || int(h.Lane) > len(p.lanes) ||
		h.Life <= p.over || h.Life < p.hisLife || h.PeerLife != 0 && h.PeerLife != p.life {
		return nil
	}
	if p.hisLife != 0 && h.Life > p.hisLife && (p.Expected > 0 || p.open) {
		return nil // the peer has ended this connection; this task is to do so, too
	}
	p.hisLife = h.Life
	if h.Lane == 0 {
		return &p.queue
	}
	return p.laneOf(int(h.Lane) - 1)
}

func (q *queue) onHello(h *wire.Hello) {
	p := q.peer
	if h.Round > q.hisRound && q.joined {
		if h.QPN == q.heard && !q.open {
			q.hisRound = h.Round // it has parted from another of before
		} else if q.disjoin(); p.gone || q.past(h) {
			return
		}
	}
	if q.lane == 0 && !p.agree(h) {
		return
	}
	if q.qp == 0 {
		q.begin()
	}
	if q.qp == 0 {
		return
	}
	// One that is joined to a queue pair of before cannot be joined to this one.
	joins := !q.joined && (h.Echo == 0 || h.Echo == q.qpn)
	if joins && !q.join(h) {
		return
	}
	if h.Echo == q.qpn {
		q.opened()
	}
	// An answer that has changed nothing is not answered: Hellos would go to and fro for ever.
	if joins || !h.Answer && (h.Echo != q.qpn || !h.Open) {
		_ = q.hello(true)
	}
}

// disjoin parts q from a queue pair that has failed. It has failed with it if it was open. Else
// nothing has gone over it; it stays, in a new round, so that the peer, who may be joined to it
// already, does not have to make another in turn: if both did, they could miss each other for ever.
//
// That nothing has gone is known only once its port's completions were taken in: the Hello may have
// come by another port and so be ahead of packets, whose sender holds them for delivered. In the
// error state no more can come.
func (q *queue) disjoin() {
	qp, round := q.qp, q.round
	q.port.adapter.FailQP(qp)
	q.port.drain()
	if q.qp != qp || q.round != round || q.peer.gone {
		return // a handler, or a Hello after this one, has parted it
	}
	if q.open || q.broken || q.port.adapter.ResetQP(qp) != nil {
		q.dropPair()
		return
	}
	q.used, q.joined = q.hisRound, false
	q.round++
}

// agree has the queue pair for p's packets be where h says. False: not now. Where both have begun
// at once, by different ways, that of the lower task counts, unless it leads nowhere.
func (p *peer) agree(h *wire.Hello) bool {
	l := p.link
	w := way{l.port(h.Peer), int(h.Own)}
	if w == p.way {
		return true
	}
	if w.port.state == PortGone || p.joined ||
		p.qp != 0 && l.own.Task < p.to.Task && p.tries < triesToYield {
		return false
	}
	p.queue.dropPair()
	if p.gone || p.qp != 0 { // a handler has begun another
		return false
	}
	p.queue.route(w)
	return true
}

// join has q receive from and send to the peer's.
func (q *queue) join(h *wire.Hello) bool {
	p, to := q.peer, q.peer.place(q.his)
	q.heard, q.hisRound = h.QPN, h.Round
	err := q.port.adapter.ConnectQP(q.qp, q.psn, ibv.Remote{QPN: h.QPN, PSN: h.PSN, GID: to.GID,
		LID: to.LID, MTU: min(q.port.info.MTU, int(to.MTU)), Reads: int(to.Reads)})
	if err != nil {
		q.fail()
		return false
	}
	if q.lane == 0 && !p.restart(h.Expected) {
		p.lost(transport.ErrUnreachable)
		return false
	}
	q.joined = true
	if q.lane == 0 {
		p.Credit = max(p.Credit, h.Credit)
	}
	return true
}

// opened: the peer can receive.
func (q *queue) opened() {
	if q.open || !q.joined {
		return
	}
	q.open = true
	q.peer.ever = q.peer.ever || q.lane == 0
	q.forgetTimer()
	q.noteOpen()
	if q.lane == 0 {
		// Which credit has come of those that were told over queue pairs that failed, and by
		// Hellos, is not known. With this both have begun.
		q.peer.Told = window
		q.peer.post()
		q.peer.offload()
	}
	q.peer.Attend()
}
