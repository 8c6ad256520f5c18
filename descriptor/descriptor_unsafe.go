// Package descriptor gives the library's descriptors numbers that are out of the program's way:
// never 0, 1 or 2, which the program may have closed to open them anew, and, where the limits allow
// it, above the soft limit, where no loop of the program's that closes descriptors comes, and
// select(2) needs none; else near it, where files of the program do not come.
package descriptor

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// standard is the first number that has no meaning by convention.
	standard = 3
	// room is how much higher than the soft limit the hard one must be. The library of a process
	// has fewer descriptors, but for those of many peers: these get what number there is.
	room = 64
	// aboveFiles is how many of the last numbers stay free: to start a program, package os/exec takes
	// some above the highest that the program gets.
	aboveFiles = 8
	// highest soft limit that is left below: the kernel's table has an entry for each number.
	highest = 1 << 16
)

// mutex protects the soft limit while one descriptor is moved.
var mutex sync.Mutex

// Own moves a descriptor that was just opened, and is close-on-exec then. It takes what functions
// that open one return, and closes it where it fails.
func Own(fd int, err error) (int, error) {
	if err != nil {
		return fd, err
	}
	if moved, err := outOfTheWay(fd); err == nil {
		return moved, nil
	}
	return Low(fd, nil)
}

// Low moves only what has one of the numbers 0 to 2: for descriptors that the program gets, which
// may want to give them to select(2).
func Low(fd int, err error) (int, error) {
	if err != nil || fd >= standard {
		return fd, err
	}
	return move(fd, standard)
}

// OwnAll is Own for several; those that cannot be moved stay.
func OwnAll(files []int) {
	for i, fd := range files {
		if moved, err := outOfTheWay(fd); err == nil {
			files[i] = moved
		} else if fd < standard {
			if moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, standard); err == nil {
				unix.Close(fd)
				files[i] = moved
			}
		}
	}
}

// move closes fd in any case.
func move(fd, least int) (int, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
	unix.Close(fd)
	if err != nil {
		return -1, err
	}
	return moved, nil
}

// Least is the number from which the library's descriptors are out of the way under these limits; 0:
// there is none.
func Least(soft, hard uint64) int {
	if roomAbove(soft, hard) {
		return int(soft)
	}
	return top(soft)
}

func roomAbove(soft, hard uint64) bool { return soft <= highest && hard >= soft+room }

// top is the first of the last numbers below a soft limit; 0: there is no room.
func top(soft uint64) int {
	if soft < 4*room {
		return 0
	}
	return int(min(soft, highest)) - room
}

// outOfTheWay moves fd, or leaves it open with an error.
func outOfTheWay(fd int) (int, error) {
	moved, err := aboveSoftLimit(fd)
	if err != nil {
		moved, err = nearTheTop(fd)
	}
	return moved, err
}

// nearTheTop takes one of the last numbers below the soft limit. A loop up to the limit comes there,
// but files of the program do not: they get the lowest free number.
func nearTheTop(fd int) (int, error) {
	now, err := limits(nil)
	if err != nil {
		return -1, err
	}
	least := top(now.Cur)
	if least == 0 {
		return -1, unix.EMFILE
	}
	if fd >= least {
		return fd, nil
	}
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
	if err != nil {
		return -1, err
	}
	if now.Cur <= highest && moved >= int(now.Cur)-aboveFiles {
		unix.Close(moved)
		return -1, unix.EMFILE
	}
	unix.Close(fd)
	return moved, nil
}

// aboveSoftLimit raises the soft limit for the time of one system call, since the kernel gives no
// number above it; what has one stays as it is. An error leaves fd open.
func aboveSoftLimit(fd int) (int, error) {
	mutex.Lock()
	defer mutex.Unlock()
	was, err := limits(nil)
	if err != nil {
		return -1, err
	}
	if !roomAbove(was.Cur, was.Max) {
		return -1, unix.EMFILE
	}
	raised := unix.Rlimit{Cur: min(was.Max, was.Cur+1<<12), Max: was.Max}
	if _, err = limits(&raised); err != nil {
		return -1, err
	}
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, int(was.Cur))
	if _, e := limits(&was); err == nil && e != nil { // cannot be: lowering needs no right
		err = e
	}
	if err != nil {
		return -1, err
	}
	unix.Close(fd)
	return moved, nil
}

// limits reads the limits of descriptors, or sets them. By the bare system call: package syscall
// would take it that the program has chosen the limit.
func limits(set *unix.Rlimit) (now unix.Rlimit, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(&now)), 0, 0)
	if e != 0 {
		return now, e
	}
	return now, nil
}
