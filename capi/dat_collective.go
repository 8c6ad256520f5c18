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
	"lapi/transport/layout"
)

// ofGroup is the error for a wrong handle of a group.
const ofGroup = codes.InvalidHandle1

// kernel does the reductions of collective operations (coll.Kernel), in C.
type kernel struct{}

func (kernel) Size(op, typ int) int { return reductions.Size(op, typ) }

func (kernel) Reduce(op, typ int, inout, in transport.Addr, count uint64) {
	reductions.Reduce(op, typ, uint64(inout), uint64(in), uint64(inout), count)
}

func initCollectiveCalls() {
	def(C.DAT_CALL_ib_collective_create_member, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		address, size, r := ia.NewMember()
		if r == codes.Success {
			set(c, 2, address)
			set(c, 3, uint32(size))
		}
		return r
	})
	def(C.DAT_CALL_ib_collective_free_member, ofIA, func(ia *dat.IA, c *datCall) codes.Return {
		return ia.FreeMember(c[1])
	})
	def(C.DAT_CALL_ib_collective_create_group, ofEVD, createGroup)
	plain(C.DAT_CALL_ib_collective_free_group, ofGroup, (*dat.Collective).Free)
	def(C.DAT_CALL_ib_collective_read_clock, ofGroup, func(g *dat.Collective,
		c *datCall) codes.Return {
		set(c, 1, g.ReadClock())
		return codes.Success
	})
	def(C.DAT_CALL_collective, ofGroup, func(g *dat.Collective, c *datCall) codes.Return {
		return g.PostJudged(at[layout.DatGroupOp](c, 1), list[layout.DatSpan](c, 2, 2*g.Size()))
	})
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
