// Package hub is the launcher's side of the wire-up: it accepts sessions of tasks, distributes
// their contributions to exchanges, and notifies them of deaths. lapirun has one. In a job whose
// tasks have met otherwise each node has one, in the process of a task.
//
//	hub.go      tasks, groups, deaths
//	group.go    sessions that belong together, their exchanges
//	session.go  one task's session: its socket and its queue
//	queue.go    what waits to be written
//	admit.go    tasks that come to a hub in another task's process
//	span.go     messages between the hubs of several nodes
//	trunk.go    the connection between two hubs: TCP, proved by the job key
//	keeper.go   a task's side of a hub that may be followed by another
//	kept.go     one session, seen from its keeper
//	byhand.go   tasks that were started by hand: groups that are not counted
//	rejoin.go   a task that was started again takes its place in a group
//	standing.go the state that a keeper sends to the next hub
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
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/invariant"
)

// reapDelay is how long the hub waits for the rest of a socket's messages after TaskEnded, and,
// unless SetReapDelay says otherwise, for TaskEnded after a session's socket was closed. LAPI must
// know of a death on its node within a second.
//
// # Successors
//
// A hub in a task's process ends with it; the next living task of the node has one from then on.
// A new hub knows nothing. The living tasks have what it must know:
//
//   - Between a task's sessions and the hub is a Keeper, in the task's process. It comes to the new
//     hub with its sessions, and says what they wait for, and which tasks have left, said Ending or
//     died in them. It gives no session the same notice twice.
//   - Leave and Ending are answered when they are in the sockets of all keepers of the session, on
//     all nodes. So no task that has left counts as dead later, whichever hubs end.
//   - When a trunk has been made anew, each hub first sends the other how its node's tasks stand.
//     News that the other has already changes nothing.
//
// An exchange needs all tasks. So an exchange that waits when a hub ends fails, as the hub's task
// is dead; the new hub says so.
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
	hand   *byHand       // of tasks that were started by hand

	changed *sync.Cond // on mu: what await may wait for
}

// task is what the hub knows of one task. Guarded by Hub.mu.
type task struct {
	came    bool // to this hub
	ended   bool
	how     string      // how its process ended, if ended
	opened  map[int]int // sessions opened so far, by instance
	control *link       // its control socket; nil: no process holds the other end any more
	// Sessions that it has opened, but not left, as far as no group shows it: it is in them, or
	// died to them. Of a task of another node, or from its Standing.
	stays map[groupID]stay
}

// stay is how a task stands in a session that it has not left.
type stay uint8

const (
	stayIn stay = iota + 1
	stayEnding
	stayDied
)

type groupID struct{ instance, incarnation int }

// New returns a hub for a job of numTasks tasks with the given key of wire.KeySize bytes.
func New(numTasks int, key []byte) *Hub {
	h := &Hub{key: key, tasks: make([]task, numTasks), groups: make(map[groupID]*group),
		reap: reapDelay, own: numTasks}
	h.changed = sync.NewCond(&h.mu)
	for t := range h.tasks {
		h.tasks[t].opened, h.tasks[t].stays = make(map[int]int), make(map[groupID]stay)
	}
	return h
}

// SetReapDelay says how long after the end of a session's socket the hub waits for TaskEnded, which
// says why. Call it before the first Serve.
func (h *Hub) SetReapDelay(d time.Duration) { h.reap = d }

// Serve reads the control socket of a task, which it takes over, until every process that holds the
// other end has ended.
func (h *Hub) Serve(taskID int, socket int) error {
	link, err := newLink(socket)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.tasks[taskID].control, h.tasks[taskID].came = link, true
	h.mu.Unlock()
	invariant.Go(func() { h.control(taskID, link, false) })
	return nil
}

// control serves a task's control socket until its end. If ends is true the task's process has
// ended then, too.
func (h *Hub) control(taskID int, link *link, ends bool) {
	for {
		m, err := link.receive()
		if err != nil {
			break
		}
		h.hello(taskID, m)
	}
	h.mu.Lock()
	if h.tasks[taskID].control == link { // else another process of the task has come
		h.tasks[taskID].control = nil
		if ends {
			h.taskEnded(taskID, "has ended")
		}
	}
	h.mu.Unlock()
	link.close()
}

// Abandoned says whether some process still holds a task's control socket, but none has begun a
// session by it. Then, if the process that was started as the task has ended, another process goes
// on in its place, and has yet to call LAPI_Init.
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
	h.taskEnded(taskID, how)
}

// Missed is TaskEnded for a task that was found to have ended before it came to this hub. If it has
// come by now that was another process.
func (h *Hub) Missed(taskID int, how string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.tasks[taskID].came {
		h.taskEnded(taskID, how)
	}
}

// taskEnded is TaskEnded. mu is held.
func (h *Hub) taskEnded(taskID int, how string) {
	t := &h.tasks[taskID]
	if t.ended {
		return
	}
	t.ended, t.how = true, how
	h.changed.Broadcast()
	for _, g := range h.groups {
		if s := g.members[taskID]; s != nil && s.closed {
			h.finish(s)
		}
	}
	time.AfterFunc(reapDelay, func() { h.endSessions(taskID) })
}

