package bulk

import (
	"sort"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// segmentsMax is how many ranges of local memory one RDMA request has at most; fewer where the
// adapter takes fewer.
const segmentsMax = 4

// Segments is how many segments the requests of a port with that adapter have.
func Segments(a ibv.Info) int { return max(1, min(segmentsMax, a.MaxSegments, a.MaxReadSegments)) }

// list is the additional state of a call between lists of ranges (transport.Mover). It goes in
// rounds: each has keys for at most wire.RangesMax ranges of the peer's, and as many ranges of this
// task's. It never copies: the owner sends memory that cannot be registered.
type list struct {
	op             *transport.VectorOp
	here, there    cursor            // where the next round begins
	near, far      []transport.Range // of this round, cut at both ends
	nearAt, farAt  []uint64          // where each begins in the stream of all bytes
	keys           []wire.Keys       // of far
	asked, granted uint32            // ports whose keys were wanted
}

// cursor is a place in a list.
type cursor struct {
	i      int
	within uint64
}

// cut appends ranges of all from c on to list, most of them and n bytes at most, and moves c.
func (c *cursor) cut(list, all []transport.Range, most int, n uint64) []transport.Range {
	for c.i < len(all) && len(list) < most && n > 0 {
		r := all[c.i]
		r.Addr, r.N = r.Addr+transport.Addr(c.within), r.N-c.within
		if r.N > n {
			r.N = n
			c.within += n
		} else {
			c.i, c.within = c.i+1, 0
		}
		if n -= r.N; r.N > 0 {
			list = append(list, r)
		}
	}
	return list
}

// places writes where in the stream each of list begins, of which the first does at from.
func places(at []uint64, list []transport.Range, from uint64) []uint64 {
	for _, r := range list {
		at = append(at, from)
		from += r.N
	}
	return at
}

// placeOf is the range that holds the byte at offset, and where in it.
func placeOf(at []uint64, offset uint64) (i int, within uint64) {
	i = sort.Search(len(at), func(i int) bool { return at[i] > offset }) - 1
	return i, offset - at[i]
}

// next begins a round at byte from of the stream, and returns how many bytes it has.
func (l *list) next(from, most uint64) (n uint64) {
	here, there := l.here, l.there
	l.far = l.there.cut(l.far[:0], l.op.There, wire.RangesMax, most)
	n = transport.Sum(l.far)
	l.near = l.here.cut(l.near[:0], l.op.Here, wire.RangesMax, n)
	if got := transport.Sum(l.near); got < n { // the ranges here are shorter
		n, l.here, l.there = got, here, there
		l.far = l.there.cut(l.far[:0], l.op.There, wire.RangesMax, n)
		l.near = l.here.cut(l.near[:0], l.op.Here, wire.RangesMax, n)
	}
	l.farAt, l.nearAt = places(l.farAt[:0], l.far, from), places(l.nearAt[:0], l.near, from)
	return n
}

// StartList begins an operation between lists, or says that it has not.
func (p *Peer) StartList(op *transport.VectorOp) error {
	n := transport.Sum(op.Here)
	switch {
	case n == 0 || n > OneSidedMax || n != transport.Sum(op.There),
		len(op.Here) > transport.RangesMax || len(op.There) > transport.RangesMax:
		return transport.ErrBadParam
	case len(p.calls) == CallsMax:
		return transport.ErrBusy
	}
	op.N = n
	c := p.newCall(&op.Op)
	c.get, c.tells = op.Get, op.Notices
	c.list = p.set.newList(op)
	c.upTo = c.list.next(0, p.set.cfg.KeyMax)
	if !c.acquirePackets() {
		c.free()
		return transport.ErrNotSupported
	}
	c.state, c.length = asking, c.pieceLength()
	if err := c.advance(); err != nil && err != transport.ErrBusy {
		c.free()
		return err
	}
	return nil
}

// newList is one for op.
func (s *Set) newList(op *transport.VectorOp) *list {
	l := new(list)
	if last := len(s.freeLists) - 1; last >= 0 {
		l, s.freeLists = s.freeLists[last], s.freeLists[:last]
	}
	l.op, l.here, l.there = op, cursor{}, cursor{}
	return l
}

// freeList ends c's, whose memory was released.
func (c *call) freeList() {
	if c.list != nil {
		c.list.op = nil
		c.set.freeLists = append(c.set.freeLists, c.list)
		c.list = nil
	}
}

// wantList asks for the keys of a round.
func (c *call) wantList() error {
	l := c.list
	b := c.set.ranges[:len(l.far)*wire.RangeSize]
	for i, r := range l.far {
		wire.PutRange(b[i*wire.RangeSize:], uint64(r.Addr), r.N)
	}
	want := wire.Control{Token: c.token, N: c.upTo - c.from, Status: c.wanted(),
		Ports: c.peer.task.Ports(c.op.N >= LanesMin)}
	l.asked = want.Ports
	return c.peer.task.Control(wire.KindWants, &want, memory.AddrOf(b), uint64(len(b)))
}

// onGrants begins to move the data of a round.
func (c *call) onGrants(m *wire.Control, data []byte) {
	l := c.list
	l.keys = l.keys[:0]
	if l.granted = m.Ports; m.Status != wire.StatusOK || m.Ports&^l.asked != 0 || m.Ports == 0 ||
		len(data) != wire.KeysSize(m.Ports)*len(l.far) {
		c.copyInstead()
		return
	}
	for i := range l.far {
		l.keys = append(l.keys, wire.KeysOf(data[i*wire.KeysSize(m.Ports):], m.Ports))
	}
	c.keys, c.grant, c.state = l.keys[0], m.Offset, moving
	_ = c.advance()
}

// pieceOfList is how many bytes of a piece at offset, n at most, one request can have: it names one
// range of the peer's, and a few of this task's.
func (c *call) pieceOfList(offset, n uint64) uint64 {
	l := c.list
	i, within := placeOf(l.farAt, offset)
	n = min(n, l.far[i].N-within)
	i, within = placeOf(l.nearAt, offset)
	room := l.near[i].N - within
	for k := 1; k < c.set.segments && room < n && i+k < len(l.near); k++ {
		room += l.near[i+k].N
	}
	return min(n, room)
}

// aimList makes w the request for piece p over a port with that number here and there.
func (c *call) aimList(w *ibv.Work, p *piece, own, peer int) {
	l, left := c.list, p.n
	i, within := placeOf(l.farAt, p.offset)
	w.RemoteAddr, w.RKey = uint64(l.far[i].Addr)+within, l.keys[i][peer]
	w.Segments = w.Segments[:0]
	for i, within = placeOf(l.nearAt, p.offset); left > 0; i, within = i+1, 0 {
		n := min(left, l.near[i].N-within)
		w.Segments = append(w.Segments, ibv.Segment{Addr: uint64(l.near[i].Addr) + within,
			N: uint32(n), Key: c.held[own][i].Handle.LKey})
		left -= n
	}
}

// whereList is where the data of piece p begins, here and there.
func (c *call) whereList(p *piece) (local, remote uint64) {
	l := c.list
	if len(l.near) == 0 || p.offset < c.from || p.offset >= c.upTo {
		return 0, 0
	}
	i, within := placeOf(l.nearAt, p.offset)
	local = uint64(l.near[i].Addr) + within
	i, within = placeOf(l.farAt, p.offset)
	return local, uint64(l.far[i].Addr) + within
}

// rangesOf appends the ranges in data to list.
func rangesOf(list []transport.Range, data []byte) []transport.Range {
	for ; len(data) > 0; data = data[wire.RangeSize:] {
		addr, n := wire.Range(data)
		list = append(list, transport.Range{Addr: transport.Addr(addr), N: n})
	}
	return list
}

// sendKeys sends the answer to a Want of several ranges. A port that is gone since has no keys.
func (p *Peer) sendKeys(r *reply) error {
	b := p.set.ranges[:0]
	if r.Status == wire.StatusOK {
		if b, r.Ports = p.keysOf(r.Offset, b); r.Ports == 0 {
			r.Status = wire.StatusRefused
		}
	}
	if len(b) == 0 {
		return p.task.Control(r.kind, &r.Control, 0, 0)
	}
	return p.task.Control(r.kind, &r.Control, memory.AddrOf(b), uint64(len(b)))
}

// keysOf appends the keys of a grant of p's to b: for each range, those of all ports. A grant whose
// ports are gone it ends.
func (p *Peer) keysOf(name uint64, b []byte) (keys []byte, ports uint32) {
	g, n := &p.set.grants[name], 0
	if g.peer != p {
		return b, 0 // the peer has given it back before it could know of it
	}
	for i, held := range g.held {
		if len(held) > 0 {
			ports, n = ports|1<<i, len(held)
		}
	}
	for k := range n {
		for _, held := range g.held {
			if len(held) > 0 {
				b = wire.AppendKey(b, held[k].Handle.RKey)
			}
		}
	}
	if ports == 0 {
		p.set.release(uint32(name), 0)
		p.granted--
	}
	return b, ports
}
