package coll

import "lapi/transport/memory"

// Connect is the kind of the exchange by which rails are made, before the group stands. No event has
// it.
const Connect Kind = 1

// Meeting is what the exchange needs of the owner of rails.
type Meeting interface {
	// Offer is what a member must know to connect to this one, OfferSize bytes.
	Offer(rank int) []byte
	// Connect connects to a member by its offer; false: it cannot be.
	Connect(rank int, offer []byte) bool
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
	r := p.step()
	in := make([]Span, len(m.partners))
	for i, rank := range m.partners {
		out := p.room(OfferSize)
		in[i] = p.room(OfferSize)
		if p.failed {
			return
		}
		copy(memory.Bytes(out.Addr, OfferSize), m.Offer(rank))
		r.send(rank, out)
		r.recv(rank, in[i])
	}
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
}
