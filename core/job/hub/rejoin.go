package hub

import (
	"slices"
	"sync/atomic"

	"lapi/core/job/wire"
)

// Between a task that rejoins a group and the others this happens:
//
//	it:     its part of the exchange
//	others: Rejoined with that part; their owners make ready for it and answer: their parts
//	it:     Parts, of those that are there
//
// If the hub ends meanwhile the next hub begins the rejoining anew. The task has the same life
// (wire.Life) then: tasks that have got Rejoined already answer once more, and are not notified of
// a death.
//
// One task rejoins at a time, so of two that rejoin each knows the other. No task rejoins until it
// is known for every task of the group whether it lives: a new hub learns that from the tasks'
// keepers.

// rejoin is the state of a session that rejoins a group.
type rejoin struct {
	part    *wire.Message // nil: the task has not given it yet
	told    bool          // the others were notified
	release func()        // closes the part's descriptors
	awaited []int         // tasks whose answers are missing
	answers []wire.Contribution
}

// move makes a session that waits for a group to begin rejoin the group to. mu is held.
func (s *session) move(to *group) {
	part := s.group.withdraw(s)
	s.group, s.id, s.round, s.finished, s.rejoin = to, to.id, 0, false, new(rejoin)
	if part != nil {
		s.rejoin.part = &wire.Message{Data: part.Data, Files: part.Files}
		s.round = 1
	}
	to.members[s.task] = s
	to.joined++
}

// lives says whether a task takes part in a group that has begun.
func (g *group) lives(task int) bool {
	s := g.members[task]
	return s != nil && !s.closed && !g.left[task] && s.rejoin == nil
}

// readmits says whether a task's new session may rejoin a group.
func (g *group) readmits(task int) bool {
	if s := g.members[task]; s != nil && !s.finished || g.dead[task] == "" && !g.left[task] {
		return false
	}
	anybody := false
	for _, t := range g.hub.hand.members {
		switch {
		case t == task:
		case g.lives(t):
			anybody = true
			if g.left[task] && !slices.Contains(g.members[t].expects, task) {
				return false
			}
		case g.members[t] == nil && g.dead[t] == "" && !g.left[t]:
			return false // nothing is known of it
		}
	}
	return anybody
}

// readmit lets sessions rejoin a group, one after another. mu is held.
func (h *Hub) readmit(g *group) {
	for {
		if g.rejoins == nil {
			if !g.allAccounted() {
				return
			}
			i := slices.IndexFunc(g.members, func(s *session) bool {
				return s != nil && s.rejoin != nil && s.rejoin.part != nil && !s.closed
			})
			if i < 0 {
				return
			}
			g.rejoins = g.members[i]
			g.introduce(g.rejoins)
		}
		s := g.rejoins
		if len(s.rejoin.awaited) > 0 {
			return
		}
		r := s.rejoin
		g.rejoins, s.rejoin = nil, nil
		all := append(r.answers, wire.Contribution{Task: s.task, Data: r.part.Data,
			Files: r.part.Files})
		data, files := wire.EncodeParts(all)
		s.welcome(all)
		s.send(wire.Message{Kind: wire.Parts, Data: data, Files: files}, func() {
			for _, c := range r.answers {
				closeFiles(c.Files)
			}
			r.release()
		})
		for t, left := range g.left { // s was not notified of these while it was about to rejoin
			if left {
				s.send(notice(wire.Left, t), nil)
			}
		}
	}
}

// introduce notifies the living tasks of a session that rejoins.
func (g *group) introduce(s *session) {
	h, r := g.hub, s.rejoin
	r.told = true
	g.dead[s.task], g.left[s.task], g.ending[s.task] = "", false, false
	for _, t := range h.hand.members {
		if t != s.task && g.lives(t) {
			r.awaited = append(r.awaited, t)
		}
	}
	var pending atomic.Int32
	pending.Store(int32(len(r.awaited)) + 1)
	r.release = func() {
		if pending.Add(-1) == 0 {
			closeFiles(r.part.Files)
		}
	}
	for _, t := range r.awaited {
		o := g.members[t]
		o.expects = slices.DeleteFunc(o.expects, func(e int) bool { return e == s.task })
		if o.lives == nil {
			o.lives = make(map[int]wire.Life)
		}
		o.lives[s.task] = s.life
		o.send(wire.Message{Kind: wire.Rejoined, Number: uint32(s.task), Data: r.part.Data,
			Files: r.part.Files}, r.release)
	}
}

// answerKnown is answer. It waits until the keepers of all living tasks have come to this hub,
// which may be new. mu is not held.
func (s *session) answerKnown(kind wire.Kind) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.await(comingLimit, s.group.ownAccounted)
	s.answerOnce(kind)
}

// without continues what had waited for a task that has died or left. mu is held.
func (g *group) without(task int) {
	if g.hub.hand == nil {
		return
	}
	if g.rejoins != nil {
		g.rejoins.gone(task)
	}
	g.hub.reconsider(g.id.instance)
}

// gone removes a task that has died, left or answered from those that a rejoining session waits
// for.
func (s *session) gone(task int) {
	s.rejoin.awaited = slices.DeleteFunc(s.rejoin.awaited, func(t int) bool { return t == task })
}

// abandon ends the rejoining of a session that has ended. mu is held.
func (s *session) abandon() {
	r := s.rejoin
	if r == nil {
		return
	}
	s.rejoin = nil
	for _, c := range r.answers {
		closeFiles(c.Files)
	}
	switch {
	case r.release != nil:
		r.release()
	case r.part != nil:
		closeFiles(r.part.Files)
	}
	if s.group.rejoins == s {
		s.group.rejoins = nil
	}
}

// answered takes a member's part for a task that rejoins. mu is held.
func (h *Hub) answered(s *session, m wire.Message) {
	to := s.group.rejoins
	life, part, _ := wire.CutLife(m.Data)
	if to == nil || to.task != int(m.Number) || to.life != life ||
		!slices.Contains(to.rejoin.awaited, s.task) {
		m.CloseFiles() // that session is gone, or has the answer
		return
	}
	to.gone(s.task)
	if to.lives == nil {
		to.lives = make(map[int]wire.Life)
	}
	to.lives[s.task], _, _ = wire.CutLife(part) // from now on it is notified if that process dies
	to.rejoin.answers = append(to.rejoin.answers,
		wire.Contribution{Task: s.task, Data: part, Files: m.Files})
	h.readmit(s.group)
}
