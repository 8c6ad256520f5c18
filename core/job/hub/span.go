package hub

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"lapi/core/job/wire"
	"lapi/invariant"
)

// A job that lapirun has not started has a hub on each node, in the process of one of its tasks.
// Each serves the tasks of its node, and reports to all others: the tasks' parts of an exchange,
// all of a node's at once; that a task has left; that a task is dead to a group; and that a task's
// process has ended. Between each two hubs there is one trunk. On a new trunk each hub first sends
// the other its whole state (snapshot.go).

// span is what a hub knows of the others. Guarded by Hub.mu, as are its trunks.
type span struct {
	nodes  []int    // the node of each task
	task   int      // the task in whose process this hub is
	me     int      // its node
	trunks []*trunk // by node; nil: this one
	asked  uint32   // questions of Flush so far
	missed func(node int)
}

// noteKind says what a note between hubs means.
type noteKind uint8

const (
	noteParts  noteKind = iota + 1 // the parts of all of a node's tasks for the round Number
	noteLeft                       // Task has left the group
	noteDied                       // Task is dead to the group; how
	noteEnding                     // Task has said Ending
	noteTask                       // how Task stands in all groups (snapshot.go)
	noteAsk                        // asks for noteHeard with Number, after all earlier notes
	noteHeard
	noteMoved // Task's address has changed; the address
	lastNote
)

// note is a message from one hub to another. On the wire: kind (8), instance (8), generation,
// number and task (32 each, little-endian), data.
type note struct {
	kind   noteKind
	id     groupID
	number uint32
	task   int
	data   []byte
}

const (
	noteHeader = 14
	maxAhead   = 64      // sessions that another node's tasks may begin before this one's; rounds
	maxHow     = 1 << 10 // bytes of text, or of an address
	flushLimit = 2 * time.Second
	// how long LAPI_Term of the task with the hub waits for the others of its node
	lingerLimit = 100 * time.Millisecond
)

var errNote = errors.New("malformed note of another node's hub")

func (n *note) encode() []byte {
	b := make([]byte, noteHeader, noteHeader+len(n.data))
	b[0], b[1] = byte(n.kind), byte(n.id.instance)
	binary.LittleEndian.PutUint32(b[2:], uint32(n.id.incarnation))
	binary.LittleEndian.PutUint32(b[6:], n.number)
	binary.LittleEndian.PutUint32(b[10:], uint32(n.task))
	return append(b, n.data...)
}

// decodeNote reads a note and checks its ranges.
func decodeNote(b []byte, numTasks int) (n note, err error) {
	if len(b) < noteHeader {
		return n, errNote
	}
	incarnation, task := binary.LittleEndian.Uint32(b[2:]), binary.LittleEndian.Uint32(b[10:])
	n = note{kind: noteKind(b[0]), id: groupID{int(b[1]), int(incarnation)},
		number: binary.LittleEndian.Uint32(b[6:]), task: int(task), data: b[noteHeader:]}
	if n.kind < noteParts || n.kind >= lastNote || n.id.instance >= wire.MaxInstances ||
		incarnation > 1<<30 || uint64(task) >= uint64(numTasks) ||
		n.kind != noteParts && len(n.data) > n.kind.most() {
		return n, errNote
	}
	return n, nil
}

// most is how much data a note of a kind may have; not for parts.
func (k noteKind) most() int {
	if k == noteTask {
		return maxTable
	}
	return maxHow
}

