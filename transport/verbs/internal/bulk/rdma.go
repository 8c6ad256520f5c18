package bulk

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/wire"
)

// onGrant begins to move data.
func (c *call) onGrant(m *wire.Control) {
	if m.Status != wire.StatusOK {
		c.copyInstead()
		return
	}
	c.keys, c.grant, c.state = m.Keys, m.Offset, moving
	_ = c.advance()
}

// copyInstead begins c anew with copies. They also find out which address is bad, if one is. Lists
// are their owner's to send.
func (c *call) copyInstead() {
	if c.list != nil {
		c.end(transport.ErrNotSupported)
		return
	}
	c.releaseMemory()
	c.state, c.sent, c.done, c.retry, c.over = copying, 0, 0, false, false
	c.region = wire.Keys{}
	if err := c.advance(); err != nil && err != transport.ErrBusy {
		c.end(err)
	}
}

// piece is a part of a call that is one RDMA request.
type piece struct {
	offset, n uint64 // no bytes: there is none
	on        *Lane  // nil: to be posted
}

// nextPiece is the place of a piece that is to be posted; negative: there is none now.
func (c *call) nextPiece() int {
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
		if c.list != nil {
			n = c.pieceOfList(c.sent, n)
		}
		c.pieces[free] = piece{offset: c.sent, n: n}
		c.sent += n
		return free
	}
	return -1
}

// pieceLength is that of c's pieces: several for each lane.
func (c *call) pieceLength() uint64 {
	n := uint64(pieceMax)
	if lanes := uint64(c.peer.task.Lanes()); lanes > 1 && c.op.N >= LanesMin {
		n = min(n, max(pieceMin, c.op.N/(lanes*piecesOfCall)&^4095))
	}
	for _, m := range c.set.memory {
		if m != nil {
			n = min(n, m.most)
		}
	}
	return n
}

// acquirePackets sees to it that c's memory is registered with the port that the packets go over.
func (c *call) acquirePackets() bool {
	own, _ := c.peer.task.Packets().Port()
	return c.acquire(own)
}

// choose finds the queue pair for the next request of c: of those that work and that there is a key
// for, the one with the fewest requests. most is how many may be under way. None at all, also none
// that has no room: lost.
func (c *call) choose() (best *Lane, most int, lost bool) {
	t := c.peer.task
	packets, _ := t.Packets().Port()
	for i := -1; i < t.Lanes(); i++ {
		q := t.Packets()
		if i >= 0 {
			q = t.LaneAt(i)
		}
		if q == nil || !q.Works() {
			continue
		}
		own, peer := q.Port()
		if i >= 0 && own == packets || own < 0 || c.keys[peer] == 0 || !c.acquire(own) {
			continue
		}
		most += piecesOfCall
		if q.moving < PiecesMax && (best == nil || q.moving < best.moving) {
			best = q
		}
	}
	return best, min(most, PiecesMax), most == 0
}

// move posts RDMA requests for c, as many as may be under way.
func (c *call) move() error {
	if c.op.N >= LanesMin {
		c.peer.task.Spread()
	}
	for !c.retry {
		q, most, lost := c.choose()
		if lost && c.peer.task.Packets().Works() && c.parts == 0 {
			return c.stuck()
		}
		if q == nil {
			return transport.ErrBusy
		}
		if c.parts >= most {
			return nil
		}
		if c.set.moving >= c.set.limit {
			c.peer.task.Starve()
			return transport.ErrBusy
		}
		i := c.nextPiece()
		if i < 0 {
			return nil
		}
		if c.postPiece(q, i) != nil {
			q.Fail(false)
			return transport.ErrBusy
		}
	}
	return nil
}

// stuck: packets go over ports of which c has no key, or where its memory is not registered. It
// gives its keys back, to ask for others; or to copy.
func (c *call) stuck() error {
	c.retry = !c.acquirePackets()
	c.state = finishing
	return c.advance()
}

func (c *call) postPiece(q *Lane, i int) error {
	s, p := c.set, &c.pieces[i]
	own, peer := q.Port()
	w := &s.request
	*w = ibv.Work{ID: uint64(i)<<32 | uint64(uint32(c.token)), Op: ibv.OpWrite, Signaled: true,
		Segments: s.segment[:1], RemoteAddr: uint64(c.op.Remote) + p.offset, RKey: c.keys[peer]}
	s.segment[0] = ibv.Segment{Addr: uint64(c.op.Local) + p.offset, N: uint32(p.n),
		Key: c.held[own][0].Handle.LKey}
	if c.list != nil {
		c.aimList(w, p, own, peer)
	}
	if c.get {
		w.Op = ibv.OpRead
	}
	if err := q.Post(w); err != nil {
		return err
	}
	p.on = q
	c.parts++
	q.moving++
	s.moving++
	s.cfg.Stats.PacketsSent++
	return nil
}

