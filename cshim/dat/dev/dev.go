// Package dev is C: the device engine of uDAPL. dev.h says what each function does. Its Go
// functions are what core/dat/device calls, one call out of Go each. They may call into Go: adapters
// of tests are Go's.
//
// All of them need the lock of uDAPL's block.
package dev

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #cgo noescape dev_add_memory
// #cgo nocallback dev_add_memory
// #include "dat/dev/dev.h"
//
// static DAT_RETURN post(dev_pair *pair, int op, unsigned flags, DAT_COUNT count,
//                        const DAT_LMR_TRIPLET *list, const DAT_RMR_TRIPLET *remote,
//                        uint64_t cookie, uint32_t completion, uint32_t data, uint64_t operand,
//                        uint64_t compare)
// {
//	const dat_post post = {.op = op, .flags = (uint8_t)flags, .num_segments = count,
//	                       .local_iov = list, .remote_iov = remote, .cookie = cookie,
//	                       .completion = completion, .data = data, .operand = operand,
//	                       .compare = compare};
//
//	return dev_post(pair, &post);
// }
//
// static DAT_RETURN post_datagram(dev_pair *pair, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
//                                 uint64_t cookie, uint32_t completion, uint64_t ah, uint32_t qpn,
//                                 uint32_t qkey)
// {
//	const dat_post post = {.op = RC_DATAGRAM, .num_segments = count, .local_iov = list,
//	                       .cookie = cookie, .completion = completion};
//
//	return dev_post_datagram(pair, &post, ah, qpn, qkey);
// }
import "C"

import "unsafe"

// Adapter, Pool, Queue and Pair are C's objects; a zero value is none.
type (
	Adapter struct{ c *C.dev_adapter }
	Pool    struct{ c *C.dev_pool }
	Queue   struct{ c *C.dev_queue }
	Pair    struct{ c *C.dev_pair }
)

// Operations of requests.
const (
	OpSend     = C.RC_SEND
	OpWrite    = C.RC_WRITE
	OpRead     = C.RC_READ
	OpSwap     = C.RC_SWAP
	OpAdd      = C.RC_ADD
	OpBind     = C.RC_BIND
	OpDatagram = C.RC_DATAGRAM
)

// Flags of requests.
const (
	Immediate  = C.RC_IMMEDIATE
	Invalidate = C.RC_INVALIDATE
	ToRMR      = C.RC_TO_RMR
)

// Open makes an adapter. inline is the length of requests that may be inline. false: there is no
// memory.
func Open(inline int, invalidates, atomics bool) (a Adapter, ok bool) {
	lacks := C.uint32_t(0)
	if !invalidates {
		lacks |= C.DEV_NO_INVALIDATES
	}
	if !atomics {
		lacks |= C.DEV_NO_ATOMICS
	}
	a.c = C.dev_open(C.uint32_t(inline), lacks)
	return a, a.c != nil
}

// Close frees it.
func (a Adapter) Close() { C.dev_close(a.c) }

// Memory is what a context names: N bytes at Addr, which the program counts from Start on, and the
// adapter's key from Start+Shift on.
type Memory struct {
	Addr, N, Start, Shift, Zone uint64
	Context, Key                uint32
	Privileges                  uint32
	Window                      bool
}

// AddMemory says what a context names; false: there is no memory.
func (a Adapter) AddMemory(m *Memory) bool {
	c := C.dev_memory{addr: C.uint64_t(m.Addr), n: C.uint64_t(m.N), start: C.uint64_t(m.Start),
		shift: C.uint64_t(m.Shift), pz: C.uint64_t(m.Zone),
		context: C.uint32_t(m.Context), key: C.uint32_t(m.Key),
		privileges: C.uint16_t(m.Privileges), of: C.uint16_t(of(m.Window))}
	return C.dev_add_memory(a.c, &c) != 0
}

// RemoveMemory says that it names nothing any more.
func (a Adapter) RemoveMemory(context uint32, window bool) {
	C.dev_remove_memory(a.c, C.uint32_t(context), of(window))
}

// of says whose a context is.
func of(window bool) C.uint32_t {
	if window {
		return C.DEV_OF_RMR
	}
	return C.DEV_OF_LMR
}

// AddPool adds a completion queue; false: there is no memory.
func (a Adapter) AddPool(cq uintptr) (p Pool, ok bool) {
	p.c = C.dev_add_pool(a.c, C.uint64_t(cq))
	return p, p.c != nil
}

// RemovePool removes it.
func (a Adapter) RemovePool(p Pool) { C.dev_remove_pool(a.c, p.c) }

// ForgetEVD says that no event goes to an EVD any more.
func (a Adapter) ForgetEVD(evd uint64) { C.dev_forget_evd(a.c, C.uint64_t(evd)) }

