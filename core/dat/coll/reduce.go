package coll

import "math/bits"

// A reduction of at least longMin bytes, with partMin of them for each member at least, is reduced
// in parts, one at each member; a shorter one as a whole.
const (
	longMin = 16 << 10
	partMin = 1 << 10
)

// isLong says so.
func isLong(n uint64, members int) bool {
	return n >= longMin && n/uint64(members) >= partMin
}

// reduction is the plan of reduce, allreduce and reduce_scatter.
func (p *planner) reduction() {
	g, a := p.g, p.a
	n := a.Send.One.N
	has := a.Kind == Allreduce || a.Kind == Reduce && a.Root == g.Self
	from := a.Send.One
	if a.Send.Null() {
		from = a.Recv.One.part(0, n)
	}
	if a.Kind == ReduceScatter {
		p.reduceScatter(from)
		return
	}
	var at Span
	if has && isLong(n, g.Size) {
		at = a.Recv.One.part(0, n)
		p.step().copy(at, from)
		if a.Send.Null() || at.Addr == from.Addr {
			p.step().probe(at)
		}
	} else {
		at = p.room(n)
		p.step().copy(at, from)
	}
	if a.Kind == Allreduce {
		at = p.reduceToAll(at)
	} else {
		at = p.reduceToRoot(at)
	}
	if has {
		p.step().copy(a.Recv.One, at)
	}
}

// reduceToAll: within each node to its leader, between the leaders, and back. It says where the
// result is.
func (p *planner) reduceToAll(at Span) Span {
	g, n := p.g, p.g.nodes
	other := p.room(at.N)
	if !n.worth() {
		return p.reduceAmong(g.everybody(), at, other)
	}
	leaders, local := n.leaders(g, -1), n.local(g)
	lead := local.place(n.leader[g.Self])
	at, other = p.reduceTo(local, lead, at, other)
	if leaders.me >= 0 {
		at = p.reduceAmong(leaders, at, other)
	}
	p.spread(local, lead, at)
	return at
}

// reduceToRoot: within each node to its leader, and between the leaders, of which the root is one.
func (p *planner) reduceToRoot(at Span) Span {
	g, n := p.g, p.g.nodes
	other := p.room(at.N)
	if !n.worth() {
		at, _ = p.reduceTo(g.everybody(), p.a.Root, at, other)
		return at
	}
	leaders, local := n.leaders(g, p.a.Root), n.local(g)
	lead := local.place(p.a.Root)
	if lead < 0 {
		lead = local.place(n.leader[g.Self])
	}
	at, other = p.reduceTo(local, lead, at, other)
	if leaders.me >= 0 {
		at, _ = p.reduceTo(leaders, leaders.place(p.a.Root), at, other)
	}
	return at
}

// reduceTo reduces what the team's members have, at, to the one at a place. It says where the
// result is there, and which memory is free.
func (p *planner) reduceTo(t team, root int, at, other Span) (result, free Span) {
	if !isLong(at.N, t.size()) || t.size() == 1 {
		return p.reduceTree(t, root, at, other)
	}
	parts := p.split(at, t.size())
	p.reduceRing(t, parts, other)
	r := p.step()
	if t.me != root {
		r.send(t.at(root), parts[t.me])
		return at, other
	}
	for i := range t.size() {
		if i != root {
			r.recv(t.at(i), parts[i])
		}
	}
	return at, other
}

// reduceTree reduces along a binomial tree.
func (p *planner) reduceTree(t team, root int, at, other Span) (result, free Span) {
	n := t.size()
	place := (t.me - root + n) % n
	for d := 1; d < n; d *= 2 {
		r := p.step()
		if place&d != 0 {
			r.send(t.at(place-d+root), at)
			break
		}
		if place+d < n {
			r.recv(t.at(place+d+root), other)
			r.reduce(other, at)
			at, other = other, at
		}
	}
	return at, other
}

// reduceAmong is reduceTo for all members of the team.
func (p *planner) reduceAmong(t team, at, other Span) Span {
	if t.size() == 1 {
		return at
	}
	if isLong(at.N, t.size()) {
		parts := p.split(at, t.size())
		p.reduceRing(t, parts, other)
		p.ring(t, func(place int) Span { return parts[place] })
		return at
	}
	return p.doubling(t, at, other)
}

