// Package ends is C: the node engine for tests, with several processes in one (ends.h). The harness
// in core/dat/rc/model uses it, beside cshim/dat/rc and cshim/dat/evd, for one goroutine at a time.
package ends

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #include "ctest/ends/ends.h"
import "C"

import (
	"unsafe"

	_ "lapi/cshim/coll" // C that the engine calls
	_ "lapi/cshim/cpu"
	_ "lapi/cshim/dat"
	_ "lapi/cshim/dat/coll"
	_ "lapi/cshim/dat/dev"
	_ "lapi/cshim/dat/evd"
	_ "lapi/cshim/dat/rc"
	_ "lapi/cshim/node"
	_ "lapi/cshim/progress"
	"lapi/transport/layout"
)

// Processes is how many there can be.
const Processes = C.ENDS_PROCESSES

// Results of posts, and of a turn.
const (
	Success  uint32 = C.DAT_SUCCESS
	Over     uint32 = C.ENDS_OVER
	LaneMade        = C.DAT_LANE_MADE
	LaneCore        = C.DAT_LANE_CORE
)

// Kinds of handles, and numbers of events.
const (
	KindEP  = 1 + C.DAT_HANDLE_TYPE_EP
	KindEVD = 1 + C.DAT_HANDLE_TYPE_EVD
	KindSRQ = 1 + C.DAT_HANDLE_TYPE_SRQ

	EventBind     = C.DAT_RMR_BIND_COMPLETION_EVENT
	EventExtended = C.DAT_IB_DTO_EVENT

	ReceivedInvalid   = C.DAT_DTO_RECEIVE_WITH_INVALIDATE
	ReceivedImmediate = C.DAT_IB_DTO_RECV_IMMED
)

// Privileges of a context.
const (
	LocalRead    = C.DAT_MEM_PRIV_LOCAL_READ_FLAG
	LocalWrite   = C.DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	RemoteRead   = C.DAT_MEM_PRIV_REMOTE_READ_FLAG
	RemoteWrite  = C.DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	RemoteAtomic = C.DAT_IB_MEM_PRIV_REMOTE_ATOMIC
)

// Completion is the event of a transfer; Evd.Take gives it.
type Completion C.dat_completion

// Fields of one.
func (c *Completion) Number() uint32    { return uint32(c.number) }
func (c *Completion) Cookie() uint64    { return uint64(c.cookie) }
func (c *Completion) Status() uint32    { return uint32(c.status) }
func (c *Completion) Length() uint32    { return uint32(c.length) }
func (c *Completion) Operation() uint32 { return uint32(c.operation) }
func (c *Completion) Context() uint32   { return uint32(c.context) }
func (c *Completion) Data() uint32      { return uint32(c.data) }

// BindDone makes c the event of a bind.
func (c *Completion) BindDone(evd, cookie uint64, status uint32) {
	*c = Completion{number: EventBind, evd: C.uint64_t(evd), cookie: C.uint64_t(cookie),
		status: C.uint32_t(status)}
}

// Core has the functions of core that the engine calls.
type Core interface {
	// Bound: it is the turn of a bind of an endpoint's; false: it cannot take effect.
	Bound(ep, number uint64, status uint32) bool
	// Invalidated: the peer of an endpoint takes its right by a context away; false: it may not.
	Invalidated(ep uint64, context uint32) bool
}

var core Core

// Begin makes all processes anew, whose core is c.
func Begin(c Core) {
	core = c
	C.ends_begin()
}

// Enter makes what follows a process's.
func Enter(process int) *layout.DatLane {
	return (*layout.DatLane)(unsafe.Pointer(C.ends_enter(C.int(process))))
}

// Segment is a piece of memory by its context.
type Segment struct {
	Addr    uint64
	N       uint64
	Context uint32
}

// Post is a request.
type Post struct {
	Op                int
	Flags, Completion uint32
	Local             []Segment
	Remote            Segment
	Cookie            uint64
	Data              uint32
	Operand, Compare  uint64
}

// Flags of completions.
const (
	Suppress    = C.DAT_COMPLETION_SUPPRESS_FLAG
	Solicited   = C.DAT_COMPLETION_SOLICITED_WAIT_FLAG
	Unsignalled = C.DAT_COMPLETION_UNSIGNALLED_FLAG
	Fence       = C.DAT_COMPLETION_BARRIER_FENCE_FLAG
)

// Flags of requests.
const (
	Immediate  = C.RC_IMMEDIATE
	Invalidate = C.RC_INVALIDATE
	ToRMR      = C.RC_TO_RMR
)

// list is segments as C has them.
func list(segments []Segment) (*C.DAT_LMR_TRIPLET, C.int32_t) {
	l := make([]C.DAT_LMR_TRIPLET, len(segments))
	for i, s := range segments {
		l[i] = C.DAT_LMR_TRIPLET{virtual_address: C.DAT_VADDR(s.Addr),
			segment_length: C.DAT_SEG_LENGTH(s.N), lmr_context: C.DAT_LMR_CONTEXT(s.Context)}
	}
	return unsafe.SliceData(l), C.int32_t(len(l))
}

// PostRequest posts a request of an endpoint's.
func PostRequest(ep uint64, p *Post) uint32 {
	local, n := list(p.Local)
	remote := C.DAT_RMR_TRIPLET{virtual_address: C.DAT_VADDR(p.Remote.Addr),
		segment_length: C.DAT_SEG_LENGTH(p.Remote.N),
		rmr_context:    C.DAT_RMR_CONTEXT(p.Remote.Context)}
	params := C.int(C.RC_PARAMS_RDMA)
	if p.Op == C.RC_SEND {
		params = C.RC_PARAMS_SEND
	}
	return uint32(C.ends_post(C.uint64_t(ep), C.int(p.Op), C.uint32_t(p.Flags), params, n, local,
		C.uint64_t(p.Cookie), &remote, C.uint32_t(p.Data), C.uint64_t(p.Operand),
		C.uint64_t(p.Compare), C.uint32_t(p.Completion)))
}

// PostReceive posts a receive of an endpoint's.
func PostReceive(ep uint64, segments []Segment, cookie uint64) uint32 {
	local, n := list(segments)
	return uint32(C.ends_post_receive(C.uint64_t(ep), n, local, C.uint64_t(cookie)))
}

// PostShared posts a receive of a shared queue's.
func PostShared(srq uint64, segments []Segment, cookie uint64) uint32 {
	local, n := list(segments)
	return uint32(C.ends_post_shared(C.uint64_t(srq), n, local, C.uint64_t(cookie)))
}

// Turn is a turn of the engine: LaneCore if core must have one, too.
func Turn() uint32 { return uint32(C.rc_turn()) }

// Poll is a look of a thread that polls an EVD; true: c is an event taken from it.
func Poll(evd uint64, c *Completion) bool {
	return C.ends_poll(C.uint64_t(evd), (*C.evd_event)(unsafe.Pointer(c))) != 0
}

// Disarm is the end of a sleep.
func Disarm() { C.rc_disarm() }

//export godat_bind
func godat_bind(ep, number C.uint64_t, status C.uint32_t) C.int {
	if core.Bound(uint64(ep), uint64(number), uint32(status)) {
		return 1
	}
	return 0
}

//export godat_invalidate
func godat_invalidate(ep C.uint64_t, context C.uint32_t) C.int {
	if core.Invalidated(uint64(ep), uint32(context)) {
		return 1
	}
	return 0
}
