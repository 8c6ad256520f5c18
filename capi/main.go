// Command capi is the Go side of liblapi_r.so, built with -buildmode=c-shared: one golapi_ function
// for each entry point of cshim. They convert arguments, call core and convert the result; there is
// no protocol here.
//
// Every function runs with the context lock of its context held, on the caller's thread, unless
// cshim/context/golapi.h says otherwise. The table below is written under that lock or while only one
// thread can know the context (LAPI_Init, the end of LAPI_Term), and read by holders of the lock.
package main

// #cgo CFLAGS: -I${SRCDIR}/../include -I${SRCDIR}/../cshim
// #include "context/golapi.h"
// #include "start/start.h"
import "C"

import (
	"time"

	"lapi/core/lapi"
	_ "lapi/cshim" // the C entry points
	"lapi/descriptor"
	"lapi/transport"
	"lapi/transport/memory"
)

// contexts holds the context behind each block of cshim, by index; nil: none, or a broken one.
var contexts [C.CSHIM_MAX_CONTEXTS]*lapi.Context

// entered is the context whose lock the caller holds, at the beginning of an entry into it. Into
// a broken context it does not return (broke).
func entered(context C.int) *lapi.Context {
	c := contexts[context]
	inject(false)
	if c == nil || brokenProcess.Load() != nil {
		refuse(context)
	}
	c.Enter()
	return c
}

// golapi_thread prepares a thread of the program's for entries: cshim/start/stacks.c calls it
// with the thread's signals blocked.
//
//export golapi_thread
func golapi_thread() { memory.Prepare() }

func addr(a C.cshim_addr) transport.Addr { return transport.Addr(a) }

// golapi_started runs when all packages are initialised, as any exported function; cshim/start
// waits for that. A sleep starts the run-time's poller, so that its descriptors are there to be
// moved. The start has raised the limits of descriptors, which were soft and hard before.
//
//export golapi_started
func golapi_started(soft, hard C.uint64_t) {
	descriptor.Bracket(func() { C.cshim_descriptors_hold() },
		func() { C.cshim_descriptors_release() })
	time.Sleep(time.Nanosecond)
	C.cshim_descriptors_move_runtime(C.int(descriptor.Least(uint64(soft), uint64(hard))))
}

func main() {}
