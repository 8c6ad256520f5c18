// Package rdma is RDMA adapters by libibverbs and librdmacm, for uDAPL (core/dat/adapter). The C
// part (rdma.h) opens both libraries when they are needed; the headers of rdma-core are needed to
// build.
package rdma

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -ldl -Wl,--unresolved-symbols=ignore-all
// #include <stdlib.h>
// #include "rdma/rdma.h"
import "C"

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"lapi/core/dat/adapter"
	_ "lapi/cshim/verbs" // whose loader the C part uses
	"lapi/descriptor"
)

const (
	verbsLibrary = "libibverbs.so.1"
	cmLibrary    = "librdmacm.so.1"
)

// most is how many completions one call takes.
const most = 32

// Device is an adapter's port; see adapter.Device. What calls to C are given is in C's memory, so
// that they need no look at what Go's pointers point to.
type Device struct {
	c     *C.struct_cshim_rdma
	info  adapter.Info
	files []int
	m     *memory
}

type memory struct {
	work     C.struct_cshim_rdma_work
	bind     C.struct_cshim_rdma_bind
	segments [C.CSHIM_RDMA_SEGMENTS]C.struct_cshim_rdma_segment
	found    [most]C.struct_cshim_rdma_completion
	event    C.struct_cshim_rdma_event
	terms    C.struct_cshim_rdma_terms
}

// Look is the address of an int (*)(void) that says whether an adapter has something for its owner.
func Look() uintptr { return uintptr(C.cshim_rdma_look) }

// Open opens the adapter that owns an address of this machine. The error says why it cannot be.
func Open(addr netip.Addr) (*Device, error) { return open(verbsLibrary, cmLibrary, addr) }

func open(verbs, cm string, addr netip.Addr) (*Device, error) {
	v, r := C.CString(verbs), C.CString(cm)
	defer C.free(unsafe.Pointer(v))
	defer C.free(unsafe.Pointer(r))
	var why [C.CSHIM_RDMA_WHY]C.char
	var info C.struct_cshim_rdma_info
	at := address(netip.AddrPortFrom(addr, 0))
	var c *C.struct_cshim_rdma
	descriptor.AboveStandard(func() { c = C.cshim_rdma_open(v, r, &at, &info, &why[0]) })
	if c == nil {
		return nil, errors.New("the RDMA adapter of " + addr.String() + ": " + C.GoString(&why[0]))
	}
	d := &Device{c: c, m: (*memory)(C.calloc(1, C.size_t(unsafe.Sizeof(memory{}))))}
	d.info = infoOf(&info, addr)
	var files [C.CSHIM_RDMA_FILES]C.int
	C.cshim_rdma_files(c, &files[0])
	for _, f := range files {
		d.files = append(d.files, int(f))
	}
	d.info.MaxInline = d.tryInline()
	return d, nil
}

func infoOf(i *C.struct_cshim_rdma_info, addr netip.Addr) adapter.Info {
	out := adapter.Info{Name: C.GoString(&i.name[0]), Addr: addr, Port: uint8(i.port),
		LID: uint16(i.lid), MTU: int(i.mtu), Active: i.active != 0, Atomics: i.atomics != 0,
		MaxMessage: uint64(i.max_message), MaxRequests: int(i.max_requests),
		MaxSegments: int(i.max_segments), MaxReadSegments: int(i.max_read_segments),
		MaxCompletions: int(i.max_cqe), MaxQPs: int(i.max_qps), MaxZones: int(i.max_zones),
		MaxRegions: int(i.max_regions), MaxQueues: int(i.max_queues),
		MaxQueueReceives: int(i.max_queue_receives), MaxReadsIn: int(i.max_reads_in),
		MaxReadsOut: int(i.max_reads_out), Windows: i.windows != 0,
		OwnWindows: i.own_windows != 0, Invalidates: i.invalidates != 0,
		MaxQueuesOfEvents: int(i.max_cqs)}
	for k := range i.gid {
		out.GID[k] = byte(i.gid[k])
	}
	for k := range i.guid {
		out.GUID[k] = byte(i.guid[k])
	}
	return out
}

