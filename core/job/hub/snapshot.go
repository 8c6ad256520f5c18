package hub

import (
	"encoding/binary"

	"lapi/core/job/wire"
)

// maxTable bounds how a task stands in all of its groups, as a note.
const maxTable = 1 << 16

// Flags of a task's table.
const (
	tableEnded = 1 << iota // its process has ended
	tableKnown             // what it has opened is known: else it ended before this hub began
)

// table is how a task stands. On the wire: flags (8), sessions opened of each instance (32 each),
// how many it stays in (32), these: instance (8), generation (32), stay (8); how it ended.
type table struct {
	flags  byte
	opened map[int]int
	stays  map[groupID]stay
	how    string
}

const (
	tableHead = 1 + 4*wire.MaxInstances + 4
	tableStay = 6
)

func (t *table) encode() []byte {
	b := []byte{t.flags}
	for i := range wire.MaxInstances {
		b = binary.LittleEndian.AppendUint32(b, uint32(t.opened[i]))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.stays)))
	for id, how := range t.stays {
		b = append(b, byte(id.instance))
		b = binary.LittleEndian.AppendUint32(b, uint32(id.incarnation))
		b = append(b, byte(how))
	}
	return append(b, cut(t.how)...)
}

func decodeTable(b []byte) (t table, err error) {
	if len(b) < tableHead {
		return t, errNote
	}
	t = table{flags: b[0], opened: make(map[int]int), stays: make(map[groupID]stay)}
	for i := range wire.MaxInstances {
		count := binary.LittleEndian.Uint32(b[1+4*i:])
		if count > 1<<30 {
			return t, errNote
		}
		t.opened[i] = int(count)
	}
	n := binary.LittleEndian.Uint32(b[tableHead-4:])
	b = b[tableHead:]
	if uint64(n)*tableStay > uint64(len(b)) {
		return t, errNote
	}
	for range n {
		incarnation, how := binary.LittleEndian.Uint32(b[1:]), stay(b[5])
		if b[0] >= wire.MaxInstances || incarnation > 1<<30 || how < stayIn || how > stayDied {
			return t, errNote
		}
		t.stays[groupID{int(b[0]), int(incarnation)}] = how
		b = b[tableStay:]
	}
	if len(b) > maxHow {
		return t, errNote
	}
	t.how = string(b)
	return t, nil
}

// tableOf is how a task of this node stands; false: it has not come to this hub yet. mu is held.
func (h *Hub) tableOf(taskID int) (note, bool) {
	t := &h.tasks[taskID]
	if !t.came && !t.ended {
		return note{}, false
	}
	all := table{opened: t.opened, stays: make(map[groupID]stay), how: t.how}
	if t.ended {
		all.flags |= tableEnded
	}
	if t.came {
		all.flags |= tableKnown
	}
	for id, how := range t.stays {
		all.stays[id] = how
	}
	for id, g := range h.groups {
		if s := g.members[taskID]; s != nil && !s.left && !s.finished {
			all.stays[id] = stayIn
			if g.ending[taskID] {
				all.stays[id] = stayEnding
			}
		}
	}
	return note{kind: noteTask, task: taskID, data: all.encode()}, true
}

// tellTask sends the other hubs the state of a task of this node. mu is held.
func (h *Hub) tellTask(taskID int) {
	if h.span == nil || !h.isOwn(taskID) {
		return
	}
	if n, ok := h.tableOf(taskID); ok {
		h.tellNodes(n.kind, n.id, 0, taskID, n.data)
	}
}

// snapshot is the notes that a hub sends first on a trunk. mu is held.
func (h *Hub) snapshot() (all [][]byte) {
	for t := range h.tasks {
		if n, ok := h.tableOf(t); h.isOwn(t) && ok {
			all = append(all, n.encode())
		}
	}
	for id, g := range h.groups {
		for number, data := range g.told {
			n := note{noteParts, id, number, h.span.task, data}
			all = append(all, n.encode())
		}
		for t, address := range g.moved {
			if n := (note{noteMoved, id, 0, t, address}); h.isOwn(t) {
				all = append(all, n.encode())
			}
		}
	}
	if h.span.asked > 0 {
		n := note{kind: noteAsk, number: h.span.asked, task: h.span.task}
		all = append(all, n.encode())
	}
	return all
}

// table takes how a task of another node stands.
func (h *Hub) table(n *note) error {
	all, err := decodeTable(n.data)
	if err != nil {
		return err
	}
	t := &h.tasks[n.task]
	if all.flags&tableEnded != 0 && !t.ended {
		t.ended, t.how = true, all.how
	}
	if all.flags&tableKnown != 0 {
		t.opened, t.stays = all.opened, all.stays
	}
	for id, g := range h.groups {
		if all.flags&tableKnown != 0 {
			h.settle(g, n.task)
		} else {
			h.died(g, n.task, t.how)
		}
		h.forget(id, g)
	}
	return nil
}
