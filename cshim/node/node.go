// Package node is C: data between the tasks of one node (node.h). Its Go functions are what
// transport/shm calls, one call out of Go each; entry.h and the headers that it names say what they
// do.
//
// All of them need the owner's lock. The structs are transport/layout's and lie off the Go heap.
package node

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo noescape node_link_begin
// #cgo nocallback node_link_begin
// #cgo nocallback node_link_end
// #cgo noescape node_link_end
// #cgo noescape node_link_send
// #cgo nocallback node_link_send
// #cgo noescape node_link_step
// #cgo nocallback node_link_step
// #cgo noescape node_copy_ranges
// #cgo nocallback node_copy_ranges
// #include "node/guard.h"
// #include "node/entry.h"
// #include "node/put.h"
// #include "node/serve.h"
// #include "node/arm.h"
import "C"

import (
	"sync"
	"time"
	"unsafe"

	_ "lapi/cshim/cpu" // C that this package's C calls
	"lapi/transport/layout"
)

// Result is a NODE_ result of the functions below.
type Result int

// Results of sending and transfers (send.h, put.h).
const (
	Sent      Result = C.NODE_SENT
	Busy      Result = C.NODE_BUSY
	Gone      Result = C.NODE_GONE
	Nonsense  Result = C.NODE_NONSENSE
	BadLocal  Result = C.NODE_BAD_LOCAL
	BadRemote Result = C.NODE_BAD_REMOTE
	Denied    Result = C.NODE_DENIED
	Issued    Result = C.NODE_ISSUED
)

// Results of Step (receive.h, serve.h, entry.h).
const (
	None     Result = C.NODE_NONE
	Some     Result = C.NODE_SOME
	Cannot   Result = C.NODE_CANNOT
	Served   Result = C.NODE_SERVED
	Arrived  Result = C.NODE_ARRIVED
	WasRead  Result = C.NODE_WAS_READ
	Answered Result = C.NODE_ANSWERED
	Failed   Result = C.NODE_FAILED
	Stranded Result = C.NODE_STRANDED
	Fault    Result = C.NODE_FAULT
	Later    Result = C.NODE_LATER
	Broken   Result = C.NODE_BROKEN
	Epoch    Result = C.NODE_EPOCH
	Others   Result = C.NODE_OTHERS
)

// The results of Step for a message, and the routes of a transfer.
const (
	Left = C.NODE_LEFT
	Took = C.NODE_TOOK
	Drop = C.NODE_DROP
	Skip = C.NODE_SKIP

	Received = C.NODE_RECEIVED

	InMessages = C.NODE_IN_MESSAGES
	CopyTo     = C.NODE_COPY_TO
	CopyFrom   = C.NODE_COPY_FROM
	AskGet     = C.NODE_ASK
	Operate    = C.NODE_OPERATE
	AnswerGet  = C.NODE_ANSWER
	BareTo     = C.NODE_BARE_TO
	BareFrom   = C.NODE_BARE_FROM

	RangesMax = C.NODE_RANGES_MAX

	HotRings = C.NODE_HOT_RINGS
)

// Install readies what is once in a process: the handler of faults in guarded copies.
var Install = sync.OnceFunc(func() {
	C.cshim_cpu_prepare()
	C.node_guard_install()
})

// CanOrderPeers says whether the kernel's barrier for all processes worked when it was first asked
// for. A task that cannot notifies the peers, and they have barriers of their own.
var CanOrderPeers = sync.OnceValue(func() bool { return C.node_membarrier_everywhere() != 0 })

// Registered registers this process with the kernel, so that peers' barriers reach it. False: it
// must have barriers of its own, and no fast path.
var Registered = sync.OnceValue(func() bool { return C.node_membarrier_register() != 0 })

func of(l *layout.NodeLink) *C.node_link { return (*C.node_link)(unsafe.Pointer(l)) }

