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
	"lapi/core/poll"
)

// A listener is where the other tasks of a node find this one, from the beginning of its LAPI_Init
// to its LAPI_Term. It listens on an abstract socket whose name holds user, partition, instance and
// task (nothing on disk, gone with the process).
//
// A process that the task has forked, and that lives on, keeps the name taken. So each task has a
// few name slots: it takes the first that no living process listens on, and a task that looks for
// it tries them all.
type listener struct {
	c        *Config
	instance int
	fd       int
	pending  []*pendingConn // connections to this task that were not answered yet
}

// pendingConn is a connection from a task that wants to join.
type pendingConn struct {
	conn  *wire.Conn
	pid   int
	known bool // its hello has come: who it is
	who   wire.Greeting
}

const (
	nameSlots = 4
	bindLimit = 2 * time.Second // a task that has just ended may still hold its name
	// a name that is taken and refuses belongs to a task that is about to listen, so long at
	// most
	mayListen  = 20 * time.Millisecond
	maxPending = 4096
)

// address is the abstract socket of a name slot. A partition that is long or no plain word appears
// as its hash.
func (l *listener) address(task, slot int) string {
	partition := l.c.Partition
	if len(partition) > 32 ||
		strings.Trim(partition,
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") != "" {
		sum := sha256.Sum256([]byte(partition))
		partition = fmt.Sprintf("#%x", sum[:12])
	}
	name := fmt.Sprintf("@lapi/%d/%s/%d/%d", os.Geteuid(), partition, l.instance, task)
	if slot > 0 {
		name += fmt.Sprintf("/%d", slot)
	}
	return name
}

// open takes a name slot and listens.
func (l *listener) open() error {
	for began := time.Now(); ; time.Sleep(firstRetry) {
		err := l.listen(time.Since(began) > mayListen)
		switch {
		case err == nil:
			return nil
		case err != unix.EADDRINUSE:
			return fmt.Errorf("a socket for the tasks of this node: %w", err)
		case time.Since(began) > bindLimit:
			return fmt.Errorf("another process is task %d of MP_PARTITION=%s already; give each task its own MP_CHILD and each job its own MP_PARTITION",
				l.c.Task, l.c.Partition)
		}
	}
}

// listen takes the first name slot that is free, or whose owner is no more. EADDRINUSE: a living
// process listens there, or, unless patient, may be about to.
func (l *listener) listen(patient bool) (err error) {
	for slot := range nameSlots {
		address := l.address(l.c.Task, slot)
		if l.fd, err = wire.Listen(address); err != unix.EADDRINUSE {
			return err
		}
		conn, _, err := dial(address)
		if conn >= 0 {
			unix.Close(conn)
		}
		// a forked process has the socket
		abandoned := err == errNobody || err == unix.ECONNREFUSED && patient
		if !abandoned {
			break
		}
	}
	return unix.EADDRINUSE
}

// errNobody: the process that listened in a name slot has ended; only what it forked keeps the
// socket.
var errNobody = errors.New("its owner has ended")

// dial connects to a name; conn is -1 if there is an error. ECONNREFUSED: nobody listens there.
func dial(name string) (conn, pid int, err error) {
	conn, pid, err = wire.Dial(name)
	if err == nil && poll.Ended(pid) {
		unix.Close(conn)
		return -1, 0, errNobody
	}
	return conn, pid, err
}

// find connects to another task in one of its first name slots. absent: nobody is there; conn is -1
// then, and also if an attempt may succeed later.
func (l *listener) find(task, first int) (conn, pid int, absent bool, err error) {
	for slot := range first {
		conn, pid, err = dial(l.address(task, slot))
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

// accept takes the connections that have come. An error: the kernel gives no more descriptors.
func (l *listener) accept() error {
	for len(l.pending) < maxPending {
		fd, pid, err := wire.Accept(l.fd)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case wire.ErrStranger:
			continue
		default:
			return fmt.Errorf("accepting a task: %w", err)
		}
		if conn, err := wire.NewConn(fd); err == nil {
			l.pending = append(l.pending, &pendingConn{conn: conn, pid: pid})
		}
	}
	return nil
}

// readHello reads the hello of a pending connection. An error is why the connection is no more, or
// was refused.
func (l *listener) readHello(p *pendingConn, scratch *wire.Scratch) error {
	hello, ok, err := p.conn.Receive(scratch)
	if err == nil && !ok {
		return nil
	}
	hello.CloseFiles()
	if err != nil {
		p.conn.Close()
		return err
	}
	if p.who, err = l.check(hello); err == nil && p.known {
		err = errors.New("it says hello twice")
	}
	if err != nil {
		p.conn.Queue(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
		_, _ = p.conn.Flush() // one small record into an empty socket
		p.conn.Close()
		return fmt.Errorf("process %d was refused: %v", p.pid, err)
	}
	p.known = true
	return nil
}

// check says whether the sender of a hello belongs to this session.
func (l *listener) check(hello wire.Message) (wire.Greeting, error) {
	if hello.Kind != wire.Hello {
		return wire.Greeting{}, errors.New("it does not say hello")
	}
	who, err := wire.ParseGreeting(hello.Data)
	switch {
	case err != nil:
		return who, err
	case who.NumTasks != l.c.NumTasks:
		return who, fmt.Errorf("MP_PROCS is %d for task %d and %d for task %d", who.NumTasks,
			who.Task, l.c.NumTasks, l.c.Task)
	case who.Instance != l.instance || hello.Number != uint32(l.c.Task):
		return who, errors.New("it looks for another task or instance")
	case !l.common(who.Task):
		return who, fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", l.c.Task,
			who.Task)
	case who.Purpose != wire.Join && who.Purpose != wire.Rejoin ||
		(who.Purpose == wire.Join) != (who.Task > l.c.Task):
		return who, errors.New("it has no reason to come")
	}
	return who, nil
}

func (l *listener) common(task int) bool {
	for _, t := range l.c.CommonTasks {
		if t == task {
			return true
		}
	}
	return false
}

// close ends the listener and the pending connections, whose tasks will try again. The name is free
// at once, unless a forked process holds the socket too: then at least nobody is let in there.
func (l *listener) close() {
	if l.fd >= 0 {
		_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
		unix.Close(l.fd)
		l.fd = -1
	}
	for _, p := range l.pending {
		p.conn.Close()
	}
	l.pending = nil
}
