package coll

// bruckMax is up to how many bytes of all parts allgather takes few rounds rather than few copies.
const bruckMax = 32 << 10

// gather: the root receives each part where it belongs.
func (p *planner) gather() {
	g, a := p.g, p.a
	r := p.step()
	if a.Root != g.Self {
		r.send(a.Root, a.Send.One)
		return
	}
	if !a.Send.Null() {
		r.copy(a.Recv.of(g.Self), a.Send.One)
	}
	for i := range g.Size {
		if i != g.Self {
			r.recvAtMost(i, a.Recv.of(i))
		}
	}
}

// scatter: the root sends each part from where it is.
func (p *planner) scatter() {
	g, a := p.g, p.a
	r := p.step()
	if a.Root != g.Self {
		r.recvAtMost(a.Root, a.Recv.One)
		return
	}
	if !a.Recv.Null() {
		r.copy(a.Recv.One, a.Send.of(g.Self))
	}
	for d := 1; d < g.Size; d++ {
		to := (g.Self + d) % g.Size
		r.send(to, a.Send.of(to))
	}
}

// allgather: of little data in log n rounds, else around a ring.
func (p *planner) allgather() {
	g, a := p.g, p.a
	if !a.Send.Null() {
		p.step().copy(a.Recv.of(g.Self), a.Send.One)
	}
	if a.Recv.List == nil && a.Recv.total(g.Size) <= bruckMax {
		p.bruck()
		return
	}
	p.ring(g.everybody(), a.Recv.of)
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

// bruck doubles what each member has with each round, in the order of ranks from its own on.
func (p *planner) bruck() {
	g, a := p.g, p.a
	n, size := a.Recv.One.N, g.Size
	if size == 1 {
		return
	}
	t := g.everybody()
	all := p.room(n * uint64(size))
	p.step().copy(all.part(0, n), a.Recv.of(g.Self))
	for d := 1; d < size; d *= 2 {
		count := uint64(min(d, size-d)) * n
		r := p.step()
		r.send(t.at(g.Self-d), all.part(0, count))
		r.recv(t.at(g.Self+d), all.part(uint64(d)*n, count))
	}
	r := p.step()
	for i := 1; i < size; i++ {
		r.copy(a.Recv.of((g.Self+i)%size), all.part(uint64(i)*n, n))
	}
}
