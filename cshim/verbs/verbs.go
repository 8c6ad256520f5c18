// Package verbs is RDMA adapters by libibverbs, for transport/verbs. The C part (verbs.h) opens the
// library when it is needed; the headers of rdma-core are needed to build.
package verbs

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "verbs/verbs.h"
// #cgo noescape cshim_verbs_poll
// #cgo nocallback cshim_verbs_poll
// #cgo noescape cshim_verbs_post
// #cgo nocallback cshim_verbs_post
// #cgo noescape cshim_verbs_receive
// #cgo nocallback cshim_verbs_receive
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"lapi/descriptor"
	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

const library = "libibverbs.so.1"

// Choice names a port of an adapter.
type Choice struct {
	Name     string // such as "mlx5_0"; empty: the first that has a port which works
	Port     int    // 0: its first that works
	GIDIndex int    // -1: the best, which over Ethernet is one of RoCE v2 with an IPv4 address
}

// Adapter is one port of one adapter; see adapter.Adapter.
type Adapter struct {
	c     *C.struct_cshim_verbs
	info  adapter.Info
	qps   map[adapter.QP]*C.struct_ibv_qp
	work  *C.struct_cshim_verbs_work // of Post
	qkey  uint32
	found *[most]C.struct_cshim_verbs_completion // of Poll
	// of Receive
	buffers *[most]C.struct_cshim_verbs_buffer
	left    *C.uint32_t
}

// most is how many completions, and how many receive buffers, one call takes.
const most = C.CSHIM_VERBS_BUFFERS

// Open opens a port. The error says why there is none.
func Open(choice Choice) (*Adapter, error) { return open(library, choice) }

func open(library string, choice Choice) (*Adapter, error) {
	file, name := C.CString(library), C.CString(choice.Name)
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(name))
	var why [C.CSHIM_VERBS_WHY]C.char
	var info C.struct_cshim_verbs_info
	var c *C.struct_cshim_verbs
	descriptor.AboveStandard(func() {
		c = C.cshim_verbs_open(file, name, C.int(choice.Port), C.int(choice.GIDIndex), &info,
			&why[0])
	})
	if c == nil {
		return nil, errors.New(C.GoString(&why[0]))
	}
	a := &Adapter{c: c, qps: make(map[adapter.QP]*C.struct_ibv_qp)}
	a.info = adapter.Info{Name: C.GoString(&info.name[0]), Port: uint8(info.port),
		GIDIndex: uint8(info.gid_index), LID: uint16(info.lid), MTU: int(info.mtu),
		MaxMessage: uint64(info.max_message), MaxInline: int(info.max_inline),
		MaxReads: int(info.max_reads), MaxCQE: int(info.max_cqe),
		MaxReceive: int(info.max_receive)}
	for i, b := range info.gid {
		a.info.GID[i] = byte(b)
	}
	// In C's memory, so that a call needs no look at what Go's pointers point to.
	a.work = (*C.struct_cshim_verbs_work)(C.calloc(1, C.size_t(unsafe.Sizeof(*a.work))))
	a.buffers = (*[most]C.struct_cshim_verbs_buffer)(
		C.calloc(1, C.size_t(unsafe.Sizeof(*a.buffers))))
	a.left = (*C.uint32_t)(C.calloc(1, C.size_t(unsafe.Sizeof(*a.left))))
	a.found = (*[most]C.struct_cshim_verbs_completion)(
		C.calloc(1, C.size_t(unsafe.Sizeof(*a.found))))
	return a, nil
}

func failure(what string, err C.int) error {
	if err == 0 {
		return nil
	}
	return fmt.Errorf("verbs: %s: %w", what, syscall.Errno(err))
}

// Native implements verbs.Native.
func (a *Adapter) Native() uintptr { return uintptr(unsafe.Pointer(a.c)) }

// NativePair implements verbs.Native.
func (a *Adapter) NativePair(qp adapter.QP) uintptr { return uintptr(unsafe.Pointer(a.qps[qp])) }

