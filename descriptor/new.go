package descriptor

import "golang.org/x/sys/unix"

// Functions that open a descriptor, close-on-exec, whose number is none of 0 to 2. Own moves it out
// of the way, too.

// Epoll is an epoll.
func Epoll() (int, error) {
	return opened(func() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) })
}

// Event is an eventfd at which nobody waits in a read or write.
func Event() (int, error) {
	return opened(func() (int, error) {
		return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	})
}

// Socket is a socket.
func Socket(family, kind, protocol int) (int, error) {
	return opened(func() (int, error) {
		return unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	})
}

// Memory is a file in memory.
func Memory(name string, flags int) (int, error) {
	return opened(func() (int, error) { return unix.MemfdCreate(name, flags|unix.MFD_CLOEXEC) })
}

// Dup is one more of the same file.
func Dup(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, standard)
}

// tries is how often a program may close a number of 0 to 2 just before it is taken.
const tries = 8

// opened calls open, which may be called again, while the numbers 0 to 2 are held. If the program
// closes one after that, open may get it; from then on the number may name a file that the program
// has put there by dup2, so that it is neither used nor moved.
func opened(open func() (int, error)) (int, error) {
	hold()
	defer release()
	fd, err := open()
	for try := 0; err == nil && fd < standard && try < tries; try++ {
		low := fd
		hold()
		defer release()
		if fd, err = open(); err == nil && sameKind(FileOf(low), FileOf(fd)) {
			unix.Close(low)
		}
	}
	return fd, err
}

// sameKind says whether a file may be one more from the same call as the other.
func sameKind(a, b File) bool { return a.device == b.device && a.kind == b.kind }
