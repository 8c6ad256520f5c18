//go:build amd64 || arm64 || 386 || arm || ppc64le || riscv64 || s390x

package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handlerRoom is how much of a goroutine's stack a signal handler of the program may use, and how
// much Go code may have below a thread's first entry; the frame of room.
const handlerRoom = 2<<20 + 1<<18

// room grows the goroutine's stack so that handlerRoom bytes are free below its caller. When they
// are it costs a comparison.
func room()

// Prepare makes room on the stack of a thread's goroutine for the program's signal handlers. A
// thread of the program calls it once, with its signals blocked, before it enters the library.
//
// Code called from C runs on a goroutine's stack, a few KiB in the middle of the heap, which stays
// with the thread. A handler that was installed without SA_ONSTACK, as most are, runs on whatever
// stack its thread has at the moment: on this one. So the stack gets room for it, above a guard
// page, beyond which are other objects of the heap. The library is linked with
// gcshrinkstackoff=1: the run-time must not give back a stack with a page in it that cannot be
// written.
func Prepare() {
	room()
	var here int
	page := uintptr(os.Getpagesize())
	// all of it is in the frame that room had
	guard := (uintptr(unsafe.Pointer(&here)) - handlerRoom + page - 1) &^ (page - 1)
	// without it the room is there, but nothing notices its end
	_, _, _ = unix.RawSyscall(unix.SYS_MPROTECT, guard, page, unix.PROT_NONE)
}
