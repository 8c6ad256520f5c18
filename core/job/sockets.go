package job

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/descriptor"
)

// parseLauncher reads LauncherVariable and checks that the descriptor is the socket that it names.
func parseLauncher(s string) (fd int, err error) {
	number, inode, ok := strings.Cut(s, ":")
	if !ok {
		return -1, errors.New("it is not of the form fd:inode")
	}
	fd, err = parseNumber(number)
	if err != nil {
		return -1, fmt.Errorf("descriptor %q is %w", number, err)
	}
	want, err := strconv.ParseUint(inode, 10, 64)
	if err != nil {
		return -1, fmt.Errorf("inode %q is not a number", inode)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Ino != want {
		return -1, fmt.Errorf("descriptor %d is something else here", fd)
	}
	return fd, nil
}

// LauncherValue is the value of LauncherVariable for a task in which socket will have the number
// fd.
func LauncherValue(fd, socket int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(socket, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", fd, st.Ino), nil
}

// duplicate returns descriptors of the same files, close-on-exec.
func duplicate(files []int) ([]int, error) {
	var dups []int
	for _, fd := range files {
		dup, err := descriptor.Own(descriptor.Dup(fd))
		if err != nil {
			closeAll(dups)
			return nil, fmt.Errorf("duplicating descriptor %d: %w", fd, err)
		}
		dups = append(dups, dup)
	}
	return dups, nil
}

func closeAll(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}

// closeParts closes all descriptors that an unfinished exchange has received.
func closeParts(parts []Part) {
	for _, p := range parts {
		closeAll(p.Files)
	}
}

// readiness is POLLIN, and POLLOUT while there is something to send.
func readiness(sent bool) int16 {
	if sent {
		return unix.POLLIN
	}
	return unix.POLLIN | unix.POLLOUT
}

// flush sends what it can; a peer that is gone takes nothing more, which reading shows.
func flush(conn *wire.Conn) (sent bool, err error) {
	sent, err = conn.Flush()
	if err == io.EOF {
		return true, nil
	}
	return sent, err
}

// watch is an epoll descriptor over a session's sockets, so that a session has one descriptor for
// its whole life.
type watch struct {
	fd     int
	events [1]unix.EpollEvent
}

func newWatch() (*watch, error) {
	fd, err := descriptor.Own(descriptor.Epoll())
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &watch{fd: fd}, nil
}

func (w *watch) add(fd int, tag int) error {
	return unix.EpollCtl(w.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN,
		Fd: int32(tag)})
}

func (w *watch) remove(fd int) { _ = unix.EpollCtl(w.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// ready returns the tag of a readable descriptor, or false; it does not block.
func (w *watch) ready() (tag int, ok bool) {
	n, err := unix.EpollWait(w.fd, w.events[:], 0)
	if err != nil || n == 0 {
		return 0, false
	}
	return int(w.events[0].Fd), true
}

func (w *watch) close() { unix.Close(w.fd) }