func peerOf(l *layout.NodeLink, ring int) *C.node_peer {
	return (*C.node_peer)(unsafe.Pointer(&l.Peer[ring]))
}

// Init readies a link whose memory is zero.
func Init(l *layout.NodeLink) { C.node_op_init(of(l)) }

// Begin begins a message; l.Event.Arrival says where header and data go.
func Begin(l *layout.NodeLink, ring int, header, data uint64) Result {
	return Result(C.node_link_begin(of(l), C.uint32_t(ring), C.uint64_t(header), C.uint64_t(data)))
}

// End publishes what Begin began.
func End(l *layout.NodeLink, ring int, kind uint8, header int) Result {
	return Result(C.node_link_end(of(l), C.uint32_t(ring), C.uint32_t(kind), C.uint64_t(header)))
}

// Send sends a message with n bytes of data at an address. header is at most len(l.Out) long.
func Send(l *layout.NodeLink, ring int, kind uint8, header []byte, from, n uint64) Result {
	copy(l.Out[:], header)
	return Result(C.node_link_send(of(l), C.uint32_t(ring), C.uint32_t(kind),
		C.uint64_t(len(header)), C.uint64_t(from), C.uint64_t(n)))
}

// BeginEpoch announces a new generation of the connection.
func BeginEpoch(l *layout.NodeLink, ring int) Result {
	return Result(C.node_link_begin_epoch(of(l), C.uint32_t(ring)))
}

// Step is a step of receiving.
func Step(l *layout.NodeLink, ring int, took uint32) Result {
	return Result(C.node_link_step(of(l), C.uint32_t(ring), C.uint32_t(took)))
}

// Stop ends the steps for a ring.
func Stop(l *layout.NodeLink, ring int, took uint32) {
	C.node_link_stop(of(l), C.uint32_t(ring), C.uint32_t(took))
}

// Transfer goes on with l.Transfer.
func Transfer(l *layout.NodeLink, ring int, how int) Result {
	return Result(C.node_link_transfer(of(l), C.uint32_t(ring), C.int(how)))
}

// Answer answers a request: value, or, if it failed, the bad address.
func Answer(l *layout.NodeLink, ring int, token uint32, failed bool, value uint64) Result {
	state := C.uint32_t(C.NODE_REPLY_OK)
	if failed {
		state = C.NODE_REPLY_FAILED
	}
	return Result(C.node_answer(of(l), peerOf(l, ring), C.uint32_t(token), state,
		C.uint64_t(value)))
}

// RefusePull answers a request to read a put's data from the peer: it is to come in messages.
func RefusePull(l *layout.NodeLink, ring int, token uint32, at uint64, notice [2]uint64) Result {
	pulled := C.node_pulled{at: C.uint64_t(at),
		notice: [2]C.uint64_t{C.uint64_t(notice[0]), C.uint64_t(notice[1])}}
	return Result(C.node_answer_pull(of(l), peerOf(l, ring), C.uint32_t(token),
		C.NODE_REPLY_AGAIN, 0, &pulled))
}

// FreeOp gives up an operation.
func FreeOp(l *layout.NodeLink, index int) {
	C.node_op_free(of(l), (*C.node_op)(unsafe.Pointer(&l.Op[index])))
}

// SayRead tells a peer how much was read of it.
func SayRead(l *layout.NodeLink, ring int) Result {
	return Result(C.node_say_read(of(l), peerOf(l, ring)))
}

// CopyRanges moves bytes between lists of ranges, which are laid out as transport.Range; it returns
// how many.
func CopyRanges(l *layout.NodeLink, ring int, read bool, local unsafe.Pointer, locals int,
	remote unsafe.Pointer, remotes int) (uint64, Result) {
	var moved C.uint64_t
	in := C.int(0)
	if read {
		in = 1
	}
	rc := C.node_copy_ranges(of(l), peerOf(l, ring), in, (*C.node_range)(local), C.uint32_t(locals),
		(*C.node_range)(remote), C.uint32_t(remotes), &moved)
	return uint64(moved), Result(rc)
}

