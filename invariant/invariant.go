// Package invariant keeps a panic of the library away from the program that uses it: the line that
// reports it, and goroutines that do not end the process. It knows no other package.
package invariant

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
)

// report is what Go calls with the line of a panic.
var report atomic.Pointer[func(line string)]

// Report has f called, by the goroutine concerned, for a panic in one that Go has started. Without
// it the process ends.
func Report(f func(line string)) { report.Store(&f) }

// Go runs f in a goroutine.
func Go(f func()) {
	go func() {
		defer func() {
			if r := recover(); r != nil {
				line := Line("a goroutine", r)
				if f := report.Load(); f != nil {
					(*f)(line)
					return
				}
				fmt.Fprintln(os.Stderr, line)
				os.Exit(1)
			}
		}()
		f()
	}()
}

// Cause is the value of a panic that is no defect of the library's: the program has taken from it
// what it needs. It is the line that reports that.
type Cause string

// Line says what has happened in where. Only a deferred function that has recovered r may call it.
func Line(where string, r any) string {
	if cause, ok := r.(Cause); ok {
		return string(cause)
	}
	text := strings.ReplaceAll(fmt.Sprint(r), "\n", " ")
	return fmt.Sprintf("internal error in %s at %s: %s (please report this line: "+
		"CONTRIBUTING.md, Reports)", where, place(), text)
}

// place is the file and line that has panicked: the first below the run-time's own.
func place() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for seen := false; ; {
		f, more := frames.Next()
		if own := strings.HasPrefix(f.Function, "runtime."); own {
			seen = true
		} else if seen {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
