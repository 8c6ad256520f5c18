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

// A meeting connects each pair of the tasks of a session once. Every task listens on an abstract socket whose name holds user, partition, instance
// and task (nothing on disk, gone with the process) and connects to all lower tasks; both sides check by the kernel's
// credentials that the other belongs to the same user. Until all are there, a task whose connection ended may come again. The listening
// socket closes when the meeting is over: a task that opens the instance again finds nobody until the others do so too.
//
//	higher task: connect ── Hello ──> lower task: checks, Welcome or Refuse ──> connected
type meeting struct {
	c        *Config
	instance int
	s        *standalone
	listener int
	calling  map[int]*call // by task: connections that this task has begun
	guests   []*guest      // connections to this task that have not greeted yet
	limit    time.Duration // how long to wait for the others
	retry    time.Duration // between attempts to connect
	misfit   string        // why a task was refused, for the message if it stays away
}

// call is a connection to a lower task that has not answered yet.
type call struct {
	conn *wire.Conn
	pid  int
}

// guest is a connection from a task that is not known yet.
type guest struct {
	conn *wire.Conn
	pid  int
}

const (
	firstRetry = time.Millisecond
	lastRetry  = 50 * time.Millisecond
	bindLimit  = 2 * time.Second // a task that has just ended may still hold its name
	maxGuests  = 4096
)

func newMeeting(c *Config, instance int, s *standalone) *meeting {
	return &meeting{c: c, instance: instance, s: s, listener: -1, limit: meetLimit, calling: make(map[int]*call), retry: firstRetry}
}

// address is the abstract socket of a task. A partition that is long or no plain word appears as its hash.
func (m *meeting) address(task int) *unix.SockaddrUnix {
	partition := m.c.Partition
	if len(partition) > 32 || strings.Trim(partition, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") != "" {
		sum := sha256.Sum256([]byte(partition))
		partition = fmt.Sprintf("#%x", sum[:12])
	}
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@lapi/%d/%s/%d/%d", os.Geteuid(), partition, m.instance, task)}
}

// run returns when all peers are connected.
func (m *meeting) run() error {
	if err := m.listen(); err != nil {
		return err
	}
	deadline := deadlineOf(m.c, m.limit)
	for {
		if err := m.connectAll(); err != nil {
			return err
		}
		if len(m.missing()) == 0 {
			return nil
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return m.timeout()
		}
		if err := m.wait(); err != nil {
			return err
		}
		if err := m.serve(); err != nil {
			return err
		}
	}
}

func (m *meeting) listen() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	m.listener = fd
	for limit := time.Now().Add(bindLimit); ; time.Sleep(firstRetry) {
		err = unix.Bind(fd, m.address(m.c.Task))
		if err != unix.EADDRINUSE || time.Now().After(limit) {
			break
		}
	}
	if err == unix.EADDRINUSE {
		return fmt.Errorf("another process is task %d of MP_PARTITION=%s already; give each task its own MP_CHILD and each job its own MP_PARTITION",
			m.c.Task, m.c.Partition)
	}
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// connectAll begins a connection to every lower task that has none.
func (m *meeting) connectAll() error {
	for _, t := range m.c.CommonTasks {
		if t > m.c.Task {
			break
		}
		if m.s.peers[t] != nil || m.calling[t] != nil {
			continue
		}
		if err := m.connect(t); err != nil {
			return err
		}
	}
	return nil
}

func (m *meeting) connect(task int) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	err = unix.Connect(fd, m.address(task))
	if err == unix.ECONNREFUSED || err == unix.EAGAIN || err == unix.EINTR { // not there yet, or its queue is full
		unix.Close(fd)
		return nil
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("connecting to task %d: %w", task, err)
	}
	pid, err := sameUser(fd)
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("the socket of task %d: %w", task, err)
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	g := Greeting{Purpose: Join, Task: m.c.Task, NumTasks: m.c.NumTasks, Instance: m.instance, PID: os.Getpid()}
	conn.Queue(wire.Message{Kind: wire.Hello, Number: uint32(task), Data: g.Encode()})
	_, _ = conn.Flush() // if it cannot go, answers sees why
	m.calling[task] = &call{conn, pid}
	return nil
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

// wait sleeps until something happened or the next attempt to connect is due.
func (m *meeting) wait() error {
	var set []unix.PollFd
	if len(m.guests) < maxGuests {
		set = append(set, unix.PollFd{Fd: int32(m.listener), Events: unix.POLLIN})
	}
	for _, c := range m.calling {
		set = append(set, unix.PollFd{Fd: int32(c.conn.Fd()), Events: unix.POLLIN})
	}
	for _, g := range m.guests {
		set = append(set, unix.PollFd{Fd: int32(g.conn.Fd()), Events: unix.POLLIN})
	}
	for _, p := range m.s.peers {
		if p != nil && p.how == "" {
			set = append(set, unix.PollFd{Fd: int32(p.conn.Fd()), Events: unix.POLLHUP})
		}
	}
	happened, err := pollFor(set, time.Now().Add(m.retry))
	if !happened {
		m.retry = min(2*m.retry, lastRetry)
	}
	return err
}

