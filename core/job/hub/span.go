package hub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// A job on several nodes has a hub on each, in the process of one of the node's tasks. Each serves
// the tasks of its node, and tells all others what these do: their parts of an exchange, all of a
// node's at once; that one has left; that one is dead to a group; and that one's process has ended.
// Between each two hubs there is one trunk.

// span is what a hub knows of the others. Guarded by Hub.mu, as are its trunks' queues.
type span struct {
	nodes  []int    // the node of each task
	me     int      // this node
	trunks []*trunk // by node; nil: this one
	asked  uint32   // questions of Flush so far
}

// noteKind says what a note between hubs means.
type noteKind uint8

const (
	noteParts  noteKind = iota + 1 // the parts of all of a node's tasks for the round Number
	noteLeft                       // Task has left the group
	noteDied                       // Task is dead to the group; how
	noteEnding                     // Task has said Ending
	noteGone                       // Task's process has ended; sessions it has opened, and how
	noteAsk                        // say noteHeard with Number, once all before was taken in
	noteHeard
	lastNote
)

// note is what one hub tells another. On the wire: kind (8), instance (8), incarnation, number and
// task (32 each, little-endian), data.
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
	maxHow     = 1 << 10 // bytes of text
	flushLimit = 2 * time.Second
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
		n.kind != noteParts && len(n.data) > maxHow {
		return n, errNote
	}
	return n, nil
}

// Span makes h the hub of one node of several: nodes has the node of each task, from 0 on, me is
// h's. The others are reached once Attach has been told a trunk to each; what is to be said to them
// before then waits. Before the first Serve or Admit.
func (h *Hub) Span(nodes []int, me int) {
	s := &span{nodes: slices.Clone(nodes), me: me,
		trunks: make([]*trunk, slices.Max(nodes)+1)}
	for i := range s.trunks {
		if i != me {
			s.trunks[i] = newTrunk(h, i)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.span, h.own = s, 0
	for _, n := range nodes {
		if n == me {
			h.own++
		}
	}
}

// isOwn says whether h serves a task.
func (h *Hub) isOwn(task int) bool { return h.span == nil || h.span.nodes[task] == h.span.me }

// tellNodes tells all other hubs. mu is held.
func (h *Hub) tellNodes(kind noteKind, id groupID, number uint32, task int, data []byte) {
	if h.span == nil {
		return
	}
	n := note{kind, id, number, task, data}
	b := n.encode()
	for _, t := range h.span.trunks {
		if t != nil {
			t.queue.put(b)
		}
	}
}

// tellParts tells the others this node's parts of a round. Descriptors stay on the node.
func (h *Hub) tellParts(id groupID, number uint32, r *round) {
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
	h.tellNodes(noteParts, id, number, own[0].Task, data)
}

func (h *Hub) tellDeath(g *group, task int) {
	if h.span == nil || !h.isOwn(task) {
		return
	}
	h.tellNodes(noteDied, g.id, 0, task, []byte(cut(g.dead[task])))
}

// tellGone tells of the end of a process: in groups that it has not joined it is dead.
func (h *Hub) tellGone(task int) {
	if h.span == nil || !h.isOwn(task) {
		return
	}
	t := &h.tasks[task]
	var counts [4 * wire.MaxInstances]byte
	for instance, n := range t.opened {
		binary.LittleEndian.PutUint32(counts[4*instance:], uint32(n))
	}
	h.tellNodes(noteGone, groupID{}, 0, task, append(counts[:], cut(t.how)...))
}

func cut(how string) string { return how[:min(len(how), maxHow-4*wire.MaxInstances)] }

// heard takes a note from a node's hub.
func (h *Hub) heard(node int, b []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := decodeNote(b, len(h.tasks))
	if err != nil || h.span.nodes[n.task] != node {
		return errNote
	}
	switch n.kind {
	case noteGone:
		return h.gone(&n)
	case noteAsk:
		answer := note{kind: noteHeard, number: n.number, task: slices.Index(h.span.nodes, h.span.me)}
		h.span.trunks[node].queue.put(answer.encode())
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
		g.left[n.task] = true
		g.failWithout(n.task)
	case noteEnding:
		g.ending[n.task] = true
	case noteDied:
		h.died(g, n.task, string(n.data))
	}
	h.forget(n.id, g)
	return err
}

// incarnations is how many sessions of an instance the task of this node that has most has begun.
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
	if g.rounds[n.number] == nil && len(g.rounds) >= maxAhead {
		return errNote // else rounds that nobody here will ever begin would take any memory
	}
	r := g.round(n.number)
	for _, c := range all {
		if h.span.nodes[c.Task] != node || r.present[c.Task] {
			return errNote
		}
		r.add(c)
	}
	if g.complete(n.number, r) {
		return nil
	}
	for t := range g.members { // who waits here may wait for somebody who is no more
		if (g.dead[t] != "" || g.left[t]) && !r.present[t] {
			g.failWithout(t)
		}
	}
	return nil
}

// gone takes the end of a process of another node.
func (h *Hub) gone(n *note) error {
	if len(n.data) < 4*wire.MaxInstances {
		return errNote
	}
	t := &h.tasks[n.task]
	t.ended, t.how = true, string(n.data[4*wire.MaxInstances:])
	for i := range wire.MaxInstances {
		if count := binary.LittleEndian.Uint32(n.data[4*i:]); count > 0 && count < 1<<30 {
			t.opened[i] = int(count)
		}
	}
	for id, g := range h.groups {
		if t.opened[id.instance] <= id.incarnation {
			h.died(g, n.task, t.how)
			h.forget(id, g)
		}
	}
	return nil
}

// Flush waits until the other hubs have taken in all that they were told before, or are gone, but
// no longer than limit. After it the process may end.
func (h *Hub) Flush(limit time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.span == nil {
		return
	}
	h.span.asked++
	asked := h.span.asked
	h.tellNodes(noteAsk, groupID{}, asked, slices.Index(h.span.nodes, h.span.me), nil)
	h.await(limit, func() bool {
		return !slices.ContainsFunc(h.span.trunks, func(t *trunk) bool {
			return t != nil && t.conn != nil && t.waitsFor(asked)
		})
	})
}

// waitsFor says whether a question was not answered yet and still can be. Hub.mu is held.
func (t *trunk) waitsFor(number uint32) bool {
	return int32(t.heard-number) < 0 && !t.queue.ended()
}

// Left waits until a task's sessions of an instance have left so many times, but no longer than
// limit.
func (h *Hub) Left(task, instance, times int, limit time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.await(limit, func() bool { return h.tasks[task].left[instance] >= times })
}

// TimesLeft is how many of a task's sessions of an instance have left.
func (h *Hub) TimesLeft(task, instance int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tasks[task].left[instance]
}

// await sleeps until something holds, and looks whenever a hub has answered or ended, or a task has
// left. mu is held, but for while it sleeps.
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

// Attached says whether a node's hub has been reached, or is this one.
func (h *Hub) Attached(node int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.span.trunks[node]
	return t == nil || t.conn != nil
}

// Lost says that a node's hub is reached no more, and why. The task in whose process it was is
// dead; whole: all of the node's are, for the node itself does not answer.
func (h *Hub) Lost(node int, whole bool, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.span.trunks[node].queue.end()
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
		if !whole {
			break // the lowest one has the hub
		}
	}
}

