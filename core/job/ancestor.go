package job

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"lapi/core/poll"
)

// The connection to a PMIx server does not show the server's process: it is TCP, and libpmix's own.
// The process is the ancestor of this process that listens at the server's address.

// pmixAddresses are the variables in which a server of some version says it, newest first.
var pmixAddresses = []string{"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
	"PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}

// pmixPort is the port in the first of them, such as "n0.1;tcp4://127.0.0.1:4711"; 0: none.
func (r *reader) pmixPort() uint16 {
	for _, name := range pmixAddresses {
		if s, ok := r.get(name); ok && strings.Contains(s, ";tcp") {
			port, err := strconv.ParseUint(s[strings.LastIndexByte(s, ':')+1:], 10, 16)
			if err == nil {
				return uint16(port)
			}
		}
	}
	return 0
}

// listeningAncestor is the ancestor of this process that listens at a TCP port. Nil: there is none
// of this user's.
func listeningAncestor(port uint16) *os.File {
	sockets := listening(port)
	for pid := os.Getppid(); pid > 1 && len(sockets) > 0; pid = parentOf(pid) {
		fd := poll.Process(pid)
		if fd < 0 {
			return nil
		}
		if holds(pid, sockets) { // looked at after the process was taken hold of
			return os.NewFile(uintptr(fd), "launcher")
		}
		unix.Close(fd)
	}
	return nil
}

// holds says whether a process has one of these sockets.
func holds(pid int, sockets map[string]bool) bool {
	folder := fmt.Sprintf("/proc/%d/fd/", pid)
	all, _ := os.ReadDir(folder) // another user's shows none
	for _, fd := range all {
		if link, err := os.Readlink(folder + fd.Name()); err == nil && sockets[link] {
			return true
		}
	}
	return false
}

// parentOf is the parent of a process; 0: it is not there any more.
func parentOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parentIn(b)
}

// parentIn is the parent that a line of /proc/PID/stat names; 0: none.
func parentIn(stat []byte) int {
	// behind the name in brackets, which may hold anything: state, parent
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(f[1]))
	return parent
}
