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
	"lapi/core/poll"
)

// A wireUp connects each pair of the tasks of a session once. Every task listens first, and then
// dials all others. So of two tasks the one that listens later finds the other, and nobody has to
// look again, but for one that does not list this task, and says so only when it is dialed. Between
// tasks that are both wiring up the higher one makes the connection: what a lower one dials is only
// a bell.
//
//	higher: dial ── Hello ──> lower: checks, Welcome or Refuse ──> connected
//	lower:  dial ── Hello ──> higher: Welcome with callsBack, and dials the lower
//
// Until all are connected, a task whose connection ended may dial again.
//
// A task that is started again after it died finds the others in their session, and they readmit
// it (rejoin.go), whether lower or higher: their Welcome says intoSession. It then waits for
// nobody who is not there: a task that listens later will dial it.
type wireUp struct {
	s        *standalone
	contacts map[int]*contact // by task
	limit    time.Duration    // how long to wait for the others
	refused  string           // why a connection was refused, for the message if its task stays away
}

// contact is how this task stands to one that it is not connected to.
type contact struct {
	conn  *wire.Conn // it was dialed and has not answered; nil: it was not
	pid   int
	comes bool      // it does not listen, or has said that it calls back
	next  time.Time // when to dial it
}

// Numbers of a Welcome.
const (
	intoSession = 1 + iota // from a task that is in its session
	callsBack              // from a higher task that is wiring up
)

// dialTag less the number of a task is the watch's tag of the connection that is a contact's.
const dialTag = listenerTag - 1

// dialPause is before a task is dialed again that had no room for one more, or hung up.
const dialPause = 50 * time.Millisecond

// comesPause is before one is that will dial by itself, unless it does not list this task. A
// variable for tests.
var comesPause = time.Second

func newWireUp(s *standalone) *wireUp {
	w := &wireUp{s: s, limit: wireUpLimit, contacts: make(map[int]*contact)}
	for _, t := range s.c.CommonTasks {
		w.contacts[t] = new(contact)
	}
	return w
}

// run returns when all peers are connected; or, if the others are in a session already, all that
// are there.
func (w *wireUp) run() error {
	deadline := deadlineOf(w.s.c, w.limit)
	for {
		if err := w.dialAll(); err != nil {
			return err
		}
		if w.over() {
			return nil
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return w.timeout()
		}
		if err := w.wait(deadline); err != nil {
			return err
		}
		if err := w.serve(); err != nil {
			return err
		}
	}
}

func (w *wireUp) over() bool {
	for _, t := range w.missing() {
		if !w.s.rejoining || !w.contacts[t].comes {
			return false
		}
	}
	return true
}

