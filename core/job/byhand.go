package job

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/hub"
	"lapi/core/job/wire"
	"lapi/core/poll"
	"lapi/invariant"
)

// Tasks that were started by hand, and list each other in MP_COMMON_TASKS, have a hub as those of
// a launcher's job have (nodehub.go, package hub), in the process of one of them. The hub's name
// decides which: the first task that looks for it and finds nobody has the hub, and the next such
// task when that one's process has ended. Each task keeps a name of its own, too, so that no task
// is there twice, and a new hub knows which tasks have ended.

// wireUpLimit is how long a task that was started by hand waits for the others, without limit with
// MP_DEBUG_NOTIMEOUT. A variable for tests.
var wireUpLimit = 60 * time.Second

// hubAnswer is how long a hub may take to say which tasks are missing. Its process may be stopped.
// Likewise.
var hubAnswer = 5 * time.Second

const (
	nameLimit = 2 * time.Second // a task that has just ended may still hold its name
	// a name that is taken and refuses belongs to a process that is about to listen, so long at
	// most
	mayListen = 20 * time.Millisecond
	// settleLimit is how long LAPI_Resume_totask waits for the hub's answer.
	settleLimit = 3 * time.Second
)

// handHub is this process's part in the hub of a job that was started by hand.
type handHub struct {
	c       Config      // as the first session has it
	members []int       // tasks of this node that list each other, ascending, this one too
	name    *os.File    // the socket of this task's name
	control int         // to the keeper
	reached bool        // a hub was; only reach uses it
	retire  func()      // ends the keeper
	over    atomic.Bool // it has been called
	// under the lock of byHandHubs
	sessions int    // that are open, or about to be
	refused  string // why the keeper has ended
}

// byHandHubs are those of this process, by what they were made of.
var byHandHubs struct {
	sync.Mutex
	all map[string]*handHub
}

// membersOf are the tasks that MP_COMMON_TASKS puts on this node.
func membersOf(c *Config) []int {
	all := append(slices.Clone(c.CommonTasks), c.Task)
	slices.Sort(all)
	return all
}

// joinByHand makes this process's keeper for the job, if there is none, and returns it. It stays
// until leaveByHand was called as often.
func joinByHand(c *Config) (*handHub, error) {
	byHandHubs.Lock()
	defer byHandHubs.Unlock()
	key := fmt.Sprint(c.Partition, "\n", c.Task, c.NumTasks, c.CommonTasks)
	if n := byHandHubs.all[key]; n != nil {
		n.sessions++
		return n, nil
	}
	n := &handHub{c: *c, members: membersOf(c), sessions: 1}
	n.c.key = nil
	name, err := takeOwnName(c)
	if err != nil {
		return nil, err
	}
	n.name = os.NewFile(uintptr(name), "name") // non-blocking, so the poller takes it
	// a caller only looks
	invariant.Go(func() { admitTasks(n.name, func(conn int) { unix.Close(conn) }) })
	if EndsAnswered != nil {
		EndsAnswered()
	}
	over := func(why string) { // before the sessions' owners notice it
		byHandHubs.Lock()
		n.forget()
		n.refused = why
		byHandHubs.Unlock()
	}
	n.control, n.retire, err = hub.Keep(hub.Owner{Task: c.Task, NumTasks: c.NumTasks,
		Mates: n.members, Reach: n.reach, Answered: EndAnswered, Over: over})
	if err != nil {
		n.name.Close()
		return nil, err
	}
	if byHandHubs.all == nil {
		byHandHubs.all = make(map[string]*handHub)
	}
	byHandHubs.all[key] = n
	return n, nil
}

// forget gives up this task's name, so that others do not find it any more, and its next session
// begins anew. The lock of byHandHubs is held.
func (n *handHub) forget() {
	for key, other := range byHandHubs.all {
		if other == n {
			delete(byHandHubs.all, key)
		}
	}
	unlisten(n.name)
}

// leaveByHand is for a session that is closed. After the last one this process does not belong to
// the job any more, and another may become its task.
func (n *handHub) leaveByHand() {
	byHandHubs.Lock()
	n.sessions--
	last := n.sessions == 0
	if last {
		n.over.Store(true)
		n.forget()
	}
	byHandHubs.Unlock()
	if last {
		n.retire()
		unix.Close(n.control)
	}
}

func takeOwnName(c *Config) (fd int, err error) {
	for began := time.Now(); ; time.Sleep(firstRetry) {
		fd, err := take(c, strconv.Itoa(c.Task), time.Since(began) > mayListen)
		switch {
		case err == nil:
			return fd, nil
		case err != unix.EADDRINUSE:
			return -1, fmt.Errorf("a socket for this task: %w", err)
		case time.Since(began) > nameLimit:
			return -1, fmt.Errorf("another process is task %d of MP_PARTITION=%s already; "+
				"give each task its own MP_CHILD and each job its own MP_PARTITION", c.Task, c.Partition)
		}
	}
}

