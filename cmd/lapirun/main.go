// Command lapirun starts a LAPI job: N tasks of a program, or of one each, on this machine, wired
// up with each other. It is installed as poe too, and takes the options and MP_ variables of POE
// that make sense for local tasks. See usage.go for the user's view.
//
// # Processes
//
//	lapirun ── watchdog ──┬── task 0     each leads a process group of its own
//	                      ├── task N-1
//	                      └── orphans    of what the tasks have started
//
// The watchdog starts the tasks for lapirun and reports their ends (watchdog.go, reaper.go). It is
// a child subreaper: a process that a task has started becomes the watchdog's child when its parent
// ends, in whatever process group, session or environment. The watchdog kills them all when lapirun
// ends without dismissing it, and when the job has failed. When the watchdog itself is killed, the
// kernel kills the tasks (PR_SET_PDEATHSIG), and lapirun, a subreaper as well, what they have
// started.
//
// A job of several machines is not lapirun's work: it becomes a launcher that starts tasks there
// (placement.go, delegate.go).
//
// With --on, the tasks of a group are started by a command, which may be their parent or, as env
// and ip netns exec do, become them; groups stand for nodes (node.go). Beforehand a process under
// the same command lists what network it has (listing.go).
//
// Nothing is on disk and no port is open: a task inherits one end of a socket pair, of which
// LAPI_LAUNCHER_FD holds the descriptor and the inode; package hub serves the other end. The job
// key travels over it and is in no argument list and no environment.
//
// # Goroutines
//
// The main goroutine starts the tasks and then handles signals, deaths and timeouts one at a time,
// so that the state of the job needs no lock. Others only copy output and input, receive the
// watchdog's reports and serve the hub.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	_ "lapi/cmd/narrow"
	"lapi/core/settings"
	"lapi/core/version"
	_ "lapi/invariant/thrown"
)

func init() { runtime.LockOSThread() }

func main() {
	if os.Args[0] == watchdogName {
		reap(os.NewFile(3, "lapirun"))
		return
	}
	if len(os.Args) == 2 && os.Args[1] == listName {
		os.Exit(list())
	}
	if len(os.Args) == 3 && os.Args[1] == dumpHereName {
		os.Exit(dumpJob(dumpName, dumpOptions{what: os.Args[2], json: true}))
	}
	os.Exit(run(os.Args, os.Environ()))
}

// Exit statuses of lapirun's own; else the status is a task's.
const (
	exitUsage       = 2
	exitFailure     = 1   // lapirun could not do its work
	exitTimeout     = 124 // as timeout(1) has it
	exitNotRunnable = 126 // as shells have it
	exitNotFound    = 127
)

func run(args, environ []string) int {
	name := filepath.Base(args[0])
	if name == dumpName {
		return lapiDump(args[1:])
	}
	files := settings.Read(func(name string) (string, bool) {
		value := lookup(environ, name)
		return value, value != ""
	}, false)
	environ = files.Add(environ) // the tasks report what is wrong in them
	o, err := parse(args[1:], environ)
	if errors.Is(err, errHelp) {
		fmt.Print(usage(name))
		return 0
	}
	if errors.Is(err, errVersion) {
		fmt.Print(version.Line(name))
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\nTry '%s -h' for the options.\n", name, err, name)
		return exitUsage
	}
	if o.dump != "" {
		return dumpJob(name, dumpOptions{what: o.dump})
	}
	if o.place.away {
		return delegate(name, o, environ)
	}
	if err := checkHost("/proc/self/exe", descriptorLimit()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return exitFailure
	}
	j, err := newJob(name, o, environ)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return startStatus(err)
	}
	return j.run()
}
