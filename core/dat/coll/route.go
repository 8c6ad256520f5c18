package coll

import (
	"encoding/binary"

	"lapi/transport/memory"
)

// Short parts that go from one node to another travel together, in bundles: members give them to
// their leader, leaders exchange them and pass them on. No member knows how long the parts of
// others are, so each part follows its length, and the plan goes on when bundles have arrived. Of a
// long part only the length goes this way. The part comes by itself after that, as parts within a
// node do.

// bundlesMax is how much memory a leader spends on bundles of one kind, about. routedMax is up to
// how many bytes a part goes with others, if there is room.
const (
	bundlesMax = 1 << 20
	routedMax  = 1 << 10
)

// lengthSize is the size of a length. byItself in it says that the part is not in the bundle.
const (
	lengthSize = 8
	byItself   = 1 << 63
)

// bundle is parts on their way, each behind its length.
type bundle struct {
	room   []byte
	span   Span
	n      uint64 // bytes that are in it
	parsed uint64
}

// filled is the filled part of the bundle.
func (b *bundle) filled() Span { return b.span.part(0, b.n) }

// part is the next part with its length, and alone; false: there is none.
func (b *bundle) part() (whole, data []byte, length uint64, ok bool) {
	rest := b.room[b.parsed:min(b.n, uint64(len(b.room)))]
	if len(rest) < lengthSize {
		return nil, nil, 0, false
	}
	length = binary.LittleEndian.Uint64(rest)
	n := uint64(0)
	if length&byItself == 0 {
		n = length
	}
	if n > uint64(len(rest)-lengthSize) {
		return nil, nil, 0, false
	}
	b.parsed += lengthSize + n
	return rest[:lengthSize+n], rest[lengthSize : lengthSize+n], length, true
}

// add adds a part with its length; false: there is no room.
func (b *bundle) add(whole []byte) bool {
	if uint64(len(whole)) > uint64(len(b.room))-b.n {
		return false
	}
	b.n += uint64(copy(b.room[b.n:], whole))
	return true
}

// addOwn adds a part of this member's; false: its memory cannot be read, or there is no room.
func (b *bundle) addOwn(s Span, most uint64) bool {
	var length [lengthSize]byte
	binary.LittleEndian.PutUint64(length[:], s.N)
	if s.N > most {
		binary.LittleEndian.PutUint64(length[:], s.N|byItself)
		return b.add(length[:])
	}
	if !b.add(length[:]) || s.N > uint64(len(b.room))-b.n {
		return false
	}
	b.n += s.N
	return s.N == 0 || memory.CopyOut(b.room[b.n-s.N:b.n], s.Addr) == nil
}

// routed is an operation whose parts are routed by leaders.
type routed struct {
	*planner
	pair     func(from, to int) bool // from has a part for to
	out      func(to int) Span       // this member's part for another
	in       func(from int) Span     // the place of another's part
	together bool                    // parts that go by themselves do so at the same time
	most     uint64                  // longer parts go by themselves
	home     []int                   // the leader of each rank
	leaders  team
	local    team
	long     []bool    // ranks from which such a part is to come
	up       []*bundle // a leader's: of each of its members
}

// route plans the parts of all pairs, with at most parts parts in a leader's bundles. root leads
// its node, if it is a rank. The caller copies the part that this member has for itself. false:
// leaders do not pay, and nothing is planned.
func (p *planner) route(x routed, root, parts int) bool {
	g, n := p.g, p.g.nodes
	if !n.worth() {
		return false
	}
	x.most = min(bundlesMax/uint64(parts)&^(lengthSize-1), routedMax+lengthSize)
	if x.most < 2*lengthSize {
		return false
	}
	x.most -= lengthSize
	x.planner, x.leaders, x.local = p, n.leaders(g, root), n.local(g)
	x.home, x.long = make([]int, g.Size), make([]bool, g.Size)
	for rank, leader := range n.leader {
		if x.home[rank] = leader; root >= 0 && leader == n.leader[root] {
			x.home[rank] = root
		}
	}
	p.step().rest = x.begin
	return true
}

// begin gives this member's parts to its leader, which may be itself.
func (x *routed) begin() bool {
	self := x.g.Self
	own := x.bundle([]int{self}, x.everybody())
	ok := true
	x.each([]int{self}, x.everybody(), func(_, to int) {
		ok = ok && own.addOwn(x.out(to), x.most)
	})
	if !ok {
		return false
	}
	r := x.step()
	if lead := x.home[self]; lead != self {
		r.sendBundle(lead, own)
		down := x.bundle(x.everybody(), []int{self})
		r = x.step()
		r.recvBundle(lead, down)
		r.rest = func() bool {
			return x.arrive(x.everybodyByNode(), []int{self}, down, nil) && x.finish()
		}
		return !x.failed
	}
	for _, m := range x.local.ranks {
		b := own
		if m != self {
			b = x.bundle([]int{m}, x.everybody())
			r.recvBundle(m, b)
		}
		x.up = append(x.up, b)
	}
	r.rest = x.exchange
	return !x.failed
}