// inline is how many bytes requests carry themselves, where the adapter lets them.
const inline = 64

// tryInline finds out how many bytes may be inline, by a queue pair that has them.
func (d *Device) tryInline() int {
	z, err := d.NewZone()
	if err != nil {
		return 0
	}
	defer func() { _ = d.FreeZone(z) }()
	c, err := d.NewCompletions(2)
	if err != nil {
		return 0
	}
	defer func() { _ = d.FreeCompletions(c) }()
	d.info.MaxInline = inline
	qp, _, err := d.NewQP(adapter.QPAttr{Zone: z, Requests: c, Receives: c, MaxRequests: 1,
		MaxReceives: 1, RequestSegments: 1, ReceiveSegments: 1})
	if err != nil {
		return 0
	}
	d.FreeQP(qp)
	return inline
}

func address(a netip.AddrPort) (out C.struct_cshim_rdma_address) {
	ip := a.Addr().Unmap()
	out.family = 6
	if ip.Is4() {
		out.family = 4
	}
	for i, b := range ip.AsSlice() {
		out.ip[i] = C.uint8_t(b)
	}
	out.port = C.uint16_t(a.Port())
	return out
}

func addrPort(a *C.struct_cshim_rdma_address) netip.AddrPort {
	var ip [16]byte
	for i, b := range a.ip {
		ip[i] = byte(b)
	}
	switch a.family {
	case 4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[:4])), uint16(a.port))
	case 6:
		return netip.AddrPortFrom(netip.AddrFrom16(ip), uint16(a.port))
	}
	return netip.AddrPort{}
}

func failure(what string, err C.int) error {
	if err == 0 {
		return nil
	}
	return os.NewSyscallError(what, syscall.Errno(err))
}

func object[T ~uintptr](o T) C.cshim_rdma_object { return C.cshim_rdma_object(o) }

// made is the object that a call has made.
func made[T ~uintptr](o C.cshim_rdma_object, what string, err C.int) (T, error) {
	if err != 0 {
		return 0, failure(what, err)
	}
	return T(o), nil
}

// Info implements adapter.Device.
func (d *Device) Info() adapter.Info { return d.info }

// Active implements adapter.Device.
func (d *Device) Active() bool { return C.cshim_rdma_active(d.c) != 0 }

// NewZone implements adapter.Device.
func (d *Device) NewZone() (adapter.Zone, error) {
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_zone(d.c, &o)
	return made[adapter.Zone](o, "ibv_alloc_pd", err)
}

// FreeZone implements adapter.Device.
func (d *Device) FreeZone(z adapter.Zone) error {
	return failure("ibv_dealloc_pd", C.cshim_rdma_free_zone(object(z)))
}

// Register implements adapter.Device.
func (d *Device) Register(z adapter.Zone, addr, n, as uint64,
	access adapter.Access) (adapter.Region, adapter.Keys, error) {
	var o C.cshim_rdma_object
	var local, remote C.uint32_t
	windows := C.int(flag[uint8](d.info.Windows || d.info.OwnWindows))
	err := C.cshim_rdma_register(object(z), windows, C.uint64_t(addr), C.uint64_t(n),
		C.uint64_t(as), C.int(access), &o, &local, &remote)
	r, e := made[adapter.Region](o, "ibv_reg_mr", err)
	return r, adapter.Keys{Local: uint32(local), Remote: uint32(remote)}, e
}

// Deregister implements adapter.Device.
func (d *Device) Deregister(r adapter.Region) error {
	return failure("ibv_dereg_mr", C.cshim_rdma_deregister(object(r)))
}

// NewWindow implements adapter.Device.
func (d *Device) NewWindow(z adapter.Zone, own bool) (adapter.Window, error) {
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_window(object(z), C.int(flag[uint8](own)), &o)
	return made[adapter.Window](o, "ibv_alloc_mw", err)
}

