package main

// #include "context/golapi.h"
// #include "start/start.h"
import "C"

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/core/lapi"
	"lapi/core/lapi/codes"
	"lapi/core/progress"
	"lapi/descriptor"
	"lapi/invariant"
	"lapi/transport/layout"
)

// A panic in core must not reach the program. Each function that C calls begins with a deferred
// guard: broke, or one of its kind, of a context; datBroke of uDAPL. A context in which an
// invariant has broken is not entered again: its error handler is called with LAPI_ERR_UNKNOWN, and
// then C ends it (cshim/handlers/errors.c). uDAPL's calls return DAT_INTERNAL_ERROR from then on,
// each adapter gets an asynchronous event, and waits end.

// broken is the rest of a context that is not entered again. Guarded by the context's lock.
type broken struct {
	is, reported bool
	robbed       bool // its descriptors are not its own any more
	line         string
	context      *lapi.Context
}

var (
	brokenContexts [C.CSHIM_MAX_CONTEXTS]broken
	// errorHandlers are those that LAPI_Init was given.
	errorHandlers [C.CSHIM_MAX_CONTEXTS]C.cshim_addr
	// brokenProcess is the line of a goroutine that has panicked: all contexts depend on it.
	brokenProcess atomic.Pointer[string]
)

// brokenSleep is for how long a thread sleeps, while the end of what is broken is under way (ns).
const brokenSleep = 10_000_000

// longestSleep is for how long a thread sleeps at most (ns): it sees then whether the program has
// closed the descriptors that it sleeps at.
const longestSleep = 2_000_000_000

// atMost is a time to sleep, negative for no end, within longestSleep.
func atMost(timeout int64) int64 {
	if timeout < 0 {
		return longestSleep
	}
	return min(timeout, longestSleep)
}

func init() { invariant.Report(func(line string) { brokenProcess.Store(&line) }) }

// notEntered is the panic of an entry into a broken context or broken uDAPL.
type notEntered struct{}

// broke is deferred by each function that C calls. call names it in the message; rc is where its
// return code goes, or nil: a function whose result is no code but says whether there is something
// returns 0 then. context is -1 where there is none.
func broke(context C.int, call string, rc *C.int) {
	if r := recover(); r != nil {
		if rc != nil {
			*rc = C.int(codes.ErrUnknown)
		}
		brokeBy(context, call, r)
	}
}

// brokeDispatch is broke of a progress call: the error waits to be reported.
func brokeDispatch(context C.int, flags *C.uint32_t) {
	if r := recover(); r != nil {
		brokeBy(context, "golapi_dispatch", r)
		*flags = 0
		if !brokenContexts[context].reported {
			*flags = layout.ProgressError
		}
	}
}

// brokeArm is broke for a thread that is about to sleep: it does not sleep before the error is
// reported.
func brokeArm(context C.int, timeout *C.int64_t, work *C.int) {
	if r := recover(); r != nil {
		brokeBy(context, "golapi_arm", r)
		*timeout, *work = brokenSleep, 1
		if brokenContexts[context].reported {
			*work = 0
		}
	}
}

// brokeInit is broke of LAPI_Init, which has made no context then.
func brokeInit(context C.int, rc *C.int) {
	if r := recover(); r != nil {
		*rc = C.int(codes.ErrUnknown)
		freeInstance(context)
		brokeBy(-1, "golapi_init", r)
	}
}

// brokeBy handles a panic that a guard has recovered.
func brokeBy(context C.int, call string, r any) {
	if _, again := r.(notEntered); again {
		return
	}
	line := invariant.Line(call, r)
	_, robbed := r.(invariant.Cause)
	if robbed {
		repairPoller()
	}
	if context < 0 || contexts[context] == nil {
		say("LAPI: " + line)
		return
	}
	breakContext(context, line)
	brokenContexts[context].robbed = robbed
}

// repairPoller gives the run-time's poller new descriptors where the program has closed them.
func repairPoller() {
	if C.cshim_descriptors_runtime_works() != 0 {
		return
	}
	poller, err := descriptor.Own(descriptor.Epoll())
	if err != nil {
		return
	}
	event, err := descriptor.Own(descriptor.Event())
	if err != nil {
		unix.Close(poller)
		return
	}
	C.cshim_descriptors_repair_runtime(C.int(poller), C.int(event))
}

// breakContext ends the use of a context, whose lock the caller holds.
func breakContext(context C.int, line string) {
	shared := (*layout.Context)(unsafe.Pointer(C.cshim_context_at(context)))
	line = fmt.Sprintf("task %d: %s", shared.Task, line)
	brokenContexts[context] = broken{is: true, line: line, context: contexts[context]}
	contexts[context] = nil
	if errorHandlers[context] != 0 { // else the line is that of the task's end
		say("LAPI " + line)
	}
	var due uint32
	block := progress.NewBlock(&shared.Progress, &due)
	block.Changed()
	block.Publish()
	block.Kick()
}

// refuse ends an entry into a context that is broken.
func refuse(context C.int) {
	if contexts[context] != nil {
		breakContext(context, *brokenProcess.Load())
	}
	panic(notEntered{})
}

// nextBroken is golapi_next_error of a context that is broken.
func nextBroken(context C.int, e *C.cshim_error) C.int {
	b := &brokenContexts[context]
	if b.reported {
		return 0
	}
	b.reported = true
	shared := (*layout.Context)(unsafe.Pointer(C.cshim_context_at(context)))
	e.handler, e.code, e._type = errorHandlers[context], C.int32_t(codes.ErrUnknown),
		C.int32_t(codes.IntErr)
	e.task, e.src = C.int32_t(shared.Task), C.int32_t(shared.Task)
	e.ends, e.patience_ms, e.failed = 1, 0, 0
	_, text, _ := strings.Cut(b.line, ": ") // C says which task
	setText(e, text)
	return 1
}

// datEntered begins each entry into uDAPL that can fail.
func datEntered() {
	inject(true)
	if udapl.broken || brokenProcess.Load() != nil {
		refuseDat()
	}
}

func refuseDat() {
	if !udapl.broken {
		breakDat(*brokenProcess.Load())
	}
	panic(notEntered{})
}

// datBroke is deferred by each function that C calls for uDAPL, under the block's lock.
func datBroke(call string, number C.int) {
	r := recover()
	if r == nil {
		return
	}
	if _, again := r.(notEntered); again {
		return
	}
	if number != 0 {
		call = fmt.Sprintf("%s %d", call, number)
	}
	if _, robbed := r.(invariant.Cause); robbed {
		repairPoller()
	}
	if line := invariant.Line(call, r); !udapl.broken {
		breakDat(line)
	}
}

// breakDat ends the use of uDAPL.
func breakDat(line string) {
	say("uDAPL: " + line)
	udapl.broken = true
	if udapl.lane != nil {
		udapl.lane.On = 0
	}
	udapl.words.Due = 1 // C asks for agents, and so learns of it
	func() {
		defer func() { _ = recover() }() // as far as possible
		udapl.lib.Break()
		udapl.lib.TellLane()
	}()
	udapl.block.Changed()
	udapl.block.Publish()
	udapl.block.Kick()
}
