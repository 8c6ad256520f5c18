// Package thrown makes one line of a fault that Go's run-time finds in itself, and of a panic that
// nothing recovers. By itself the run-time ends the process with a trace of some screens. Main
// packages import it. With GOTRACEBACK in the environment, and in tests, the trace is there too.
package thrown

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// overrideWrite is the run-time's: what it writes goes there, from the very start of the process.
//
//go:linkname overrideWrite runtime.overrideWrite
var overrideWrite func(fd uintptr, p unsafe.Pointer, n int32) int32 = write

// text is a part of what the run-time writes.
type text struct {
	bytes  [256]byte
	length int
}

// The run-time's lock of print protects these.
var (
	line   text // under way
	detail text // the last line that describes what comes
	out    [1024]byte
	outs   int
	ended  bool // the fault is reported
)

// The owner in a report. A name that is half written by Name is text too.
var (
	command   = "liblapi_r" // the linker's -X names a command
	name      text          // empty: it is command
	withTrace bool
)

func init() {
	_, withTrace = os.LookupEnv("GOTRACEBACK")
	withTrace = withTrace || strings.HasSuffix(os.Args[0], ".test")
}

// Name has reports begin with owner: "LAPI task 3".
func Name(owner string) { name.length = copy(name.bytes[:], owner) }

const (
	closed = ": core's run-time has lost a descriptor: the program has closed all (closefrom, " +
		"close_range, a loop) after LAPI_Init or dat_ia_open; let it do so before (docs/scope.md, " +
		"Closed descriptors)\n"
	memory = ": no memory or thread to be had (RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC: " +
		"ulimit -v, -d, -u): "
	internal  = ": internal error in the run-time: "
	separator = "; "
	please    = " (please report this line: CONTRIBUTING.md, Reports)\n"
	newline   = "\n"
)

// write runs on any stack of the run-time's, in the midst of anything: nothing that it calls may
// allocate or let the stack grow, nor call the race detector.
//
//go:nosplit
//go:norace
func write(fd uintptr, p unsafe.Pointer, n int32) int32 {
	if fd != uintptr(syscall.Stderr) {
		return toFile(fd, p, uintptr(n))
	}
	if withTrace {
		toFile(fd, p, uintptr(n))
	}
	for i := int32(0); i < n; i++ {
		take(*(*byte)(unsafe.Add(p, i)))
	}
	return n
}

//go:nosplit
//go:norace
func toFile(fd uintptr, p unsafe.Pointer, n uintptr) int32 {
	wrote, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(p), n)
	if e != 0 {
		return -int32(e)
	}
	return int32(wrote)
}

// say adds to the line, which has room for all parts of one.
//
//go:nosplit
//go:norace
func say(s string) { outs += copy(out[outs:], s) }

//go:nosplit
//go:norace
func flush() {
	toFile(uintptr(syscall.Stderr), unsafe.Pointer(&out[0]), uintptr(outs))
	outs = 0
}

//go:nosplit
//go:norace
func (t *text) string() string { return unsafe.String(&t.bytes[0], t.length) }

//go:nosplit
//go:norace
func take(b byte) {
	switch {
	case ended:
	case b != '\n':
		if line.length < len(line.bytes) {
			line.bytes[line.length] = b
			line.length++
		}
	case line.length == 0:
	case starts("runtime: "):
		detail = line
		line.length = 0
	default:
		ended = starts("fatal error: ") || starts("fatal: ") || starts("panic: ") || starts("SIG")
		if ended {
			report()
		} else if !withTrace {
			say(line.string()) // a warning
			say(newline)
			flush()
		}
		line.length = 0
	}
}

//go:nosplit
//go:norace
func starts(with string) bool { return holdsAt(0, with) }

//go:nosplit
//go:norace
func holdsAt(at int, what string) bool {
	return at+len(what) <= line.length && line.string()[at:at+len(what)] == what
}

//go:nosplit
//go:norace
func holds(what string) bool {
	for at := 0; at < line.length; at++ {
		if holdsAt(at, what) {
			return true
		}
	}
	return false
}

// report writes the line. Go's sources have the texts that it looks for.
//
//go:nosplit
//go:norace
func report() {
	if name.length > 0 {
		say(name.string())
	} else {
		say(command)
	}
	end := newline
	switch {
	case holds("netpoll"):
		say(closed)
		flush()
		return
	case holds("out of memory") || holds("allocate memory") || holds("reserve") ||
		holds("newosproc"):
		say(memory)
	default:
		say(internal)
		end = please
	}
	say(line.string())
	if detail.length > 0 {
		say(separator)
		say(detail.string())
	}
	say(end)
	flush()
}