// FreeWindow implements adapter.Device.
func (d *Device) FreeWindow(w adapter.Window) error {
	return failure("ibv_dealloc_mw", C.cshim_rdma_free_window(object(w)))
}

// Bind implements adapter.Device.
func (d *Device) Bind(qp adapter.QP, b *adapter.Bind) (uint32, error) {
	d.m.bind = C.struct_cshim_rdma_bind{id: C.uint64_t(b.ID), addr: C.uint64_t(b.Addr),
		n: C.uint64_t(b.N), window: object(b.Window), region: object(b.Region),
		access: C.int(b.Access), fence: flag[C.uint8_t](b.Fence)}
	var key C.uint32_t
	err := C.cshim_rdma_bind(object(qp), &d.m.bind, &key)
	return uint32(key), failure("ibv_bind_mw", err)
}

// NewCompletions implements adapter.Device.
func (d *Device) NewCompletions(entries int) (adapter.Completions, error) {
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_completions(d.c, C.int(entries), &o)
	return made[adapter.Completions](o, "ibv_create_cq", err)
}

// FreeCompletions implements adapter.Device.
func (d *Device) FreeCompletions(c adapter.Completions) error {
	return failure("ibv_destroy_cq", C.cshim_rdma_free_completions(object(c)))
}

// Poll implements adapter.Device.
func (d *Device) Poll(q adapter.Completions, out []adapter.Completion) int {
	n := int(C.cshim_rdma_poll(object(q), C.int(min(len(out), most)), &d.m.found[0]))
	for i := range max(n, 0) {
		c := &d.m.found[i]
		out[i] = adapter.Completion{ID: uint64(c.id), QPN: uint32(c.qpn), Status: uint8(c.status),
			N: uint32(c.n), HasData: c.has_data != 0, ByWrite: c.by_write != 0,
			Immediate: uint32(c.immediate), Invalidated: c.invalidated != 0,
			Perhaps: c.perhaps != 0, Key: uint32(c.key)}
	}
	return max(n, 0)
}

// NewQueue implements adapter.Device.
func (d *Device) NewQueue(z adapter.Zone, receives, segments int) (adapter.Queue, error) {
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_queue(object(z), C.int(receives), C.int(segments), &o)
	return made[adapter.Queue](o, "ibv_create_srq", err)
}

// ResizeQueue implements adapter.Device.
func (d *Device) ResizeQueue(q adapter.Queue, receives int) error {
	return failure("ibv_modify_srq", C.cshim_rdma_resize_queue(object(q), C.int(receives)))
}

// FreeQueue implements adapter.Device.
func (d *Device) FreeQueue(q adapter.Queue) error {
	return failure("ibv_destroy_srq", C.cshim_rdma_free_queue(object(q)))
}

// LimitQueue implements adapter.Device.
func (d *Device) LimitQueue(q adapter.Queue, receives int) error {
	return failure("ibv_modify_srq", C.cshim_rdma_limit_queue(object(q), C.int(receives)))
}

func flag[T ~uint8](b bool) T {
	if b {
		return 1
	}
	return 0
}

// NewQP implements adapter.Device.
func (d *Device) NewQP(a adapter.QPAttr) (adapter.QP, uint32, error) {
	q := C.struct_cshim_rdma_qp{zone: object(a.Zone), requests: object(a.Requests),
		receives: object(a.Receives), queue: object(a.Queue),
		datagrams: C.int(flag[uint8](a.Datagrams)), max_requests: C.int(a.MaxRequests),
		max_receives: C.int(a.MaxReceives), request_segments: C.int(a.RequestSegments),
		receive_segments: C.int(a.ReceiveSegments), max_inline: C.int(d.info.MaxInline)}
	var o C.cshim_rdma_object
	err := C.cshim_rdma_new_qp(d.c, &q, C.uint32_t(a.QKey), &o)
	qp, e := made[adapter.QP](o, "ibv_create_qp", err)
	return qp, uint32(q.number), e
}

