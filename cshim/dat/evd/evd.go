// Package evd is C: the event queues of uDAPL and the CNOs that they trigger (evd.h, which says what
// each function does). Its Go functions are what core/dat and capi call, one call out of Go each.
//
// All of them need the lock of uDAPL's block. Objects are named by their handles.
package evd

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo nocallback handle_add_area
// #cgo nocallback evd_open
// #cgo nocallback evd_set_async
// #cgo nocallback evd_close
// #cgo noescape evd_post
// #cgo nocallback evd_post
// #cgo nocallback evd_wake
// #cgo nocallback evd_set
// #cgo nocallback evd_set_cno
// #cgo nocallback cno_open
// #cgo nocallback cno_close
// #cgo nocallback cno_agents
// #include "dat/evd/evd.h"
import "C"

import "unsafe"

// EventSize is that of an event.
const EventSize = int(C.sizeof_evd_event)

// AddArea adds an area of handles for C.
func AddArea(area uint64) { C.handle_add_area(C.uint64_t(area)) }

// Open makes the queue of an EVD, which posts its overflows to async; false: there is no memory.
func Open(evd uint64, size int, flags uint32, async uint64) bool {
	return C.evd_open(C.uint64_t(evd), C.uint32_t(size), C.uint32_t(flags), C.uint64_t(async)) != 0
}

// SetAsync changes where it posts them.
func SetAsync(evd, async uint64) { C.evd_set_async(C.uint64_t(evd), C.uint64_t(async)) }

// Close frees it.
func Close(evd uint64) { C.evd_close(C.uint64_t(evd)) }

// Post posts the event of EventSize bytes at event.
func Post(evd uint64, event unsafe.Pointer, silent bool) bool {
	return C.evd_post(C.uint64_t(evd), (*C.evd_event)(event), number(silent)) != 0
}

// Wake has threads that wait see silent events.
func Wake(evd uint64) { C.evd_wake(C.uint64_t(evd)) }

// Set sets a flag of core's.
func Set(evd uint64, flag uint32, on bool) {
	C.evd_set(C.uint64_t(evd), C.uint32_t(flag), number(on))
}

// SetCNO sets its CNO; 0: none.
func SetCNO(evd, cno uint64) { C.evd_set_cno(C.uint64_t(evd), C.uint64_t(cno)) }

// OpenCNO makes a CNO, with an agent and a descriptor; false: there is no memory.
func OpenCNO(cno, function, instance uint64, fd int) bool {
	return C.cno_open(C.uint64_t(cno), C.uint64_t(function), C.uint64_t(instance),
		C.int32_t(fd)) != 0
}

// CloseCNO frees it, and closes its descriptor.
func CloseCNO(cno uint64) { C.cno_close(C.uint64_t(cno)) }

// Agents says whether some are.
func Agents() bool { return C.cno_agents() != 0 }

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
