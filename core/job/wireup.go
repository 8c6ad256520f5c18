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

// A wireUp connects each pair of the tasks of a session once. Every task opens its listener and
// dials all lower tasks. Both sides check by the kernel's credentials that the other belongs to the
// same user. Until all are connected, a task whose connection ended may dial again.
//
//	higher task: dial ── Hello ──> lower task: checks, Welcome or Refuse ──> connected
//
// The listener stays open afterwards. So a task that is started again after it died finds the
// others in their session, and they readmit it (rejoin.go). It cannot know that beforehand: a task
// that has waited for a while dials the higher ones too, with a Hello that says so (Rejoin). Tasks
// that are still wiring up leave that unanswered, for they dial the lower task themselves.
//
// A task that was readmitted waits for nobody who is not there: a task that listens later will dial
// it.
type wireUp struct {
	*listener
	s       *standalone
	dialed  map[int]*dialed // by task: connections of this task that were not answered yet
	absent  map[int]bool    // by task: the latest dial found nobody
	limit   time.Duration   // how long to wait for the others
	retry   time.Duration   // between attempts to dial
	search  time.Time       // when to look everywhere: in all name slots, and for the higher tasks
	refused string          // why a connection was refused, for the message if its task stays away
}

// dialed is a connection to another task that has not answered yet.
type dialed struct {
	conn *wire.Conn
	pid  int
}

const (
	firstRetry  = time.Millisecond
	lastRetry   = 50 * time.Millisecond
	firstSearch = 200 * time.Millisecond // how long all are given to come in the usual way
	// with many tasks a search costs: twice the time of a start of 64 if each attempt were one
	nextSearch = 500 * time.Millisecond
)

func newWireUp(c *Config, instance int, s *standalone) *wireUp {
	return &wireUp{
		listener: &listener{c: c, instance: instance, fd: -1}, s: s, limit: wireUpLimit,
		retry:  firstRetry,
		dialed: make(map[int]*dialed), absent: make(map[int]bool),
	}
}

// run returns when all peers are connected; or, if the others are in a session already, all that
// are there.
func (w *wireUp) run() error {
	if err := w.open(); err != nil {
		return err
	}
	w.search = time.Now().Add(firstSearch)
	deadline := deadlineOf(w.c, w.limit)
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
		if err := w.wait(); err != nil {
			return err
		}
		if err := w.serve(); err != nil {
			return err
		}
	}
}

func (w *wireUp) over() bool {
	for _, t := range w.missing() {
		if !w.s.rejoining || !w.absent[t] {
			return false
		}
	}
	return true
}

// dialAll dials every lower task that has no connection, and now and then the higher ones.
func (w *wireUp) dialAll() error {
	everywhere := w.s.rejoining || time.Now().After(w.search)
	if everywhere {
		w.search = time.Now().Add(nextSearch)
	}
	for _, t := range w.c.CommonTasks {
		if t > w.c.Task && !everywhere {
			break
		}
		if w.s.peers[t] != nil || w.dialed[t] != nil {
			continue
		}
		if err := w.dialTask(t, everywhere); err != nil {
			return err
		}
	}
	return nil
}

func (w *wireUp) dialTask(task int, everywhere bool) error {
	first := 1
	if everywhere {
		first = nameSlots
	}
	fd, pid, absent, err := w.find(task, first)
	w.absent[task] = absent && everywhere
	if fd < 0 {
		return err
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	h := wire.Greeting{Purpose: wire.Join, Task: w.c.Task, NumTasks: w.c.NumTasks,
		Instance: w.instance, PID: os.Getpid()}
	if task > w.c.Task {
		h.Purpose = wire.Rejoin
	}
	conn.Queue(wire.Message{Kind: wire.Hello, Number: uint32(task), Data: h.Encode()})
	_, _ = conn.Flush() // if it cannot go, readAnswers sees why
	w.dialed[task] = &dialed{conn, pid}
	return nil
}

// wait sleeps until something happened or the next attempt to dial is due.
func (w *wireUp) wait() error {
	var set []unix.PollFd
	if len(w.pending) < maxPending {
		set = append(set, unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN})
	}
	for _, c := range w.dialed {
		set = append(set, unix.PollFd{Fd: int32(c.conn.Fd()), Events: unix.POLLIN})
	}
	for _, p := range w.pending {
		set = append(set, unix.PollFd{Fd: int32(p.conn.Fd()), Events: unix.POLLIN})
	}
	for _, p := range w.s.peers {
		if p != nil && p.how == "" {
			set = append(set, unix.PollFd{Fd: int32(p.conn.Fd()), Events: unix.POLLHUP})
		}
	}
	happened, err := poll.Until(set, time.Now().Add(w.retry))
	if !happened {
		w.retry = min(2*w.retry, lastRetry)
	}
	return err
}

