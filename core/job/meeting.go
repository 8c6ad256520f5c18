package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

// A meeting connects each pair of the tasks of a session once. Every task opens its place and connects to all lower tasks; both sides check
// by the kernel's credentials that the other belongs to the same user. Until all are there, a task whose connection ended may come again.
//
//	higher task: connect ── Hello ──> lower task: checks, Welcome or Refuse ──> connected
//
// The place stays open when the meeting is over. So a task that is started again after it died finds the others in their session, and
// they welcome it back (comeback.go). It cannot know that beforehand: a task that has waited for a while connects to the higher
// ones too, with a Hello that says so (Return). Those who are in the meeting themselves leave that unanswered, for they connect to it.
//
// Who was welcomed back waits for nobody who is not there: who listens later will connect to it.
type meeting struct {
	*place
	s       *standalone
	calling map[int]*call // by task: connections that this task has begun
	absent  map[int]bool  // by task: the latest attempt to connect found nobody
	limit   time.Duration // how long to wait for the others
	retry   time.Duration // between attempts to connect
	search  time.Time     // when to look everywhere: at all seats, and for the higher tasks
	misfit  string        // why a task was refused, for the message if it stays away
}

// call is a connection to another task that has not answered yet.
type call struct {
	conn *wire.Conn
	pid  int
}

const (
	firstRetry  = time.Millisecond
	lastRetry   = 50 * time.Millisecond
	firstSearch = 200 * time.Millisecond // how long all are given to come in the usual way
	nextSearch  = 500 * time.Millisecond // with many tasks a search costs: twice the time of a start of 64 if each attempt were one
)

func newMeeting(c *Config, instance int, s *standalone) *meeting {
	return &meeting{
		place: &place{c: c, instance: instance, listener: -1}, s: s, limit: meetLimit, retry: firstRetry,
		calling: make(map[int]*call), absent: make(map[int]bool),
	}
}

// run returns when all peers are connected; or, if the others are in a session already, all that are there.
func (m *meeting) run() error {
	if err := m.open(); err != nil {
		return err
	}
	m.search = time.Now().Add(firstSearch)
	deadline := deadlineOf(m.c, m.limit)
	for {
		if err := m.connectAll(); err != nil {
			return err
		}
		if m.over() {
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

func (m *meeting) over() bool {
	for _, t := range m.missing() {
		if !m.s.returning || !m.absent[t] {
			return false
		}
	}
	return true
}

// connectAll begins a connection to every lower task that has none, and now and then to the higher ones.
func (m *meeting) connectAll() error {
	everywhere := m.s.returning || time.Now().After(m.search)
	if everywhere {
		m.search = time.Now().Add(nextSearch)
	}
	for _, t := range m.c.CommonTasks {
		if t > m.c.Task && !everywhere {
			break
		}
		if m.s.peers[t] != nil || m.calling[t] != nil {
			continue
		}
		if err := m.connect(t, everywhere); err != nil {
			return err
		}
	}
	return nil
}

func (m *meeting) connect(task int, everywhere bool) error {
	first := 1
	if everywhere {
		first = seats
	}
	fd, pid, absent, err := m.find(task, first)
	m.absent[task] = absent && everywhere
	if fd < 0 {
		return err
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	g := Greeting{Purpose: Join, Task: m.c.Task, NumTasks: m.c.NumTasks, Instance: m.instance, PID: os.Getpid()}
	if task > m.c.Task {
		g.Purpose = Return
	}
	conn.Queue(wire.Message{Kind: wire.Hello, Number: uint32(task), Data: g.Encode()})
	_, _ = conn.Flush() // if it cannot go, answers sees why
	m.calling[task] = &call{conn, pid}
	return nil
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

// greet lets a guest in, or forgets it if it was refused; false: it is to wait.
func (m *meeting) greet(g *guest) bool {
	if err := m.hear(g, m.s.scratch); err != nil {
		if err != io.EOF {
			m.misfit = err.Error()
		}
		return true
	}
	if !g.known || g.who.Purpose == Return {
		return false
	}
	t := g.who.Task
	if old := m.s.peers[t]; old != nil {
		m.s.drop(old) // it has come again; the old connection is about to end
	}
	if c := m.calling[t]; c != nil { // it need not answer any more
		c.conn.Close()
		delete(m.calling, t)
	}
	g.conn.Queue(wire.Message{Kind: wire.Welcome})
	_, _ = g.conn.Flush()
	m.s.adopt(t, g.conn, g.pid)
	return true
}

// answers hears what other tasks say to this one's greeting.
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
		m.s.returning = m.s.returning || answer.Number == welcomeBack
		m.s.adopt(t, c.conn, c.pid)
	}
	return nil
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
	if m.s.returning {
		text = fmt.Sprintf("%s did not answer within %v; tasks in polling mode take one back only inside LAPI calls", nameTasks(m.missing()), m.limit)
	}
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

// hangUp ends the connections to tasks that have not answered. They would be one too many: such a task connects by itself.
func (m *meeting) hangUp() {
	for _, c := range m.calling {
		c.conn.Close()
	}
}