// serve accepts, greets and answers.
func (m *meeting) serve() error {
	if err := m.accept(); err != nil {
		return err
	}
	if err := m.answers(); err != nil {
		return err
	}
	waiting := m.guests[:0]
	for _, g := range m.guests {
		if !m.greet(g) {
			waiting = append(waiting, g)
		}
	}
	m.guests = waiting
	m.dropEnded()
	return nil
}

func (m *meeting) accept() error {
	for len(m.guests) < maxGuests {
		fd, _, err := unix.Accept4(m.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
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
			m.guests = append(m.guests, &guest{conn, pid})
		}
	}
	return nil
}

// answers hears what lower tasks say to this one's greeting.
func (m *meeting) answers() error {
	for t, c := range m.calling {
		_, err := c.conn.Flush()
		var answer wire.Message
		var ok bool
		if err == nil {
			answer, ok, err = c.conn.Receive(m.s.scratch)
		}
		if err != nil { // it ended, or closed its listener, before it answered: try again
			c.conn.Close()
			delete(m.calling, t)
			continue
		}
		if !ok {
			continue
		}
		delete(m.calling, t)
		answer.CloseFiles()
		if answer.Kind != wire.Welcome {
			c.conn.Close()
			return fmt.Errorf("task %d (process %d) refuses: %s", t, c.pid, answer.Data)
		}
		m.s.adopt(t, c.conn, c.pid)
	}
	return nil
}

// greet reads a guest's greeting; false: it has not come yet.
func (m *meeting) greet(g *guest) bool {
	hello, ok, err := g.conn.Receive(m.s.scratch)
	if err == nil && !ok {
		return false
	}
	hello.CloseFiles()
	if err != nil {
		g.conn.Close()
		return true
	}
	who, err := m.check(hello)
	if err != nil {
		m.misfit = fmt.Sprintf("process %d was refused: %v", g.pid, err)
		g.conn.Queue(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
		_, _ = g.conn.Flush() // one small record into an empty socket
		g.conn.Close()
		return true
	}
	if old := m.s.peers[who.Task]; old != nil {
		m.s.drop(old) // it has come again; the old connection is about to end
	}
	g.conn.Queue(wire.Message{Kind: wire.Welcome})
	_, _ = g.conn.Flush()
	m.s.adopt(who.Task, g.conn, g.pid)
	return true
}

// check says whether the sender of a greeting belongs to this session.
func (m *meeting) check(hello wire.Message) (Greeting, error) {
	if hello.Kind != wire.Hello {
		return Greeting{}, errors.New("it does not greet")
	}
	who, err := ParseGreeting(hello.Data)
	switch {
	case err != nil:
		return who, err
	case who.NumTasks != m.c.NumTasks:
		return who, fmt.Errorf("MP_PROCS is %d for task %d and %d for task %d", who.NumTasks, who.Task, m.c.NumTasks, m.c.Task)
	case who.Instance != m.instance || hello.Number != uint32(m.c.Task):
		return who, errors.New("it looks for another task or instance")
	case who.Task <= m.c.Task || !m.common(who.Task):
		return who, fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", m.c.Task, who.Task)
	}
	return who, nil
}

func (m *meeting) common(task int) bool {
	for _, t := range m.c.CommonTasks {
		if t == task {
			return true
		}
	}
	return false
}

// dropEnded forgets peers that have gone away again.
func (m *meeting) dropEnded() {
	for _, p := range m.s.peers {
		if p == nil {
			continue
		}
		set := []unix.PollFd{{Fd: int32(p.conn.Fd()), Events: 0}}
		if n, err := unix.Poll(set, 0); err == nil && n > 0 {
			m.s.drop(p)
		}
	}
}

func (m *meeting) missing() []int {
	var tasks []int
	for _, t := range m.c.CommonTasks {
		if m.s.peers[t] == nil {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (m *meeting) timeout() error {
	text := fmt.Sprintf("%s did not come within %v; every task that MP_COMMON_TASKS lists must be started on this node with MP_PARTITION=%s",
		nameTasks(m.missing()), m.limit, m.c.Partition)
	if m.misfit != "" {
		text += "; " + m.misfit
	}
	return errors.New(text)
}

// nameTasks is "task 3" or "tasks 1, 2 and 3", of many only the first.
func nameTasks(tasks []int) string {
	const most = 8
	if len(tasks) == 1 {
		return fmt.Sprintf("task %d", tasks[0])
	}
	var b strings.Builder
	b.WriteString("tasks ")
	for i, t := range tasks {
		switch {
		case i == most:
			fmt.Fprintf(&b, " and %d others", len(tasks)-most)
			return b.String()
		case i == len(tasks)-1 && i > 0:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", t)
	}
	return b.String()
}

// close ends the meeting; connections that were not adopted end with it.
func (m *meeting) close() {
	if m.listener >= 0 {
		unix.Close(m.listener)
	}
	for _, c := range m.calling {
		c.conn.Close()
	}
	for _, g := range m.guests {
		g.conn.Close()
	}
}
