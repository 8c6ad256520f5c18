package dat

import (
	"sync/atomic"
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/cshim/dat/evd"
	"lapi/transport/arena"
	"lapi/transport/layout"
)

// Handle is what a program knows an object by. 0 is null.
type Handle uint64

// Kind is a handle's (DAT_HANDLE_TYPE).
type Kind uint32

// The kinds.
const (
	KindCR Kind = iota
	KindEP
	KindEVD
	KindIA
	KindLMR
	KindPSP
	KindPZ
	KindRMR
	KindRSP
	KindCNO
	KindSRQ
	kindAH // the program sees it in address handles only

	// KindCollective is a group (DAT_IB_HANDLE_TYPE_COLLECTIVE).
	KindCollective Kind = 13
)

// Slot is the part of an object that lies in memory that C and the program see: its handle is the
// address. Its members are those of cshim/dat/lane.h.
type Slot = layout.DatSlot

// A freed handle is used again only after restOfHandles others, so that a program's mistake is
// found.
const restOfHandles = 1024

// slotsPerArea is how many handles are made at once, areasMax how often.
const (
	slotsPerArea = 1 << 10
	areasMax     = 1 << 10
)

// base is what every object has.
type base struct {
	handle  Handle
	slot    *Slot
	ia      *IA
	context uint64 // the consumer's
	freed   bool
}

// Handle is the object's.
func (b *base) Handle() Handle { return b.handle }

func (b *base) object() *base { return b }

// handles gives out handles and finds what they name. A handle that it has never given out, or
// that is no longer in use, is found to be so without being looked at.
type handles struct {
	areas map[uint64]*area // by address
	free  []*place         // oldest first
	inUse int
}

// An area is as large as C takes it to be.
var _ = [1]struct{}{}[areaSize-1<<layout.DatAreaShift]

// area is memory for slots.
type area struct {
	mapped  []byte // what slots lies in
	slots   []byte
	objects [slotsPerArea]place
}

type place struct {
	object Object
	slot   *Slot
	handle Handle
}

const slotSize = uint64(unsafe.Sizeof(Slot{}))

// areaSize is the size of an area, and what its address is a multiple of.
const areaSize = slotSize * slotsPerArea

// grow makes another area.
func (h *handles) grow() bool {
	if len(h.areas) == areasMax {
		return false
	}
	b, err := arena.Map(int(2 * areaSize)) // so that an aligned area is in it
	if err != nil {
		return false
	}
	start := uint64(uintptr(unsafe.Pointer(&b[0])))
	skip := (areaSize - start%areaSize) % areaSize
	a := &area{mapped: b, slots: b[skip:][:areaSize]}
	for i := range a.objects {
		slot := (*Slot)(unsafe.Pointer(&a.slots[uint64(i)*slotSize]))
		a.objects[i] = place{slot: slot, handle: Handle(uintptr(unsafe.Pointer(slot)))}
		h.free = append(h.free, &a.objects[i])
	}
	if h.areas == nil {
		h.areas = map[uint64]*area{}
	}
	h.areas[start+skip] = a
	evd.AddArea(start + skip)
	return true
}

// add gives o a handle; false: there is none.
func (h *handles) add(kind Kind, ia *IA, o Object) bool {
	if len(h.free) <= restOfHandles && !h.grow() && len(h.free) == 0 {
		return false
	}
	p := h.free[0]
	h.free[0] = nil
	h.free = h.free[1:]
	p.object = o
	*p.slot = Slot{Table: tableOf(ia, o), Kind: uint32(kind) + 1}
	*o.object() = base{handle: p.handle, slot: p.slot, ia: ia}
	h.inUse++
	return true
}

func tableOf(ia *IA, o Object) uint64 {
	if adapter, ok := o.(*IA); ok {
		ia = adapter
	}
	return ia.table
}

// place is where a handle belongs, if it is in use.
func (h *handles) place(handle Handle) *place {
	a := h.areas[uint64(handle)&^(areaSize-1)]
	if a == nil || uint64(handle)%slotSize != 0 {
		return nil
	}
	p := &a.objects[uint64(handle)%areaSize/slotSize]
	if p.object == nil {
		return nil
	}
	return p
}

// remove makes a handle useless.
func (h *handles) remove(o Object) {
	b := o.object()
	p := h.place(b.handle)
	b.freed = true
	p.object, p.slot.Kind = nil, 0
	atomic.AddUint32(&p.slot.Poked, 1)
	h.free = append(h.free, p)
	h.inUse--
}

// find is the object of a handle that must be a T.
func find[T Object](l *Library, handle Handle, subtype codes.Subtype) (t T, r codes.Return) {
	if p := l.handles.place(handle); p != nil {
		if t, ok := p.object.(T); ok {
			return t, codes.Success
		}
	}
	return t, codes.BadHandle(subtype)
}

// findIn is find for an object that must belong to ia; a null handle is nil, if that may be.
func findIn[T Object](ia *IA, handle Handle, subtype codes.Subtype, null bool) (t T,
	r codes.Return) {
	if handle == 0 && null {
		return t, codes.Success
	}
	t, r = find[T](ia.library, handle, subtype)
	if r == codes.Success && t.object().ia != ia {
		return t, codes.BadHandle(subtype)
	}
	return t, r
}

// Find is the object of a handle that must be a T; subtype is what is wrong if it is not.
func Find[T Object](l *Library, handle Handle, subtype codes.Subtype) (T, codes.Return) {
	return find[T](l, handle, subtype)
}

// IA is the adapter that an object belongs to.
func (b *base) IA() *IA { return b.ia }

// Object is what a handle names.
type Object interface {
	object() *base
	// discard frees an object that its adapter still has when it is closed abruptly. The users of
	// the object are discarded before it.
	discard()
}

// SetContext and Context are the consumer's context of an object.
func SetContext(o Object, c uint64) { o.object().context = c }

// Context is what SetContext set.
func Context(o Object) uint64 { return o.object().context }

// KindOf is an object's kind.
func KindOf(o Object) Kind { return Kind(o.object().slot.Kind - 1) }

// handleOf is an object's handle, 0 of none.
func handleOf[T interface {
	comparable
	Handle() Handle
}](o T) Handle {
	var none T
	if o == none {
		return 0
	}
	return o.Handle()
}

// HandleOf is handleOf for structures of the program's.
func HandleOf[T interface {
	comparable
	Handle() Handle
}](o T) Handle {
	return handleOf(o)
}
