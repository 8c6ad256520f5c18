package shm

import (
	"unsafe"

	"lapi/transport/layout"
)

// slots is the memory of a ring, as tests write it.
type slots struct{ base unsafe.Pointer }

// ringTo is the ring to p in p's segment, as this task's sender sees it.
func ringTo(p *peer) slots { return slots{offHeap(p.node.OutSlots)} }

// controlOf is what p says of this task's ring there.
func controlOf(p *peer) *layout.RingControl {
	return (*layout.RingControl)(offHeap(p.node.OutControl))
}

// all is the whole memory of the ring.
func (s slots) all() []byte { return unsafe.Slice((*byte)(s.base), ringSize) }

// head is the head word of a slot.
func (s slots) head(position uint64) *uint64 {
	return (*uint64)(unsafe.Add(s.base, position*layout.SlotSize))
}

// body is n bytes of the message that starts in a slot, beginning offset bytes after its head word.
func (s slots) body(position, offset, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(s.base, position*layout.SlotSize+8+offset)), n)
}

// pack makes the head word of a message; see cshim/node/segment.h.
func pack(index uint64, kind uint8, header int, data uint64) uint64 {
	return uint64(uint32(index)|layout.SequenceValid) | uint64(kind)<<32 |
		uint64(header/layout.HeaderUnit)<<40 | data<<48
}

const (
	ringSlots = layout.RingSlots
	ringMask  = ringSlots - 1
	slotSize  = layout.SlotSize
	hotTasks  = 4    // HOT_RINGS of cshim/node/active.c
	coldTurns = 8192 // COLD_TURNS
)
