package job

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

// listenerTag is the watch's tag of the listener and its pending connections.
const listenerTag = -1

const maxPending = 4096

// pendingConn is a connection from a task that wants to join.
type pendingConn struct {
	conn  *wire.Conn
	pid   int
	known bool // its hello has come: who it is
	who   wire.Greeting
}

// serveListener takes who has come, and lets those wait whose time has not. An error: the kernel
// gives no more descriptors.
func (s *standalone) serveListener() error {
	err := s.accept()
	full := err != nil || len(s.pending) == maxPending
	if full && !s.unwatched { // else the watch would be ready for ever
		s.watch.remove(s.listener)
	}
	s.unwatched = full || s.unwatched && s.watch.add(s.listener, listenerTag) != nil
	waiting := s.pending[:0]
	for _, p := range s.pending {
		if !s.hello(p) {
			waiting = append(waiting, p)
		}
	}
	clear(s.pending[len(waiting):])
	s.pending = waiting
	return err
}

// accept takes the connections that have come.
func (s *standalone) accept() error {
	for len(s.pending) < maxPending {
		fd, pid, err := wire.Accept(s.listener)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case wire.ErrStranger:
			continue
		default:
			return err
		}
		conn, err := wire.NewConn(fd)
		if err != nil {
			continue
		}
		if s.watch.add(fd, listenerTag) != nil {
			conn.Close()
			continue
		}
		s.pending = append(s.pending, &pendingConn{conn: conn, pid: pid})
	}
	return nil
}

// hello does what is to be done with a pending connection now; false: nothing, it is to wait.
func (s *standalone) hello(p *pendingConn) (done bool) {
	if err := s.readHello(p); err != nil {
		if s.wiring != nil && err != io.EOF {
			s.wiring.refused = err.Error()
		}
		s.hangUp(p)
		return true
	}
	switch {
	case !p.known:
		return false
	case s.wiring != nil:
		s.wiring.admit(p)
		return true
	}
	return s.readmit(p)
}

// hangUp ends a pending connection.
func (s *standalone) hangUp(p *pendingConn) {
	s.watch.remove(p.conn.Fd())
	p.conn.Close()
}

// welcome makes a pending connection the way to its task.
func (s *standalone) welcome(p *pendingConn, number uint32) error {
	s.watch.remove(p.conn.Fd())
	p.conn.Queue(wire.Message{Kind: wire.Welcome, Number: number})
	_, _ = p.conn.Flush() // one small record into an empty socket
	_, err := s.adopt(p.who.Task, p.conn, p.pid)
	return err
}

// readHello reads the hello of a pending connection. An error is why the connection ends, or was
// refused.
func (s *standalone) readHello(p *pendingConn) error {
	hello, ok, err := p.conn.Receive(s.scratch)
	if err == nil && !ok {
		return nil
	}
	hello.CloseFiles()
	if err != nil {
		return err
	}
	if p.who, err = s.check(hello); err == nil && p.known {
		err = errors.New("it says hello twice")
	}
	if err != nil {
		p.conn.Queue(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
		_, _ = p.conn.Flush() // one small record into an empty socket
		return fmt.Errorf("process %d was refused: %v", p.pid, err)
	}
	p.known = true
	return nil
}

// check says whether the sender of a hello belongs to this session. What is wrong with a lower task
// that only rings a bell it will say itself.
func (s *standalone) check(hello wire.Message) (wire.Greeting, error) {
	if hello.Kind != wire.Hello {
		return wire.Greeting{}, errors.New("it does not say hello")
	}
	who, err := wire.ParseGreeting(hello.Data)
	switch {
	case err != nil:
		return who, err
	case !slices.Contains(s.c.CommonTasks, who.Task):
		return who, fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", s.c.Task,
			who.Task)
	case who.NumTasks != s.c.NumTasks && (s.wiring == nil || who.Task > s.c.Task):
		return who, fmt.Errorf("MP_PROCS is %d for task %d and %d for task %d", who.NumTasks,
			who.Task, s.c.NumTasks, s.c.Task)
	case who.Instance != s.instance || hello.Number != uint32(s.c.Task):
		return who, errors.New("it looks for another task or instance")
	case who.Purpose != wire.Join:
		return who, errors.New("it has no reason to come")
	}
	return who, nil
}

// shut ends the listener and the pending connections, whose tasks will try again. The name is free
// at once, unless a forked process holds the socket too: then at least nobody is let in there.
func (s *standalone) shut() {
	if s.listener >= 0 {
		_ = unix.Shutdown(s.listener, unix.SHUT_RDWR)
		unix.Close(s.listener)
		s.listener = -1
	}
	for _, p := range s.pending {
		p.conn.Close()
	}
	s.pending = nil
}
