package sockets

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/core/job/wire"
	"lapi/descriptor"
	"lapi/transport"
	"lapi/transport/shm"
)

// Where the processes of a node find each other: a socket of the kind that LAPI's tasks use, in the
// abstract name space (nothing on disk, gone with the process; each network namespace has its own).
// The name is the process's random number. Clients must be of the same user.

// door is the listening socket, and the connections (lines) to other processes.
type door struct {
	fd      int             // -1: there is none
	lines   map[int32]*line // by their sockets,
	ends    map[int32]*line // and by the pidfd of the process at the other end
	silent  []*line         // accepted, and nothing received yet: oldest first
	scratch *wire.Scratch
}

var errUnwanted = errors.New("LAPI_USE_SHM=no")

// silentMax is how many accepted connections may have sent nothing. Beyond it the oldest is closed,
// so that nobody can keep others out.
const silentMax = 32

// line is a connection to another process. It implements dat.Line.
type line struct {
	n       *Network
	conn    *wire.Conn
	other   processID
	process int // pidfd of it; -1: the kernel does not say when it ends
}

func doorName(name [16]byte) string { return fmt.Sprintf("@lapi/dat/%x", name) }

// Door implements dat.Network.
func (n *Network) Door(name [16]byte) error {
	if n.cfg.NoShm {
		return errUnwanted
	}
	fd, err := wire.Listen(doorName(name))
	if err == nil {
		n.door.fd = fd
		err = n.watch(fd)
	}
	if err == nil {
		n.door.lines, n.door.ends = map[int32]*line{}, map[int32]*line{}
		n.door.scratch = new(wire.Scratch)
		return nil
	}
	n.closeDoor()
	return fmt.Errorf("the socket for processes of this node: %w", err)
}

func (n *Network) closeDoor() {
	for _, l := range n.door.lines {
		l.unwatchProcess()
		l.conn.Close()
	}
	n.shutDoor()
	n.door = door{fd: -1}
}

// shutDoor lets nobody else in.
func (n *Network) shutDoor() {
	if n.door.fd >= 0 {
		n.unwatch(n.door.fd)
		_ = unix.Shutdown(n.door.fd, unix.SHUT_RDWR) // a process that was forked may have it too
		unix.Close(n.door.fd)
		n.door.fd = -1
	}
}

// Dial implements dat.Network.
func (n *Network) Dial(name [16]byte) (dat.Line, error) {
	if n.door.lines == nil {
		return nil, errUnwanted
	}
	fd, pid, err := wire.Dial(doorName(name))
	if err != nil {
		return nil, err
	}
	return n.newLine(fd, pid)
}

// newLine takes over a socket to a process.
func (n *Network) newLine(fd, pid int) (*line, error) {
	conn, err := wire.NewConn(fd)
	if err != nil {
		return nil, err
	}
	if err := n.watch(fd); err != nil {
		conn.Close()
		return nil, err
	}
	conn.Patience, conn.Whole = 0, true
	l := &line{n, conn, identify(pid), -1}
	n.door.lines[int32(fd)] = l
	l.watchProcess()
	return l, nil
}

// watchProcess has the kernel report the end of the process at the other end: the socket does not
// while a child of that process has it open. A process that cannot be seen from here is not
// watched.
func (l *line) watchProcess() {
	fd := wire.PeerProcess(l.conn.Fd())
	if fd < 0 {
		return
	}
	if l.n.watch(fd) != nil {
		unix.Close(fd)
		return
	}
	l.process = fd
	l.n.door.ends[int32(fd)] = l
}

func (l *line) unwatchProcess() {
	if l.process < 0 {
		return
	}
	l.n.unwatch(l.process)
	delete(l.n.door.ends, int32(l.process))
	unix.Close(l.process)
	l.process = -1
}

// Send implements dat.Line.
func (l *line) Send(m wire.Message) bool {
	if l.conn.Fd() < 0 {
		return false
	}
	l.conn.Queue(m)
	all, err := l.conn.Flush()
	return all && err == nil // what does not go at once into an empty socket never will
}

// Runs implements dat.Line.
func (l *line) Runs() bool { return l.other.runs() }

// Watched implements dat.Line.
func (l *line) Watched() bool { return l.process >= 0 }

// Close implements dat.Line.
func (l *line) Close() {
	fd := l.conn.Fd()
	if fd < 0 {
		return
	}
	l.unwatchProcess()
	l.n.unwatch(fd)
	delete(l.n.door.lines, int32(fd))
	l.n.spoken(l)
	l.conn.Close()
}

