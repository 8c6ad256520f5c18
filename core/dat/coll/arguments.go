package coll

import "lapi/transport"

// Kind is what an operation does. The numbers are those of its event (DAT_IB_EXT_TYPE).
type Kind uint8

// The kinds.
const (
	Create        Kind = 13 // the exchange that ends a group's creation
	SetClock      Kind = 14
	Scatter       Kind = 15
	Scatterv      Kind = 16
	Gather        Kind = 17
	Gatherv       Kind = 18
	Allgather     Kind = 19
	Allgatherv    Kind = 20
	Alltoall      Kind = 21
	Alltoallv     Kind = 22
	Reduce        Kind = 23
	Allreduce     Kind = 24
	ReduceScatter Kind = 25
	Scan          Kind = 26
	Broadcast     Kind = 27
	Barrier       Kind = 28
)

// Span is memory of the process's.
type Span struct {
	Addr transport.Addr
	N    uint64
}

// part is n bytes of s at an offset.
func (s Span) part(at, n uint64) Span { return Span{s.Addr + transport.Addr(at), n} }

// Parts is a buffer of an operation: one part for each rank, or one only.
type Parts struct {
	One    Span   // the buffer, or the part of rank 0; its address is 0 if NULL was passed
	Stride uint64 // from the part of one rank to that of the next; 0: they follow each other
	List   []Span // of calls that give each part; nil: all are as long as One
}

// Null says whether NULL was passed.
func (p *Parts) Null() bool { return p.One.Addr == 0 }

// of is the part of a rank.
func (p *Parts) of(rank int) Span {
	if p.List != nil {
		return p.List[rank]
	}
	stride := p.Stride
	if stride == 0 {
		stride = p.One.N
	}
	return Span{p.One.Addr + transport.Addr(uint64(rank)*stride), p.One.N}
}

// total is how long all parts of n ranks are.
func (p *Parts) total(n int) (sum uint64) {
	if p.List == nil {
		return uint64(n) * p.One.N
	}
	for _, s := range p.List {
		sum += s.N
	}
	return sum
}

// bad says whether some part has bytes and no address.
func (p *Parts) bad() bool {
	for _, s := range p.List {
		if s.bad() {
			return true
		}
	}
	return p.List == nil && p.One.bad()
}

func (s Span) bad() bool { return s.Addr == 0 && s.N > 0 }

// Args are the arguments of an operation.
type Args struct {
	Kind     Kind
	Send     Parts
	Recv     Parts
	Root     int
	Op, Type int    // of a reduction
	Clock    uint64 // of SetClock
	Context  uint64 // the consumer's
	Suppress bool   // no event of success
}

// Kernel does reductions.
type Kernel interface {
	// Size is how many bytes an element of op on type has; 0: there is no such operation, or
	// not on that type.
	Size(op, typ int) int
	// Reduce makes count elements at inout those at in, which are of lower ranks, op inout.
	Reduce(op, typ int, inout, in transport.Addr, count uint64)
}

// reduces says whether operations of that kind reduce.
func (k Kind) reduces() bool { return k >= Reduce && k <= Scan }

// rooted says whether they have a root.
func (k Kind) rooted() bool {
	return k >= Scatter && k <= Gatherv || k == Reduce || k == Broadcast
}

// Legal says whether the arguments are, and settles how long a reduction is. Counts are not
// negative, and of calls with a list for each rank the list is there.
func (g *Group) Legal(a *Args) bool {
	root := a.Root == g.Self
	own := func(p *Parts) uint64 { return p.of(g.Self).N }
	switch {
	case a.Kind.rooted() && (a.Root < 0 || a.Root >= g.Size):
		return false
	case a.Kind.reduces():
		return g.legalReduction(a)
	}
	switch a.Kind {
	case Scatter, Scatterv:
		if !root {
			return !a.Recv.One.bad()
		}
		return !a.Send.bad() && (a.Recv.Null() || own(&a.Send) <= a.Recv.One.N)
	case Gather, Gatherv:
		if !root {
			return !a.Send.One.bad()
		}
		return !a.Recv.bad() && (a.Send.Null() || a.Send.One.N <= own(&a.Recv))
	case Allgather, Allgatherv:
		return !a.Recv.bad() && (a.Send.Null() || a.Send.One.N == own(&a.Recv))
	case Alltoall, Alltoallv:
		return !a.Recv.bad() &&
			(a.Send.Null() || !a.Send.bad() && own(&a.Send) <= own(&a.Recv))
	case Broadcast:
		return !a.Send.One.bad()
	}
	return true
}

// legalReduction is Legal of a reduction. Send.One.N becomes its length.
func (g *Group) legalReduction(a *Args) bool {
	size := uint64(g.cfg.Kernel.Size(a.Op, a.Type))
	if size == 0 {
		return false
	}
	has := a.Kind != Reduce || a.Root == g.Self // the result comes to this member
	room := a.Recv.One.N
	if a.Kind == ReduceScatter {
		room = a.Recv.total(g.Size)
		for _, s := range a.Recv.List {
			if s.N%size != 0 {
				return false
			}
		}
	}
	if a.Send.Null() && has { // in place
		if a.Send.One.N == 0 || a.Kind == ReduceScatter {
			a.Send.One.N = room
		}
		if a.Recv.Null() && room > 0 {
			return false
		}
	}
	n := a.Send.One.N
	switch {
	case n%size != 0, a.Send.Null() && !has && n > 0, a.Kind == ReduceScatter && n != room:
		return false
	case has && n > room, has && a.Kind != ReduceScatter && a.Recv.Null() && n > 0:
		return false
	}
	return !has || !a.Recv.One.bad()
}

// check is what all members' arguments must have in common.
func (a *Args) check() uint32 {
	switch {
	case a.Kind.reduces():
		return uint32(a.Send.One.N) ^ uint32(a.Op)<<24 ^ uint32(a.Type)<<28 ^ uint32(a.Root)<<8
	case a.Kind == Broadcast:
		return uint32(a.Send.One.N) ^ uint32(a.Root)<<8
	case a.Kind.rooted():
		return uint32(a.Root)
	case a.Kind == Allgather:
		return uint32(a.Recv.One.N)
	}
	return 0
}
