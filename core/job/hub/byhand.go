package hub

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"lapi/core/job/wire"
)

// byHand is what the hub of tasks that were started by hand (ByHand) knows besides. Nobody starts
// or ends these tasks for the others, so what a group is differs:
//
//   - Which sessions belong together is not counted. A new session is in the group of its instance
//     that has not begun, and that begins when all tasks have given their parts. Until then who
//     ends is forgotten, and may come again.
//   - In a group that has begun a task that has died, or that has left and is expected, may be
//     followed by another process, which rejoins (rejoin.go).
//
// Guarded by Hub.mu.
type byHand struct {
	members []int // tasks, ascending
	at      [wire.MaxInstances]struct {
		coming, begun *group
		next          int // incarnation of the next group that begins
	}
	serial uint32 // of the latest that rejoins
	ends   bool   // this hub's process does: who is yet to rejoin does so by the next one
}

// rejoinLimit is how long the end of the hub's process waits for one that rejoins.
const rejoinLimit = time.Second

// succeedLimit is how long a process may wait until all that its predecessor has said is taken in.
const succeedLimit = 30 * time.Second

// unnumbered is the incarnation of a group that has not begun. So it is none that keepers tell of.
const unnumbered = -1

// ByHand makes h the hub of tasks that were started by hand, in the process of task. Before the
// first Admit.
func (h *Hub) ByHand(members []int, task int) {
	h.Span(make([]int, len(h.tasks)), task, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hand, h.own = &byHand{members: slices.Clone(members)}, len(members)
}

// check says why a task that has come is none of this job's. Its list has itself in it, too.
func (b *byHand) check(h *Hub, g wire.Greeting, list []int) error {
	me := h.span.task
	switch {
	case g.NumTasks != len(h.tasks):
		return fmt.Errorf("MP_PROCS is %d for task %d and %d for task %d", len(h.tasks), me,
			g.NumTasks, g.Task)
	case !h.takesPart(g.Task):
		return fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", me, g.Task)
	case !slices.Contains(list, me):
		return fmt.Errorf("MP_COMMON_TASKS of task %d does not list task %d", g.Task, me)
	case !slices.Equal(list, b.members):
		return fmt.Errorf("MP_COMMON_TASKS of task %d and of task %d do not list the same tasks",
			me, g.Task)
	}
	return nil
}

// takesPart says whether a group has a place for a task.
func (h *Hub) takesPart(task int) bool {
	return h.hand == nil || slices.Contains(h.hand.members, task)
}

// succeed waits until nothing of a task's last process is left, and forgets that it has ended. mu is
// held. False: that takes too long.
func (h *Hub) succeed(taskID int) bool {
	t := &h.tasks[taskID]
	if !t.came && !t.ended {
		return true
	}
	over := h.endNow(taskID) // another process has its name, so it has
	t.ended, t.how = false, ""
	return over
}

// endNow is TaskEnded and what comes of it, without a delay. It waits until what the task has said
// is taken in. mu is held. False: that takes too long.
func (h *Hub) endNow(taskID int) bool {
	t := &h.tasks[taskID]
	if !t.ended {
		t.ended, t.how = true, "has ended"
	}
	for _, g := range h.groups {
		if s := g.members[taskID]; s != nil {
			s.link.shutdown()
		} else {
			h.died(g, taskID, t.how)
		}
	}
	over := func() bool {
		for _, g := range h.groups {
			if s := g.members[taskID]; s != nil && !s.finished {
				return false
			}
		}
		return true
	}
	h.await(succeedLimit, over)
	return over()
}

// settleFor answers a session whether a task's process has ended, once that is known, and told.
func (h *Hub) settleFor(s *session, taskID int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[taskID]
	h.await(succeedLimit, func() bool { return t.came || t.ended }) // if this is a new hub
	if t.ended || t.control != nil && t.control.ended() {
		h.endNow(taskID)
	}
	s.send(wire.Message{Kind: wire.Settle, Number: uint32(taskID)}, nil)
}

// place is the group of a task's new session. mu is held.
func (h *Hub) place(taskID, instance int) *group {
	at := &h.hand.at[instance]
	if at.begun != nil && at.begun.readmits(taskID) {
		return at.begun
	}
	if at.coming == nil {
		at.coming = newGroup(h, groupID{instance, unnumbered})
		h.groups[at.coming.id] = at.coming
	}
	if old := at.coming.members[taskID]; old != nil { // its end has not been heard of
		h.finishByHand(old)
	}
	return at.coming
}

// resumed is the group that has begun of which a keeper tells. mu is held.
func (h *Hub) resumed(id groupID) *group {
	g := h.groups[id]
	if g == nil {
		g = newGroup(h, id)
		g.completed = 1
		h.groups[id] = g
		at := &h.hand.at[id.instance]
		if at.begun == nil || at.begun.id.incarnation < id.incarnation {
			at.begun = g
		}
		at.next = max(at.next, id.incarnation+1)
	}
	return g
}

// resumeByHand is resume. Who has come, or has ended, without a session of a group that has begun
// is dead to it.
func (h *Hub) resumeByHand(taskID int, stands *standing, links []*link) {
	for i := range stands.goOn {
		on := &stands.goOn[i]
		s := &session{hub: h, task: taskID, outlet: newOutlet(links[i]), round: on.round}
		if on.round > 0 {
			s.group = h.resumed(on.id)
			h.learn(s.group, on)
		} else {
			s.group = h.place(taskID, on.id.instance)
		}
		h.enter(s)
	}
	for _, g := range h.groups {
		for _, t := range h.hand.members {
			if (h.tasks[t].came || h.tasks[t].ended) && g.members[t] == nil {
				h.died(g, t, "has ended")
			}
		}
	}
}

// enter begins a session in its group. mu is held.
func (h *Hub) enter(s *session) {
	s.id = s.group.id
	if s.group.completed > 0 && s.round == 0 {
		s.rejoin = new(rejoin)
	}
	h.join(s)
	for _, t := range h.hand.members { // what it may have missed between two hubs
		if t == s.task {
			continue // that would be an answer
		}
		if s.group.left[t] {
			s.send(notice(wire.Left, t), nil)
		}
		if s.group.ending[t] {
			s.send(notice(wire.Ending, t), nil)
		}
	}
	h.reconsider(s.id.instance)
}

// reconsider looks whether somebody who waits for a group to begin may rejoin one, and whether one
// who rejoins is done. mu is held.
func (h *Hub) reconsider(instance int) {
	at := &h.hand.at[instance]
	if at.begun == nil {
		return
	}
	for _, t := range h.hand.members {
		if at.coming == nil || at.coming.members[t] == nil || !at.begun.readmits(t) {
			continue
		}
		at.coming.members[t].move(at.begun)
	}
	h.readmit(at.begun)
}

// began makes a group the one of its instance that has begun. mu is held.
func (g *group) began() {
	h := g.hub
	at := &h.hand.at[g.id.instance]
	at.begun, at.coming = g, nil
	delete(h.groups, g.id)
	g.id.incarnation = at.next
	h.groups[g.id] = g
	at.next++
	for _, t := range h.hand.members {
		g.members[t].id = g.id
		g.members[t].welcome()
	}
}

// welcome tells a session's keeper which group it is in, as another hub will ask. mu is held.
func (s *session) welcome() {
	s.send(wire.Message{Kind: wire.Welcome, Number: uint32(s.id.incarnation)}, nil)
}

// withdraw forgets a session of a group that has not begun, and returns what it gave to the
// exchange; nil: nothing. mu is held.
func (g *group) withdraw(s *session) *wire.Contribution {
	g.members[s.task], s.finished = nil, true
	g.joined--
	r := g.rounds[0]
	if r == nil || !r.present[s.task] {
		return nil
	}
	r.present[s.task] = false
	r.own--
	i := slices.IndexFunc(r.parts, func(c wire.Contribution) bool { return c.Task == s.task })
	part := r.parts[i]
	r.parts = slices.Delete(r.parts, i, i+1)
	return &part
}

// finishByHand is finish, for a session of a group that has not begun. mu is held.
func (h *Hub) finishByHand(s *session) {
	if part := s.group.withdraw(s); part != nil {
		closeFiles(part.Files)
	}
}

// missing tells a session whom the exchange waits for that it has given its part to: tasks that have
// not come, or, Number is 1 then, that have not answered. mu is held.
func (h *Hub) missing(s *session) {
	answer := wire.Message{Kind: wire.Missing}
	for _, t := range h.hand.members {
		waits := false
		if r := s.group.rounds[s.round-1]; s.rejoin == nil {
			waits = r != nil && !r.present[t]
		} else {
			answer.Number = 1
			waits = slices.Contains(s.rejoin.awaited, t) || s.rejoin.number == 0 && s.group.lives(t)
		}
		if waits {
			answer.Data = binary.LittleEndian.AppendUint32(answer.Data, uint32(t))
		}
	}
	s.send(answer, nil)
}

// receivedByHand takes a message that means something else, or anything, only in sessions of tasks
// that were started by hand; false: it is none. mu is held.
func (h *Hub) receivedByHand(s *session, m wire.Message) bool {
	switch {
	case s.finished: // another session of its task has taken its place
	case m.Kind == wire.Part && s.rejoin != nil && s.rejoin.part == nil && s.round == 0:
		s.round = 1
		s.rejoin.part = &m
		h.readmit(s.group)
		return true
	case m.Kind == wire.Answer:
		h.answered(s, m)
		return true
	case m.Kind == wire.Expect:
		if t := int(m.Number); !slices.Contains(s.expects, t) && h.takesPart(t) {
			s.expects = append(s.expects, t)
		}
		h.reconsider(s.id.instance)
	case m.Kind == wire.Missing:
		h.missing(s)
	case m.Kind == wire.Settle:
		if t := int(m.Number); h.takesPart(t) {
			go h.settleFor(s, t)
		}
	default:
		return false
	}
	m.CloseFiles()
	return true
}