// spoken: l is silent no more.
func (n *Network) spoken(l *line) {
	n.door.silent = slices.DeleteFunc(n.door.silent, func(o *line) bool { return o == l })
}

// knock accepts the clients of the door.
func (n *Network) knock() {
	for range silentMax {
		fd, pid, err := wire.Accept(n.door.fd)
		switch err {
		case nil:
		case unix.EAGAIN:
			return
		case wire.ErrStranger:
			continue
		default: // no descriptors: else it is looked at for ever; the dialer uses UDP at once
			n.shutDoor()
			return
		}
		l, err := n.newLine(fd, pid)
		if err != nil {
			continue
		}
		if n.door.silent = append(n.door.silent, l); len(n.door.silent) > silentMax {
			n.door.silent[0].Close()
		}
	}
}

// hear takes the messages that have arrived on a line.
func (n *Network) hear(l *line, m dat.Arrivals) (got int) {
	for l.conn.Fd() >= 0 {
		message, ok, err := l.conn.Receive(n.door.scratch)
		switch {
		case err != nil:
			l.Close()
			m.OnLineEnd(l)
			return got + 1
		case !ok:
			return got
		}
		n.spoken(l)
		m.OnLine(l, &message)
		message.CloseFiles() // that were not taken
		got++
	}
	return got
}

// processEnded: what the process has sent comes first.
func (n *Network) processEnded(l *line, m dat.Arrivals) int {
	got := n.hear(l, m)
	if l.conn.Fd() >= 0 {
		l.Close()
		m.OnLineEnd(l)
	}
	return got + 1
}

// receiveNode is the part of Receive for the door and the lines.
func (n *Network) receiveNode(fd int32, m dat.Arrivals) (got int) {
	switch l, ended := n.door.lines[fd], n.door.ends[fd]; {
	case l != nil:
		return n.hear(l, m)
	case ended != nil:
		return n.processEnded(ended, m)
	case n.door.fd >= 0 && int(fd) == n.door.fd:
		n.knock()
		return 1
	}
	return 0
}

// nodeArea is how much data may be on its way to a process of the node, in memory, bytes, at first
// and at most: as much as LAPI takes for two tasks.
var nodeArea = sync.OnceValues(func() (first, most uint64) {
	return shm.Area(2, runtime.NumCPU() < 2)
})

// NodeLink implements dat.Network.
func (n *Network) NodeLink(me int, runs func() bool,
	failed func(ep transport.Endpoint, err error)) (transport.Link, error) {
	first, most := nodeArea()
	l, err := shm.New(shm.Config{Task: me, NumTasks: 2, Tasks: []int{0, 1}, Clock: n.cfg.Clock,
		PeerFailed: failed, Runs: func(transport.Endpoint) bool { return runs() },
		Timeout: n.cfg.Timeout, MessagesOnly: true, Told: true, Area: first,
		AreaMost: most, Route: n.cfg.Route})
	if err != nil {
		return nil, err
	}
	for _, fd := range l.Descriptors() {
		if err := n.watch(fd); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Within implements dat.Network.
func (n *Network) Within(failed func(me int)) (ends [2]transport.Link, err error) {
	for me := range ends {
		ends[me], err = n.NodeLink(me, func() bool { return true },
			func(transport.Endpoint, error) { failed(me) })
		if err != nil {
			if me > 0 {
				n.CloseLink(ends[0])
			}
			return ends, err
		}
	}
	for me, link := range ends {
		if err = connectWithin(link, ends[1-me], 1-me); err != nil {
			n.CloseLink(ends[0])
			n.CloseLink(ends[1])
			return ends, err
		}
	}
	return ends, nil
}

// connectWithin connects a link to another one of this process, which is task ep.
func connectWithin(link, other transport.Link, ep int) error {
	a := other.Address()
	files := make([]int, len(a.Files))
	for i, file := range a.Files {
		fd, err := descriptor.Own(unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 3))
		if err != nil {
			for _, made := range files[:i] {
				unix.Close(made)
			}
			return err
		}
		files[i] = fd
	}
	return link.Connect(transport.Endpoint(ep), transport.Address{Bytes: a.Bytes, Files: files})
}

// CloseLink implements dat.Network.
func (n *Network) CloseLink(l transport.Link) {
	if w, ok := l.(transport.Waiter); ok {
		for _, fd := range w.Descriptors() {
			n.unwatch(fd)
		}
	}
	l.Close()
}

// unwatch takes a descriptor out of the epoll descriptor. Closing does not: a process that was
// forked may have it too.
func (n *Network) unwatch(fd int) {
	_ = unix.EpollCtl(n.epoll, unix.EPOLL_CTL_DEL, fd, nil)
}