// OpenPair makes a pair with room for these requests and receives; false: there is no memory.
func (a Adapter) OpenPair(requests, receives int) (p Pair, ok bool) {
	p.c = C.dev_open_pair(a.c, C.uint32_t(requests), C.uint32_t(receives))
	return p, p.c != nil
}

// Close frees it.
func (p Pair) Close() { C.dev_close_pair(p.c) }

// Address is where the pair is, for C.
func (p Pair) Address() uint64 { return uint64(uintptr(unsafe.Pointer(p.c))) }

// Begin gives it a queue pair; false: there is no memory.
func (p Pair) Begin(qp uintptr, qpn uint32, q Queue) bool {
	return C.dev_begin_pair(p.c, C.uint64_t(qp), C.uint32_t(qpn), q.c) != 0
}

// End takes it away.
func (p Pair) End() { C.dev_end_pair(p.c) }

// Owner is whose a pair is: handles.
type Owner struct{ Endpoint, Zone, Receives, Requests uint64 }

// SetOwner says whose it is. silent: good receives end no wait.
func (p Pair) SetOwner(o Owner, datagrams, silent bool) {
	p.c.ep, p.c.pz = C.uint64_t(o.Endpoint), C.uint64_t(o.Zone)
	p.c.recv, p.c.request = C.uint64_t(o.Receives), C.uint64_t(o.Requests)
	p.c.datagrams, p.c.silent = C.uint32_t(number(datagrams)), C.uint32_t(number(silent))
}

// Limits are up to which posts need no closer look, as far as the endpoint's state and limits go: that many
// requests, and receives, that are not complete, each of a segment of 1 to Bytes bytes.
type Limits struct{ Requests, Receives, Bytes uint32 }

// SetLimits says them.
func (p Pair) SetLimits(l Limits) {
	C.dev_set_limits(p.c, C.uint32_t(l.Requests), C.uint32_t(l.Receives), C.uint32_t(l.Bytes))
}

// SetOpen has requests go to the adapter, or be flushed. reads is how many reads may be under way.
func (p Pair) SetOpen(open bool, reads int) {
	p.c.reads = C.uint32_t(reads)
	C.dev_set_open(p.c, C.uint32_t(number(open)))
}

// SetClosing has core be called when no request is left.
func (p Pair) SetClosing() {
	p.c.closing = 1
	C.dev_set_open(p.c, 0)
}

// Posted are the requests and receives that are not complete.
func (p Pair) Posted() (requests, receives int) { return int(p.c.requests), int(p.c.receives) }

// Counters are those of the endpoint, as C has counted.
func (p Pair) Counters() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&p.c.counters)), len(p.c.counters))
}

// Triplet names local memory (DAT_LMR_TRIPLET), or a peer's (DAT_RMR_TRIPLET).
type Triplet struct {
	Addr    uint64
	N       uint32
	Context uint32
}

var _ = [1]struct{}{}[unsafe.Sizeof(Triplet{})-C.sizeof_DAT_LMR_TRIPLET]

// Request is a post.
type Request struct {
	Op, Flags  int
	Local      []Triplet
	Remote     Triplet
	Cookie     uint64
	Completion uint32 // flags
	Data       uint32 // immediate; the context to invalidate
	Operand    uint64
	Compare    uint64
}

func list(t []Triplet) (C.DAT_COUNT, *C.DAT_LMR_TRIPLET) {
	return C.DAT_COUNT(len(t)), (*C.DAT_LMR_TRIPLET)(unsafe.Pointer(unsafe.SliceData(t)))
}

// Post posts a request, which was judged; its DAT_RETURN.
func (p Pair) Post(w *Request) uint32 {
	n, local := list(w.Local)
	return uint32(C.post(p.c, C.int(w.Op), C.unsigned(w.Flags), n, local,
		(*C.DAT_RMR_TRIPLET)(unsafe.Pointer(&w.Remote)), C.uint64_t(w.Cookie),
		C.uint32_t(w.Completion), C.uint32_t(w.Data), C.uint64_t(w.Operand),
		C.uint64_t(w.Compare)))
}

// PostDatagram sends w's local memory to the queue pair qpn by an address handle.
func (p Pair) PostDatagram(w *Request, ah uintptr, qpn, qkey uint32) uint32 {
	n, local := list(w.Local)
	return uint32(C.post_datagram(p.c, n, local, C.uint64_t(w.Cookie), C.uint32_t(w.Completion),
		C.uint64_t(ah), C.uint32_t(qpn), C.uint32_t(qkey)))
}

// PostReceive posts a receive.
func (p Pair) PostReceive(t []Triplet, cookie uint64) uint32 {
	n, local := list(t)
	return uint32(C.dev_post_receive(p.c, n, local, C.uint64_t(cookie)))
}

// Bind adds a bind, which the adapter does not know until Known; the number of its completion.
func (p Pair) Bind() uint64 { return uint64(C.dev_bind(p.c, 0)) }