// serve accepts connections and reads hellos and answers.
func (w *wireUp) serve() error {
	if err := w.accept(); err != nil {
		return err
	}
	if err := w.readAnswers(); err != nil {
		return err
	}
	waiting := w.pending[:0]
	for _, p := range w.pending {
		if !w.admit(p) {
			waiting = append(waiting, p)
		}
	}
	w.pending = waiting
	w.dropEnded()
	return nil
}

// admit makes a pending connection the way to its task, or forgets it if it was refused; false: it
// is to wait.
func (w *wireUp) admit(p *pendingConn) bool {
	if err := w.readHello(p, w.s.scratch); err != nil {
		if err != io.EOF {
			w.refused = err.Error()
		}
		return true
	}
	if !p.known || p.who.Purpose == wire.Rejoin {
		return false
	}
	t := p.who.Task
	if old := w.s.peers[t]; old != nil {
		w.s.drop(old) // it has come again; the old connection is about to end
	}
	if c := w.dialed[t]; c != nil { // it need not answer any more
		c.conn.Close()
		delete(w.dialed, t)
	}
	p.conn.Queue(wire.Message{Kind: wire.Welcome})
	_, _ = p.conn.Flush()
	w.s.adopt(t, p.conn, p.pid)
	return true
}

// readAnswers reads what other tasks answer to this one's hello.
func (w *wireUp) readAnswers() error {
	for t, c := range w.dialed {
		_, err := c.conn.Flush()
		var answer wire.Message
		var ok bool
		if err == nil {
			answer, ok, err = c.conn.Receive(w.s.scratch)
		}
		if err != nil { // it ended, or closed its listener, before it answered: try again
			c.conn.Close()
			delete(w.dialed, t)
			continue
		}
		if !ok {
			continue
		}
		delete(w.dialed, t)
		answer.CloseFiles()
		if answer.Kind != wire.Welcome {
			c.conn.Close()
			return fmt.Errorf("task %d (process %d) refuses: %s", t, c.pid, answer.Data)
		}
		w.s.rejoining = w.s.rejoining || answer.Number == intoSession
		w.s.adopt(t, c.conn, c.pid)
	}
	return nil
}

// dropEnded forgets peers that have gone away again.
func (w *wireUp) dropEnded() {
	for _, p := range w.s.peers {
		if p == nil {
			continue
		}
		set := []unix.PollFd{{Fd: int32(p.conn.Fd()), Events: 0}}
		if n, err := poll.Now(set); err == nil && n > 0 {
			w.s.drop(p)
		}
	}
}

func (w *wireUp) missing() []int {
	var tasks []int
	for _, t := range w.c.CommonTasks {
		if w.s.peers[t] == nil {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (w *wireUp) timeout() error {
	text := fmt.Sprintf("%s did not come within %v; every task that MP_COMMON_TASKS lists must be started on this node with MP_PARTITION=%s",
		nameTasks(w.missing()), w.limit, w.c.Partition)
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

// closeDialed ends the connections to tasks that have not answered. They would be one too many:
// such a task dials by itself.
func (w *wireUp) closeDialed() {
	for _, c := range w.dialed {
		c.conn.Close()
	}
}
