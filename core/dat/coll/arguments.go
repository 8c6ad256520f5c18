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

// Args are the arguments of an operation. They are legal: uDAPL's are judged in C
// (cshim/dat/coll/call.c).
type Args struct {
	Kind     Kind
	Check    uint64 // what all members' calls must have in common
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
