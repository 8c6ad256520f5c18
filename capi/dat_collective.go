package main

// #include "dat/calls.h"
// #include "dat/godat.h"
// #include <dat2/udat.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"math"
	"net/netip"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	reductions "lapi/cshim/coll"
	"lapi/transport"
)

// ofGroup is what is wrong with the handle of a group.
const ofGroup = codes.InvalidHandle1

// kernel does the reductions of collective operations (coll.Kernel), in C.
type kernel struct{}

func (kernel) Size(op, typ int) int { return reductions.Size(op, typ) }

func (kernel) Reduce(op, typ int, inout, in transport.Addr, count uint64) {
	reductions.Reduce(op, typ, uint64(inout), uint64(in), uint64(inout), count)
}

// Arguments of an operation by place, as cshim/dat/coll/coll.h has them.
const (
	collGroup = iota
	collKind
	collSet
	collSend
	collSendSize
	collSendSizes
	collSendPlaces
	collRecv
	collRecvSize
	collRecvSizes
	collRecvPlaces
	collRoot
	collOperation
	collType
	collContext
	collFlags
)

// completionFlags are all of DAT_COMPLETION_FLAGS.
const completionFlags = 0x3f

// collWhole is the set of calls whose sizes are of whole buffers.
const collWhole = 0

func initCollectiveCalls() {
	d := &datCalls
	d[C.DAT_CALL_collective_create_member] = on(ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		switch {
		case c.needs(2):
			return codes.Arg(3)
		case c.needs(3):
			return codes.Arg(4)
		}
		address, size, r := ia.NewMember()
		if r == codes.Success {
			set(c, 2, address)
			set(c, 3, uint32(size))
		}
		return r
	})
	d[C.DAT_CALL_collective_free_member] = on(ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return ia.FreeMember(c[1])
	})
	d[C.DAT_CALL_collective_create_group] = on(ofEVD, createGroup)
	d[C.DAT_CALL_collective_free_group] = on(ofGroup, func(g *dat.Collective,
		_ *datCall) codes.Return {
		return g.Free()
	})
	d[C.DAT_CALL_collective_set_clock] = on(ofGroup, func(g *dat.Collective,
		c *datCall) codes.Return {
		return g.Post(&coll.Args{Kind: coll.SetClock, Clock: c[1], Context: c[2]})
	})
	d[C.DAT_CALL_collective_read_clock] = on(ofGroup, func(g *dat.Collective,
		c *datCall) codes.Return {
		if c.needs(1) {
			return codes.Arg(2)
		}
		set(c, 1, g.ReadClock())
		return codes.Success
	})
	d[C.DAT_CALL_collective_room] = on(ofGroup, func(g *dat.Collective, _ *datCall) codes.Return {
		return g.Room()
	})
	d[C.DAT_CALL_collective] = on(ofGroup, func(g *dat.Collective, c *datCall) codes.Return {
		a := coll.Args{Kind: coll.Kind(c[collKind]), Root: int(c.u(collRoot)),
			Op: c.i(collOperation), Type: c.i(collType), Context: c[collContext],
			Suppress: c.u(collFlags)&uint32(dat.Suppress) != 0}
		if c.u(collFlags) > completionFlags ||
			!collArguments(&a, g, c) {
			return codes.InvalidParameter.With(codes.NoSubtype)
		}
		return g.Post(&a)
	})
}

// collArguments fills in the buffers of an operation; false: they are not legal.
func collArguments(a *coll.Args, g *dat.Collective, c *datCall) bool {
	n := g.Size()
	root := a.Root == g.Rank()
	whole := c[collSet] == collWhole
	send, recv := plain(c, collSend, collSendSize), plain(c, collRecv, collRecvSize)
	ok := c.i(collSendSize) >= 0 && c.i(collRecvSize) >= 0
	switch a.Kind {
	case coll.Scatter:
		if !root {
			send, ok = coll.Parts{}, c.i(collRecvSize) >= 0
		} else if whole {
			ok = ok && divide(&send, n)
		}
	case coll.Gather:
		if !root {
			recv, ok = coll.Parts{}, c.i(collSendSize) >= 0
		} else if whole {
			ok = ok && shareOut(&recv, &send, n)
		}
	case coll.Allgather:
		if whole {
			ok = ok && shareOut(&recv, &send, n)
		} else {
			ok = ok && within(&recv, &send)
		}
	case coll.Alltoall:
		if whole {
			ok = ok && divide(&send, n) && shareOut(&recv, &send, n)
		} else {
			ok = ok && within(&recv, &send)
		}
	case coll.Scatterv:
		ok = c.i(collRecvSize) >= 0
		if send = (coll.Parts{}); root {
			ok = ok && lists(c, &send, n, collSend)
		}
	case coll.Gatherv:
		ok = c.i(collSendSize) >= 0
		if recv = (coll.Parts{}); root {
			ok = ok && lists(c, &recv, n, collRecv)
		}
	case coll.Allgatherv:
		ok = ok && lists(c, &recv, n, collRecv)
	case coll.Alltoallv:
		ok = lists(c, &recv, n, collRecv) && (c[collSend] == 0 || lists(c, &send, n, collSend))
	case coll.Reduce:
		if !root {
			recv, ok = coll.Parts{}, c.i(collSendSize) >= 0
		}
	case coll.ReduceScatter:
		ok = ok && counts(c, &recv, g, n)
	}
	a.Send, a.Recv = send, recv
	return ok
}

// plain is the buffer at an argument, with the size at another.
func plain(c *datCall, buffer, size int) coll.Parts {
	return coll.Parts{One: coll.Span{Addr: transport.Addr(c[buffer]), N: uint64(c.i(size))}}
}