// Admit serves the control socket of a task of this node, which has connected to a listening socket
// of the hub's owner and says first who it is.
func (h *Hub) Admit(socket int) error {
	link, err := newLink(socket)
	if err != nil {
		return err
	}
	go func() {
		task, err := h.identify(link)
		if err != nil {
			link.sendAndClose(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
			return
		}
		h.control(task, link)
		h.TaskEnded(task, "has ended")
	}()
	return nil
}

// identify reads who a control socket is of.
func (h *Hub) identify(link *link) (task int, err error) {
	m, err := link.receive()
	if err != nil {
		return 0, err
	}
	defer m.CloseFiles()
	g, err := wire.ParseGreeting(m.Data)
	switch {
	case err != nil:
		return 0, err
	case m.Kind != wire.Hello || g.NumTasks != len(h.tasks) || !h.isOwn(g.Task):
		return 0, fmt.Errorf("task %d of %d is none of this hub's", g.Task, g.NumTasks)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks[g.Task].control != nil || h.tasks[g.Task].ended {
		return 0, fmt.Errorf("task %d is here already", g.Task)
	}
	h.tasks[g.Task].control = link
	watchProcess(link)
	return g.Task, nil
}

// watchProcess ends a control socket when the process at its other end ends: a child that it has
// forked may keep the socket open.
func watchProcess(link *link) {
	pid := -1
	_ = link.raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	process, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if pid <= 0 || err != nil {
		return // the socket's end is told nevertheless
	}
	f := os.NewFile(uintptr(process), "process")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return
	}
	go func() {
		_ = raw.Read(func(fd uintptr) bool {
			set := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(set[:], 0)
			return err != nil || n > 0
		})
		f.Close()
		link.shutdown()
	}()
}
