package coll

// scan: in log n rounds, with the ranks twice as far away each time. Where the ranks of each node
// follow each other, between nodes by those with the last ranks; of little data where they do not,
// by leaders.
func (p *planner) scan() {
	g, a, n := p.g, p.a, p.g.nodes
	length := a.Send.One.N
	from := a.Send.One
	if a.Send.Null() {
		from = a.Recv.One.part(0, length)
	}
	sum, in := p.room(length), p.room(length)
	p.step().copy(sum, from)
	switch {
	case n.worth() && n.inOrder():
		p.scanByNodes(sum, in)
	case n.worth() && length*uint64(g.Size) <= bruckMax:
		p.scanByLeaders(sum)
	default:
		p.scanAmong(g.everybody(), sum, in)
	}
	p.step().copy(a.Recv.One, sum)
}

// scanAmong makes sum that of all places up to this member's.
func (p *planner) scanAmong(t team, sum, in Span) {
	for d := 1; d < t.size(); d *= 2 {
		r := p.step()
		if t.me+d < t.size() {
			r.send(t.at(t.me+d), sum)
		}
		if t.me >= d {
			r.recv(t.at(t.me-d), in)
			r.reduce(sum, in)
		}
	}
}

// scanByNodes: the last member of each node has the sum of its node, and the last members scan
// these among each other. The result is the sum of all nodes before.
func (p *planner) scanByNodes(sum, in Span) {
	g, n := p.g, p.g.nodes
	local := n.local(g)
	p.scanAmong(local, sum, in)
	var lasts team
	for _, leader := range n.list {
		ranks := n.of(leader)
		lasts.ranks = append(lasts.ranks, ranks[len(ranks)-1])
	}
	lasts.me = lasts.place(g.Self)
	before := p.room(sum.N)
	if lasts.me >= 0 {
		r := p.step()
		if lasts.me+1 < lasts.size() {
			r.send(lasts.at(lasts.me+1), sum)
		}
		if lasts.me > 0 {
			r.recv(lasts.at(lasts.me-1), before)
			p.scanAmong(team{ranks: lasts.ranks[1:], me: lasts.me - 1}, before, in)
		}
	}
	if local.ranks[0] == 0 {
		return
	}
	p.spread(local, local.size()-1, before)
	p.step().reduce(sum, before)
}

// scanByLeaders: leaders have what their members contribute, exchange that, and give each member the
// sum of the ranks up to it, which is no sum of nodes. sum is what this one contributes, and becomes
// that.
func (p *planner) scanByLeaders(sum Span) {
	g, n := p.g, p.g.nodes
	leaders, local := n.leaders(g, -1), n.local(g)
	if leaders.me < 0 {
		leader := n.leader[g.Self]
		p.step().send(leader, sum)
		p.step().recv(leader, sum)
		return
	}
	order, starts := rotated(leaders, func(place int) []int { return n.of(leaders.ranks[place]) })
	all := p.room(sum.N * uint64(g.Size))
	at := make([]uint64, g.Size)
	for place, rank := range order {
		at[rank] = uint64(place) * sum.N
	}
	of := func(rank int) Span { return all.part(at[rank], sum.N) }
	r := p.step()
	r.copy(of(g.Self), sum)
	for _, rank := range local.ranks {
		if rank != g.Self {
			r.recv(rank, of(rank))
		}
	}
	p.bruckAmong(leaders, all, of, order, starts)
	r = p.step()
	for rank := 1; rank <= local.ranks[local.size()-1]; rank++ {
		r.reduce(of(rank), of(rank-1))
	}
	r.copy(sum, of(g.Self))
	r = p.step()
	for _, rank := range local.ranks {
		if rank != g.Self {
			r.send(rank, of(rank))
		}
	}
}