// doubling has members exchange their data with members twice as far away each time. If their
// number is no power of two, the first members do so in pairs, of which the second represents both.
func (p *planner) doubling(t team, at, other Span) Span {
	n := t.size()
	whole := 1 << (bits.Len(uint(n)) - 1)
	pairs := n - whole
	place := t.me - pairs
	if t.me < 2*pairs {
		r := p.step()
		if t.me%2 == 0 {
			r.send(t.at(t.me+1), at)
			p.step().recv(t.at(t.me+1), at)
			return at
		}
		r.recv(t.at(t.me-1), other)
		r.reduce(at, other)
		place = t.me / 2
	}
	for d := 1; d < whole; d *= 2 {
		with := place ^ d
		rank := with + pairs
		if with < pairs {
			rank = 2*with + 1
		}
		r := p.step()
		r.send(t.at(rank), at)
		r.recv(t.at(rank), other)
		if with < place {
			r.reduce(at, other)
		} else {
			r.reduce(other, at)
			at, other = other, at
		}
	}
	if t.me < 2*pairs {
		p.step().send(t.at(t.me-1), at)
	}
	return at
}

// split divides s into n parts of whole elements.
func (p *planner) split(s Span, n int) (parts []Span) {
	size := uint64(p.g.cfg.Kernel.Size(p.a.Op, p.a.Type))
	count := s.N / size
	for i := range uint64(n) {
		from, to := count*i/uint64(n)*size, count*(i+1)/uint64(n)*size
		parts = append(parts, s.part(from, to-from))
	}
	return parts
}

// reduceRing passes partial results around, so that the part of each member is reduced there. The
// others are spoilt. tmp has room for any part.
func (p *planner) reduceRing(t team, parts []Span, tmp Span) {
	n := t.size()
	for s := range n - 1 {
		r := p.step()
		out, in := parts[(t.me-s-1+n)%n], parts[(t.me-s-2+2*n)%n]
		r.send(t.at(t.me+1), out)
		r.recv(t.at(t.me-1), tmp.part(0, in.N))
		r.reduce(in, tmp.part(0, in.N))
	}
}

// reduceScatter works on a copy, in which the parts of a node's members stand together. Between
// nodes leaders reduce what their nodes need.
func (p *planner) reduceScatter(from Span) {
	g, n := p.g, p.g.nodes
	if !n.worth() {
		_, of := p.copyParts(from, g.everybody().ranks)
		p.reduceParts(g.everybody(), of)
		p.step().copy(p.a.Recv.One, of(g.Self))
		return
	}
	at, of := p.copyParts(from, n.byNode(g).ranks)
	other := p.room(at.N)
	leaders, local := n.leaders(g, -1), n.local(g)
	lead := n.leader[g.Self]
	was := at
	at, other = p.reduceTo(local, local.place(lead), at, other)
	moved := func(s Span) Span { return at.part(uint64(s.Addr-was.Addr), s.N) }
	if leaders.me >= 0 {
		var parts []Span
		for _, l := range leaders.ranks {
			ranks := n.of(l)
			first, last := of(ranks[0]), of(ranks[len(ranks)-1])
			first.N = uint64(last.Addr-first.Addr) + last.N
			parts = append(parts, moved(first))
		}
		p.reduceRing(leaders, parts, other)
	}
	r := p.step()
	if leaders.me < 0 {
		r.recv(lead, of(g.Self))
		r.copy(p.a.Recv.One, of(g.Self))
		return
	}
	for _, rank := range local.ranks {
		if rank != g.Self {
			r.send(rank, moved(of(rank)))
		}
	}
	r.copy(p.a.Recv.One, moved(of(g.Self)))
}

// copyParts copies what members are to have, of a reduce_scatter, in the order of ranks.
func (p *planner) copyParts(from Span, ranks []int) (all Span, of func(rank int) Span) {
	all, of = p.parts(ranks)
	r := p.step()
	at := uint64(0)
	for rank := range p.g.Size {
		n := p.a.Recv.of(rank).N
		r.copy(of(rank), from.part(at, n))
		at += n
	}
	return all, of
}

// reduceParts reduces the part of each member of the team there.
func (p *planner) reduceParts(t team, of func(rank int) Span) {
	if t.size() == 1 {
		return
	}
	parts := make([]Span, t.size())
	longest := uint64(0)
	for i, rank := range t.ranks {
		parts[i] = of(rank)
		longest = max(longest, parts[i].N)
	}
	p.reduceRing(t, parts, p.room(longest))
}