// of finds the call and the piece of a request.
func (s *Set) of(request uint64) (*call, *piece) {
	c := s.calls[uint32(request)]
	return c, &c.pieces[request>>32]
}

// Moved takes in the end of an RDMA request that was posted to q.
func (s *Set) Moved(q *Lane, request uint64, status ibv.Status) {
	c, p := s.of(request)
	if c.op == nil || p.on != q {
		return // none of this queue pair
	}
	q.moving--
	s.moving--
	c.parts--
	p.on = nil
	if status != ibv.Success {
		c.lose(q)
	}
	switch status {
	case ibv.Success:
		c.done += p.n
		q.Succeed()
		if c.get {
			s.cfg.Stats.DataReceived += p.n
		} else {
			s.cfg.Stats.DataSent += p.n
		}
		p.n = 0
	case ibv.RemAccessErr, ibv.LocProtErr, ibv.LocAccessErr:
		c.retry = true
		q.Fail(true)
	default:
		q.Fail(false)
	}
	task := c.peer.task
	if c.settle(); status == ibv.Success && c.state == finishing && c.byRegion() &&
		c.finishRegion() == errOver {
		c.end(nil)
	}
	task.Attend()
	s.cfg.Fed()
}

// Describe adds to f which request that was, unless its operation is over.
func (s *Set) Describe(request uint64, f *ibv.Failure) {
	c, p := s.of(request)
	if c.op == nil {
		return
	}
	if f.Op = ibv.OpWrite; c.get {
		f.Op = ibv.OpRead
	}
	f.Local, f.N = uint64(c.op.Local)+p.offset, p.n
	f.Remote = uint64(c.op.Remote) + p.offset
	if c.list != nil {
		f.Local, f.Remote = c.whereList(p)
	}
}

// Interrupted: q has ended, and its pieces go over others. A piece that is perhaps moved is moved
// again, since its operation was not reported as done. A piece that an adapter refused is copied.
func (p *Peer) Interrupted(q *Lane) {
	p.set.moving -= q.moving
	q.moving = 0
	for _, c := range p.calls {
		c.interrupted(q)
	}
}

// Expired: keys for that port of the peer's are not valid any more.
func (p *Peer) Expired(port int) {
	for _, c := range p.calls {
		c.keys[port] = 0
	}
}

func (c *call) interrupted(q *Lane) {
	for i := range c.pieces {
		if p := &c.pieces[i]; p.on == q {
			c.lose(q)
			p.on = nil
			c.parts--
		}
	}
	c.settle()
}

// lose notes that a request over q was not done, as far as is known.
func (c *call) lose(q *Lane) {
	_, peer := q.Port()
	c.lost |= 1 << peer
}

// settle: when everything is moved, or nothing is to be, the keys are given back. None is while a
// request may still use it.
func (c *call) settle() {
	if c.state == moving && c.parts == 0 && (c.done == c.upTo || c.retry) {
		c.state = finishing
	}
}

// onFinished: the peer has taken its keys back.
func (c *call) onFinished() {
	switch {
	case c.byRegion() && c.done < c.upTo:
		_ = c.ask()
	case c.retry:
		c.copyInstead()
	case c.done < c.upTo:
		c.state, c.keys = asking, wire.Keys{}
		_ = c.advance()
	case c.done < c.op.N:
		c.region = wire.Keys{}
		c.goOn()
	default:
		c.end(nil)
	}
}

// goOn has c, which has moved what its keys are for, ask for the next.
func (c *call) goOn() {
	c.releaseMemory()
	c.from, c.upTo, c.bad = c.upTo, min(c.upTo+c.set.cfg.KeyMax, c.op.N), 0
	if c.list != nil {
		c.upTo = c.from + c.list.next(c.from, c.set.cfg.KeyMax)
	}
	if !c.acquirePackets() {
		c.copyInstead()
		return
	}
	if c.state = moving; !c.byRegion() {
		c.state, c.keys = asking, wire.Keys{}
	}
	_ = c.advance() // no room: it goes on when there is
}