// divide makes a buffer of n ranks one with a part of each; false: it cannot be divided.
func divide(p *coll.Parts, n int) bool {
	total := p.One.N
	p.One.N /= uint64(n)
	return p.One.N*uint64(n) == total
}

// shareOut makes a buffer to receive into one with a part of each rank, as long as what this rank
// sends, or, in place, as there is room.
func shareOut(recv, send *coll.Parts, n int) bool {
	if send.Null() && send.One.N == 0 {
		return divide(recv, n)
	}
	total := recv.One.N
	recv.One.N = send.One.N
	return recv.One.N*uint64(n) <= total
}

// within makes parts to receive into as long as what this rank sends, each at its place.
func within(recv, send *coll.Parts) bool {
	recv.Stride = recv.One.N
	if !send.Null() || send.One.N > 0 {
		recv.One.N = send.One.N
	}
	return recv.One.N <= recv.Stride
}

// lists are the parts of a v-call: its buffers or its buffer, sizes and places at the arguments
// from first on.
func lists(c *datCall, p *coll.Parts, n, first int) bool {
	const sizesAt, placesAt = collSendSizes - collSend, collSendPlaces - collSend
	sizes := readable[int32](c, first+sizesAt, n)
	whole := c[collSet] == collWhole
	places, buffers := readable[int32](c, first+placesAt, n), []uint64(nil)
	if whole {
		buffers = readable[uint64](c, first, n)
	}
	if sizes == nil || whole && buffers == nil || !whole && places == nil {
		return false
	}
	p.One = coll.Span{Addr: transport.Addr(c[first])}
	p.List = make([]coll.Span, n)
	for i := range p.List {
		at := c[first]
		switch {
		case sizes[i] < 0:
			return false
		case whole:
			at = buffers[i]
		case at != 0:
			at += uint64(int64(places[i]))
		}
		p.List[i] = coll.Span{Addr: transport.Addr(at), N: uint64(sizes[i])}
	}
	return true
}

// counts are the parts of a reduce_scatter, of which this rank receives one.
func counts(c *datCall, p *coll.Parts, g *dat.Collective, n int) bool {
	sizes := readable[int32](c, collRecvSizes, n)
	if sizes == nil {
		return false
	}
	p.List = make([]coll.Span, n)
	for i, size := range sizes {
		if size < 0 {
			return false
		}
		p.List[i].N = uint64(size)
	}
	p.One.N = p.List[g.Rank()].N
	return true
}

// createGroup is dat_ib_collective_create_group, by the handle of its EVD.
func createGroup(e *dat.EVD, c *datCall) codes.Return {
	n, self := c.i(2), c.u(3)
	var members []uint64
	if n <= dat.GroupMax {
		members = readable[uint64](c, 1, n)
	}
	switch {
	case n < 1 || n > dat.GroupMax:
		return codes.Arg(2)
	case members == nil:
		return codes.Arg(1)
	case self > math.MaxInt32:
		return codes.Arg(3)
	}
	a := dat.GroupArgs{Self: int(self), ID: c.u(4), PZ: c.h(6), Context: c[7]}
	for i := range members {
		m, ok := memberAt(pointerTo(members[i]))
		if !ok {
			return codes.Arg(1)
		}
		a.Members = append(a.Members, m)
	}
	if c[5] != 0 {
		if a.Info = groupInfo(readable[C.DAT_IB_COLLECTIVE_GROUP](c, 5, 1), n); a.Info == nil {
			return codes.Arg(5)
		}
	}
	C.dat_has_groups()
	return e.NewGroup(a)
}

//export godat_exit
func godat_exit() {
	defer datBroke("godat_exit", 0)
	udapl.lib.LeaveGroups()
}

// pointerTo is a call with one argument, which points to what is to be read.
func pointerTo(p uint64) *datCall { return &datCall{p} }

// memberAt reads the member at argument 0: a blob, or the address and qualifier of a service point.
func memberAt(c *datCall) (m dat.MemberAddress, ok bool) {
	if readable[byte](c, 0, 8) == nil {
		return m, false
	}
	if coll.IsBlob(first(c)) {
		return dat.MemberOf(readable[byte](c, 0, coll.BlobSize))
	}
	pair := readable[uint64](c, 0, 2)
	if pair == nil {
		return m, false
	}
	var a netip.Addr
	a, ok = pointerTo(pair[0]).addrOf(0)
	return dat.MemberAddress{Addr: a, Qualifier: pair[1]}, ok
}

// first is the first eight bytes at argument 0, at any alignment.
func first(c *datCall) (v uint64) {
	for i, b := range list[byte](c, 0, 8) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// groupInfo copies a program's table of the nodes; nil: its sizes cannot be, or it cannot be read.
func groupInfo(all []C.DAT_IB_COLLECTIVE_GROUP, n int) *dat.GroupInfo {
	if all == nil {
		return nil
	}
	i := &all[0]
	local, external := int(i.local_size), int(i.external_size)
	if local < 0 || local > n || external < 0 || external > n {
		return nil
	}
	there := true
	ints := func(p *C.int, n int) []int32 {
		c := datCall{*(*uint64)(ptr(&p))}
		l := readable[int32](&c, 0, n)
		there = there && (l != nil || n == 0 || c[0] == 0)
		return append([]int32(nil), l...)
	}
	info := &dat.GroupInfo{LocalSize: local, LocalRank: int(i.local_rank),
		ExternalSize: external, ExternalRank: int(i.external_rank),
		LocalRanks: ints(i.local_ranks, local), ExternalRanks: ints(i.external_ranks, external),
		Intranode: ints(i.intranode_table, n), Internode: ints(i.internode_table, n)}
	if !there {
		return nil
	}
	return info
}
