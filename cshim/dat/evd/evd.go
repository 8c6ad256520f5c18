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
// #cgo nocallback evd_post_software
// #cgo nocallback evd_wake
// #cgo nocallback evd_set
// #cgo nocallback evd_set_cno
// #cgo nocallback evd_enable
// #cgo nocallback evd_set_waitable
// #cgo nocallback evd_set_size
// #cgo noescape evd_take
// #cgo nocallback evd_take
// #cgo nocallback evd_wait_begins
// #cgo noescape evd_wait_ends
// #cgo nocallback evd_wait_ends
// #cgo nocallback evd_wait_cancelled
// #cgo nocallback cno_open
// #cgo nocallback cno_close
// #cgo nocallback cno_set_agent
// #cgo noescape cno_take
// #cgo nocallback cno_take
// #cgo nocallback cno_waits
// #cgo noescape cno_next_agent
// #cgo nocallback cno_next_agent
// #cgo nocallback cno_agents
// #include "dat/evd/evd.h"
import "C"

import "unsafe"

// EventSize is that of an event.
const EventSize = int(C.sizeof_evd_event)

// AddArea tells C of an area of handles.
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

// PostSoftware is dat_evd_post_se.
func PostSoftware(evd uint64, event uint32, pointer uint64) uint32 {
	return uint32(C.evd_post_software(C.uint64_t(evd), C.uint32_t(event), C.uint64_t(pointer)))
}

// Wake has threads that wait see silent events.
func Wake(evd uint64) { C.evd_wake(C.uint64_t(evd)) }

// Set sets a flag of core's.
func Set(evd uint64, flag uint32, on bool) {
	C.evd_set(C.uint64_t(evd), C.uint32_t(flag), number(on))
}

// SetCNO sets its CNO; 0: none.
func SetCNO(evd, cno uint64) { C.evd_set_cno(C.uint64_t(evd), C.uint64_t(cno)) }

// Enable is dat_evd_enable and dat_evd_disable.
func Enable(evd uint64, on bool) { C.evd_enable(C.uint64_t(evd), number(on)) }

// SetWaitable is dat_evd_clear_unwaitable and dat_evd_set_unwaitable.
func SetWaitable(evd uint64, on bool) { C.evd_set_waitable(C.uint64_t(evd), number(on)) }

// SetSize is dat_evd_resize.
func SetSize(evd uint64, size int32) uint32 {
	return uint32(C.evd_set_size(C.uint64_t(evd), C.int32_t(size)))
}

// Take takes the oldest event, to event, as dat_evd_dequeue does.
func Take(evd uint64, event unsafe.Pointer) uint32 {
	return uint32(C.evd_take(C.uint64_t(evd), (*C.evd_event)(event)))
}

// WaitBegins begins dat_evd_wait.
func WaitBegins(evd uint64, threshold int32, blocks bool) uint32 {
	return uint32(C.evd_wait_begins(C.uint64_t(evd), C.int32_t(threshold), number(blocks)))
}

// WaitEnds ends it: more is how many events are left.
func WaitEnds(evd uint64, threshold int32, event unsafe.Pointer) (more int32, result uint32) {
	var left C.int32_t
	result = uint32(C.evd_wait_ends(C.uint64_t(evd), C.int32_t(threshold), (*C.evd_event)(event),
		&left))
	return int32(left), result
}

// WaitCancelled ends it without an event.
func WaitCancelled(evd uint64) { C.evd_wait_cancelled(C.uint64_t(evd)) }

// OpenCNO makes a CNO, with an agent and a descriptor; false: there is no memory.
func OpenCNO(cno, function, instance uint64, fd int) bool {
	return C.cno_open(C.uint64_t(cno), C.uint64_t(function), C.uint64_t(instance),
		C.int32_t(fd)) != 0
}

// CloseCNO frees it, and closes its descriptor.
func CloseCNO(cno uint64) { C.cno_close(C.uint64_t(cno)) }

// SetAgent is dat_cno_modify_agent.
func SetAgent(cno, function, instance uint64) {
	C.cno_set_agent(C.uint64_t(cno), C.uint64_t(function), C.uint64_t(instance))
}

// TakeEVD takes the EVD that has triggered it first.
func TakeEVD(cno uint64) (evd uint64, result uint32) {
	var fired C.uint64_t
	result = uint32(C.cno_take(C.uint64_t(cno), &fired))
	return uint64(fired), result
}

// Waits counts a thread that waits for it.
func Waits(cno uint64, on bool) { C.cno_waits(C.uint64_t(cno), number(on)) }

// NextAgent takes an agent that is to be called.
func NextAgent() (function, instance, evd uint64, ok bool) {
	var f, i, e C.uint64_t
	ok = C.cno_next_agent(&f, &i, &e) != 0
	return uint64(f), uint64(i), uint64(e), ok
}

// Agents says whether some are.
func Agents() bool { return C.cno_agents() != 0 }

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
