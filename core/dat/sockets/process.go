package sockets

import (
	"bytes"
	"fmt"
	"os"
)

// processID names a process of this machine for good: the kernel gives numbers away again. The zero
// value is none that is known.
type processID struct {
	pid   int
	start string // when it was started, as the kernel counts
}

// identify is the process that has a number now. For this process itself, and for a process that
// cannot be seen from here, the result is the zero value.
func identify(pid int) (p processID) {
	if pid != os.Getpid() {
		p.pid = pid
		_, p.start = p.look()
	}
	return p
}

// look reads the state of the process that has its number, and when it was started.
func (p processID) look() (state byte, start string) {
	if p.pid <= 0 {
		return 0, ""
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, ""
	}
	return readStat(text)
}

const (
	statState = 0 // fields behind the name
	statStart = 19
)

// readStat takes a line of /proc/PID/stat apart; 0: it is none.
func readStat(text []byte) (state byte, start string) {
	name := bytes.LastIndexByte(text, ')') // a name may have any characters
	if name < 0 {
		return 0, ""
	}
	f := bytes.Fields(text[name+1:])
	if len(f) <= statStart {
		return 0, ""
	}
	return f[statState][0], string(f[statStart])
}

// runs says whether the process is known to live, and is not stopped.
func (p processID) runs() bool {
	state, start := p.look()
	switch state {
	case 'R', 'S', 'D', 'I':
		return start == p.start && start != ""
	}
	return false
}
