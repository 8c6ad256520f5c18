// Package coll is C: groups and their collective operations (coll.h is its contract, group.h what
// core shares). Its Go functions are what core/dat calls, one call out of Go each, all under the
// lock of uDAPL's block. The reductions of two blocks are lapi/cshim/coll.
package coll

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #cgo noescape dat_group_open
// #cgo nocallback dat_group_open
// #cgo nocallback dat_group_settle
// #cgo nocallback dat_group_lose
// #cgo nocallback dat_group_close
// #cgo nocallback dat_group_clock
// #include "dat/coll/coll.h"
// #include "dat/coll/group.h"
import "C"

import "lapi/transport/layout"

import "unsafe"

// Group is C's view of a group; nil: there is none.
type Group C.dat_group

func (g *Group) c() *C.dat_group { return (*C.dat_group)(g) }

// Open makes a group; nil: there is no memory.
func Open(config *layout.DatGroupConfig) *Group {
	return (*Group)(C.dat_group_open(unsafe.Pointer(config)))
}

// Settle says which engine does its operations; reads: members read each other's memory.
func (g *Group) Settle(engine uint32, reads bool) {
	r := C.int(0)
	if reads {
		r = 1
	}
	C.dat_group_settle(g.c(), C.uint32_t(engine), r)
}

// Lose says that the process of a member is gone.
func (g *Group) Lose(rank int) { C.dat_group_lose(g.c(), C.uint32_t(rank)) }

// Close ends it: what is posted fails before it returns.
func (g *Group) Close() { C.dat_group_close(g.c()) }

// Clock reads the clock of a group of C's engine.
func (g *Group) Clock() uint64 { return uint64(C.dat_group_clock(g.c())) }
