package singlecopy

import (
	"lapi/core/lapi/peer"
	"lapi/core/lapi/vector"
	"lapi/transport"
)

// A copy over an adapter, a Move, takes some time, but no task's processor.

const (
	// adapterLong is from which length on, on average, a vector's blocks go by RDMA, each with a
	// registration at the target, bytes; adapterShort is that with ByBulk: a registration is of
	// pages.
	adapterLong  = BlockMin
	adapterShort = 4 << 10
	// rangesKept is how many ranges' memory a Move keeps for its next use.
	rangesKept = 128
	// waitingMost is how many copies may wait for the room of one peer's link.
	waitingMost = 256
)

// byAdapter says whether n bytes go by RDMA.
func (c *Copier) byAdapter(p *peer.Peer, n uint64, h Hint) bool {
	return p.OverAdapter() && p.Mover != nil && p.Transfers(n, c.Route(p, n, h))
}

// adapterBlockMin is how long the blocks of a vector must be then, on average.
func adapterBlockMin(h Hint) uint64 {
	if h == ByBulk {
		return adapterShort
	}
	return adapterLong
}

// adapterBlocks says whether the blocks of n bytes are so long.
func adapterBlocks(a, b *vector.Vector, n uint64, h Hint) bool {
	return n/max(a.Pieces(), b.Pieces(), 1) >= adapterBlockMin(h)
}

// Move is a copy between two vectors that p's link makes by itself, in as many operations of the
// link as it takes:
//
//	begun ──> waits for room <──> under way ──> over: Done
type Move struct {
	// Done runs once when all is in place; or with ErrNotSupported: send the data in messages; or
	// ErrUnreachable, ErrClosed. It may begin m anew.
	Done  func(m *Move, err error)
	Owner any // the caller's
	// Notice is for the target's owner, if Notices, when all is in place.
	Notice  transport.Notice
	Notices bool

	p         *peer.Peer // nil: m is over
	next      *Move      // in Copier.waiting
	op        transport.VectorOp
	near, far vector.Cursor
	left      uint64
}

// Move begins m: n bytes from local, which is this task's, to remote, p's; or (get) from there. The
// vectors must stay until m is over. Done may run before Move returns.
func (c *Copier) Move(m *Move, p *peer.Peer, get bool, local, remote *vector.Vector, n uint64) {
	m.p, m.near, m.far, m.left = p, local.At(0), remote.At(0), n
	m.op.Get, m.op.Owner, m.op.Done = get, m, c.moved
	c.goOn(m)
}

// goOn begins the next operation of m.
func (c *Copier) goOn(m *Move) {
	near, far := m.near, m.far
	op := &m.op
	op.Here = m.near.Ranges(op.Here[:0], min(m.left, Chunk))
	step := transport.Sum(op.Here)
	op.There = m.far.Ranges(op.There[:0], step)
	// the list of small remote ranges is full first
	if got := transport.Sum(op.There); got < step {
		step, m.near = got, near
		op.Here = m.near.Ranges(op.Here[:0], step)
	}
	if op.N = step; step == 0 { // all is done, or the vectors have less than n bytes
		err := error(nil)
		if m.left > 0 {
			err = transport.ErrNotSupported
		}
		c.end(m, err)
		return
	}
	op.Notice, op.Notices = m.Notice, m.Notices && step == m.left
	switch err := m.p.Mover.Move(m.p.Ep, op); err {
	case nil:
	case transport.ErrBusy:
		m.near, m.far = near, far
		c.waiting.push(m)
	default:
		c.end(m, err)
	}
}

// moved is Op.Done.
func (c *Copier) moved(op *transport.Op, err error) {
	m := op.Owner.(*Move)
	if m.left -= op.N; err != nil || m.left == 0 {
		c.end(m, err)
		return
	}
	c.goOn(m)
}

func (c *Copier) end(m *Move, err error) {
	m.p = nil
	if cap(m.op.Here) > rangesKept {
		m.op.Here, m.op.There = nil, nil
	}
	m.Done(m, err)
}

// moves is a list of copies, oldest first.
type moves struct {
	first, last *Move
	n           int
}

func (l *moves) push(m *Move) {
	if l.last == nil {
		l.first = m
	} else {
		l.last.next = m
	}
	l.last = m
	l.n++
}

func (l *moves) pop() *Move {
	m := l.first
	if l.first = m.next; l.first == nil {
		l.last = nil
	}
	m.next = nil
	l.n--
	return m
}

// Waiting is how many copies wait for room.
func (c *Copier) Waiting() int { return c.waiting.n }

// Full says whether calls that begin copies to or from p should wait, as many copies wait.
func (c *Copier) Full(p *peer.Peer) bool {
	n := 0
	for m := c.waiting.first; m != nil && n <= waitingMost; m = m.next {
		if m.p == p {
			n++
		}
	}
	return n > waitingMost
}

// Progress retries the copies that wait for room, once for a peer whose link has none.
func (c *Copier) Progress() {
	var full *peer.Peer
	for left := c.waiting.n; left > 0 && c.waiting.n > 0; left-- { // a Done may give others up
		m := c.waiting.pop()
		p, before := m.p, c.waiting.n
		if p == full {
			c.waiting.push(m)
			continue
		}
		if c.goOn(m); c.waiting.n > before && c.waiting.last == m {
			full = p
		}
	}
}

// GiveUp ends the copies to and from p that wait for room; the link's own end with its Disconnect.
func (c *Copier) GiveUp(p *peer.Peer) {
	for left := c.waiting.n; left > 0; left-- {
		if m := c.waiting.pop(); m.p == p {
			c.end(m, transport.ErrUnreachable)
		} else {
			c.waiting.push(m)
		}
	}
}