// exchange sends other leaders the parts for their nodes.
func (x *routed) exchange() bool {
	ok := true
	out := map[int]*bundle{}
	for _, l := range x.leaders.ranks {
		out[l] = x.bundle(x.local.ranks, x.node(l))
	}
	for i, m := range x.local.ranks {
		x.each([]int{m}, x.everybody(), func(_, to int) {
			whole, _, _, good := x.up[i].part()
			ok = ok && good && out[x.home[to]].add(whole)
		})
	}
	if x.failed || !ok {
		return false
	}
	r := x.step()
	in := make([]*bundle, x.leaders.size())
	for i, l := range x.leaders.ranks {
		if l != x.g.Self {
			r.sendBundle(l, out[l])
			in[i] = x.bundle(x.node(l), x.local.ranks)
			r.recvBundle(l, in[i])
		}
	}
	r.rest = func() bool { return x.deliver(in) }
	return !x.failed
}

// deliver gives this leader's members the parts that have arrived for them.
func (x *routed) deliver(in []*bundle) bool {
	down := map[int]*bundle{}
	for _, m := range x.local.ranks {
		down[m] = x.bundle(x.everybody(), []int{m})
	}
	for i, l := range x.leaders.ranks {
		if l != x.g.Self && !x.arrive(x.node(l), x.local.ranks, in[i], down) {
			return false
		}
	}
	r := x.step()
	for _, m := range x.local.ranks {
		if m != x.g.Self {
			r.sendBundle(m, down[m])
		}
	}
	return x.finish()
}

// arrive takes a bundle apart: parts for this member go to their places, others to the bundles of
// whom they are for.
func (x *routed) arrive(from, to []int, b *bundle, down map[int]*bundle) bool {
	ok := !x.failed
	x.each(from, to, func(from, to int) {
		if !ok {
			return
		}
		whole, data, length, good := b.part()
		switch {
		case !good:
			ok = false
		case to != x.g.Self:
			ok = down[to].add(whole)
		case length&byItself != 0:
			x.long[from] = true
		default:
			ok = x.place(x.in(from), data)
		}
	})
	return ok
}

// place puts a part where it belongs. Of a part that is too long the rest is dropped.
func (x *routed) place(to Span, data []byte) bool {
	if uint64(len(data)) > to.N {
		x.tooLong = true
		data = data[:to.N]
	}
	return len(data) == 0 || memory.CopyIn(to.Addr, data) == nil
}

// finish plans the parts that go by themselves.
func (x *routed) finish() bool {
	self, size := x.g.Self, x.g.Size
	r := x.step()
	for d := 1; d < size; d++ {
		if !x.together && d > 1 {
			r = x.step()
		}
		to, from := (self+d)%size, (self-d+size)%size
		if x.pair(self, to) && (x.home[to] == x.home[self] || x.out(to).N > x.most) {
			r.send(to, x.out(to))
		}
		if x.pair(from, self) && (x.home[from] == x.home[self] || x.long[from]) {
			r.recvAtMost(from, x.in(from))
		}
	}
	return !x.failed
}

// each calls f for each part that goes from one of the first ranks to one of the second on another
// node, in the order of bundles.
func (x *routed) each(from, to []int, f func(from, to int)) {
	for _, a := range from {
		for _, b := range to {
			if x.home[a] != x.home[b] && x.pair(a, b) {
				f(a, b)
			}
		}
	}
}

// bundle makes an empty bundle for these parts.
func (x *routed) bundle(from, to []int) *bundle {
	count := uint64(0)
	x.each(from, to, func(_, _ int) { count++ })
	b := &bundle{span: x.room(count * (lengthSize + x.most))}
	if b.span.N > 0 && !x.failed {
		b.room = memory.Bytes(b.span.Addr, b.span.N)
	}
	return b
}

func (x *routed) everybody() []int { return x.g.everybody().ranks }

// everybodyByNode is all ranks, node after node.
func (x *routed) everybodyByNode() (ranks []int) {
	for _, l := range x.leaders.ranks {
		ranks = append(ranks, x.node(l)...)
	}
	return ranks
}

// node is the ranks of a leader's node.
func (x *routed) node(leader int) []int { return (&nodes{leader: x.home}).of(leader) }

// sendBundle sends a bundle that may have parts.
func (r *round) sendBundle(to int, b *bundle) {
	if b.span.N > 0 {
		r.send(to, b.filled())
	}
}

// recvBundle receives a bundle.
func (r *round) recvBundle(from int, b *bundle) {
	if b.span.N > 0 {
		r.recvs = append(r.recvs, transfer{rank: from, span: b.span, atMost: true, length: &b.n})
	}
}
