package hub

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"lapi/core/job/wire"
)

// standing is what a keeper sends to a new hub after the greeting:
//
//   - how many sessions its task has opened of each instance
//   - those that ended without Leave
//   - of a task that was started by hand, which tasks it takes for those of its node
//   - the sessions that go on. Their sockets come along, in the same order.
//
// On the wire all numbers have 32 bits, little-endian. Lists have their length in front.
type standing struct {
	opened [wire.MaxInstances]int
	lost   []groupID
	mates  []int
	goOn   []going
}

// going is a session that goes on, and what it knows of other tasks.
type going struct {
	id    groupID
	round uint32
	// by what they are: left, ending, dead
	known [numKnown][]int
	// Of a task that was started by hand: its own life while it waits for its first exchange, and
	// by task the lives of those whose parts it has.
	life  wire.Life
	lives map[int]wire.Life
}

// Facts that a session may know about another task.
const (
	knownLeft = iota
	knownEnding
	knownDead
	numKnown
)

var errStanding = errors.New("malformed message of a task")

func (s *standing) encode(b []byte) []byte {
	number := func(n int) { b = binary.LittleEndian.AppendUint32(b, uint32(n)) }
	name := func(id groupID) { number(id.instance); number(id.incarnation) }
	for _, n := range s.opened {
		number(n)
	}
	number(len(s.lost))
	for _, id := range s.lost {
		name(id)
	}
	number(len(s.mates))
	for _, t := range s.mates {
		number(t)
	}
	number(len(s.goOn))
	for i := range s.goOn {
		g := &s.goOn[i]
		name(g.id)
		number(int(g.round))
		for _, tasks := range g.known {
			number(len(tasks))
			for _, t := range tasks {
				number(t)
			}
		}
		b = append(b, g.life[:]...)
		number(len(g.lives))
		b = appendLives(b, g.lives)
	}
	return b
}

// numbers reads encoded numbers; failed says that the bytes are no valid encoding.
type numbers struct {
	b      []byte
	failed bool
}

// next is the next number, below limit.
func (n *numbers) next(limit int) int {
	if n.failed || len(n.b) < 4 || uint64(binary.LittleEndian.Uint32(n.b)) >= uint64(limit) {
		n.failed = true
		return 0
	}
	v := binary.LittleEndian.Uint32(n.b)
	n.b = n.b[4:]
	return int(v)
}

// count is the length of a list whose elements take at least size bytes each.
func (n *numbers) count(size int) int { return n.next(len(n.b)/size + 1) }

func (n *numbers) group() groupID {
	return groupID{n.next(wire.MaxInstances), n.next(1 << 30)}
}

// life is the next life.
func (n *numbers) life() (l wire.Life) {
	if n.failed || len(n.b) < len(l) {
		n.failed = true
		return l
	}
	n.b = n.b[copy(l[:], n.b):]
	return l
}

// livesOf are the next count lives, each behind its task.
func (n *numbers) livesOf(count, numTasks int) map[int]wire.Life {
	if count == 0 {
		return nil
	}
	all := make(map[int]wire.Life, count)
	for range count {
		t := n.next(numTasks)
		all[t] = n.life()
	}
	return all
}

func appendLives(b []byte, lives map[int]wire.Life) []byte {
	for _, t := range slices.Sorted(maps.Keys(lives)) {
		l := lives[t]
		b = append(binary.LittleEndian.AppendUint32(b, uint32(t)), l[:]...)
	}
	return b
}

func decodeStanding(b []byte, numTasks int) (s standing, err error) {
	n := &numbers{b: b}
	for i := range s.opened {
		s.opened[i] = n.next(1 << 30)
	}
	for range n.count(8) {
		s.lost = append(s.lost, n.group())
	}
	for range n.count(4) {
		s.mates = append(s.mates, n.next(numTasks))
	}
	for range n.count(8 + 4 + 4*numKnown + 8 + 4) {
		g := going{id: n.group(), round: uint32(n.next(1 << 30))}
		for i := range g.known {
			for range n.count(4) {
				g.known[i] = append(g.known[i], n.next(numTasks))
			}
		}
		g.life = n.life()
		g.lives = n.livesOf(n.count(12), numTasks)
		if g.id.incarnation >= s.opened[g.id.instance] {
			n.failed = true
		}
		s.goOn = append(s.goOn, g)
	}
	if n.failed || len(n.b) > 0 {
		return s, errStanding
	}
	return s, nil
}

// resume takes a task in with its standing; links are of the sessions that go on. mu is held.
func (h *Hub) resume(taskID int, s *standing, links []*link) {
	if h.hand != nil {
		h.resumeByHand(taskID, s, links)
		return
	}
	t := &h.tasks[taskID]
	for i, n := range s.opened {
		if n > 0 {
			t.opened[i] = n
		}
	}
	for _, id := range s.lost {
		t.stays[id] = stayDied
	}
	for i := range s.goOn {
		on := &s.goOn[i]
		t.stays[on.id] = stayIn // in a group that begins now it has not left
		g := h.group(on.id)
		delete(t.stays, on.id)
		h.learn(g, on)
		s := &session{hub: h, task: taskID, outlet: newOutlet(links[i]), group: g, id: on.id,
			round: on.round}
		h.join(s)
		for t, left := range g.left { // before its keeper came to this hub
			if left && !slices.Contains(on.known[knownLeft], t) {
				s.send(notice(wire.Left, t), nil)
			}
		}
	}
	for id, g := range h.groups {
		h.settle(g, taskID)
		h.forget(id, g)
	}
	h.tellTask(taskID)
}

// learn takes over what a keeper knows of the other tasks in its session. mu is held.
func (h *Hub) learn(g *group, on *going) {
	for _, t := range on.known[knownLeft] {
		h.leave(g, t)
	}
	for _, t := range on.known[knownEnding] {
		h.end(g, t)
	}
	for _, t := range on.known[knownDead] {
		h.died(g, t, "has ended")
	}
}
