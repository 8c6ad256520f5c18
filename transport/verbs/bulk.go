package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
)

// grant is the keys that a peer has, for one range and one operation.
type grant struct {
	peer    *peer // nil: free
	regions [PortsMax]ibv.Region
	reads   bool // the peer reads
}

// onWant gives a peer keys for exactly the range of its operation. Where memory cannot be
// registered, or is not there, there is none: then the data is copied.
func (l *Link) onWant(p *peer, c *control) {
	r := reply{kind: kindGrant, control: control{token: c.token, status: statusRefused}}
	access := ibv.RemoteRead
	if c.status == wantWrite {
		access = ibv.RemoteWrite
	}
	if p.granted < callsMax {
		g := grant{peer: p, reads: c.status == wantRead}
		for i, pt := range l.ports {
			if c.ports&(1<<i) == 0 || pt.state == PortGone {
				continue
			}
			if e, err := pt.registry.remote(transport.Addr(c.addr), c.n, access); err == nil {
				g.regions[i], r.keys[i], r.status = e, e.Remote, statusOK
			}
		}
		if r.status == statusOK {
			r.offset = uint64(l.newGrant(g))
		}
	}
	l.answer(p, r)
}

func (l *Link) newGrant(g grant) uint32 {
	g.peer.granted++
	if last := len(l.freeGrant) - 1; last >= 0 {
		i := l.freeGrant[last]
		l.freeGrant = l.freeGrant[:last]
		l.grants[i] = g
		return i
	}
	l.grants = append(l.grants, g)
	return uint32(len(l.grants) - 1)
}

// release takes the keys of a grant back.
func (l *Link) release(i uint32) {
	g := &l.grants[i]
	for k, r := range g.regions {
		if r != (ibv.Region{}) {
			l.ports[k].registry.forget(r)
		}
	}
	g.peer.granted--
	*g = grant{}
	l.freeGrant = append(l.freeGrant, i)
}

func (l *Link) onFinish(p *peer, c *control) {
	if c.offset >= uint64(len(l.grants)) || l.grants[c.offset].peer != p {
		return // not its own
	}
	kind := transport.NoticePut
	if l.grants[c.offset].reads {
		kind = transport.NoticeGet
	}
	l.release(uint32(c.offset))
	l.answer(p, reply{kind: kindFinished, control: control{token: c.token}})
	if c.status == statusNoticedLast {
		l.notice(kind, p, c.n, c.notice)
	}
}

// onGrant begins to move data.
func (l *Link) onGrant(c *call, m *control) {
	if m.status != statusOK {
		l.copyInstead(c)
		return
	}
	c.keys, c.grant, c.state = m.keys, m.offset, moving
	_ = l.advance(c)
}

// copyInstead begins c anew with copies. They also find out which address is bad, if one is.
func (l *Link) copyInstead(c *call) {
	l.releaseMemory(c)
	c.state, c.sent, c.done, c.retry, c.over = copying, 0, 0, false, false
	if err := l.advance(c); err != nil && err != transport.ErrBusy {
		l.end(c, err)
	}
}

// piece is a part of a call that is one RDMA request.
type piece struct {
	offset, n uint64 // no bytes: there is none
	on        *pair  // nil: to be posted
}

// nextPiece is the place of a piece that is to be posted; negative: there is none now.
func (l *Link) nextPiece(c *call) int {
	free := -1
	for i := range c.pieces {
		switch p := &c.pieces[i]; {
		case p.n > 0 && p.on == nil:
			return i
		case p.n == 0 && free < 0:
			free = i
		}
	}
	if free >= 0 && c.sent < c.upTo {
		n := min(c.upTo-c.sent, c.length)
		c.pieces[free] = piece{offset: c.sent, n: n}
		c.sent += n
		return free
	}
	return -1
}

// pieceLength is that of c's pieces: several for each lane.
func (l *Link) pieceLength(c *call) uint64 {
	n := uint64(pieceMax)
	if lanes := uint64(len(c.peer.lanes)); lanes > 1 && c.op.N >= lanesMin {
		n = min(n, max(pieceMin, c.op.N/(lanes*piecesOfCall)&^4095))
	}
	for _, pt := range l.ports {
		n = min(n, pt.info.MaxMessage)
	}
	return n
}

