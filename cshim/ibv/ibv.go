// Package ibv is RDMA adapters by libibverbs and librdmacm (transport/ibv). The C part (ibv.h) opens
// both libraries when they are needed; the headers of rdma-core are needed to build.
//
//	ibv.go   opens adapters, lists ports
//	device.go, post.go, cm.go  ibv.Device, ibv.Windows, ibv.CM
//	find.go  which adapter a name means
package ibv

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include <infiniband/verbs.h>
// #include "ibv/ibv.h"
import "C"

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"

	"lapi/descriptor"
	"lapi/transport/ibv"
)

const (
	library   = "libibverbs.so.1"
	cmLibrary = "librdmacm.so.1"
)

// Numbers of package ibv that are those of <infiniband/verbs.h>: an index that is not 0 is an error.
var _ = [1]struct{}{}[(ibv.OpWrite-C.IBV_WR_RDMA_WRITE)|
	(ibv.OpWriteImmediate-C.IBV_WR_RDMA_WRITE_WITH_IMM)|(ibv.OpSend-C.IBV_WR_SEND)|
	(ibv.OpRead-C.IBV_WR_RDMA_READ)|(ibv.OpCompareSwap-C.IBV_WR_ATOMIC_CMP_AND_SWP)|
	(ibv.OpFetchAdd-C.IBV_WR_ATOMIC_FETCH_AND_ADD)|(ibv.OpBind-C.IBV_WR_BIND_MW)|
	(ibv.OpSendInvalidate-C.IBV_WR_SEND_WITH_INV)]

var _ = [1]struct{}{}[(ibv.LocalWrite-C.IBV_ACCESS_LOCAL_WRITE)|
	(ibv.RemoteWrite-C.IBV_ACCESS_REMOTE_WRITE)|(ibv.RemoteRead-C.IBV_ACCESS_REMOTE_READ)|
	(ibv.RemoteAtomic-C.IBV_ACCESS_REMOTE_ATOMIC)|(ibv.BindWindows-C.IBV_ACCESS_MW_BIND)]

var _ = [1]struct{}{}[(ibv.LocLenErr-C.IBV_WC_LOC_LEN_ERR)|
	(ibv.LocQPOpErr-C.IBV_WC_LOC_QP_OP_ERR)|(ibv.LocProtErr-C.IBV_WC_LOC_PROT_ERR)|
	(ibv.WRFlushErr-C.IBV_WC_WR_FLUSH_ERR)|(ibv.MWBindErr-C.IBV_WC_MW_BIND_ERR)|
	(ibv.BadRespErr-C.IBV_WC_BAD_RESP_ERR)|(ibv.LocAccessErr-C.IBV_WC_LOC_ACCESS_ERR)|
	(ibv.RemInvReqErr-C.IBV_WC_REM_INV_REQ_ERR)|(ibv.RemAccessErr-C.IBV_WC_REM_ACCESS_ERR)|
	(ibv.RemOpErr-C.IBV_WC_REM_OP_ERR)|(ibv.RetryExcErr-C.IBV_WC_RETRY_EXC_ERR)|
	(ibv.RNRRetryErr-C.IBV_WC_RNR_RETRY_EXC_ERR)|(ibv.FatalErr-C.IBV_WC_FATAL_ERR)|
	(ibv.GeneralErr-C.IBV_WC_GENERAL_ERR)]

// Device is an adapter's port; see ibv.Device. Arguments of calls to C lie in C's memory, so that Go
// need not look at what its pointers point to.
type Device struct {
	c     *C.struct_cshim_ibv
	info  ibv.Info
	files []int
	m     *memory
}

type memory struct {
	work     C.struct_cshim_ibv_work
	bind     C.struct_cshim_ibv_bind
	segments [C.CSHIM_IBV_SEGMENTS]C.struct_cshim_ibv_segment
	receives [C.CSHIM_IBV_RECEIVES]C.struct_cshim_ibv_recv
	left     C.uint32_t
	found    [C.CSHIM_IBV_BATCH]C.struct_cshim_ibv_completion
	event    C.struct_cshim_ibv_event
	cmEvent  C.struct_cshim_ibv_cm_event
	terms    C.struct_cshim_ibv_terms
}

// Choice names a port of an adapter.
type Choice struct {
	Name     string // such as "mlx5_0"; empty: the first that has a port which works
	Port     int    // 0: its first that works
	GIDIndex int    // -1: the best, which over Ethernet is one of RoCE v2 with an IPv4 address
}

// Open opens a port. The error says why there is none.
func Open(choice Choice) (*Device, error) { return open(library, choice) }

func open(library string, choice Choice) (*Device, error) {
	file, name := C.CString(library), C.CString(choice.Name)
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(name))
	return opened(func(info *C.struct_cshim_ibv_info, why *C.char) *C.struct_cshim_ibv {
		return C.cshim_ibv_open(file, name, C.int(choice.Port), C.int(choice.GIDIndex), info, why)
	}, "", netip.Addr{})
}

