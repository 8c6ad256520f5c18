package main

// #include <stdlib.h>
// #include <lapi.h>
// #include "context/golapi.h"
// #include "handlers/called.h"
// #include "lapi/process.h"
import "C"

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"unsafe"

	"lapi/core/job"
	"lapi/core/job/pmi"
	"lapi/core/lapi"
	"lapi/core/lapi/codes"
	"lapi/core/wireup"
	adapters "lapi/cshim/ibv"
	"lapi/cshim/munge"
	"lapi/cshim/pmix"
	"lapi/invariant/thrown"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

func init() {
	job.OpenPMIx = func() (pmi.Launcher, error) {
		c, err := pmix.Open()
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	job.Munge = munge.New()
	job.EndsAnswered = func() { C.cshim_exit_notice_wait() }
	job.EndAnswered = func() { C.cshim_exit_notice_answered() }
	job.MPIIsUsed = func() bool { return C.cshim_mpi_is_used() != 0 }
}

// instances says which context has which instance number; LAPI_Init may run in several threads at
// once.
var instances struct {
	sync.Mutex
	of [C.CSHIM_MAX_CONTEXTS]int // by context; 0: none
}

// takeInstance reserves an instance number for context: wanted, or the lowest free one if that is
// 0.
func takeInstance(context C.int, wanted uint32) (int, bool) {
	instances.Lock()
	defer instances.Unlock()
	var used [lapi.MaxContexts + 1]bool
	for _, n := range instances.of {
		used[n] = true
	}
	n := int(wanted)
	if wanted > lapi.MaxContexts {
		return 0, false
	}
	for n == 0 || wanted == 0 && n <= lapi.MaxContexts && used[n] {
		n++
	}
	if n > lapi.MaxContexts || used[n] {
		return 0, false
	}
	instances.of[context] = n
	return n, true
}

func freeInstance(context C.int) {
	instances.Lock()
	instances.of[context] = 0
	instances.Unlock()
}

//export golapi_init
func golapi_init(context C.int, infoAddr C.cshim_addr) (rc C.int) {
	defer brokeInit(context, &rc)
	info := (*C.lapi_info_t)(pointer(infoAddr))
	flags := uint32(info.protocol)
	if info.info6 != 0 {
		return C.int(codes.ErrInfoNonzero)
	}
	if flags&C.LAPI_PSS_GPFS != 0 && os.Geteuid() != 0 {
		return C.int(codes.ErrPSSNonRoot)
	}
	instance, ok := takeInstance(context, uint32(info.instance_no))
	if !ok {
		return C.int(codes.ErrAllHndlInUse)
	}
	dgsps() // LAPI_BYTE can be sent, and named by header handlers, from now on
	c, code := lapi.New(&lapi.Options{
		Shared:     (*layout.Context)(unsafe.Pointer(C.cshim_context_at(context))),
		Host:       host{context},
		Getenv:     getenv,
		Own:        variable,
		Notices:    badSettings,
		Instance:   instance,
		Commits:    true,
		ErrHandler: transport.Addr(uintptr(unsafe.Pointer(info.err_hndlr))),
		UDP:        userAddresses(context, info.add_info, instance),
		Persistent: flags&C.LAPI_PSS_GPFS != 0,
		Adapter:    adapterName(info, flags),
		Polling:    flags&C.LAPI_INTERRUPT_OFF != 0,
		Hooks:      wireup.Hooks{OpenPort: openPort, ListPorts: listPorts},
	})
	launcher, asked := job.LauncherSocket(getenv)
	C.cshim_exit_launcher_set(C.int(launcher), C.bool(asked), C.bool(code != codes.Success))
	if code != codes.Success {
		freeInstance(context)
		return C.int(code)
	}
	debugSignal()
	info.protocol = C.UDP_DEV
	errorHandlers[context] = C.cshim_addr(uintptr(unsafe.Pointer(info.err_hndlr)))
	contexts[context], brokenContexts[context] = c, broken{}
	shared := (*layout.Context)(unsafe.Pointer(C.cshim_context_at(context)))
	thrown.Name(fmt.Sprintf("LAPI task %d", shared.Task))
	return C.int(codes.Success)
}

// openPort opens an RDMA adapter, by libibverbs, which is opened with the first.
func openPort(device string, port int) (ibv.Device, error) {
	a, err := adapters.Open(adapters.Choice{Name: device, Port: port, GIDIndex: -1})
	if err != nil { // a nil *Device is no nil Device
		return nil, err
	}
	return a, nil
}

func listPorts() (all []job.Port, err error) {
	found, err := adapters.List()
	for _, p := range found {
		all = append(all, job.Port{Device: p.Name, Number: p.Number})
	}
	return all, err
}

// adapterName is the adapter that the persistent subsystem asks for; for other callers adapter_name
// is ignored.
func adapterName(info *C.lapi_info_t, flags uint32) string {
	if flags&C.LAPI_PSS_GPFS == 0 {
		return ""
	}
	return C.GoString((*C.char)(info.adapter_name)) // "" for NULL
}

// pointer is the C object at a; the caller of LAPI_Init vouches for it.
func pointer(a C.cshim_addr) unsafe.Pointer {
	p := uintptr(a)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// userAddresses gives core the user's handler or list for a job started by hand (guide, Chapter
// 16); nil if there is neither. A handler wins over a list, and a form that knows IPv6 over a form
// that does not.
func userAddresses(context C.int, add *C.lapi_extend_t, instance int) wireup.Addresses {
	switch {
	case add == nil:
		return nil
	case add.udp_ext_hndlr != nil:
		return askHandler[C.lapi_udp_storage](context, uintptr(unsafe.Pointer(add.udp_ext_hndlr)),
			instance)
	case add.udp_hndlr != nil:
		return askHandler[C.lapi_udp_t](context, uintptr(unsafe.Pointer(add.udp_hndlr)), instance)
	case add.add_udp_ext_addrs != nil:
		return readList(unsafe.Pointer(add.add_udp_ext_addrs), true)
	case add.add_udp_addrs != nil:
		return readList(unsafe.Pointer(add.add_udp_addrs), false)
	}
	return nil
}

// udpEntry is one entry of a list in C: lapi_udp_t or lapi_udp_storage.
type udpEntry interface {
	C.lapi_udp_t | C.lapi_udp_storage
}

func readList(list unsafe.Pointer, withFamily bool) wireup.Addresses {
	return func(_ netip.AddrPort, _, total, _ int) []netip.AddrPort {
		addrs := addressesAt(transport.Addr(uintptr(list)), total, withFamily)
		if addrs == nil { // no address is valid: core reports which is missing
			return make([]netip.AddrPort, total)
		}
		return addrs
	}
}

// addressesAt reads n entries of a program's list at a: lapi_udp_storage if withFamily, else
// lapi_udp_t. Nil: the memory cannot be read.
func addressesAt(a transport.Addr, n int, withFamily bool) []netip.AddrPort {
	if withFamily {
		return listAt[C.lapi_udp_storage](a, n)
	}
	return listAt[C.lapi_udp_t](a, n)
}

func listAt[E udpEntry](a transport.Addr, n int) (addrs []netip.AddrPort) {
	memory.Guard()
	list := make([]E, n)
	size := uintptr(n) * unsafe.Sizeof(list[0])
	into := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), size)
	if memory.CopyOut(into, a) != nil {
		return nil
	}
	return fromC(list)
}

