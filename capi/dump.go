package main

// #include "context/golapi.h"
// #include "progress/dump.h"
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"lapi/core/dump"
)

//export golapi_dump
func golapi_dump(context C.int, text *C.char, size C.size_t) (n C.size_t) {
	defer broke(context, "golapi_dump", nil)
	c := contexts[context]
	if c == nil { // broken
		return 0
	}
	into := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))
	return C.size_t(copy(into, c.Dump(len(into))))
}

//export golapi_dump_print
func golapi_dump_print(text *C.char, size C.size_t) {
	defer broke(-1, "golapi_dump_print", nil)
	answer := string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size)))
	say(strings.TrimSuffix(dump.Own(answer), "\n"))
}

// debugSignal lets the signal that LAPI_DEBUG_SIGNAL names ask for a dump on stderr.
func debugSignal() {
	value, _ := getenv("LAPI_DEBUG_SIGNAL")
	if value == "" {
		return
	}
	number, ok := signalNumber(value)
	switch {
	case !ok:
		say(fmt.Sprintf("LAPI: LAPI_DEBUG_SIGNAL=%q is not used: it must be the name or the number "+
			"of a signal that a program may handle, such as SIGUSR2", value))
	case C.cshim_dump_on_signal(C.int(number)) != 0:
		say(fmt.Sprintf("LAPI: LAPI_DEBUG_SIGNAL=%q is not used: the program handles that signal "+
			"itself", value))
	}
}

// signalNumber reads a name, with SIG or without, or a number. Faults are the library's, and two
// signals cannot be handled.
func signalNumber(value string) (int, bool) {
	n, err := strconv.Atoi(value)
	if err != nil {
		name := strings.TrimPrefix(strings.ToUpper(value), "SIG")
		n = int(unix.SignalNum("SIG" + name))
		if more, ok := strings.CutPrefix(name, "RTMIN+"); ok {
			if k, err := strconv.Atoi(more); err == nil {
				n = int(C.cshim_dump_first_signal()) + k
			}
		}
	}
	switch unix.Signal(n) {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL,
		unix.SIGTRAP, unix.SIGSYS, unix.SIGABRT:
		return 0, false
	}
	return n, n > 0 && n <= 64
}