// FailQP implements adapter.Device. One that the adapter refuses to move has failed.
func (d *Device) FailQP(qp adapter.QP) { C.cshim_rdma_fail_qp(object(qp)) }

// FreeQP implements adapter.Device.
func (d *Device) FreeQP(qp adapter.QP) { C.cshim_rdma_free_qp(object(qp)) }

// segments puts segments where C finds them.
func (d *Device) segments(list []adapter.Segment) {
	for i, s := range list {
		d.m.segments[i] = C.struct_cshim_rdma_segment{addr: C.uint64_t(s.Addr), n: C.uint32_t(s.N),
			key: C.uint32_t(s.Key)}
	}
}

// Post implements adapter.Device.
func (d *Device) Post(qp adapter.QP, w *adapter.Work) error {
	if len(w.Segments) > len(d.m.segments) {
		return syscall.EINVAL
	}
	d.segments(w.Segments)
	d.m.work = C.struct_cshim_rdma_work{id: C.uint64_t(w.ID), op: C.uint8_t(w.Op),
		remote_addr: C.uint64_t(w.RemoteAddr), remote_key: C.uint32_t(w.RemoteKey),
		operand: C.uint64_t(w.Operand), compare: C.uint64_t(w.Compare), path: object(w.Path),
		immediate: C.uint32_t(w.Immediate), qpn: C.uint32_t(w.QPN), qkey: C.uint32_t(w.QKey),
		fence: flag[C.uint8_t](w.Fence), solicited: flag[C.uint8_t](w.Solicited),
		inlined: flag[C.uint8_t](w.Inline), segments: C.int(len(w.Segments))}
	return failure("ibv_post_send", C.cshim_rdma_post(object(qp), &d.m.work, &d.m.segments[0]))
}

// Receive implements adapter.Device.
func (d *Device) Receive(qp adapter.QP, q adapter.Queue, id uint64,
	segments []adapter.Segment) error {
	if len(segments) > len(d.m.segments) {
		return syscall.EINVAL
	}
	d.segments(segments)
	return failure("ibv_post_recv", C.cshim_rdma_receive(object(qp), object(q), C.uint64_t(id),
		&d.m.segments[0], C.int(len(segments))))
}

// NewPath implements adapter.Device.
func (d *Device) NewPath(z adapter.Zone, gid [16]byte, lid uint16) (adapter.Path, error) {
	var o C.cshim_rdma_object
	var g [16]C.uint8_t
	for i, b := range gid {
		g[i] = C.uint8_t(b)
	}
	err := C.cshim_rdma_new_path(d.c, object(z), &g[0], C.uint16_t(lid), &o)
	return made[adapter.Path](o, "ibv_create_ah", err)
}

// FreePath implements adapter.Device.
func (d *Device) FreePath(p adapter.Path) { C.cshim_rdma_free_path(object(p)) }

// Files implements adapter.Device.
func (d *Device) Files() []int { return d.files }

// Arm implements adapter.Device.
func (d *Device) Arm(c adapter.Completions, solicited bool) {
	C.cshim_rdma_arm(object(c), C.int(flag[uint8](solicited)))
}

// Quiet implements adapter.Device.
func (d *Device) Quiet(told func(adapter.Completions)) {
	for c := C.cshim_rdma_told(d.c); c != 0; c = C.cshim_rdma_told(d.c) {
		told(adapter.Completions(c))
	}
}

// Async implements adapter.Device.
func (d *Device) Async() adapter.Async {
	var qpn C.uint32_t
	var queue C.cshim_rdma_object
	kind := C.cshim_rdma_async(d.c, &qpn, &queue)
	return adapter.Async{Kind: adapter.AsyncKind(kind), QPN: uint32(qpn),
		Queue: adapter.Queue(queue)}
}

// Close implements adapter.Device.
func (d *Device) Close() {
	C.cshim_rdma_close(d.c)
	C.free(unsafe.Pointer(d.m))
	d.c, d.m = nil, nil
}

var _ adapter.Device = (*Device)(nil)
