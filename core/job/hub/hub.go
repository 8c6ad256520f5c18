// Package hub is the launcher's side of the wire-up: it accepts sessions of tasks, passes their
// contributions to exchanges around, and tells them of deaths. lapirun has one. In a job on several
// nodes that lapirun has not started each node has one, in the process of a task.
//
//	hub.go      tasks, groups, deaths
//	group.go    sessions that belong together, their exchanges
//	session.go  one task's session: its socket and its queue
//	queue.go    what waits to be written
//	span.go     what hubs of several nodes tell each other
//	trunk.go    how: TCP, proved by the job key
//
// Every task has a control socket, which it inherits; over it come Hello messages, each with a
// socket for one session. The n-th session that each task opens of a LAPI instance form a group; an
// exchange is among the members of a group. So a task that has left an instance and opens it again
// joins the others' next sessions, never their present ones.
//
// A task is dead to a group if its process has ended, or its session's socket was closed, before
// the session said Leave. It has ended, which is less, if the session said Ending. A closed socket
// is reported after reapDelay, because the launcher will know by then how the process ended.
//
// All methods may be called by several goroutines. One mutex guards everything; it is not held
// while sockets are read or written: each session has a goroutine for either direction.
package hub

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

// reapDelay is how long the hub waits for the rest of a socket's messages after TaskEnded, and,
// unless SetReapDelay says otherwise, for TaskEnded after a session's socket was closed. LAPI must
// know of a death on its node within a second.
const reapDelay = 300 * time.Millisecond

// Hub serves one job.
type Hub struct {
	key []byte

	mu     sync.Mutex
	tasks  []task
	groups map[groupID]*group
	quiet  bool
	reap   time.Duration // from a socket's end to TaskEnded
	own    int           // tasks that it serves: all, or those of its node
	span   *span         // of a job on several nodes

	changed *sync.Cond // on mu: what await may wait for
}

// task is what the hub knows of one task. Guarded by Hub.mu.
type task struct {
	ended   bool
	how     string      // how its process ended, if ended
	opened  map[int]int // sessions opened so far, by instance
	left    map[int]int // of those, how many have left
	control *link       // its control socket; nil: no process holds the other end any more
}

type groupID struct{ instance, incarnation int }

// New returns a hub for a job of numTasks tasks with the given key of wire.KeySize bytes.
func New(numTasks int, key []byte) *Hub {
	h := &Hub{key: key, tasks: make([]task, numTasks), groups: make(map[groupID]*group),
		reap: reapDelay, own: numTasks}
	h.changed = sync.NewCond(&h.mu)
	for t := range h.tasks {
		h.tasks[t].opened, h.tasks[t].left = make(map[int]int), make(map[int]int)
	}
	return h
}

// SetReapDelay says how long the end of a session's socket waits to be explained by TaskEnded.
// Before the first Serve.
func (h *Hub) SetReapDelay(d time.Duration) { h.reap = d }

// Serve reads the control socket of a task, which it takes over, until every process that holds the
// other end has ended.
func (h *Hub) Serve(taskID int, socket int) error {
	link, err := newLink(socket)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.tasks[taskID].control = link
	h.mu.Unlock()
	go h.control(taskID, link)
	return nil
}

// control serves a task's control socket until its end.
func (h *Hub) control(taskID int, link *link) {
	for {
		m, err := link.receive()
		if err != nil {
			break
		}
		h.hello(taskID, m)
	}
	h.mu.Lock()
	h.tasks[taskID].control = nil
	h.mu.Unlock()
	link.close()
}

// Abandoned says whether some process still holds a task's control socket, but none has begun a
// session by it: if the process that was started as the task has ended, another goes on instead
// that is yet to call LAPI_Init.
func (h *Hub) Abandoned(taskID int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[taskID]
	return t.control != nil && len(t.opened) == 0 && t.control.held()
}

// Quiet ends the reports of deaths: the launcher is ending the whole job.
func (h *Hub) Quiet() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = true
}

// TaskEnded says that a task's process has ended, and how, such as "killed by signal 9".
func (h *Hub) TaskEnded(taskID int, how string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[taskID]
	if t.ended {
		return
	}
	t.ended, t.how = true, how
	for _, g := range h.groups {
		if s := g.members[taskID]; s != nil && s.closed {
			h.finish(s)
		}
	}
	time.AfterFunc(reapDelay, func() { h.endSessions(taskID) })
}

