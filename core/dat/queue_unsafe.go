package dat

import (
	"math/bits"
	"unsafe"

	"lapi/transport/arena"
	"lapi/transport/layout"
)

// queue is the events of an EVD, in memory that C reads and writes too (cshim/dat/evd/queue.h).
type queue struct {
	*layout.DatQueue
	slot   *Slot
	head   []byte // where the DatQueue is
	events []byte
}

const (
	eventSize = int(unsafe.Sizeof(Event{}))
	queueSize = int(unsafe.Sizeof(layout.DatQueue{}))
	// roomFirst is how many events there is memory for at first: what the fast lane does
	// without asking for more.
	roomFirst = 32
)

// rings is memory for what C shares, by size. Buffers are zero.
type rings struct{ arena arena.Arena }

func (r *rings) get(n int) []byte {
	if n > arena.Largest {
		b, err := arena.Map(n)
		if err != nil {
			return nil
		}
		return b
	}
	b, err := r.arena.Get(n)
	if err != nil {
		return nil
	}
	clear(b)
	return b
}

func (r *rings) put(b []byte) {
	switch {
	case b == nil:
	case len(b) > arena.Largest:
		arena.Unmap(b)
	default:
		r.arena.Put(b)
	}
}

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// powerOfTwo is the least that is not below n, which is at least 1.
func powerOfTwo(n uint32) uint32 { return 1 << bits.Len32(n-1) }

// open makes the queue; false: there is no memory.
func (q *queue) open(r *rings, slot *Slot, size int) bool {
	q.slot = slot
	if q.head = r.get(queueSize); q.head == nil {
		return false
	}
	q.DatQueue = (*layout.DatQueue)(unsafe.Pointer(unsafe.SliceData(q.head)))
	q.Size = uint32(size)
	slot.Lane = addressOf(q.head)
	if q.grow(r) {
		return true
	}
	q.close(r)
	return false
}

// close gives the memory back. What is left is an empty queue.
func (q *queue) close(r *rings) {
	q.slot.Lane = 0
	r.put(q.events)
	r.put(q.head)
	*q = queue{DatQueue: &layout.DatQueue{}, slot: &Slot{}}
}

// grow makes room for twice as many events.
func (q *queue) grow(r *rings) bool {
	room := min(2*q.Room, powerOfTwo(EVDMax))
	if q.Room == 0 {
		room = powerOfTwo(min(roomFirst, q.Size))
	}
	b := r.get(int(room) * eventSize)
	if b == nil {
		return false
	}
	for i := range q.slot.Length {
		*eventIn(b, i) = *q.at(q.Head + i)
	}
	r.put(q.events)
	q.events, q.Events, q.Room, q.Head = b, addressOf(b), room, 0
	return true
}

func eventIn(b []byte, i uint32) *Event {
	return (*Event)(unsafe.Pointer(&b[int(i)*eventSize]))
}

func (q *queue) at(i uint32) *Event { return eventIn(q.events, i%q.Room) }

// push adds an event; false: there is no memory.
func (q *queue) push(r *rings, ev *Event) bool {
	if q.slot.Length == q.Room && !q.grow(r) {
		return false
	}
	*q.at(q.Head + q.slot.Length) = *ev
	q.slot.Length++
	return true
}

// pop takes the oldest event, of at least one.
func (q *queue) pop() Event {
	ev := *q.at(q.Head)
	q.Head++
	q.slot.Length--
	if q.slot.Length == 0 {
		q.set(layout.QueueOverflowed, false)
	}
	return ev
}

func (q *queue) length() int { return int(q.slot.Length) }

func (q *queue) has(flag uint32) bool { return q.Flags&flag != 0 }

func (q *queue) set(flag uint32, on bool) {
	q.Flags &^= flag
	if on {
		q.Flags |= flag
	}
}