// askHandler calls the user's handler with memory of C: its own address as far as known, and room
// for everyone's.
func askHandler[E udpEntry](context C.int, handler uintptr, instance int) wireup.Addresses {
	return func(local netip.AddrPort, task, total, remote int) []netip.AddrPort {
		var e E
		list := (*E)(C.calloc(C.size_t(total+1), C.size_t(unsafe.Sizeof(e))))
		question := (*C.lapi_udpinfo_t)(C.calloc(1, C.size_t(unsafe.Sizeof(C.lapi_udpinfo_t{}))))
		defer C.free(unsafe.Pointer(list))
		defer C.free(unsafe.Pointer(question))
		all := unsafe.Slice(list, total+1) // the last entry is the local address
		toC(&all[total], local)
		question.task_id = C.uint(task)
		question.tot_num_tasks, question.num_tasks, question.instance_no = C.uint(total),
			C.uint(remote), C.uint(instance)
		rc := C.cshim_call_udp_handler(C.cshim_addr(handler), context,
			C.cshim_addr(uintptr(unsafe.Pointer(&all[total]))),
			C.cshim_addr(uintptr(unsafe.Pointer(list))),
			C.cshim_addr(uintptr(unsafe.Pointer(question))))
		if rc != 0 {
			return nil
		}
		return fromC(all[:total])
	}
}

func fromC[E udpEntry](list []E) (addrs []netip.AddrPort) {
	for i := range list {
		switch e := any(&list[i]).(type) {
		case *C.lapi_udp_t:
			addrs = append(addrs,
				netip.AddrPortFrom(netip.AddrFrom4(*(*[4]byte)(unsafe.Pointer(&e.ip_addr))),
					fromNetwork(e.port_no)))
		case *C.lapi_udp_storage:
			var a netip.Addr // not valid for a family that is neither
			switch e.af {
			case C.AF_INET, C.AF_UNSPEC:
				a = netip.AddrFrom4(*(*[4]byte)(unsafe.Pointer(&e.ip_addr)))
			case C.AF_INET6:
				a = netip.AddrFrom16(*(*[16]byte)(unsafe.Pointer(&e.ip_addr)))
			}
			addrs = append(addrs, netip.AddrPortFrom(a, fromNetwork(e.port_no)))
		}
	}
	return addrs
}

func toC[E udpEntry](to *E, a netip.AddrPort) {
	if !a.IsValid() {
		return
	}
	switch e := any(to).(type) {
	case *C.lapi_udp_t:
		if a.Addr().Is4() {
			*(*[4]byte)(unsafe.Pointer(&e.ip_addr)) = a.Addr().As4()
		}
		e.port_no = toNetwork(a.Port())
	case *C.lapi_udp_storage:
		e.af = C.AF_INET
		if a.Addr().Is4() {
			*(*[4]byte)(unsafe.Pointer(&e.ip_addr)) = a.Addr().As4()
		} else {
			e.af = C.AF_INET6
			*(*[16]byte)(unsafe.Pointer(&e.ip_addr)) = a.Addr().As16()
		}
		e.port_no = toNetwork(a.Port())
	}
}

// Ports are in network byte order in C.
func fromNetwork(p C.in_port_t) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&p))
	return uint16(b[0])<<8 | uint16(b[1])
}

func toNetwork(p uint16) (n C.in_port_t) {
	*(*[2]byte)(unsafe.Pointer(&n)) = [2]byte{byte(p >> 8), byte(p)}
	return n
}
