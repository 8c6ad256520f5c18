// Package rc is C: connections of the node engine, and shared receive queues (rc.h, which says what
// each function does). Its Go functions are what core/dat calls, one call out of Go each.
//
// All of them need the lock of uDAPL's block.
package rc

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #cgo noescape rc_open
// #cgo nocallback rc_open
// #cgo nocallback rc_close
// #cgo noescape rc_add_receive
// #cgo nocallback rc_add_receive
// #cgo nocallback rc_cut
// #cgo nocallback rc_open_shared
// #cgo nocallback rc_close_shared
// #cgo noescape rc_add_shared
// #cgo nocallback rc_add_shared
// #cgo noescape rc_take_shared
// #cgo nocallback rc_take_shared
// #cgo noescape rc_message
// #include <stdlib.h>
// #include "dat/rc/rc.h"
import "C"

import (
	"unsafe"

	"lapi/transport/layout"
)

// Open opens a connection; nil: there is no memory.
func Open(c *layout.DatConfig) *layout.DatEnd {
	return (*layout.DatEnd)(unsafe.Pointer(C.rc_open((*C.dat_end_config)(unsafe.Pointer(c)))))
}

func end(e *layout.DatEnd) *C.dat_end { return (*C.dat_end)(unsafe.Pointer(e)) }

// Close frees a connection that is over and was flushed.
func Close(e *layout.DatEnd) { C.rc_close(end(e)) }

// AddReceive adds a receive of these segments; false: there is no memory.
func AddReceive(e *layout.DatEnd, r layout.DatReceive, segments []layout.DatSegment) bool {
	if !keep(&r, segments) {
		return false
	}
	if C.rc_add_receive(end(e), (*C.dat_receive)(unsafe.Pointer(&r))) == 0 {
		release(&r)
		return false
	}
	return true
}

// keep gives a receive its segments, in memory of C's if there are several.
func keep(r *layout.DatReceive, segments []layout.DatSegment) bool {
	r.Local.Segments, r.Local.N = uint32(len(segments)), 0
	for _, s := range segments {
		r.Local.N += min(s.N, ^uint32(0)-r.Local.N)
	}
	if len(segments) == 0 {
		return true
	}
	r.Local.First = segments[0]
	if len(segments) == 1 {
		return true
	}
	p := C.malloc(C.size_t(uintptr(len(segments)) * unsafe.Sizeof(segments[0])))
	copy(unsafe.Slice((*layout.DatSegment)(p), len(segments)), segments)
	r.Local.More = uint64(uintptr(p))
	return true
}

func pointer(address uint64) unsafe.Pointer {
	p := uintptr(address)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

func release(r *layout.DatReceive) {
	C.free(pointer(r.Local.More))
	r.Local.More = 0
}

// Bind posts a bind, which core knows by number; false: there is no memory.
func Bind(e *layout.DatEnd, number uint64, completion uint32) bool {
	return C.rc_bind(end(e), C.uint64_t(number), C.uint32_t(completion)) != 0
}

// Disconnect ends a connection, gracefully when no request is left.
func Disconnect(e *layout.DatEnd, graceful bool) { C.rc_disconnect(end(e), number(graceful)) }

// Cut ends one whose peer is gone: how is one of layout's RcBy.
func Cut(e *layout.DatEnd, how uint32) { C.rc_cut(end(e), C.uint32_t(how)) }

// Flush completes all posted requests and receives.
func Flush(e *layout.DatEnd) { C.rc_flush(end(e)) }

// Message gives it a message that core has found.
func Message(e *layout.DatEnd, kind uint32, header, data []byte) {
	C.rc_message(end(e), C.uint32_t(kind), unsafe.Pointer(unsafe.SliceData(header)),
		C.uint64_t(len(header)), unsafe.Pointer(unsafe.SliceData(data)), C.uint64_t(len(data)))
}

// OpenShared makes a shared receive queue, whose receives the queue at device has unless that is 0;
// nil: there is no memory.
func OpenShared(handle, zone uint64, most, segments int32, device uint64) *layout.DatSrq {
	return (*layout.DatSrq)(unsafe.Pointer(C.rc_open_shared(C.uint64_t(handle), C.uint64_t(zone),
		C.uint32_t(most), C.uint32_t(segments), C.uint64_t(device))))
}

func shared(s *layout.DatSrq) *C.dat_srq { return (*C.dat_srq)(unsafe.Pointer(s)) }

// CloseShared frees it, and everything posted.
func CloseShared(s *layout.DatSrq) { C.rc_close_shared(shared(s)) }

// AddShared posts a receive; false: there is no memory.
func AddShared(s *layout.DatSrq, r layout.DatReceive, segments []layout.DatSegment) bool {
	if !keep(&r, segments) {
		return false
	}
	if C.rc_add_shared(shared(s), (*C.dat_receive)(unsafe.Pointer(&r))) == 0 {
		release(&r)
		return false
	}
	return true
}

// TakeShared takes the oldest receive out, and its segments; false: there is none.
func TakeShared(s *layout.DatSrq) (r layout.DatReceive, segments []layout.DatSegment, ok bool) {
	if C.rc_take_shared(shared(s), (*C.dat_receive)(unsafe.Pointer(&r))) == 0 {
		return r, nil, false
	}
	if r.Local.More != 0 {
		segments = append(segments,
			unsafe.Slice((*layout.DatSegment)(pointer(r.Local.More)), r.Local.Segments)...)
		release(&r)
	} else if r.Local.Segments > 0 {
		segments = append(segments, r.Local.First)
	}
	return r, segments, true
}

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
