// Package evd is calls of EVDs and CNOs that C does alone (cshim/dat/evd), for Go tests.
package evd

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #cgo nocallback evd_post_software
// #cgo nocallback evd_enable
// #cgo nocallback evd_set_waitable
// #cgo nocallback evd_set_size
// #cgo noescape evd_take
// #cgo nocallback evd_take
// #cgo nocallback evd_wait_begins
// #cgo noescape evd_wait_ends
// #cgo nocallback evd_wait_ends
// #cgo noescape cno_take
// #cgo nocallback cno_take
// #include "dat/evd/evd.h"
import "C"

import (
	"unsafe"

	_ "lapi/cshim/dat/evd" // its C
)

// PostSoftware is dat_evd_post_se.
func PostSoftware(evd uint64, event uint32, pointer uint64) uint32 {
	return uint32(C.evd_post_software(C.uint64_t(evd), C.uint32_t(event), C.uint64_t(pointer)))
}

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

// TakeEVD takes the EVD that has triggered it first.
func TakeEVD(cno uint64) (evd uint64, result uint32) {
	var fired C.uint64_t
	result = uint32(C.cno_take(C.uint64_t(cno), &fired))
	return uint64(fired), result
}

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