// hubName is where the hub is found. Jobs of one MP_PARTITION whose lists have no task in common,
// as those of two nodes, have one each.
func (n *handHub) hubName() string { return fmt.Sprint("hub", n.members[0]) }

// reach connects to the hub, and creates it in this process if no other has it. Once the job has
// begun, the job goes on without a hub rather than end, whichever process has taken the hub's name.
func (n *handHub) reach() (socket int, err error) {
	for began, retry := time.Now(), firstRetry; !n.over.Load(); retry = min(2*retry, lastRetry) {
		fd, err := find(&n.c, n.hubName())
		if err == nil {
			n.reached = true
			return fd, nil
		}
		if err == unix.ECONNREFUSED {
			fd, err = take(&n.c, n.hubName(), time.Since(began) > mayListen)
			if err == nil {
				n.lead(fd)
				continue
			}
		}
		taken := err == unix.EADDRINUSE || err == unix.EAGAIN || err == unix.EINTR
		if !n.reached && (!taken || time.Since(began) > wireUpLimit && !n.c.NoTimeout) {
			return -1, fmt.Errorf("the socket of the tasks of this node: %w", err)
		}
		time.Sleep(retry)
	}
	return -1, errNobody
}

// lead creates the hub in this process, and listens for it.
func (n *handHub) lead(listener int) {
	h := hub.New(n.c.NumTasks, make([]byte, KeySize))
	socket := os.NewFile(uintptr(listener), "hub") // non-blocking, so the poller takes it
	h.ByHand(n.members, n.c.Task, func() { unlisten(socket) })
	for _, t := range n.members {
		if t != n.c.Task {
			invariant.Go(func() {
				look(h, t, firstRetry, func() bool {
					fd, err := find(&n.c, strconv.Itoa(t))
					if err == nil {
						unix.Close(fd)
					}
					return err == unix.ECONNREFUSED
				})
			})
		}
	}
	invariant.Go(func() { admitTasks(socket, func(conn int) { _ = h.Admit(conn) }) })
}

// byHandSession is a session of a task that was started by hand.
type byHandSession struct {
	*launched
	n       *handHub
	limit   time.Duration // 0: none
	life    wire.Life
	others  map[int]known // by task
	settled map[int]bool  // what Settle has asked is answered, by task
}

// known is another task's session, as this one knows it.
type known struct {
	life  wire.Life
	given bool // it has this one's part, or that is on its way
	part  Part // as another hub may ask for it again; the files are the caller's
}

// Rejoiner is implemented by Sessions whose tasks may die and rejoin: tasks that were started by
// hand, as only the user starts such a task again. Like the rest of a Session it is used under its
// context's lock.
type Rejoiner interface {
	// Answer gives this task's part to a task whose TaskRejoined Poll has returned. The files stay
	// the caller's.
	Answer(task int, part Part)
	// Expect says that a task which has left in good order, or will, may rejoin too. Without it a
	// task that has left and comes anew is for the job's next session.
	Expect(task int)
	// Settle waits until it is known whether a task's process has ended. If it has, Poll returns
	// that then; without Settle it may return it a moment too late for a caller that knows of the
	// end from elsewhere.
	Settle(task int)
}

var _ Rejoiner = (*byHandSession)(nil)

func openByHand(c *Config, instance int) (Session, error) {
	n, err := joinByHand(c)
	if err != nil {
		return nil, err
	}
	kept := *c
	kept.kept, kept.launcherFD = true, n.control
	s, err := openSession(&kept, instance)
	if err != nil {
		defer n.leaveByHand()
		byHandHubs.Lock()
		defer byHandHubs.Unlock()
		if n.refused != "" {
			return nil, errors.New(n.refused)
		}
		return nil, err
	}
	b := &byHandSession{launched: s, n: n, limit: wireUpLimit, life: wire.NewLife(),
		others: make(map[int]known), settled: make(map[int]bool)}
	if c.NoTimeout {
		b.limit = 0
	}
	s.members, s.more = n.members, b.heard
	return b, nil
}

// Exchange waits for the others for a minute. In the first one each says which life it has.
func (s *byHandSession) Exchange(part Part) ([]Part, error) {
	if s.limit > 0 {
		s.deadline = time.Now().Add(s.limit)
		s.late = s.ask
	}
	defer func() { s.deadline, s.late = time.Time{}, nil }()
	if s.round > 0 {
		return s.launched.Exchange(part)
	}
	all, err := s.launched.Exchange(Part{Data: s.life.Before(part.Data), Files: part.Files})
	for t := range all {
		if all[t].Data == nil {
			continue // the task is not there
		}
		k, ok := known{given: true, part: part}, false
		if k.life, all[t].Data, ok = wire.CutLife(all[t].Data); !ok {
			return nil, fmt.Errorf("what task %d gives says nothing of who it is", t)
		}
		s.others[t] = k
	}
	return all, err
}

