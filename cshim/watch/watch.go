// Package watch reports changes of memory. The C part (watch.h) says how, and from which threads
// its functions may be called.
package watch

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -lpthread
// #cgo noescape cshim_watch_look
// #cgo nocallback cshim_watch_look
// #include "watch/watch.h"
import "C"

import (
	"fmt"
	"syscall"

	"lapi/descriptor"
)

// Kind says what has happened to memory.
type Kind uint8

// Kinds of events.
const (
	Gone  = Kind(C.CSHIM_WATCH_GONE)
	Taken = Kind(C.CSHIM_WATCH_TAKEN)
	Moved = Kind(C.CSHIM_WATCH_MOVED)
)

// Event is a change of the memory from Lo to Hi, which, if it was moved, is at To now.
type Event struct {
	Kind       Kind
	Lo, Hi, To uint64
}

// Watch is a userfaultfd with the thread that reads it.
type Watch struct {
	c      *C.cshim_watch
	events [64]C.cshim_watch_event
}

// Open makes one. It takes no privilege.
func Open() (*Watch, error) {
	var code C.int
	var step *C.char
	var c *C.cshim_watch
	descriptor.AboveStandard(func() { c = C.cshim_watch_open(&code, &step) })
	if c == nil {
		return nil, fmt.Errorf("%s: %w", C.GoString(step), syscall.Errno(code))
	}
	return &Watch{c: c}, nil
}

// Look says whether no change is under way that was not reported, and whether Take has events.
func (w *Watch) Look() (settled, events bool) {
	found := C.cshim_watch_look(w.c)
	return found&C.CSHIM_WATCH_SETTLED != 0, found&C.CSHIM_WATCH_EVENTS != 0
}

// Take gives f the events that are there, in order. Lost: there were more, so that anything may
// have happened to any memory.
func (w *Watch) Take(f func(Event)) (lost bool) {
	for {
		var some C.int
		n := C.cshim_watch_take(w.c, &w.events[0], C.size_t(len(w.events)), &some)
		lost = lost || some != 0
		for _, e := range w.events[:n] {
			f(Event{Kind(e.kind), uint64(e.lo), uint64(e.hi), uint64(e.to)})
		}
		if int(n) < len(w.events) {
			return lost
		}
	}
}

func failed(code C.int) error {
	if code == 0 {
		return nil
	}
	return syscall.Errno(code)
}

// Add has the mappings from lo to hi watched.
func (w *Watch) Add(lo, hi uint64) error {
	return failed(C.cshim_watch_add(w.c, C.uint64_t(lo), C.uint64_t(hi)))
}

// Remove ends that.
func (w *Watch) Remove(lo, hi uint64) error {
	return failed(C.cshim_watch_remove(w.c, C.uint64_t(lo), C.uint64_t(hi)))
}

// Wait sleeps until there are events, and returns false after End.
func (w *Watch) Wait() bool { return C.cshim_watch_wait(w.c) != 0 }

// End ends Wait.
func (w *Watch) End() { C.cshim_watch_end(w.c) }

// Close ends the thread. Nothing may be watched.
func (w *Watch) Close() { C.cshim_watch_close(w.c) }