// choose finds the queue pair for the next request of c: of those that work and that there is a key
// for, the one with the fewest requests. most is how many may be under way. None at all, also none
// that has no room: lost.
func (l *Link) choose(c *call) (best *pair, most int, lost bool) {
	p := c.peer
	for i := -1; i < len(p.lanes); i++ {
		q := &p.pair
		if i >= 0 {
			q = p.lanes[i]
		}
		if q == nil || i >= 0 && q.port == p.port || !q.open || q.broken ||
			q.port.isSpare() || c.keys[q.his] == 0 ||
			!l.acquire(c, q.port) {
			continue
		}
		most += piecesOfCall
		if q.moving < piecesMax && (best == nil || q.moving < best.moving) {
			best = q
		}
	}
	return best, min(most, piecesMax), most == 0
}

// move posts RDMA requests for c, as many as may be under way.
func (l *Link) move(c *call) error {
	if c.op.N >= lanesMin {
		l.spread(c.peer)
	}
	for !c.retry {
		q, most, lost := l.choose(c)
		if lost && c.peer.open && !c.peer.broken && c.parts == 0 {
			return l.stuck(c)
		}
		if q == nil {
			return transport.ErrBusy
		}
		if c.parts >= most {
			return nil
		}
		if l.moving >= l.limitMove {
			l.starve(c.peer)
			return transport.ErrBusy
		}
		i := l.nextPiece(c)
		if i < 0 {
			return nil
		}
		if l.postPiece(c, q, i) != nil {
			l.fail(q)
			return transport.ErrBusy
		}
	}
	return nil
}

// stuck: packets go over ports of which c has no key, or where its memory is not registered. It
// gives its keys back, to ask for others; or to copy.
func (l *Link) stuck(c *call) error {
	c.retry = !l.acquire(c, c.peer.port)
	c.state = finishing
	return l.advance(c)
}

func (l *Link) postPiece(c *call, q *pair, i int) error {
	p, pt := &c.pieces[i], q.port
	w := &pt.request
	*w = ibv.Work{ID: idMove | uint64(i)<<32 | uint64(uint32(c.token)), Op: ibv.OpWrite,
		Signaled: true, Segments: pt.segment[:],
		RemoteAddr: uint64(c.op.Remote) + p.offset, RKey: c.keys[q.his]}
	pt.segment[0] = ibv.Segment{Addr: uint64(c.op.Local) + p.offset, N: uint32(p.n),
		Key: c.memory[pt.index].Handle.LKey}
	if c.get {
		w.Op = ibv.OpRead
	}
	if err := pt.adapter.PostSend(q.qp, w); err != nil {
		return err
	}
	p.on = q
	c.parts++
	q.moving++
	l.moving++
	l.stats.PacketsSent++
	return nil
}

// moved: an RDMA request of c has ended, that of piece i over q.
func (l *Link) moved(q *pair, c *call, i int, status ibv.Status) {
	p := &c.pieces[i]
	if c.op == nil || p.on != q {
		return // none of this queue pair
	}
	q.moving--
	l.moving--
	c.parts--
	p.on = nil
	switch status {
	case ibv.Success:
		c.done += p.n
		q.failures = 0
		if c.get {
			l.stats.DataReceived += p.n
		} else {
			l.stats.DataSent += p.n
		}
		p.n = 0
	case ibv.RemAccessErr, ibv.LocProtErr, ibv.LocAccessErr:
		c.retry, q.refused = true, true
		l.fail(q)
	default:
		l.fail(q)
	}
	c.settle()
	l.attend(q.peer)
	l.feed()
}

// interrupted: q has failed, and c goes on over others. What was not moved for certain is moved
// again: nobody has been told of it. What an adapter refused is copied.
func (c *call) interrupted(q *pair) {
	for i := range c.pieces {
		if p := &c.pieces[i]; p.on == q {
			p.on = nil
			c.parts--
		}
	}
	c.settle()
}

// settle: when everything is moved, or nothing is to be, the keys are given back. None is while a
// request may still use it.
func (c *call) settle() {
	if c.state == moving && c.parts == 0 && (c.done == c.upTo || c.retry) {
		c.state = finishing
	}
}

// onFinished: the peer has taken its keys back.
func (l *Link) onFinished(c *call) {
	switch {
	case c.retry:
		l.copyInstead(c)
	case c.done < c.upTo:
		c.state, c.keys = asking, keys{}
		_ = l.advance(c)
	case c.done < c.op.N:
		l.goOn(c)
	default:
		l.end(c, nil)
	}
}

// goOn has c, which has moved what its keys are for, ask for the next.
func (l *Link) goOn(c *call) {
	l.releaseMemory(c)
	c.from, c.upTo, c.bad = c.upTo, min(c.upTo+l.keyMax, c.op.N), 0
	if !l.acquire(c, c.peer.port) {
		l.copyInstead(c)
		return
	}
	c.state, c.keys = asking, keys{}
	_ = l.advance(c) // no room: it goes on when there is
}