// dialAll dials every task that it is time for.
func (w *wireUp) dialAll() error {
	for _, t := range w.missing() {
		c := w.contacts[t]
		if c.conn == nil && !time.Now().Before(c.next) {
			if err := w.dial(t, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wireUp) dial(task int, c *contact) error {
	s := w.s
	c.comes, c.next = false, time.Now().Add(dialPause)
	fd, pid, err := find(s.c, s.instance, task)
	switch err {
	case nil:
	case errNobody:
		c.waitFor()
		return nil
	case unix.EAGAIN:
		return nil
	default:
		return err
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	c.conn, c.pid = conn, pid
	h := wire.Greeting{Purpose: wire.Join, Task: s.c.Task, NumTasks: s.c.NumTasks,
		Instance: s.instance, PID: os.Getpid()}
	conn.Queue(wire.Message{Kind: wire.Hello, Number: uint32(task), Data: h.Encode()})
	if sent, err := conn.Flush(); !sent || err != nil { // one small record into an empty socket
		w.hangUp(c)
		return nil
	}
	return s.watch.add(fd, dialTag-task)
}

// waitFor leaves it to the other task to dial.
func (c *contact) waitFor() { c.comes, c.next = true, time.Now().Add(comesPause) }

// hangUp ends a connection that was not answered.
func (w *wireUp) hangUp(c *contact) {
	if c.conn != nil {
		w.s.watch.remove(c.conn.Fd())
		c.conn.Close()
		c.conn = nil
	}
}

// wait sleeps until something happened, or the next attempt to dial is due.
func (w *wireUp) wait(deadline time.Time) error {
	for _, t := range w.missing() {
		c := w.contacts[t]
		next := c.next
		if c.conn != nil {
			next = time.Now().Add(dialPause)
		}
		if deadline.IsZero() || next.Before(deadline) {
			deadline = next
		}
	}
	happened, err := poll.Until([]unix.PollFd{{Fd: int32(w.s.watch.fd), Events: unix.POLLIN}},
		deadline)
	if happened || err != nil {
		return err
	}
	for _, c := range w.contacts { // a child of who has ended may keep the listening socket
		if c.conn != nil && poll.Ended(c.pid) {
			w.hangUp(c)
		}
	}
	return nil
}

// serve takes what has come: other tasks, their answers, and the end of those that were connected,
// which may come again.
func (w *wireUp) serve() error {
	s := w.s
	for range maxPending { // and then the deadline is looked at
		tag, ok := s.watch.ready()
		if !ok {
			return nil
		}
		switch {
		case tag == listenerTag:
			if err := s.serveListener(); err != nil {
				return fmt.Errorf("accepting a task: %w", err)
			}
		case tag <= dialTag:
			if err := w.readAnswer(dialTag - tag); err != nil {
				return err
			}
		default:
			w.hear(s.peers[tag])
		}
	}
	return nil
}

// hear takes what a peer has sent that is ahead, and drops it if it has gone away again; gone: it
// has.
func (w *wireUp) hear(p *peer) (gone bool) {
	if w.s.receive(p); p.how == "" {
		return false
	}
	if p.malformed {
		w.refused = fmt.Sprintf("task %d %s", p.task, p.how)
	}
	w.s.drop(p)
	return true
}

// admit takes a task that has said hello: as a peer if it is higher, else to dial it.
func (w *wireUp) admit(p *pendingConn) {
	s, t := w.s, p.who.Task
	c := w.contacts[t]
	if old := s.peers[t]; old != nil && !w.hear(old) {
		if old.pid == p.pid { // it had dialed before it was connected
			s.hangUp(p)
			return
		}
		s.drop(old) // another process has come; the old connection is about to end
	}
	c.comes, c.next = false, time.Time{} // for a lower one, or one that may come again
	if t > s.c.Task {
		w.hangUp(c) // it need not answer any more
		_ = s.welcome(p, 0)
		return
	}
	p.conn.Queue(wire.Message{Kind: wire.Welcome, Number: callsBack})
	_, _ = p.conn.Flush() // one small record into an empty socket
	s.hangUp(p)
}

// readAnswer reads what another task answers to this one's hello.
func (w *wireUp) readAnswer(task int) error {
	s, c := w.s, w.contacts[task]
	answer, ok, err := c.conn.Receive(s.scratch)
	if err != nil { // it ended, or closed its listener, before it answered: try again
		if err != io.EOF {
			w.refused = fmt.Sprintf("task %d cannot be understood: %v", task, err)
		}
		w.hangUp(c)
		return nil
	}
	if !ok {
		return nil
	}
	answer.CloseFiles()
	switch {
	case answer.Kind != wire.Welcome:
		return fmt.Errorf("task %d (process %d) refuses: %s", task, c.pid, answer.Data)
	case answer.Number == callsBack:
		w.hangUp(c)
		c.waitFor()
		return nil
	}
	s.rejoining = s.rejoining || answer.Number == intoSession
	s.watch.remove(c.conn.Fd())
	conn := c.conn
	c.conn = nil
	_, err = s.adopt(task, conn, c.pid)
	return err
}

func (w *wireUp) missing() []int {
	var tasks []int
	for _, t := range w.s.c.CommonTasks {
		if w.s.peers[t] == nil {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (w *wireUp) timeout() error {
	text := fmt.Sprintf("%s did not come within %v; every task that MP_COMMON_TASKS lists must be started on this node with MP_PARTITION=%s",
		nameTasks(w.missing()), w.limit, w.s.c.Partition)
	if w.s.rejoining {
		text = fmt.Sprintf(
			"%s did not answer within %v; tasks in polling mode readmit one only inside LAPI calls",
			nameTasks(w.missing()), w.limit)
	}
	if w.refused != "" {
		text += "; " + w.refused
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

// end hangs up on the tasks that have not answered. They would be one too many: such a task dials
// by itself.
func (w *wireUp) end() {
	for _, c := range w.contacts {
		w.hangUp(c)
	}
}
