package coll

// #include "dat/coll/coll.h"
// #include "dat/coll/group.h"
import "C"

import (
	"unsafe"

	"lapi/transport/layout"
)

// Rail opens the rail to a member; false: there is no memory.
func (g *Group) Rail(rank int, config *layout.DatRailConfig) bool {
	return C.dat_group_rail(g.c(), C.uint32_t(rank), unsafe.Pointer(config)) != 0
}

// Enqueue posts an operation that is judged and has no lists, as C does; for tests.
func (g *Group) Enqueue(op *layout.DatGroupOp) bool {
	return C.dat_group_enqueue(g.c(), unsafe.Pointer(op)) != 0
}

// Begin says which number the next operation has.
func (g *Group) Begin(number uint64) { C.dat_group_begin(g.c(), C.uint64_t(number)) }

// Until says that some member takes part in no operation from a number on.
func (g *Group) Until(number uint64) { C.dat_group_until(g.c(), C.uint64_t(number)) }

// Number is that of the oldest operation, or of the next one; queued is how many with numbers are
// posted.
func (g *Group) Number() (number uint64, queued int) {
	return uint64(C.dat_group_number(g.c())), int(C.dat_group_queued(g.c()))
}

// Wanted is the oldest operation, if core is to do it, and its lists, of n parts in all; nil: it is
// not.
func (g *Group) Wanted(n int) (op *layout.DatGroupOp, lists []layout.DatSpan) {
	var at *layout.DatSpan
	op = (*layout.DatGroupOp)(C.dat_group_wanted(g.c(), (*unsafe.Pointer)(unsafe.Pointer(&at))))
	if op == nil {
		return nil, nil
	}
	return op, unsafe.Slice(at, n)
}

// Passed says that core has done it.
func (g *Group) Passed() { C.dat_group_passed(g.c()) }

// Broken says whether the group has failed in C.
func (g *Group) Broken() bool { return C.dat_group_broken(g.c()) != 0 }

// FailAll fails the posted operations. The operation that core has is core's to fail, and is first.
func (g *Group) FailAll() { C.dat_group_fail_all(g.c()) }

// GoOn is a turn of the group; true: something happened.
func (g *Group) GoOn() bool { return C.dat_group_go_on(g.c()) != 0 }

// What Send says.
const (
	Sent       = 1
	NoRoom     = 0
	Unreadable = -1
)

// Send sends a message to a member.
func (g *Group) Send(rank int, m *layout.DatRailMessage) int {
	return int(C.dat_group_send(g.c(), C.uint32_t(rank), unsafe.Pointer(m)))
}

// Next is the oldest message of a member's that was not taken; false: there is none. TakeNext takes it.
func (g *Group) Next(rank int, m *layout.DatRailMessage) bool {
	return C.dat_group_next(g.c(), C.uint32_t(rank), unsafe.Pointer(m)) != 0
}

// TakeNext takes the message of Next.
func (g *Group) TakeNext(rank int) { C.dat_group_take_next(g.c(), C.uint32_t(rank)) }

// Write writes n bytes to where a grant says; false: there is no room.
func (g *Group) Write(rank int, local uint64, lkey uint32, remote uint64, rkey, n uint32) bool {
	return C.dat_group_write(g.c(), C.uint32_t(rank), C.uint64_t(local), C.uint32_t(lkey),
		C.uint64_t(remote), C.uint32_t(rkey), C.uint32_t(n)) != 0
}

// Grant answers an ask; false: there is no room.
func (g *Group) Grant(rank int, to *layout.DatRailGrant) bool {
	return C.dat_group_grant(g.c(), C.uint32_t(rank), unsafe.Pointer(to)) != 0
}

// Granted is the answer to an ask of that number; false: there is none yet.
func (g *Group) Granted(rank int, number uint64, to *layout.DatRailGrant) bool {
	return C.dat_group_granted(g.c(), C.uint32_t(rank), C.uint64_t(number),
		unsafe.Pointer(to)) != 0
}

// RailState is the state of a rail, whose Wake is 0 after that.
func (g *Group) RailState(rank int) (s layout.DatRailState) {
	C.dat_group_rail_state(g.c(), C.uint32_t(rank), unsafe.Pointer(&s))
	return s
}

// RailGone says that a member takes nothing more.
func (g *Group) RailGone(rank int) { C.dat_group_rail_gone(g.c(), C.uint32_t(rank)) }

// RailWoken says that a member has woken this process.
func (g *Group) RailWoken(rank int) { C.dat_group_rail_woken(g.c(), C.uint32_t(rank)) }

// Sleeps has peers learn that a thread of this process sleeps: those of all rails, or the one whose
// message a short operation waits for.
func (g *Group) Sleeps(all bool) {
	a := C.int(0)
	if all {
		a = 1
	}
	C.dat_group_sleeps(g.c(), a)
}

// NextPost is the oldest request that core is to post; false: there is none.
func (g *Group) NextPost(p *layout.DatRailPost) bool {
	return C.dat_group_post(g.c(), unsafe.Pointer(p)) != 0
}

// RailCompleted says how a request of core's has ended.
func (g *Group) RailCompleted(rank int, id uint64, status, vendor uint32) {
	C.dat_group_completed(g.c(), C.uint32_t(rank), C.uint64_t(id), C.uint32_t(status),
		C.uint32_t(vendor))
}

// Last is a word of a member's memory that nobody reads, and its key.
func (g *Group) Last(rank int) (at uint64, key uint32) {
	var k C.uint32_t
	at = uint64(C.dat_group_rail_last(g.c(), C.uint32_t(rank), &k))
	return at, uint32(k)
}

// Probe has the adapter find out whether a member is there.
func (g *Group) Probe(rank int) { C.dat_group_probe(g.c(), C.uint32_t(rank)) }

// PollRail takes the completions of a rail.
func (g *Group) PollRail(rank int) { C.dat_group_rail_poll(g.c(), C.uint32_t(rank)) }
