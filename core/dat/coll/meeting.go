package coll

import (
	"slices"

	"lapi/transport/memory"
)

// Connect is the kind of the exchange by which rails are made, before the group is made. No event
// has it.
const Connect Kind = 1

// Meeting is the part of the owner of rails that the exchange needs.
type Meeting interface {
	// Offer is the data with which a member can connect to this one, OfferSize bytes.
	Offer(rank int) []byte
	// Connect connects to a member by its offer; false: it cannot be. Activate: the member is
	// connected, too, and the rail may be used.
	Connect(rank int, offer []byte) bool
	Activate(rank int)
}

// OfferSize is the size of an offer.
const OfferSize = 64

// meeting is the exchange.
type meeting struct {
	Meeting
	partners []int
	flags    Span // of each member: 1 if it is connected to all of its partners
	agreed   bool
}

// flagSize is the size of a member's flag.
const flagSize = 8

// Partners are the members that this one has messages with in barriers, broadcasts, reductions,
// scans and rings: those a power of two away from it, of the leaders of nodes. A member that does
// not lead has none. Places were exchanged.
func (g *Group) Partners() []int { return g.nodes.leaders(g, -1).partners() }

// partners are the ranks a power of two away.
func (t team) partners() (ranks []int) {
	if t.me < 0 {
		return nil
	}
	known := map[int]bool{t.ranks[t.me]: true}
	for d := 1; d < t.size(); d *= 2 {
		for _, rank := range []int{t.at(t.me + d), t.at(t.me - d)} {
			if !known[rank] {
				known[rank] = true
				ranks = append(ranks, rank)
			}
		}
	}
	return ranks
}

// Alone says whether each member is alone on its node.
func (g *Group) Alone() bool { return g.nodes != nil && g.nodes.most == 1 }

// Meet begins the exchange, in which each member connects to its partners. All members learn whether
// all of them could: RailsAgreed. The operation is of kind Connect.
func (g *Group) Meet(m Meeting) {
	g.meeting = &meeting{Meeting: m, partners: g.Partners()}
	g.Post(&Args{Kind: Connect})
}

// RailsAgreed says whether all members are connected to their partners.
func (g *Group) RailsAgreed() bool { return g.meeting != nil && g.meeting.agreed }

// connect: partners exchange offers, and then all how that went. So nobody uses a rail before its far
// end is connected.
func (p *planner) connect() {
	g, m := p.g, p.g.meeting
	r, in := p.offers(m.partners)
	m.flags = p.room(flagSize * uint64(g.Size))
	if p.failed {
		return
	}
	r.rest = func() bool {
		ok := byte(1)
		for i, rank := range m.partners {
			if !m.Connect(rank, memory.Bytes(in[i].Addr, OfferSize)) {
				ok = 0
			}
		}
		clear(m.of(g.Self))
		m.of(g.Self)[0] = ok
		return true
	}
	p.a.Recv = Parts{One: Span{m.flags.Addr, flagSize}}
	p.allgather()
}

// offers exchanges offers with some members; they are there when the round is over.
func (p *planner) offers(ranks []int) (r *round, in []Span) {
	r = p.step()
	for _, rank := range ranks {
		out := p.room(OfferSize)
		in = append(in, p.room(OfferSize))
		if p.failed {
			return r, in
		}
		copy(memory.Bytes(out.Addr, OfferSize), p.g.meeting.Offer(rank))
		r.send(rank, out)
		r.recv(rank, in[len(in)-1])
	}
	return r, in
}

// join makes rails to some members, once in the group's life, before an operation that all of them
// have. Where one of two cannot, their messages go by links as before.
func (p *planner) join(ranks []int) {
	g := p.g
	if g.rails == nil {
		return
	}
	ranks = slices.DeleteFunc(slices.Clone(ranks), func(rank int) bool {
		return rank == g.Self || g.rails.Has(rank) || g.railStates[rank].tried
	})
	if len(ranks) == 0 {
		return
	}
	_, in := p.offers(ranks)
	out, flags := make([]Span, len(ranks)), make([]Span, len(ranks))
	second := p.step()
	for i, rank := range ranks {
		g.railStates[rank].tried = true
		out[i], flags[i] = p.room(flagSize), p.room(flagSize)
		second.send(rank, out[i])
		second.recv(rank, flags[i])
	}
	if p.failed {
		return
	}
	p.rounds[len(p.rounds)-2].rest = func() bool {
		for i, rank := range ranks {
			flag := memory.Bytes(out[i].Addr, flagSize)
			clear(flag)
			if g.meeting.Connect(rank, memory.Bytes(in[i].Addr, OfferSize)) {
				flag[0] = 1
			}
		}
		return true
	}
	second.rest = func() bool {
		for i, rank := range ranks {
			if memory.Bytes(out[i].Addr, flagSize)[0] == 1 &&
				memory.Bytes(flags[i].Addr, flagSize)[0] == 1 {
				g.meeting.Activate(rank)
			}
		}
		return true
	}
}

// of is a member's flag.
func (m *meeting) of(rank int) []byte {
	return memory.Bytes(m.flags.part(flagSize*uint64(rank), flagSize).Addr, flagSize)
}

// conclude: the exchange is over.
func (m *meeting) conclude(size int) {
	m.agreed = true
	for rank := range size {
		m.agreed = m.agreed && m.of(rank)[0] == 1
	}
	for _, rank := range m.partners {
		if m.agreed {
			m.Activate(rank)
		}
	}
}