// Info implements adapter.Adapter.
func (a *Adapter) Info() adapter.Info { return a.info }

// Register implements adapter.Adapter.
func (a *Adapter) Register(addr transport.Addr, n uint64,
	access transport.Access) (adapter.Region, error) {
	var r C.struct_cshim_verbs_region
	if err := C.cshim_verbs_register(a.c, C.uint64_t(addr), C.uint64_t(n), C.int(access),
		&r); err != 0 {
		return adapter.Region{}, failure("registering memory", err)
	}
	return adapter.Region{LKey: uint32(r.lkey), RKey: uint32(r.rkey),
		Handle: uintptr(unsafe.Pointer(r.handle))}, nil
}

// Deregister implements adapter.Adapter.
func (a *Adapter) Deregister(r adapter.Region) error {
	return failure("deregistering memory", C.cshim_verbs_deregister(
		*(**C.struct_ibv_mr)(unsafe.Pointer(&r.Handle))))
}

// Open implements adapter.Adapter.
func (a *Adapter) Open(completions, receives, datagrams int, qkey uint32) (uint32, error) {
	var qpn C.uint32_t
	a.qkey = qkey
	err := C.cshim_verbs_queues(a.c, C.int(completions), C.int(receives), C.int(datagrams),
		C.uint32_t(qkey), &qpn)
	return uint32(qpn), failure("making queues", err)
}

// Create implements adapter.Adapter.
func (a *Adapter) Create(depth int) (adapter.QP, error) {
	var qp *C.struct_ibv_qp
	var qpn C.uint32_t
	if err := C.cshim_verbs_create(a.c, C.int(depth), &qp, &qpn); err != 0 {
		return 0, failure("making a queue pair", err)
	}
	a.qps[adapter.QP(qpn)] = qp
	return adapter.QP(qpn), nil
}

func remote(r adapter.Remote) C.struct_cshim_verbs_remote {
	out := C.struct_cshim_verbs_remote{qpn: C.uint32_t(r.QPN), psn: C.uint32_t(r.PSN),
		lid: C.uint16_t(r.LID), mtu: C.int(r.MTU), reads: C.int(r.Reads)}
	for i, b := range r.GID {
		out.gid[i] = C.uint8_t(b)
	}
	return out
}

// Connect implements adapter.Adapter.
func (a *Adapter) Connect(qp adapter.QP, psn uint32, r adapter.Remote) error {
	to := remote(r)
	return failure("connecting a queue pair",
		C.cshim_verbs_connect(a.c, a.qps[qp], C.uint32_t(psn), &to))
}

// Reset implements adapter.Adapter.
func (a *Adapter) Reset(qp adapter.QP) error {
	return failure("resetting a queue pair", C.cshim_verbs_reset(a.qps[qp]))
}

// Fail implements adapter.Adapter. A queue pair that the adapter refuses to move has failed.
func (a *Adapter) Fail(qp adapter.QP) { C.cshim_verbs_fail(a.qps[qp]) }

// Destroy implements adapter.Adapter.
func (a *Adapter) Destroy(qp adapter.QP) {
	C.cshim_verbs_destroy(a.qps[qp])
	delete(a.qps, qp)
}

func flag(b bool) C.uint8_t {
	if b {
		return 1
	}
	return 0
}

// Post implements adapter.Adapter.
func (a *Adapter) Post(qp adapter.QP, w *adapter.Work) error {
	*a.work = C.struct_cshim_verbs_work{id: C.uint64_t(w.ID), addr: C.uint64_t(w.Addr),
		n: C.uint64_t(w.N), remote_addr: C.uint64_t(w.RemoteAddr), lkey: C.uint32_t(w.LKey),
		rkey: C.uint32_t(w.RKey), op: C.uint8_t(w.Op), signaled: flag(w.Signaled),
		inlined: flag(w.Inline)}
	return failure("posting a request", C.cshim_verbs_post(a.qps[qp], a.work))
}