// Look is the address of an int (*)(void) that says whether an adapter that was opened by its address
// has something for its owner.
func Look() uintptr { return uintptr(C.cshim_ibv_look) }

// OpenAddress opens the adapter that owns an address of this machine. The error says why it cannot be.
func OpenAddress(addr netip.Addr) (*Device, error) { return openAddress(library, cmLibrary, addr) }

func openAddress(library, cm string, addr netip.Addr) (*Device, error) {
	v, r := C.CString(library), C.CString(cm)
	defer C.free(unsafe.Pointer(v))
	defer C.free(unsafe.Pointer(r))
	at := address(netip.AddrPortFrom(addr, 0))
	return opened(func(info *C.struct_cshim_ibv_info, why *C.char) *C.struct_cshim_ibv {
		return C.cshim_ibv_open_address(v, r, &at, info, why)
	}, "the RDMA adapter of "+addr.String()+": ", addr)
}

func opened(open func(*C.struct_cshim_ibv_info, *C.char) *C.struct_cshim_ibv, what string,
	addr netip.Addr) (*Device, error) {
	var why [C.CSHIM_IBV_WHY]C.char
	var info C.struct_cshim_ibv_info
	var c *C.struct_cshim_ibv
	descriptor.AboveStandard(func() { c = open(&info, &why[0]) })
	if c == nil {
		return nil, errors.New(what + C.GoString(&why[0]))
	}
	d := &Device{c: c, m: (*memory)(C.calloc(1, C.size_t(unsafe.Sizeof(memory{})))),
		info: infoOf(&info)}
	d.info.Addr = addr
	var files [C.CSHIM_IBV_FILES]C.int
	C.cshim_ibv_files(c, &files[0])
	for _, f := range files {
		if f >= 0 {
			d.files = append(d.files, int(f))
		}
	}
	if d.takesInline() {
		d.info.MaxInline = inline
	}
	return d, nil
}

func infoOf(i *C.struct_cshim_ibv_info) ibv.Info {
	out := ibv.Info{Name: C.GoString(&i.name[0]), Port: uint8(i.port),
		GIDIndex: uint8(i.gid_index), LID: uint16(i.lid), MTU: int(i.mtu), Active: i.active != 0,
		Atomics: i.atomics != 0, Windows: i.windows != 0, OwnWindows: i.own_windows != 0,
		Invalidates: i.invalidates != 0, MaxMessage: uint64(i.max_message),
		MaxRequests: int(i.max_requests), MaxSegments: int(i.max_segments),
		MaxReadSegments: int(i.max_read_segments), MaxCQE: int(i.max_cqe),
		MaxReadsIn: int(i.max_reads_in), MaxReadsOut: int(i.max_reads_out),
		MaxReceives: int(i.max_receives), MaxQPs: int(i.max_qps), MaxCQs: int(i.max_cqs),
		MaxPDs: int(i.max_pds), MaxMRs: int(i.max_mrs), MaxSRQs: int(i.max_srqs)}
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

// takesInline finds out whether the adapter does, by a queue pair that has them.
func (d *Device) takesInline() bool {
	pd, err := d.AllocPD()
	if err != nil {
		return false
	}
	defer func() { _ = d.DeallocPD(pd) }()
	c, err := d.CreateCQ(2)
	if err != nil {
		return false
	}
	defer func() { _ = d.DestroyCQ(c) }()
	qp, _, err := d.CreateQP(ibv.QPAttr{PD: pd, SendCQ: c, RecvCQ: c, MaxRequests: 1,
		MaxReceives: 1, RequestSegments: 1, ReceiveSegments: 1, MaxInline: inline})
	if err != nil {
		return false
	}
	d.DestroyQP(qp)
	return true
}

// Port names a port of an adapter.
type Port struct {
	Name   string // of the adapter
	Number int
}

// portsMost is how many ports List returns at the most.
const portsMost = 64

// List is the ports that work, by adapter. The error says why it is not known.
func List() ([]Port, error) { return list(library) }

func list(library string) (all []Port, err error) {
	file := C.CString(library)
	defer C.free(unsafe.Pointer(file))
	var why [C.CSHIM_IBV_WHY]C.char
	var found [portsMost]C.struct_cshim_ibv_port
	n := C.cshim_ibv_list(file, portsMost, &found[0], &why[0])
	if n < 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	for _, p := range found[:n] {
		all = append(all, Port{C.GoString(&p.name[0]), int(p.port)})
	}
	return all, nil
}

// failure is the error of a function that has returned an errno.
func failure(what string, err C.int) error {
	if err == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(err))
}

func object[T ~uintptr](o T) C.cshim_ibv_object { return C.cshim_ibv_object(o) }

// made is the object that a call has made.
func made[T ~uintptr](o C.cshim_ibv_object, what string, err C.int) (T, error) {
	if err != 0 {
		return 0, failure(what, err)
	}
	return T(o), nil
}

func flag[T ~uint8 | ~uint32 | ~int32](b bool, v T) T {
	if b {
		return v
	}
	return 0
}