// ask asks the hub which tasks the exchange waits for; heard takes the answer.
func (s *byHandSession) ask() error {
	s.deadline = time.Now().Add(hubAnswer)
	s.late = func() error {
		return fmt.Errorf("the others did not come within %v, and the task of this node that has "+
			"MP_PARTITION=%s's hub does not answer; is its process stopped?", s.limit,
			s.n.c.Partition)
	}
	s.conn.Queue(wire.Message{Kind: wire.Missing})
	_, err := flush(s.conn)
	return err
}

// heard takes the messages that the hub of a launcher's job does not send.
func (s *byHandSession) heard(m wire.Message) error {
	switch m.Kind {
	case wire.Rejoined:
		t := int(m.Number)
		life, data, ok := wire.CutLife(m.Data)
		if !ok || !slices.Contains(s.members, t) || t == s.task {
			break
		}
		if s.others[t].life == life { // another hub asks
			s.give(t)
			break
		}
		s.others[t] = known{life: life}
		s.events = slices.DeleteFunc(s.events, func(e Event) bool { // it has ended, unanswered
			if e.Kind == TaskRejoined && e.Task == t {
				closeAll(e.Part.Files)
				return true
			}
			return false
		})
		s.events = append(s.events, Event{Kind: TaskRejoined, Task: t,
			Part: Part{Data: data, Files: m.Files}})
		return nil
	case wire.Settle:
		s.settled[int(m.Number)] = true
	case wire.Missing:
		var tasks []int
		for b := m.Data; len(b) >= 4; b = b[4:] {
			tasks = append(tasks, int(binary.LittleEndian.Uint32(b)))
		}
		return s.missing(tasks, m.Number == 1)
	}
	m.CloseFiles()
	return nil
}

// missing says which tasks the exchange has waited for. None: it is about to be over.
func (s *byHandSession) missing(tasks []int, rejoins bool) error {
	if len(tasks) == 0 {
		return nil
	}
	if rejoins {
		return fmt.Errorf("%s did not answer within %v; tasks in polling mode readmit one only "+
			"inside LAPI calls", nameTasks(tasks), s.limit)
	}
	text := fmt.Sprintf("%s did not come within %v; every task that MP_COMMON_TASKS lists must be "+
		"started on this node with MP_PARTITION=%s and the same LAPI_USE_SHM", nameTasks(tasks), s.limit, s.n.c.Partition)
	var there []int
	for _, t := range tasks {
		if fd, err := find(&s.n.c, strconv.Itoa(t)); err == nil {
			unix.Close(fd)
			there = append(there, t)
		}
	}
	if len(there) > 0 {
		text += fmt.Sprintf(", and list the same tasks: %s runs, with another list",
			nameTasks(there))
	}
	return fmt.Errorf("%s", text)
}

// Answer implements Rejoiner.
func (s *byHandSession) Answer(task int, part Part) {
	s.others[task] = known{s.others[task].life, true, part}
	s.give(task)
}

// give answers a task that has rejoined, if the caller has done so.
func (s *byHandSession) give(task int) {
	if k := s.others[task]; k.given {
		sendSoon(s.conn, wire.Message{Kind: wire.Answer, Number: uint32(task),
			Data: k.life.Before(s.life.Before(k.part.Data)), Files: k.part.Files})
	}
}

// Expect implements Rejoiner.
func (s *byHandSession) Expect(task int) {
	sendSoon(s.conn, wire.Message{Kind: wire.Expect, Number: uint32(task)})
}

// Settle implements Rejoiner.
func (s *byHandSession) Settle(task int) {
	sendSoon(s.conn, wire.Message{Kind: wire.Settle, Number: uint32(task)})
	s.settled[task] = false
	for end := time.Now().Add(settleLimit); !s.settled[task] && !s.gone; {
		set := []unix.PollFd{{Fd: int32(s.conn.Fd()), Events: unix.POLLIN}}
		if ok, err := poll.Until(set, end); !ok || err != nil {
			return
		}
		s.receive()
	}
}

// Leave does something only after the first exchange. A task that gives up LAPI_Init only closes
// the session, and may try again.
func (s *byHandSession) Leave() {
	if s.round > 0 {
		s.launched.Leave()
	}
}

// Close closes the files of events that Poll has not returned, too.
func (s *byHandSession) Close() error {
	for _, e := range s.events {
		closeAll(e.Part.Files)
	}
	defer s.n.leaveByHand()
	return s.launched.Close()
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
