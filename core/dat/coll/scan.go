package coll

// scan: in log n rounds, with the ranks twice as far away each time. Where the ranks of each node
// follow each other, between nodes by those with the last ranks.
func (p *planner) scan() {
	g, a, n := p.g, p.a, p.g.nodes
	length := a.Send.One.N
	from := a.Send.One
	if a.Send.Null() {
		from = a.Recv.One.part(0, length)
	}
	sum, in := p.room(length), p.room(length)
	p.step().copy(sum, from)
	if n.worth() && n.inOrder() {
		p.scanByNodes(sum, in)
	} else {
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

// scanByNodes: the last of each node has the sum of its node, and gives it to the next one. What
// those have scanned is the sum of all nodes before.
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
