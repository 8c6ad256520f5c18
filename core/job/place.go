package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

// A place is where the other tasks of a node find this one, from the beginning of its LAPI_Init to its LAPI_Term: it listens on an abstract
// socket whose name holds user, partition, instance and task (nothing on disk, gone with the process).
//
// A process that the task has forked, and that lives on, keeps the name taken. So there are a few names, seats, for each task: it takes the
// first that no living process listens on, and who looks for it tries them all.
type place struct {
	c        *Config
	instance int
	listener int
	guests   []*guest // connections to this task that were not answered yet
}

// guest is a connection from a task that wants to join.
type guest struct {
	conn  *wire.Conn
	pid   int
	known bool // it has greeted: as who
	who   Greeting
}

const (
	seats     = 4
	bindLimit = 2 * time.Second       // a task that has just ended may still hold its name
	mayListen = 20 * time.Millisecond // a name that is taken and refuses belongs to a task that is about to listen, so long at most
	maxGuests = 4096
)

// address is the abstract socket of a seat. A partition that is long or no plain word appears as its hash.
func (p *place) address(task, seat int) *unix.SockaddrUnix {
	partition := p.c.Partition
	if len(partition) > 32 || strings.Trim(partition, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") != "" {
		sum := sha256.Sum256([]byte(partition))
		partition = fmt.Sprintf("#%x", sum[:12])
	}
	name := fmt.Sprintf("@lapi/%d/%s/%d/%d", os.Geteuid(), partition, p.instance, task)
	if seat > 0 {
		name += fmt.Sprintf("/%d", seat)
	}
	return &unix.SockaddrUnix{Name: name}
}

// newSocket is one of the kind that places and their visitors use.
func newSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	return fd, nil
}

// open takes a seat and listens.
func (p *place) open() error {
	fd, err := newSocket()
	if err != nil {
		return err
	}
	p.listener = fd
	for began := time.Now(); ; time.Sleep(firstRetry) {
		err := p.bind(time.Since(began) > mayListen)
		if err == nil {
			break
		}
		if err != unix.EADDRINUSE {
			return fmt.Errorf("bind: %w", err)
		}
		if time.Since(began) > bindLimit {
			return fmt.Errorf("another process is task %d of MP_PARTITION=%s already; give each task its own MP_CHILD and each job its own MP_PARTITION",
				p.c.Task, p.c.Partition)
		}
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// bind takes the first seat that is free, or whose owner is no more. EADDRINUSE: a living process sits on one, or, unless patient, may
// be about to.
func (p *place) bind(patient bool) error {
	for seat := range seats {
		address := p.address(p.c.Task, seat)
		err := unix.Bind(p.listener, address)
		if err != unix.EADDRINUSE {
			return err
		}
		conn, _, err := visit(address)
		if conn >= 0 {
			unix.Close(conn)
		}
		abandoned := err == errNobody || err == unix.ECONNREFUSED && patient // a forked process has the socket
		if !abandoned {
			return unix.EADDRINUSE
		}
	}
	return unix.EADDRINUSE
}

// errNobody: the process that listened at a seat has ended; only what it forked keeps the socket.
var errNobody = errors.New("its owner has ended")

// visit connects to a seat; conn is -1 if there is an error. ECONNREFUSED: nobody listens there.
func visit(address *unix.SockaddrUnix) (conn, pid int, err error) {
	if conn, err = newSocket(); err != nil {
		return -1, 0, err
	}
	if err = unix.Connect(conn, address); err == nil {
		if pid, err = sameUser(conn); err == nil && hasEnded(pid) {
			err = errNobody
		}
	}
	if err != nil {
		unix.Close(conn)
		return -1, pid, err
	}
	return conn, pid, nil
}

// find connects to another task at one of its first seats. absent: nobody is there; conn is -1 then, and also if an attempt may
// succeed later.
func (p *place) find(task, first int) (conn, pid int, absent bool, err error) {
	for seat := range first {
		conn, pid, err = visit(p.address(task, seat))
		switch err {
		case nil:
			return conn, pid, false, nil
		case unix.EAGAIN, unix.EINTR: // its queue is full
			return -1, 0, false, nil
		case unix.ECONNREFUSED, errNobody:
		default:
			return -1, 0, false, fmt.Errorf("the socket of task %d: %w", task, err)
		}
	}
	return -1, 0, true, nil
}

// sameUser returns the process at the other end, which must belong to this user.
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

// hasEnded says whether a process is no more, or a zombie, as far as the kernel tells.
func hasEnded(pid int) bool {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	defer unix.Close(process)
	return readable(process)
}

// readable says whether a descriptor can be read now: a pidfd, whether its process has ended.
func readable(fd int) bool {
	set := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set[:], 0)
	return err == nil && n > 0
}

// accept takes in who has connected. An error: the kernel gives no more descriptors.
func (p *place) accept() error {
	for len(p.guests) < maxGuests {
		fd, _, err := unix.Accept4(p.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err == unix.EAGAIN {
			return nil
		}
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err != nil {
			return fmt.Errorf("accepting a task: %w", err)
		}
		pid, err := sameUser(fd)
		if err != nil {
			unix.Close(fd)
			continue
		}
		if conn, err := wire.NewConn(fd); err == nil {
			p.guests = append(p.guests, &guest{conn: conn, pid: pid})
		}
	}
	return nil
}

// hear reads a guest's greeting. An error is why the guest is no more, or was refused.
func (p *place) hear(g *guest, scratch *wire.Scratch) error {
	hello, ok, err := g.conn.Receive(scratch)
	if err == nil && !ok {
		return nil
	}
	hello.CloseFiles()
	if err != nil {
		g.conn.Close()
		return err
	}
	if g.who, err = p.check(hello); err == nil && g.known {
		err = errors.New("it greets twice")
	}
	if err != nil {
		g.conn.Queue(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
		_, _ = g.conn.Flush() // one small record into an empty socket
		g.conn.Close()
		return fmt.Errorf("process %d was refused: %v", g.pid, err)
	}
	g.known = true
	return nil
}

// check says whether the sender of a greeting belongs to this session.
func (p *place) check(hello wire.Message) (Greeting, error) {
	if hello.Kind != wire.Hello {
		return Greeting{}, errors.New("it does not greet")
	}
	who, err := ParseGreeting(hello.Data)
	switch {
	case err != nil:
		return who, err
	case who.NumTasks != p.c.NumTasks:
		return who, fmt.Errorf("MP_PROCS is %d for task %d and %d for task %d", who.NumTasks, who.Task, p.c.NumTasks, p.c.Task)
	case who.Instance != p.instance || hello.Number != uint32(p.c.Task):
		return who, errors.New("it looks for another task or instance")
	case !p.common(who.Task):
		return who, fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", p.c.Task, who.Task)
	case who.Purpose != Join && who.Purpose != Return || (who.Purpose == Join) != (who.Task > p.c.Task):
		return who, errors.New("it has no reason to come")
	}
	return who, nil
}

func (p *place) common(task int) bool {
	for _, t := range p.c.CommonTasks {
		if t == task {
			return true
		}
	}
	return false
}

// close ends the place and the connections of the guests, who will try again. The name is free at once, unless a forked process
// holds the socket too: then at least nobody is let in there.
func (p *place) close() {
	if p.listener >= 0 {
		_ = unix.Shutdown(p.listener, unix.SHUT_RDWR)
		unix.Close(p.listener)
		p.listener = -1
	}
	for _, g := range p.guests {
		g.conn.Close()
	}
	p.guests = nil
}