// Probe says whether cross-memory attach reaches the process that says it has cookie at an address.
func Probe(l *layout.NodeLink, ring int, at, cookie uint64) bool {
	return C.node_probe(of(l), peerOf(l, ring), C.uint64_t(at), C.uint64_t(cookie)) != 0
}

// Clear makes a ring as in the beginning.
func Clear(l *layout.NodeLink, ring int) { C.node_link_clear(of(l), C.uint32_t(ring)) }

// Activate puts a ring into the list of those that are looked at; Deactivate takes it out.
func Activate(l *layout.NodeLink, ring int) { C.node_activate(of(l), C.uint32_t(ring)) }

// Deactivate takes a ring out of the list.
func Deactivate(l *layout.NodeLink, ring int) { C.node_deactivate(of(l), C.uint32_t(ring)) }

// LookAround looks after cold rings.
func LookAround(l *layout.NodeLink) { C.node_look_around(of(l)) }

// OrderPeers is the barrier between a store that says that this process will not look, and its last
// look; false: there is none.
func OrderPeers(l *layout.NodeLink) bool { return C.node_order_peers(of(l)) != 0 }

// LookAgain is longer than any processor keeps a store to itself.
const LookAgain = C.NODE_LOOK_AGAIN_NS * time.Nanosecond

// Arm readies for sleep; true: there is work.
func Arm(l *layout.NodeLink) bool { return C.node_arm(of(l)) != 0 }

// Disarm is awake again.
func Disarm(l *layout.NodeLink) { C.node_disarm(of(l)) }

// Flushed says whether everything before a mark was accepted: Sent; Busy if not yet, Gone,
// Nonsense.
func Flushed(l *layout.NodeLink, ring int, mark uint64) Result {
	return Result(C.node_flushed(peerOf(l, ring), C.uint64_t(mark)))
}

// IsDue says whether something is due from a peer; the second result changes whenever the peer
// consumes or answers something.
func IsDue(l *layout.NodeLink, ring int) (due bool, heard uint64) {
	var value C.uint64_t
	due = C.node_is_due(of(l), peerOf(l, ring), &value) != 0
	return due, uint64(value)
}

// IsOver says whether a peer has left and all that it sent was received.
func IsOver(l *layout.NodeLink, ring int) bool { return C.node_is_over(peerOf(l, ring)) != 0 }

// Holds says whether a ring holds a message.
func Holds(l *layout.NodeLink, ring int) bool { return C.node_holds(peerOf(l, ring)) != 0 }

// Leave tells all peers that this task reads no more.
func Leave(l *layout.NodeLink) { C.node_leave(of(l)) }

// Ask sends a message that says nothing.
func Ask(l *layout.NodeLink, ring int) Result { return Result(C.node_ask(of(l), peerOf(l, ring))) }

// Rest gives chunk memory that nothing was sent in for long back.
func Rest(l *layout.NodeLink, ring int) { C.node_chunks_rest(peerOf(l, ring)) }

// Sever sees to it that nothing is written here that the peer was asked for before.
func Sever(l *layout.NodeLink, ring int) { C.node_sever(peerOf(l, ring)) }

// AwaitCopy waits while a peer is in the middle of a copy to this process's memory, which it says by
// a word that is odd then; as long as one may take.
func AwaitCopy(l *layout.NodeLink, ring int, word *uint32) {
	C.node_await_copy(peerOf(l, ring), (*C.uint32_t)(word))
}

// Wake rings a peer's bell if it sleeps.
func Wake(l *layout.NodeLink, ring int) { C.node_ring_bell(peerOf(l, ring)) }

// WakeWaiting wakes a peer that waits for a change of consumed or held.
func WakeWaiting(l *layout.NodeLink, ring int) { C.node_wake_waiting(peerOf(l, ring)) }