// Receive implements adapter.Adapter.
func (a *Adapter) Receive(datagram bool, n uint32, buffers []adapter.Buffer) (int, error) {
	posted := 0
	for posted < len(buffers) {
		some := buffers[posted:min(posted+most, len(buffers))]
		for i, b := range some {
			a.buffers[i] = C.struct_cshim_verbs_buffer{id: C.uint64_t(b.ID),
				addr: C.uint64_t(b.Addr), lkey: C.uint32_t(b.LKey)}
		}
		err := C.cshim_verbs_receive(a.c, C.int(flag(datagram)), C.uint32_t(n), &a.buffers[0],
			C.uint32_t(len(some)), a.left)
		posted += len(some) - int(*a.left)
		if err != 0 {
			return posted, failure("posting receive buffers", err)
		}
	}
	return posted, nil
}

// Path implements adapter.Adapter.
func (a *Adapter) Path(r adapter.Remote) (adapter.Path, error) {
	to := remote(r)
	var ah *C.struct_ibv_ah
	err := C.cshim_verbs_path(a.c, &to, &ah)
	return adapter.Path(unsafe.Pointer(ah)), failure("finding the way to a port", err)
}

// Free implements adapter.Adapter.
func (a *Adapter) Free(p adapter.Path) {
	C.cshim_verbs_free(*(**C.struct_ibv_ah)(unsafe.Pointer(&p)))
}

// Datagram implements adapter.Adapter.
func (a *Adapter) Datagram(p adapter.Path, qpn, qkey uint32, b []byte) error {
	return failure("sending a datagram", C.cshim_verbs_datagram(a.c,
		*(**C.struct_ibv_ah)(unsafe.Pointer(&p)), C.uint32_t(qpn), C.uint32_t(qkey),
		unsafe.Pointer(unsafe.SliceData(b)), C.uint32_t(len(b))))
}

// Revive implements adapter.Adapter.
func (a *Adapter) Revive() error {
	return failure("reviving the datagram queue pair",
		C.cshim_verbs_revive(a.c, C.uint32_t(a.qkey)))
}

// Poll implements adapter.Adapter.
func (a *Adapter) Poll(out []adapter.Completion) int {
	n := int(C.cshim_verbs_poll(a.c, C.int(min(len(out), most)), &a.found[0]))
	for i := range max(n, 0) {
		c := &a.found[i]
		out[i] = adapter.Completion{ID: uint64(c.id), QP: adapter.QP(c.qpn),
			State: adapter.State(c.state), N: uint32(c.n), Datagram: c.datagram != 0}
	}
	return n
}

// Files implements adapter.Adapter.
func (a *Adapter) Files() []int {
	var files [C.CSHIM_VERBS_EVENTS]C.int
	C.cshim_verbs_files(a.c, &files[0])
	return []int{int(files[0]), int(files[1])}
}

// Arm implements adapter.Adapter.
func (a *Adapter) Arm() error { return failure("arming", C.cshim_verbs_arm(a.c)) }

// Quiet implements adapter.Adapter.
func (a *Adapter) Quiet() { C.cshim_verbs_quiet(a.c) }

// Event implements adapter.Adapter.
func (a *Adapter) Event() adapter.Event {
	var qpn C.uint32_t
	kind := C.cshim_verbs_event(a.c, &qpn)
	return adapter.Event{Kind: adapter.EventKind(kind), QP: adapter.QP(qpn)}
}

// Close implements adapter.Adapter. What was registered must be deregistered before.
func (a *Adapter) Close() error {
	if a.c == nil {
		return nil
	}
	for qp := range a.qps {
		a.Destroy(qp)
	}
	C.cshim_verbs_close(a.c)
	C.free(unsafe.Pointer(a.work))
	C.free(unsafe.Pointer(a.found))
	C.free(unsafe.Pointer(a.buffers))
	C.free(unsafe.Pointer(a.left))
	a.c = nil
	return nil
}

var _ adapter.Adapter = (*Adapter)(nil)
