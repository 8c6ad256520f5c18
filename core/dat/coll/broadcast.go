package coll

import "math/bits"

// chunk is how many bytes of a long message members pass on at once.
const chunk = 64 << 10

// broadcast: to the leaders of the nodes, and by them to the others.
func (p *planner) broadcast() {
	g, n := p.g, p.g.nodes
	if !n.worth() {
		all := g.everybody()
		p.spread(all, p.a.Root, p.a.Send.One)
		return
	}
	leaders, local := n.leaders(g, p.a.Root), n.local(g)
	if leaders.me >= 0 {
		p.spread(leaders, leaders.place(p.a.Root), p.a.Send.One)
	}
	from := local.place(p.a.Root)
	if from < 0 {
		from = local.place(n.leader[g.Self])
	}
	p.spread(local, from, p.a.Send.One)
}

// spread copies what the team's member at a place has to all, along a binomial tree, chunk by
// chunk.
func (p *planner) spread(t team, root int, s Span) {
	if t.size() == 1 {
		return
	}
	n := t.size()
	at := (t.me - root + n) % n // with the root at 0
	low := 1 << bits.Len(uint(n-1))
	if at != 0 {
		low = at & -at
	}
	parent := t.at(at - low + root)
	chunks := max((s.N+chunk-1)/chunk, 1)
	piece := func(i uint64) Span { return s.part(i*chunk, min(chunk, s.N-i*chunk)) }
	forward := func(r *round, i uint64) {
		for d := low / 2; d > 0; d /= 2 {
			if at+d < n {
				r.send(t.at(at+d+root), piece(i))
			}
		}
	}
	if at == 0 {
		for i := range chunks {
			forward(p.step(), i)
		}
		return
	}
	for i := range chunks + 1 { // a chunk is passed on while the next one arrives
		r := p.step()
		if i < chunks {
			r.recv(parent, piece(i))
		}
		if i > 0 {
			forward(r, i-1)
		}
	}
}

// barrier: by dissemination; between nodes by their leaders.
func (p *planner) barrier() {
	g, n := p.g, p.g.nodes
	if !n.worth() {
		p.meet(g.everybody())
		return
	}
	leaders, local := n.leaders(g, -1), n.local(g)
	lead := local.place(n.leader[g.Self])
	p.collect(local, lead)
	if leaders.me >= 0 {
		p.meet(leaders)
	}
	p.spread(local, lead, Span{})
}

// meet ends when all of the team have begun.
func (p *planner) meet(t team) {
	for d := 1; d < t.size(); d *= 2 {
		r := p.step()
		r.send(t.at(t.me+d), Span{})
		r.recv(t.at(t.me-d), Span{})
	}
}

// collect ends at the member at a place when all of the team have begun.
func (p *planner) collect(t team, root int) { p.reduceTree(t, root, Span{}, Span{}) }
