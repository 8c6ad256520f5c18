// Package poll asks the kernel whether descriptors are ready. A signal makes poll(2) fail with
// EINTR, and that says nothing of a descriptor, even where poll is not to sleep: the runtime of Go
// signals its threads as it likes. So all who decide by an answer, such as whether a process has
// ended, ask here.
package poll

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

// Now says how many descriptors of set are ready, and does not sleep.
func Now(set []unix.PollFd) (n int, err error) {
	for {
		if n, err = unix.Poll(set, 0); err != unix.EINTR {
			return n, err
		}
	}
}

// Until sleeps until a descriptor of set is ready or the deadline (zero: never) has passed, which
// it reports as false.
func Until(set []unix.PollFd, deadline time.Time) (bool, error) {
	for {
		wait := -1
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return false, nil
			}
			wait = int(min(left, time.Hour)/time.Millisecond) + 1
		}
		n, err := unix.Poll(set, wait)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("poll: %w", err)
		}
		if n > 0 {
			return true, nil
		}
	}
}

// Readable says whether a descriptor can be read now: a pidfd, whether its process has ended.
func Readable(fd int) bool {
	n, err := Now([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}})
	return err == nil && n > 0
}

// Process opens a process: the descriptor (pidfd) is readable once that has ended. It is
// close-on-exec and non-blocking, so that epoll, poll and the runtime's poller all may wait for
// it. -1: there is no such process, or the kernel does not show it.
func Process(pid int) (fd int) {
	fd, err := openProcess(pid)
	if err != nil {
		return -1
	}
	return fd
}

func openProcess(pid int) (fd int, err error) {
	if fd, err = descriptor.Own(unix.PidfdOpen(pid, 0)); err != nil {
		return -1, err
	}
	if err = unix.SetNonblock(fd, true); err != nil { // a flag of pidfd_open only from Linux 5.10 on
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Ended says whether a process is no more, as far as the kernel tells. It has ended when its last
// thread has, though its parent may not have heard of it.
func Ended(pid int) bool {
	process, err := openProcess(pid)
	if err != nil {
		return err == unix.ESRCH
	}
	defer unix.Close(process)
	return Readable(process)
}