// Known says that the adapter knows the newest request.
func (p Pair) Known() { C.dev_known(p.c) }

// OpenQueue makes a shared queue of receives; false: there is no memory.
func (a Adapter) OpenQueue(srq uintptr, zone uint64, receives int) (q Queue, ok bool) {
	q.c = C.dev_open_queue(a.c, C.uint64_t(srq), C.uint64_t(zone), C.uint32_t(receives))
	return q, q.c != nil
}

// Close frees it.
func (q Queue) Close() { C.dev_close_queue(q.c) }

// Address is where the queue is, for C.
func (q Queue) Address() uint64 { return uint64(uintptr(unsafe.Pointer(q.c))) }

// Resize makes room; false: there is no memory.
func (q Queue) Resize(receives int) bool {
	return C.dev_resize_queue(q.c, C.uint32_t(receives)) != 0
}

// Post posts a receive.
func (q Queue) Post(t []Triplet, cookie uint64) uint32 {
	n, local := list(t)
	return uint32(C.dev_post_shared(q.c, n, local, C.uint64_t(cookie)))
}

// Posted is how many receives are not complete.
func (q Queue) Posted() int { return int(q.c.posted) }

// Watch has IsLow say, once, when fewer receives are left.
func (q Queue) Watch(low int) { q.c.low, q.c.is_low = C.uint32_t(low), 0 }

// IsLow says whether few were left since Watch.
func (q Queue) IsLow() bool { return q.c.is_low != 0 }

// TakeWork says whether there is something for core, once: its turn begins.
func TakeWork() bool {
	some := C.dev_work != 0
	C.dev_work = 0
	return some
}

// Work says whether there is something for core.
func Work() bool { return C.dev_work != 0 }

// Notice is a completion that is core's.
type Notice struct{ c C.dev_notice }

// Step takes completions, of a pool or of all, until one is core's, which n then is, or none is
// there. It adds the number that it has taken to made.
func (a Adapter) Step(p Pool, n *Notice, made *int) bool {
	var count C.uint32_t
	found := C.dev_step(a.c, p.c, &n.c, &count) != 0
	*made += int(count)
	return found
}

// Pair is the pair of the completion; its C is nil if it is gone.
func (n *Notice) Pair() Pair { return Pair{n.c.pair} }

// IsReceive says whether it is a receive's.
func (n *Notice) IsReceive() bool { return n.c.receive != 0 }

// Skips says whether it is of a receive of a pair's own, and completions of earlier ones were lost.
func (n *Notice) Skips() bool { return n.c.skips != 0 }

// Number is the request's, or the receive's.
func (n *Notice) Number() uint32 { return uint32(n.c.number) }

// QPN, Status and VendorErr are those of the completion.
func (n *Notice) QPN() uint32 { return uint32(n.c.qpn) }

// Status is described at QPN.
func (n *Notice) Status() uint32 { return uint32(n.c.status) }

// VendorErr is described at QPN.
func (n *Notice) VendorErr() uint32 { return uint32(n.c.vendor_err) }

// Invalidated is the key of the window that the send has freed, perhaps.
func (n *Notice) Invalidated() (key uint32, perhaps, ok bool) {
	return uint32(n.c.key), n.c.perhaps != 0, n.c.invalidated != 0
}

// Posted is what reports say of a request or receive.
type Posted struct {
	Number           uint32
	Op, Flags        int
	Local, Remote, N uint64
	Known            bool
	Status           uint8
}

// Oldest is the oldest request; false: there is none.
func (p Pair) Oldest() (r Posted, ok bool) {
	c := C.dev_oldest(p.c)
	if c == nil {
		return r, false
	}
	return Posted{Number: uint32(p.c.sent), Op: int(c.op), Flags: int(c.flags),
		Local: uint64(c.local), Remote: uint64(c.remote), N: uint64(c.n), Known: c.known != 0,
		Status: uint8(c.status)}, true
}

// FinishRequest completes the oldest request with a status of DAT's. A bind has no event here.
func (p Pair) FinishRequest(status uint8) { C.dev_finish_request(p.c, C.uint32_t(status)) }

// Receive is the receive of the completion; false: there is none.
func (n *Notice) Receive() (r Posted, ok bool) {
	c := C.dev_receive_of(&n.c)
	if c == nil {
		return r, false
	}
	return Posted{Local: uint64(c.local), N: uint64(c.n)}, true
}

// FinishReceive completes it with a status of DAT's. invalidated: its send has freed a window.
func (n *Notice) FinishReceive(status uint8, invalidated bool) {
	C.dev_finish_receive(&n.c, C.uint32_t(status), number(invalidated))
}

// FlushReceives completes all receives of the pair's own.
func (p Pair) FlushReceives() { C.dev_flush_receives(p.c) }

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
