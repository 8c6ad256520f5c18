package dat

import (
	"math/bits"
	"unsafe"

	"lapi/transport/arena"
	"lapi/transport/layout"
)

// queueOf and cnoOf are what C has of an EVD and of a CNO (cshim/dat/evd/evd.h), for reading.
func queueOf(s *Slot) *layout.DatQueue { return objectAt[layout.DatQueue](s.Lane) }

func cnoOf(s *Slot) *layout.DatCno { return objectAt[layout.DatCno](s.Lane) }

func objectAt[T any](address uint64) *T {
	p := uintptr(address)
	return *(**T)(unsafe.Pointer(&p))
}

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
