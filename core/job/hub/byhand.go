package hub

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"lapi/core/job/wire"
	"lapi/invariant"
)

// byHand is what the hub of tasks that were started by hand (ByHand) knows besides. No launcher
// starts or ends these tasks, so groups differ:
//
//   - Sessions are not counted to find out which belong together. A new session is in the group of
//     its instance that has not begun; the group begins when all tasks have given their parts. A
//     task that ends before is forgotten, and may come again.
//   - In a group that has begun a task that has died, or that has left and is expected, may be
//     followed by another process, which rejoins (rejoin.go).
//   - So another keeper's knowledge of a task may be about the task's last process. A new hub finds
//     out by itself whether the process is dead: the task's process comes, and has no session in
//     the group, or has ended.
//
// Guarded by Hub.mu.
type byHand struct {
	members []int // tasks, ascending
	at      [wire.MaxInstances]struct {
		coming, begun *group
		next          int // generation of the next group that begins
	}
	guests  int    // control sockets that it serves
	retired bool   // it serves none, and will not
	retire  func() // what to do then
}

// succeedLimit is how long a process may wait until all messages of its predecessor are taken in.
const succeedLimit = 30 * time.Second

// comingLimit is how long an answer to Leave or Ending waits for keepers that are yet to come, as
// the hub before this one has just ended.
const comingLimit = time.Second

// unnumbered is the generation of a group that has not begun. No keeper ever names it.
const unnumbered = -1

// ByHand makes h the hub of tasks that were started by hand, in the process of task. When the last
// control socket has ended the hub takes no other, and calls retire, without its lock. ByHand is
// called before the first Admit.
func (h *Hub) ByHand(members []int, task int, retire func()) {
	h.Span(make([]int, len(h.tasks)), task, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hand, h.own = &byHand{members: slices.Clone(members), retire: retire}, len(members)
}

// guestComes says whether the hub may serve one more control socket.
func (h *Hub) guestComes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hand == nil {
		return true
	}
	if !h.hand.retired {
		h.hand.guests++
	}
	return !h.hand.retired
}

// guestGoes is for a control socket that has ended. The hub of a job on several nodes, or of a job
// that a launcher has started, lives as long as its process.
func (h *Hub) guestGoes() {
	b := h.hand
	if b == nil {
		return
	}
	h.mu.Lock()
	b.guests--
	last := b.guests == 0
	b.retired = last
	h.mu.Unlock()
	if last {
		b.retire()
	}
}

// check says why a task that has come does not belong to this job. Its list of tasks names itself,
// too.
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

// succeed waits until nothing of a task's last process is left, and forgets that it has ended. mu
// is held. It returns false if that takes too long.
func (h *Hub) succeed(taskID int) bool {
	t := &h.tasks[taskID]
	if !t.came && !t.ended {
		return true
	}
	over := h.endNow(taskID) // another process has its name, so it has
	t.ended, t.how = false, ""
	return over
}

// endNow is TaskEnded with all its consequences, without a delay. It waits until the task's
// messages are taken in. mu is held. It returns false if that takes too long.
func (h *Hub) endNow(taskID int) bool {
	t := &h.tasks[taskID]
	if !t.ended {
		t.ended, t.how = true, "has ended"
	}
	var last []*session
	for _, g := range h.groups {
		switch s := g.members[taskID]; {
		case s == nil:
			h.died(g, taskID, t.how)
		case s.closed:
			h.finish(s)
		default:
			s.link.shutdown()
			last = append(last, s)
		}
	}
	over := func() bool {
		return !slices.ContainsFunc(last, func(s *session) bool { return !s.finished })
	}
	h.await(succeedLimit, over)
	return over()
}

