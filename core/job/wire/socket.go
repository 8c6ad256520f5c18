package wire

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"lapi/core/poll"
	"lapi/descriptor"
)

// The sockets by which processes of a node find each other are in the abstract name space: nothing
// is on disk, and a name is free again with the last process that holds its socket. Any process may
// connect to one. So both the accepting and the dialing process ask the kernel to which user the
// process at the other end belongs.

// ErrStranger is the error for a process of another user.
var ErrStranger = errors.New("it belongs to another user")

// Pair returns two connected sockets, close-on-exec.
func Pair() (a, b int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	descriptor.OwnAll(p[:])
	return p[0], p[1], nil
}

// Listen takes a name, which begins with @, and listens there. EADDRINUSE: some process has it.
func Listen(name string) (fd int, err error) {
	if fd, err = socket(); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Accept accepts a connection to a listening socket, and returns the process. EAGAIN: there is
// none. ErrStranger: it is of a process to which this user's processes do not talk; others may wait
// behind.
func Accept(listener int) (fd, pid int, err error) {
	for {
		fd, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		fd, err = descriptor.Own(fd, err)
		if err != unix.EINTR && err != unix.ECONNABORTED {
			break
		}
	}
	if err != nil {
		return -1, 0, err
	}
	if pid, err = sameUser(fd); err != nil {
		unix.Close(fd)
		return -1, 0, ErrStranger
	}
	return fd, pid, nil
}

// Dial connects to a name, and returns the process that listens there. ECONNREFUSED: none does.
func Dial(name string) (fd, pid int, err error) {
	if fd, err = socket(); err != nil {
		return -1, 0, err
	}
	if err = unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err == nil {
		pid, err = sameUser(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, pid, nil
}

func socket() (int, error) {
	fd, err := descriptor.Own(descriptor.Socket(unix.AF_UNIX,
		unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0))
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	return fd, nil
}

// sameUser is the process at the other end, which must belong to this user.
func sameUser(fd int) (pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, fmt.Errorf("credentials: %w", err)
	}
	if int(cred.Uid) != os.Geteuid() {
		return 0, fmt.Errorf("process %d of user %d is no task of this job", cred.Pid, cred.Uid)
	}
	return int(cred.Pid), nil
}

// PeerPID is the process that has made the other end of an AF_UNIX socket, or listens or has
// connected there; 0: it is not visible here, or fd is no such socket.
func PeerPID(fd int) int {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}

// PeerProcess opens that process, which is readable once it has ended (package poll): a socket's
// end does not show that, as a child that the process has forked may keep the socket open. -1: the
// kernel does not show it. A process number that was reused meanwhile does not lead to another
// process where the kernel keeps the process with the socket, from Linux 6.5 on.
func PeerProcess(fd int) int {
	process, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case err == unix.ENOPROTOOPT:
		return poll.Process(PeerPID(fd))
	case err != nil:
		return -1
	case unix.SetNonblock(process, true) != nil:
		unix.Close(process)
		return -1
	}
	return process
}
