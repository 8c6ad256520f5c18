package coll

// bruckMax is up to how many bytes of all parts allgather takes few rounds rather than few copies.
const bruckMax = 32 << 10

// gather: the root receives each part where it belongs; short ones of other nodes by their leaders.
func (p *planner) gather() {
	g, a := p.g, p.a
	p.joinRoot()
	r := p.step()
	if a.Root == g.Self && !a.Send.Null() {
		r.copy(a.Recv.of(g.Self), a.Send.One)
	}
	if p.route(routed{pair: func(from, to int) bool { return to == a.Root && from != to },
		out: func(int) Span { return a.Send.One }, in: a.Recv.of, together: true},
		a.Root, g.Size) {
		return
	}
	if a.Root != g.Self {
		r.send(a.Root, a.Send.One)
		return
	}
	for i := range g.Size {
		if i != g.Self {
			r.recvAtMost(i, a.Recv.of(i))
		}
	}
}

// joinRoot makes rails between a root that leads its node and the leaders of others.
func (p *planner) joinRoot() {
	g := p.g
	if g.nodes == nil || g.rails == nil {
		return
	}
	switch leaders := g.nodes.leaders(g, -1); {
	case leaders.me < 0 || leaders.place(p.a.Root) < 0:
	case p.a.Root == g.Self:
		p.join(leaders.ranks)
	default:
		p.join([]int{p.a.Root})
	}
}

// scatter: the root sends each part from where it is; short ones for other nodes by their leaders.
func (p *planner) scatter() {
	g, a := p.g, p.a
	p.joinRoot()
	r := p.step()
	if a.Root == g.Self && !a.Recv.Null() {
		r.copy(a.Recv.One, a.Send.of(g.Self))
	}
	if p.route(routed{pair: func(from, to int) bool { return from == a.Root && from != to },
		out: a.Send.of, in: func(int) Span { return a.Recv.One }, together: true},
		a.Root, g.Size) {
		return
	}
	if a.Root != g.Self {
		r.recvAtMost(a.Root, a.Recv.One)
		return
	}
	for d := 1; d < g.Size; d++ {
		to := (g.Self + d) % g.Size
		r.send(to, a.Send.of(to))
	}
}

// allgather: of little data in log n rounds, between nodes by their leaders; else around a ring, in
// which those of a node stand side by side.
func (p *planner) allgather() {
	g, a := p.g, p.a
	own := a.Recv.of(g.Self)
	if !a.Send.Null() {
		p.step().copy(own, a.Send.One)
	}
	n, all := g.nodes, g.everybody()
	little := a.Recv.total(g.Size) <= bruckMax
	switch {
	case little && n.worth():
		p.gatherByLeaders()
	case little && a.Recv.List == nil:
		p.bruck(all, func(place int) []int { return all.ranks[place : place+1] })
	default:
		if n.worth() {
			all = n.byNode(g)
		}
		p.ring(all, func(place int) Span { return a.Recv.of(all.ranks[place]) })
	}
}

// ring passes the part of each member around.
func (p *planner) ring(t team, part func(place int) Span) {
	n := t.size()
	for s := range n - 1 {
		r := p.step()
		r.send(t.at(t.me+1), part((t.me-s+n)%n))
		r.recv(t.at(t.me-1), part((t.me-s-1+n)%n))
	}
}

// parts is memory for the parts of some ranks, in that order.
func (p *planner) parts(ranks []int) (all Span, of func(rank int) Span) {
	at := make(map[int]uint64, len(ranks))
	total := uint64(0)
	for _, rank := range ranks {
		at[rank] = total
		total += p.a.Recv.of(rank).N
	}
	all = p.room(total)
	return all, func(rank int) Span { return all.part(at[rank], p.a.Recv.of(rank).N) }
}

// bruck doubles what each member of the team has with each round: the parts of the ranks of one
// place after the other, from its own on. It says where all are.
func (p *planner) bruck(t team, ranks func(place int) []int) {
	order, starts := rotated(t, ranks)
	all, of := p.parts(order)
	r := p.step()
	for _, rank := range order[:starts[1]] {
		r.copy(of(rank), p.a.Recv.of(rank))
	}
	p.bruckAmong(t, all, of, order, starts)
	p.takeOut(order, of)
}

// rotated is the ranks of all places of a team, from this member's own on, and where those of each
// place begin.
func rotated(t team, ranks func(place int) []int) (order, starts []int) {
	for i := range t.size() {
		starts = append(starts, len(order))
		order = append(order, ranks((t.me+i)%t.size())...)
	}
	return order, append(starts, len(order))
}

// bruckAmong plans the rounds of bruck. At the start each place has its own parts at the beginning
// of all.
func (p *planner) bruckAmong(t team, all Span, of func(int) Span, order, starts []int) {
	size := t.size()
	offset := func(place int) uint64 {
		if place == size {
			return all.N
		}
		return uint64(of(order[starts[place]]).Addr - all.Addr)
	}
	for d := 1; d < size; d *= 2 {
		count := min(d, size-d)
		r := p.step()
		r.send(t.at(t.me-d), all.part(0, offset(count)))
		r.recv(t.at(t.me+d), all.part(offset(d), offset(d+count)-offset(d)))
	}
}

// takeOut copies parts to where the consumer wants them.
func (p *planner) takeOut(ranks []int, of func(int) Span) {
	r := p.step()
	for _, rank := range ranks {
		if rank != p.g.Self {
			r.copy(p.a.Recv.of(rank), of(rank))
		}
	}
}

// gatherByLeaders: leaders have the parts of their members, exchange them, and give all to them.
func (p *planner) gatherByLeaders() {
	g, n := p.g, p.g.nodes
	leaders, local := n.leaders(g, -1), n.local(g)
	mine := n.leader[g.Self]
	view := leaders // as this member's leader has it
	view.me = view.place(mine)
	order, starts := rotated(view, func(place int) []int { return n.of(view.ranks[place]) })
	all, of := p.parts(order)
	p.step().copy(of(g.Self), p.a.Recv.of(g.Self))
	r := p.step()
	for _, rank := range local.ranks {
		switch {
		case leaders.me < 0 && rank == g.Self:
			r.send(mine, of(rank))
		case leaders.me >= 0 && rank != g.Self:
			r.recv(rank, of(rank))
		}
	}
	if leaders.me >= 0 {
		p.bruckAmong(leaders, all, of, order, starts)
	}
	p.spread(local, local.place(mine), all)
	p.takeOut(order, of)
}
