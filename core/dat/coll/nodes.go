package coll

import (
	"encoding/binary"
	"slices"
)

// nodes says which members share a node. All members have the same, by the exchange of places.
type nodes struct {
	leader []int // of the node of each rank
	list   []int // the leaders, in order
	most   int   // members of the largest node
}

// worth says whether messages between nodes should be left to leaders.
func (n *nodes) worth() bool { return n != nil && len(n.list) > 1 && n.most > 1 }

// largest is the number of members of the largest node.
func (n *nodes) largest() int {
	if n == nil {
		return 1
	}
	return n.most
}

// local is the team of this member's node.
func (n *nodes) local(g *Group) (t team) {
	for rank, leader := range n.leader {
		if leader == n.leader[g.Self] {
			t.ranks = append(t.ranks, rank)
		}
	}
	t.me = t.place(g.Self)
	return t
}

// of is the ranks of a leader's node.
func (n *nodes) of(leader int) (ranks []int) {
	for rank, l := range n.leader {
		if l == leader {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// byNode is the team of all members, node after node.
func (n *nodes) byNode(g *Group) (t team) {
	for _, leader := range n.list {
		t.ranks = append(t.ranks, n.of(leader)...)
	}
	t.me = t.place(g.Self)
	return t
}

// inOrder says whether the ranks of each node follow each other.
func (n *nodes) inOrder() bool {
	seen := map[int]bool{}
	for rank, l := range n.leader {
		if seen[l] && n.leader[rank-1] != l {
			return false
		}
		seen[l] = true
	}
	return true
}

// leaders is the team of the leaders; root, if it is a rank, leads its node.
func (n *nodes) leaders(g *Group, root int) (t team) {
	t.ranks = slices.Clone(n.list)
	if root >= 0 {
		t.ranks[t.place(n.leader[root])] = root
	}
	t.me = t.place(g.Self)
	return t
}

// placeSize is the size of each member's part of the exchange of places:
//
//	0  node        u32  the lowest rank of its node
//	4  lead        u8   1: the consumer has named it as the node's
//	5  flags       u8   the owner's
//	6  processors  u16  members with the same number compete for processors; 0: not known
//	8  longDouble  u8   bits of the significand of C's long double, which identify its format
//	9  0           u8 each
const placeSize = 12

// Place is what a member says of itself in that exchange.
type Place struct {
	Node       int
	Lead       bool
	Flags      uint8
	Processors uint16
	LongDouble uint8
}

func (p Place) put(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(p.Node))
	b[4], b[5] = 0, p.Flags
	if p.Lead {
		b[4] = 1
	}
	binary.LittleEndian.PutUint16(b[6:], p.Processors)
	binary.LittleEndian.PutUint32(b[8:], uint32(p.LongDouble))
}

func placeOf(b []byte) Place {
	return Place{Node: int(binary.LittleEndian.Uint32(b)), Lead: b[4] == 1, Flags: b[5],
		Processors: binary.LittleEndian.Uint16(b[6:]), LongDouble: b[8]}
}

// ExchangePlaces begins the exchange that ends a group's creation. The event of the operation is that
// of the creation.
func (g *Group) ExchangePlaces(own Place, context uint64) bool {
	b, addr, err := g.cfg.Memory.Get(uint64(placeSize * g.Size))
	if err != nil {
		return false
	}
	own.put(b[placeSize*g.Self:])
	g.places = b
	g.Post(&Args{Kind: Create, Context: context, Recv: Parts{One: Span{addr, placeSize}}})
	return true
}

// learnPlaces reads the parts of all.
func (g *Group) learnPlaces() bool {
	n := &nodes{leader: make([]int, g.Size)}
	count, leads := map[int]int{}, map[int]int{}
	g.flagsOfAll, g.flagsOfSome, g.competing, g.longDouble = 0xff, 0, 0, true
	own := placeOf(g.places[placeSize*g.Self:])
	for rank := range g.Size {
		place := placeOf(g.places[placeSize*rank:])
		node := place.Node
		if node < 0 || node >= g.Size {
			return false
		}
		n.leader[rank] = node
		g.flagsOfAll, g.flagsOfSome = g.flagsOfAll&place.Flags, g.flagsOfSome|place.Flags
		if place.Processors == own.Processors && own.Processors != 0 {
			g.competing++
		}
		g.longDouble = g.longDouble && place.LongDouble == own.LongDouble
		if count[node]++; count[node] > n.most {
			n.most = count[node]
		}
		if _, known := leads[node]; !known && place.Lead {
			leads[node] = rank
		}
	}
	first := map[int]int{}
	for rank, node := range n.leader {
		if _, known := first[node]; !known {
			first[node] = rank
			if r, wants := leads[node]; wants {
				first[node] = r
			}
			n.list = append(n.list, first[node])
		}
		n.leader[rank] = first[node]
	}
	g.nodes = n
	return true
}

// Flags are those of all members, and those of some, of a group that was made.
func (g *Group) Flags() (all, some uint8) { return g.flagsOfAll, g.flagsOfSome }

// Competing is how many members, this one among them, run on the processors of this one; 0: it is not
// known. The group was made.
func (g *Group) Competing() int { return g.competing }

// OneLongDouble says whether C's long double has one format at all members of a group that was made.
func (g *Group) OneLongDouble() bool { return g.longDouble }

// forgetPlaces gives the memory of the exchange back.
func (g *Group) forgetPlaces() {
	if g.places != nil {
		g.cfg.Memory.Put(g.places)
		g.places = nil
	}
}