// settleFor answers a session that asks whether a task's process has ended: once that is known, and
// after the notice of the death, if there is one.
func (h *Hub) settleFor(s *session, taskID int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[taskID]
	h.await(succeedLimit, func() bool { return t.came || t.ended }) // if this is a new hub
	if t.ended || t.came && (t.control == nil || t.control.ended()) {
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
	if old := at.coming.members[taskID]; old != nil { // the hub has not noticed its end yet
		h.finishByHand(old)
	}
	return at.coming
}

// placeAgain is the group of a session that waits for its first exchange, and has come from another
// hub: a group whose members know its life is its group. mu is held.
func (h *Hub) placeAgain(s *session, instance int) *group {
	if g := h.hand.at[instance].begun; g != nil && g.vacant(s.task) && g.has(s) {
		g.replace(s)
		return g
	}
	return h.place(s.task, instance)
}

// vacant says whether a task has no session in a group that goes on.
func (g *group) vacant(task int) bool {
	s := g.members[task]
	return s == nil || s.finished
}

// has says whether a member knows a session by its life.
func (g *group) has(s *session) bool {
	return slices.ContainsFunc(g.members, func(m *session) bool {
		return m != nil && m.knows(s)
	})
}

// knows says whether a session has another session's life: then it takes the other for alive.
func (s *session) knows(other *session) bool {
	return other.life != wire.Life{} && s.lives[other.task] == other.life
}

// replace gives a session that the last hub was about to readmit its task's place in a group that
// has begun. Members that do not know the session are first notified that the task had died. mu is
// held.
func (g *group) replace(s *session) {
	for _, m := range g.members {
		if m != nil && m != s {
			m.meet(s)
		}
	}
	g.dead[s.task], g.left[s.task], g.ending[s.task] = "", false, false
}

// mourn notifies a session that a task has died. In a job started by hand only sessions that have
// got that process's part are notified: a session that has rejoined since the process ended waits
// for the next process. mu is held.
func (s *session) mourn(m wire.Message) {
	_, has := s.lives[int(m.Number)]
	if s.hub.hand == nil || has {
		s.send(m, nil)
		delete(s.lives, int(m.Number))
	}
}

// meet notifies a session that the last process of a returning task has ended, if the session knows
// that process. mu is held.
func (s *session) meet(returns *session) {
	if !s.knows(returns) {
		s.mourn(wire.Message{Kind: wire.Died, Number: uint32(returns.task),
			Data: []byte("has ended")})
	}
}

// resumed is the group of a keeper's session, which has begun. mu is held.
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

// resumeByHand is resume. A task that has come, or has ended, without a session in a group that has
// begun counts as dead in that group.
func (h *Hub) resumeByHand(taskID int, stands *standing, links []*link) {
	for i := range stands.goOn {
		on := &stands.goOn[i]
		s := &session{hub: h, task: taskID, outlet: newOutlet(links[i]), round: on.round,
			life: on.life, lives: on.lives}
		if on.round > 0 {
			s.group = h.resumed(on.id)
			s.group.learn(on)
		} else {
			s.group = h.placeAgain(s, on.id.instance)
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

// learn takes over what a keeper knows of tasks that have not come with a session in the group. mu
// is held.
func (g *group) learn(on *going) {
	for _, t := range on.known[knownLeft] {
		if g.members[t] == nil {
			g.hub.leave(g, t)
		}
	}
	for _, t := range on.known[knownEnding] {
		if g.members[t] == nil {
			g.hub.end(g, t)
		}
	}
}

// enter begins a session in its group. mu is held.
func (h *Hub) enter(s *session) {
	s.id = s.group.id
	if s.group.completed > 0 && s.round == 0 {
		s.rejoin = new(rejoin)
	}
	if c := h.hand.at[s.id.instance].coming; c != nil && s.group.completed > 0 {
		for _, w := range c.members {
			if w != nil && s.knows(w) && s.group.vacant(w.task) {
				s.group.replace(w)
				w.move(s.group)
			}
		}
	}
	h.join(s)
	for _, m := range s.group.members {
		if m != nil && m.rejoin != nil && m != s {
			s.meet(m)
		}
	}
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

// reconsider looks whether a session that waits for a group to begin may rejoin one, and whether a
// session that rejoins is done. mu is held.
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

// began makes a group the begun group of its instance. mu is held.
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
		g.members[t].welcome(g.rounds[0].parts)
	}
}

// welcome sends a session's keeper the session's group, and the lives of the others whose parts the
// session gets, as a later hub will ask for them. mu is held.
func (s *session) welcome(parts []wire.Contribution) {
	s.lives = make(map[int]wire.Life)
	for _, c := range parts {
		if c.Task != s.task {
			s.lives[c.Task], _, _ = wire.CutLife(c.Data)
		}
	}
	s.send(wire.Message{Kind: wire.Welcome, Number: uint32(s.id.incarnation),
		Data: appendLives(nil, s.lives)}, nil)
}

// withdraw forgets a session of a group that has not begun, and returns the part that it gave to
// the exchange; nil: it gave none. mu is held.
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

// missing sends a session the tasks that its exchange waits for: tasks that have not come, or, with
// Number 1, tasks that have not answered. mu is held.
func (h *Hub) missing(s *session) {
	answer := wire.Message{Kind: wire.Missing}
	for _, t := range h.hand.members {
		waits := false
		if r := s.group.rounds[s.round-1]; s.rejoin == nil {
			waits = r != nil && !r.present[t]
		} else {
			answer.Number = 1
			waits = slices.Contains(s.rejoin.awaited, t) || !s.rejoin.told && s.group.lives(t)
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
	if m.Kind == wire.Part && s.round == 0 {
		s.life, _, _ = wire.CutLife(m.Data)
	}
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
			invariant.Go(func() { h.settleFor(s, t) })
		}
	default:
		return false
	}
	m.CloseFiles()
	return true
}