// endSessions ends the sockets that a task that has ended leaves open: a child that it forked may
// hold them. Messages that the task had sent before are still read, and may include a Leave.
func (h *Hub) endSessions(taskID int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.tasks[taskID].ended { // another process has come
		return
	}
	for id, g := range h.groups {
		if s := g.members[taskID]; s != nil {
			s.link.shutdown()
			continue
		}
		h.died(g, taskID, h.tasks[taskID].how)
		h.forget(id, g)
	}
	h.tellTask(taskID)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[taskID]
	s := &session{hub: h, task: taskID, outlet: newOutlet(link)}
	s.send(welcome, nil)
	if h.hand != nil {
		s.group = h.place(taskID, g.Instance)
		h.enter(s)
		return
	}
	s.id = groupID{g.Instance, t.opened[g.Instance]}
	s.group = h.group(s.id)
	t.opened[g.Instance]++
	h.join(s)
}

// join begins a session in its group. mu is held.
func (h *Hub) join(s *session) {
	g := s.group
	g.members[s.task] = s
	g.joined++
	for dead, how := range g.dead {
		if how != "" {
			s.mourn(g.deathNotice(dead))
		}
	}
	for t, address := range g.moved { // before its keeper came to this hub
		g.sendMoved(s, t, address)
	}
	h.changed.Broadcast()
	invariant.Go(s.readAll)
	invariant.Go(s.writeAll)
}

// group is the group with that name, which it begins if need be. mu is held.
func (h *Hub) group(id groupID) *group {
	g := h.groups[id]
	if g == nil {
		g = newGroup(h, id)
		h.groups[id] = g
		for t := range h.tasks {
			h.settle(g, t)
		}
	}
	return g
}

// settle notes in a group what is known of a task without a session in it here: that it has left,
// has died, or will never come. mu is held.
func (h *Hub) settle(g *group, taskID int) {
	t := &h.tasks[taskID]
	if g.members[taskID] != nil {
		return
	}
	if t.opened[g.id.instance] <= g.id.incarnation {
		if t.ended {
			h.died(g, taskID, t.how)
		}
		return
	}
	switch t.stays[g.id] {
	case 0:
		h.leave(g, taskID)
	case stayEnding:
		h.end(g, taskID)
	case stayDied:
		h.died(g, taskID, t.end())
	}
}

// end is how a task's session ended without Leave.
func (t *task) end() string {
	if t.how == "" {
		return "closed its connection without LAPI_Term"
	}
	return t.how
}

// leave marks a task that has left a group, which overrides its death. mu is held.
func (h *Hub) leave(g *group, taskID int) {
	if g.left[taskID] {
		return
	}
	g.left[taskID], g.dead[taskID] = true, ""
	g.failWithout(taskID)
	h.spread(g, wire.Left, taskID)
	g.without(taskID)
}

// end marks a task that has said Ending. mu is held.
func (h *Hub) end(g *group, taskID int) {
	if g.ending[taskID] {
		return
	}
	g.ending[taskID] = true
	h.spread(g, wire.Ending, taskID)
}

// spread notifies the sessions of a group: all of Left; of Ending the keepers only, from which a
// later hub learns it. mu is held.
func (h *Hub) spread(g *group, kind wire.Kind, taskID int) {
	if h.span == nil && kind != wire.Left {
		return
	}
	for _, s := range g.members {
		if s != nil && s.task != taskID && s.rejoin == nil && (h.span != nil || !s.left) {
			s.send(notice(kind, taskID), nil)
		}
	}
}

// move notifies the members of a group that a task's address has changed. mu is held.
func (h *Hub) move(g *group, taskID int, address []byte) error {
	if len(address) > maxHow {
		return errNote
	}
	g.moved[taskID] = address
	for _, s := range g.members {
		if s != nil {
			g.sendMoved(s, taskID, address)
		}
	}
	return nil
}

func (g *group) sendMoved(to *session, taskID int, address []byte) {
	if to.task != taskID {
		to.send(wire.Message{Kind: wire.Moved, Number: uint32(taskID), Data: address}, nil)
	}
}

// died marks a task dead in a group that it has not left, notifies the members and fails the
// exchanges that need it. mu is held.
func (h *Hub) died(g *group, taskID int, how string) {
	if g.left[taskID] || g.dead[taskID] != "" || h.hand != nil && g.completed == 0 {
		return
	}
	g.dead[taskID] = how
	if h.quiet {
		return
	}
	for _, s := range g.members {
		if s != nil && s.task != taskID {
			s.mourn(g.deathNotice(taskID))
		}
	}
	g.failWithout(taskID)
	h.tellDeath(g, taskID)
	g.without(taskID)
}

// closed is called when a session's socket has ended.
func (h *Hub) closed(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.closed = true
	h.changed.Broadcast()
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

// finish declares the death of a session that ended without Leave, and drops its group once it is
// empty. mu is held.
func (h *Hub) finish(s *session) {
	if s.finished {
		return
	}
	defer h.changed.Broadcast()
	g := s.group
	if h.hand != nil && g.completed == 0 {
		h.finishByHand(s)
		return
	}
	s.finished = true
	s.abandon()
	if !s.left {
		t := &h.tasks[s.task]
		if h.hand == nil {
			t.stays[s.id] = stayDied
		}
		h.died(g, s.task, t.end())
	}
	g.over++
	h.forget(s.id, g)
}

// forget drops a group once all its sessions have ended and no task will join it any more. mu is
// held.
func (h *Hub) forget(id groupID, g *group) {
	if g.over == g.joined && g.allAccounted() {
		g.discard()
		delete(h.groups, id)
		if h.hand != nil && h.hand.at[id.instance].begun == g {
			h.hand.at[id.instance].begun = nil
		}
	}
}

// closeFiles closes descriptors of this process.
func closeFiles(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}
