package coll

import "lapi/transport"

// Plan is the steps of an operation at one member.
type Plan struct {
	rounds  []round
	scratch [][]byte
	failed  bool // there was no memory
	tooLong bool // a part had no room
}

// round is a step of a plan.
type round struct {
	recvs, sends []transfer
	then         []work      // in this order, when all of them are done
	rest         func() bool // after: plans rounds that need its data; false: it cannot
}

// transfer is a message to receive or to send.
type transfer struct {
	rank   int
	span   Span
	atMost bool    // to receive: a shorter one will do
	length *uint64 // becomes the length of the received data
}

// work is done at the member itself.
type work struct {
	to, from Span
	reduces  bool // to becomes from op to, where from is of lower ranks; else a copy
}

// step adds a round.
func (p *Plan) step() *round {
	p.rounds = append(p.rounds, round{})
	return &p.rounds[len(p.rounds)-1]
}

func (r *round) recv(rank int, s Span) { r.recvs = append(r.recvs, transfer{rank: rank, span: s}) }
func (r *round) send(rank int, s Span) { r.sends = append(r.sends, transfer{rank: rank, span: s}) }

// recvAtMost receives a message that may be shorter.
func (r *round) recvAtMost(rank int, s Span) {
	r.recvs = append(r.recvs, transfer{rank: rank, span: s, atMost: true})
}

// copy copies from to the beginning of to.
func (r *round) copy(to, from Span) {
	if from.N > 0 && to.Addr != from.Addr {
		r.then = append(r.then, work{to: to.part(0, from.N), from: from})
	}
}

// probe makes sure that memory can be written, before a reduction works on it.
func (r *round) probe(s Span) {
	if s.N > 0 {
		r.then = append(r.then, work{to: s, from: s})
	}
}

// reduce makes to: from op to.
func (r *round) reduce(to, from Span) {
	if from.N > 0 {
		r.then = append(r.then, work{to: to, from: from, reduces: true})
	}
}

// team is some of the group's members, in an order that is the same at all of them.
type team struct {
	ranks []int
	me    int // place of this member
}

// size is the number of its members.
func (t team) size() int { return len(t.ranks) }

// at is the rank at a place; places go round.
func (t team) at(place int) int { return t.ranks[(place%len(t.ranks)+len(t.ranks))%len(t.ranks)] }

// place is where a rank is in the team; -1: nowhere.
func (t team) place(rank int) int {
	for i, r := range t.ranks {
		if r == rank {
			return i
		}
	}
	return -1
}

// everybody is the team of all members.
func (g *Group) everybody() team {
	if g.all == nil {
		for i := range g.Size {
			g.all = append(g.all, i)
		}
	}
	return team{ranks: g.all, me: g.Self}
}

// planner makes the plan of one operation.
type planner struct {
	g *Group
	a *Args
	*Plan
}

// room is memory for the operation until it is over.
func (p *planner) room(n uint64) Span {
	if n == 0 {
		return Span{}
	}
	b, addr, err := p.g.cfg.Memory.Get(n)
	if err != nil {
		p.failed = true
		return Span{Addr: 0, N: n}
	}
	p.scratch = append(p.scratch, b)
	return Span{Addr: addr, N: n}
}

// Memory is where a group takes memory from that user code cannot see.
type Memory interface {
	Get(n uint64) ([]byte, transport.Addr, error)
	Put(b []byte)
}

// plan makes the plan of an operation.
func (g *Group) plan(a *Args) *Plan {
	p := &planner{g: g, a: a, Plan: &Plan{}}
	switch a.Kind {
	case Create, Allgather, Allgatherv:
		p.allgather()
	case Connect:
		p.connect()
	case Scatter, Scatterv:
		p.scatter()
	case Gather, Gatherv:
		p.gather()
	case Alltoall, Alltoallv:
		p.alltoall()
	case Reduce, Allreduce, ReduceScatter:
		p.reduction()
	case Scan:
		p.scan()
	case Broadcast:
		p.broadcast()
	case Barrier:
		p.barrier()
	}
	return p.Plan
}
