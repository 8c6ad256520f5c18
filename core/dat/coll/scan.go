package coll

// scan: in log n rounds, with the ranks twice as far away each time.
func (p *planner) scan() {
	g, a := p.g, p.a
	n := a.Send.One.N
	from := a.Send.One
	if a.Send.Null() {
		from = a.Recv.One.part(0, n)
	}
	sum, in := p.room(n), p.room(n)
	p.step().copy(sum, from)
	for d := 1; d < g.Size; d *= 2 {
		r := p.step()
		if g.Self+d < g.Size {
			r.send(g.Self+d, sum)
		}
		if g.Self >= d {
			r.recv(g.Self-d, in)
			r.reduce(sum, in)
		}
	}
	p.step().copy(a.Recv.One, sum)
}
