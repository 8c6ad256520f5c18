package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// death says how a process ended.
type death struct {
	Signal int // that killed it; 0 if it exited
	Status int // with which it exited
	Core   bool
}

// Values of si_code for SIGCHLD.
const (
	cldExited = 1
	cldDumped = 3
)

// peekDeath returns how the child pid ended, or false while it runs. The child stays a zombie, so
// that its number, which is that of its process group, is not given to another process before the
// job is over.
func peekDeath(pid int) (death, bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ECHILD { // something else has waited for it; how it ended is lost
			return death{Status: 255}, true
		}
		if err != nil || info.Signo == 0 {
			return death{}, false
		}
		break
	}
	// siginfo_t: signo, errno, code, then a union aligned to the word size, so at 3 or 4; for
	// SIGCHLD: pid, uid, status.
	union := 2 + unsafe.Sizeof(uintptr(0))/4
	status := int((*[8]int32)(unsafe.Pointer(&info))[union+2])
	if info.Code == cldExited {
		return death{Status: status}, true
	}
	return death{Signal: status, Core: info.Code == cldDumped}, true
}