// endSessions ends what a task that has ended leaves open: a child that it forked may hold its
// sockets. What it had sent before is still read, and may be a Leave.
func (h *Hub) endSessions(taskID int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, g := range h.groups {
		if s := g.members[taskID]; s != nil {
			s.link.shutdown()
			continue
		}
		h.died(g, taskID, h.tasks[taskID].how)
		h.forget(id, g)
	}
	h.tellGone(taskID)
}

func (h *Hub) hello(taskID int, m wire.Message) {
	if m.Kind != wire.Hello || len(m.Files) != 1 {
		m.CloseFiles()
		return
	}
	link, err := newLink(m.Files[0])
	if err != nil {
		return
	}
	g, err := wire.ParseGreeting(m.Data)
	if err == nil && (g.Task != taskID || g.NumTasks != len(h.tasks)) {
		err = fmt.Errorf("this process was started as task %d of %d, but its MP_CHILD and MP_PROCS say task %d of %d",
			taskID, len(h.tasks), g.Task, g.NumTasks)
	}
	if err == nil && g.Purpose == wire.Rejoin {
		err = errors.New("tasks that lapirun has started do not rejoin")
	}
	if err != nil {
		link.sendAndClose(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
		return
	}
	welcome := wire.Message{Kind: wire.Welcome}
	if h.span == nil { // else the tasks have the key already
		welcome.Data = h.key
	}
	if g.Purpose == wire.Ask {
		link.sendAndClose(welcome)
		return
	}
	s := &session{hub: h, task: taskID, link: link, queue: newQueue[outgoing]()}
	s.send(welcome, nil)
	h.join(s, g.Instance)
	go s.readAll()
	go s.writeAll()
}

func (h *Hub) join(s *session, instance int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[s.task]
	id := groupID{instance, t.opened[instance]}
	t.opened[instance]++
	g := h.group(id)
	s.group, s.id = g, id
	g.members[s.task] = s
	g.joined++
	for dead, how := range g.dead {
		if how != "" {
			s.send(g.deathNotice(dead), nil)
		}
	}
}

// group is the one with that name, which it begins if need be.
func (h *Hub) group(id groupID) *group {
	g := h.groups[id]
	if g == nil {
		g = newGroup(h, id)
		h.groups[id] = g
		h.markAbsent(g, id)
	}
	return g
}

// markAbsent marks the tasks that will never join g, because they have ended with fewer sessions.
func (h *Hub) markAbsent(g *group, id groupID) {
	for t := range h.tasks {
		if h.tasks[t].ended && h.tasks[t].opened[id.instance] <= id.incarnation {
			g.dead[t] = h.tasks[t].how
		}
	}
}

// died marks a task dead in a group that it has not left, tells the members and fails the exchanges
// that need it. mu is held.
func (h *Hub) died(g *group, taskID int, how string) {
	if g.left[taskID] || g.dead[taskID] != "" {
		return
	}
	g.dead[taskID] = how
	if h.quiet {
		return
	}
	for _, s := range g.members {
		if s != nil && s.task != taskID {
			s.send(g.deathNotice(taskID), nil)
		}
	}
	g.failWithout(taskID)
	h.tellDeath(g, taskID)
}

// closed is called when a session's socket has ended.
func (h *Hub) closed(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.closed = true
	if s.left || h.tasks[s.task].ended {
		h.finish(s)
		return
	}
	time.AfterFunc(h.reap, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.finish(s)
	})
}

// finish declares the death of a session that ended without Leave, and forgets its group once
// nobody is in it. mu is held.
func (h *Hub) finish(s *session) {
	if s.finished {
		return
	}
	s.finished = true
	g := s.group
	if !s.left {
		how := h.tasks[s.task].how
		if how == "" {
			how = "closed its connection without LAPI_Term"
		}
		h.died(g, s.task, how)
	}
	g.over++
	h.forget(s.id, g)
}

// forget drops a group once all its sessions have ended and nobody will join it any more. mu is
// held.
func (h *Hub) forget(id groupID, g *group) {
	if g.over == g.joined && g.allAccounted() {
		g.discard()
		delete(h.groups, id)
	}
}

// closeFiles closes descriptors of this process.
func closeFiles(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}
