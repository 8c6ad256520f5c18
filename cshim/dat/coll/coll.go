// Package coll is C: groups and their collective operations (coll.h is its contract, group.h what
// core shares). rails.go has what core calls of groups with rails. Its Go functions are what core/dat calls, one call out of Go each, all under the
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
// #cgo nocallback dat_group_rail
// #cgo nocallback dat_group_until
// #cgo nocallback dat_group_number
// #cgo nocallback dat_group_queued
// #cgo nocallback dat_group_wanted
// #cgo nocallback dat_group_passed
// #cgo nocallback dat_group_broken
// #cgo nocallback dat_group_fail_all
// #cgo nocallback dat_group_go_on
// #cgo nocallback dat_group_send
// #cgo nocallback dat_group_next
// #cgo nocallback dat_group_take_next
// #cgo nocallback dat_group_write
// #cgo nocallback dat_group_grant
// #cgo nocallback dat_group_granted
// #cgo nocallback dat_group_rail_state
// #cgo nocallback dat_group_rail_gone
// #cgo nocallback dat_group_rail_woken
// #cgo nocallback dat_group_sleeps
// #cgo nocallback dat_group_post
// #cgo nocallback dat_group_completed
// #cgo nocallback dat_group_rail_poll
// #cgo nocallback dat_group_probe
// #cgo nocallback dat_group_enqueue
// #cgo noescape dat_group_enqueue
// #cgo nocallback dat_group_begin
// #cgo nocallback dat_group_rail_last
// #cgo noescape dat_group_rail_last
// #cgo noescape dat_group_rail
// #cgo noescape dat_group_wanted
// #cgo noescape dat_group_send
// #cgo noescape dat_group_next
// #cgo noescape dat_group_grant
// #cgo noescape dat_group_granted
// #cgo noescape dat_group_rail_state
// #cgo noescape dat_group_post
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

// Agreed is what holds at all members of a group.
type Agreed struct {
	Reads      bool // they read each other's memory
	Crowded    bool // they share processors
	LongDouble bool // C's long double has one format
}

// Settle says which engine does its operations.
func (g *Group) Settle(engine uint32, a Agreed) {
	agreed := C.uint32_t(0)
	for bit, is := range map[C.uint32_t]bool{C.DAT_AGREED_READS: a.Reads,
		C.DAT_AGREED_CROWDED: a.Crowded, C.DAT_AGREED_LONG_DOUBLE: a.LongDouble} {
		if is {
			agreed |= bit
		}
	}
	C.dat_group_settle(g.c(), C.uint32_t(engine), agreed)
}

// Lose says that the process of a member is gone.
func (g *Group) Lose(rank int) { C.dat_group_lose(g.c(), C.uint32_t(rank)) }

// Close ends it: posted operations fail before it returns.
func (g *Group) Close() { C.dat_group_close(g.c()) }

// Clock reads the clock of a group of C's engine.
func (g *Group) Clock() uint64 { return uint64(C.dat_group_clock(g.c())) }
