package coll

// atOnceMax is the largest total that alltoall sends to all members at once.
const atOnceMax = 64 << 10

// alltoall: with one member after the other, or with all at once where there is little.
func (p *planner) alltoall() {
	g, a := p.g, p.a
	p.joinLeaders()
	send := a.Send
	if a.Send.Null() {
		send = p.aside()
	}
	little := send.total(g.Size) <= atOnceMax
	r := p.step()
	r.copy(a.Recv.of(g.Self), send.of(g.Self))
	if p.route(routed{pair: func(from, to int) bool { return from != to }, out: send.of,
		in: a.Recv.of, together: little}, -1, g.Size*g.nodes.largest()) {
		return
	}
	for d := 1; d < g.Size; d++ {
		if !little && d > 1 {
			r = p.step()
		}
		to, from := (g.Self+d)%g.Size, (g.Self-d+g.Size)%g.Size
		r.send(to, send.of(to))
		r.recvAtMost(from, a.Recv.of(from))
	}
}

// joinLeaders makes rails between all leaders of nodes.
func (p *planner) joinLeaders() {
	if n := p.g.nodes; n != nil && p.g.rails != nil {
		if leaders := n.leaders(p.g, -1); leaders.me >= 0 {
			p.join(leaders.ranks)
		}
	}
}

// aside is a copy of the memory that is received into: of an operation in place.
func (p *planner) aside() (parts Parts) {
	g, a := p.g, p.a
	all := p.room(a.Recv.total(g.Size))
	r := p.step()
	at := uint64(0)
	for i := range g.Size {
		s := a.Recv.of(i)
		parts.List = append(parts.List, all.part(at, s.N))
		r.copy(parts.List[i], s)
		at += s.N
	}
	return parts
}