// Span makes h the hub of one node: nodes has the node of each task, from 0 on, and h is
// in the process of task. The other hubs are reached once Attach has been given a trunk to each.
// When a trunk has ended, missed is called, if it is not nil, in a goroutine that it may keep.
// Before the first Serve or Admit.
func (h *Hub) Span(nodes []int, task int, missed func(node int)) {
	s := &span{nodes: slices.Clone(nodes), task: task, me: nodes[task], missed: missed,
		trunks: make([]*trunk, slices.Max(nodes)+1)}
	for i := range s.trunks {
		if i != s.me {
			s.trunks[i] = &trunk{hub: h, node: i}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.span, h.own = s, 0
	for _, n := range nodes {
		if n == s.me {
			h.own++
		}
	}
}

// isOwn says whether h serves a task.
func (h *Hub) isOwn(task int) bool {
	return (h.span == nil || h.span.nodes[task] == h.span.me) && h.takesPart(task)
}

// tellNodes sends a note to all other hubs that are reached; a hub that is reached later is sent
// the whole state then. mu is held.
func (h *Hub) tellNodes(kind noteKind, id groupID, number uint32, task int, data []byte) {
	if h.span == nil {
		return
	}
	n := note{kind, id, number, task, data}
	b := n.encode()
	for _, t := range h.span.trunks {
		if t != nil && t.way != nil {
			t.way.queue.put(b)
		}
	}
}

// tellParts sends the others this node's parts of a round. Descriptors stay on the node.
func (h *Hub) tellParts(g *group, number uint32, r *round) {
	if h.span == nil {
		return
	}
	var own []wire.Contribution
	for _, c := range r.parts {
		if h.isOwn(c.Task) {
			own = append(own, wire.Contribution{Task: c.Task, Data: c.Data})
		}
	}
	data, _ := wire.EncodeParts(own)
	g.told[number] = data
	delete(g.told, number-2) // others may lack the last round's parts, but not earlier ones
	h.tellNodes(noteParts, g.id, number, own[0].Task, data)
}

func (h *Hub) tellDeath(g *group, task int) {
	if h.span == nil || !h.isOwn(task) {
		return
	}
	h.tellNodes(noteDied, g.id, 0, task, []byte(cut(g.dead[task])))
}

func cut(how string) string { return how[:min(len(how), maxHow)] }

// heard takes a note from a node's hub that has come by w.
func (h *Hub) heard(w *Way, node int, b []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.span.trunks[node].way != w {
		return errNote // another way has taken its place
	}
	n, err := decodeNote(b, len(h.tasks))
	if err != nil || h.span.nodes[n.task] != node {
		return errNote
	}
	switch n.kind {
	case noteTask:
		return h.table(&n)
	case noteAsk:
		answer := note{kind: noteHeard, number: n.number, task: h.span.task}
		h.drain(func() { w.queue.put(answer.encode()) })
		return nil
	case noteHeard:
		h.span.trunks[node].heard = n.number
		h.changed.Broadcast()
		return nil
	}
	if n.id.incarnation > h.incarnations(n.id.instance)+maxAhead {
		return errNote
	}
	g := h.group(n.id)
	switch n.kind {
	case noteParts:
		err = h.parts(g, node, &n)
	case noteLeft:
		delete(h.tasks[n.task].stays, n.id)
		h.leave(g, n.task)
	case noteEnding:
		h.end(g, n.task)
	case noteMoved:
		err = h.move(g, n.task, n.data)
	case noteDied:
		h.died(g, n.task, string(n.data))
	}
	h.forget(n.id, g)
	return err
}

// incarnations is the largest number of sessions of an instance that any task of this node has
// begun.
func (h *Hub) incarnations(instance int) (most int) {
	for i := range h.tasks {
		most = max(most, h.tasks[i].opened[instance])
	}
	return most
}

// parts takes a node's parts of a round.
func (h *Hub) parts(g *group, node int, n *note) error {
	all, err := wire.DecodeParts(n.data, nil, len(h.tasks))
	if err != nil {
		return err
	}
	if n.number < g.completed { // a new trunk repeats what this hub may have
		return nil
	}
	if g.rounds[n.number] == nil && len(g.rounds) >= maxAhead {
		return errNote // else rounds that no task here ever begins could take any amount of memory
	}
	r := g.round(n.number)
	for _, c := range all {
		if h.span.nodes[c.Task] != node {
			return errNote
		}
		if !r.present[c.Task] {
			r.add(c)
		}
	}
	if g.complete(n.number, r) {
		return nil
	}
	for t := range g.members { // a task that waits here may wait for a task that is gone
		if (g.dead[t] != "" || g.left[t]) && !r.present[t] {
			g.failWithout(t)
		}
	}
	return nil
}

// Flush waits until the other hubs, and the keepers on their nodes, have taken in everything that
// was sent to them before, or are gone, but no longer than limit. After it the process may end.
func (h *Hub) Flush(limit time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.span == nil {
		return
	}
	h.span.asked++
	asked := h.span.asked
	h.tellNodes(noteAsk, groupID{}, asked, h.span.task, nil)
	h.await(limit, func() bool {
		return !slices.ContainsFunc(h.span.trunks, func(t *trunk) bool {
			return t != nil && !t.gone && int32(t.heard-asked) < 0
		})
	})
}

// drain calls then when everything that was sent to this node's keepers before is in their sockets.
// mu is held.
func (h *Hub) drain(then func()) {
	var left atomic.Int32
	left.Store(1)
	done := func() {
		if left.Add(-1) == 0 {
			invariant.Go(then)
		}
	}
	for _, g := range h.groups {
		for _, s := range g.members {
			if s != nil && !s.closed {
				left.Add(1)
				s.send(wire.Message{}, done)
			}
		}
	}
	done()
}

// await sleeps until something holds, and looks whenever a hub has answered or ended, or a session
// has begun, was answered or has ended. mu is held, but for while it sleeps.
func (h *Hub) await(limit time.Duration, holds func() bool) {
	over := false
	timer := time.AfterFunc(limit, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		over = true
		h.changed.Broadcast()
	})
	defer timer.Stop()
	for !holds() && !over {
		h.changed.Wait()
	}
}

// Attached says whether a node's hub has been reached and is, or is this one.
func (h *Hub) Attached(node int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.span.trunks[node]
	return t == nil || t.way != nil
}

// Reached says whether a node's hub was reached at any time.
func (h *Hub) Reached(node int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.span.trunks[node]
	return t == nil || t.reached
}

// Wanted waits until a trunk to a node is missed, because there is none and a task of this node has
// a session. It returns false if there is one, or the node is gone.
func (h *Hub) Wanted(node int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := h.span.trunks[node]; t != nil && !t.gone && t.way == nil; h.changed.Wait() {
		for _, g := range h.groups {
			if g.over < g.joined {
				return true
			}
		}
	}
	return false
}

// Lost reports that a node is gone, with all of its tasks, and why. It does nothing if the node's
// hub has been reached by now.
func (h *Hub) Lost(node int, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.span.trunks[node].way != nil {
		return
	}
	h.span.trunks[node].gone = true
	h.changed.Broadcast()
	for t, n := range h.span.nodes {
		if n != node {
			continue
		}
		if !h.tasks[t].ended {
			h.tasks[t].ended, h.tasks[t].how = true, why
		}
		for id, g := range h.groups {
			h.died(g, t, h.tasks[t].how)
			h.forget(id, g)
		}
	}
}
