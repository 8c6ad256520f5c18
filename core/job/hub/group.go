package hub

import (
	"fmt"
	"sync/atomic"

	"lapi/core/job/wire"
)

// group is a set of sessions that belong together: at most one of each task. Guarded by Hub.mu.
type group struct {
	hub     *Hub
	id      groupID
	members []*session // by task; nil before it joins, and of other nodes
	left    []bool     // by task: said Leave
	ending  []bool     // by task: said Ending
	dead    []string   // by task: how it died, "" if it did not
	joined  int        // members that came
	// completed: rounds, at this hub
	completed uint32
	over      int // members whose socket has ended
	rounds    map[uint32]*round
	told      map[uint32][]byte // this node's parts of the latest two rounds, as sent to the others
	rejoins   *session          // the session that the others answer (rejoin.go)
	moved     map[int][]byte    // by task: its latest address, if that has changed
}

// round is one exchange.
type round struct {
	parts   []wire.Contribution
	present []bool
	own     int // parts of this hub's tasks
}

func newGroup(h *Hub, id groupID) *group {
	numTasks := len(h.tasks)
	return &group{hub: h, id: id,
		members: make([]*session, numTasks), left: make([]bool, numTasks),
		ending: make([]bool, numTasks), dead: make([]string, numTasks),
		rounds: make(map[uint32]*round), told: make(map[uint32][]byte),
		moved: make(map[int][]byte),
	}
}

// contribute adds a task's part; m's files become the group's.
func (g *group) contribute(s *session, m wire.Message) error {
	if m.Number != s.round {
		m.CloseFiles()
		return fmt.Errorf("part of round %d in round %d", m.Number, s.round)
	}
	s.round++
	r := g.round(m.Number)
	r.add(wire.Contribution{Task: s.task, Data: m.Data, Files: m.Files})
	r.own++
	if r.own == g.hub.own {
		g.hub.tellParts(g, m.Number, r)
	}
	if g.complete(m.Number, r) {
		return nil
	}
	for t := range g.members {
		if (g.dead[t] != "" || g.left[t]) && !r.present[t] {
			s.send(g.failure(m.Number, t), nil)
			return nil
		}
	}
	return nil
}

// round is the round with that number, which it begins if need be.
func (g *group) round(number uint32) *round {
	r := g.rounds[number]
	if r == nil {
		r = &round{present: make([]bool, len(g.members))}
		g.rounds[number] = r
	}
	return r
}

func (r *round) add(c wire.Contribution) {
	r.present[c.Task] = true
	r.parts = append(r.parts, c)
}

// complete sends all parts to all members, if all parts are there; the descriptors are closed when
// the last member has got its copy.
func (g *group) complete(number uint32, r *round) bool {
	if h := g.hub; len(r.parts) < len(g.members) && (h.hand == nil || len(r.parts) < h.own) {
		return false
	}
	if g.hub.hand != nil && g.completed == 0 {
		g.began()
	}
	delete(g.rounds, number)
	g.completed = number + 1
	data, files := wire.EncodeParts(r.parts)
	pending := new(atomic.Int32)
	pending.Store(int32(g.hub.own))
	done := func() {
		if pending.Add(-1) == 0 {
			closeFiles(files)
		}
	}
	g.spreadParts(wire.Message{Kind: wire.Parts, Number: number, Data: data, Files: files}, done)
	return true
}

// spreadParts sends the parts of a round to all members. In a job started by hand the task in whose
// process the hub is gets them last, once they were written to the others: it may end at once, and
// the hub with it.
func (g *group) spreadParts(m wire.Message, done func()) {
	var host *session
	others := new(atomic.Int32)
	for _, s := range g.members {
		switch {
		case s == nil:
		case g.hub.hand != nil && s.task == g.hub.span.task:
			host = s
		default:
			others.Add(1)
		}
	}
	written := func() {
		if done(); others.Add(-1) == 0 && host != nil {
			host.send(m, done)
		}
	}
	if host != nil && others.Load() == 0 {
		host.send(m, done)
		return
	}
	for _, s := range g.members {
		if s != nil && s != host {
			s.send(m, written)
		}
	}
}

// failWithout fails the exchanges that wait for a task that will not contribute any more.
func (g *group) failWithout(taskID int) {
	for number, r := range g.rounds {
		if r.present[taskID] {
			continue
		}
		for t, s := range g.members {
			if s != nil && r.present[t] {
				s.send(g.failure(number, taskID), nil)
			}
		}
	}
}

// deathNotice is the message that notifies the members of a dead task.
func (g *group) deathNotice(taskID int) wire.Message {
	kind := wire.Died
	if g.ending[taskID] {
		kind = wire.Ended
	}
	return wire.Message{Kind: kind, Number: uint32(taskID), Data: []byte(g.dead[taskID])}
}

func (g *group) failure(number uint32, taskID int) wire.Message {
	text := fmt.Sprintf("task %d %s", taskID, g.dead[taskID])
	if g.dead[taskID] == "" {
		text = fmt.Sprintf("task %d has left (LAPI_Term)", taskID)
	} else if g.members[taskID] == nil && g.hub.isOwn(taskID) {
		text += " before it called LAPI_Init"
	}
	return wire.Message{Kind: wire.Failed, Number: number, Data: []byte(text)}
}

// allAccounted says that no task will join any more.
func (g *group) allAccounted() bool {
	for t, s := range g.members {
		if s == nil && g.dead[t] == "" && !g.left[t] && g.hub.takesPart(t) {
			return false
		}
	}
	return true
}

// ownAccounted is allAccounted of the tasks that this hub serves.
func (g *group) ownAccounted() bool {
	for t, s := range g.members {
		if s == nil && g.dead[t] == "" && !g.left[t] && g.hub.isOwn(t) {
			return false
		}
	}
	return true
}

// discard closes the descriptors of exchanges that will never be complete.
func (g *group) discard() {
	for _, r := range g.rounds {
		for _, c := range r.parts {
			closeFiles(c.Files)
		}
	}
	clear(g.rounds)
}
