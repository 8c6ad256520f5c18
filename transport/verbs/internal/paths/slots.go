package paths

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// slots is registered memory in pieces of one size, which lies outside the Go heap. It grows.
type slots struct {
	ports  []*Port // that it is registered with
	size   int
	chunks []chunk
	free   []int32 // [:*n]; nil: made here
	n      *int32
	used   *int32       // slots from there on are to go out of use; nil: none are
	made   func(at int) // called with each chunk's place; may be nil
	holder []uint8      // of each slot: the port that it was given to last, to receive into
}

type chunk struct {
	memory  []byte                    // nil: given back
	regions [wire.PortsMax]ibv.Region // by port; zero where the port was gone
}

// get takes a slot; false if no more memory can be had.
func (s *slots) get() (int32, bool) {
	if (s.n == nil || *s.n == 0) && s.grow() != nil {
		return 0, false
	}
	*s.n--
	return s.free[*s.n], true
}

func (s *slots) total() (n int) {
	for _, c := range s.chunks {
		if c.memory != nil {
			n += slotsAtOnce
		}
	}
	return n
}

// put gives a slot back. A slot that is to go out of use goes below all others: get takes from above.
func (s *slots) put(i int32) {
	at := *s.n
	if s.used != nil && i >= *s.used {
		copy(s.free[1:at+1], s.free[:at])
		at = 0
	}
	s.free[at] = i
	*s.n++
}

// grow makes a chunk. Whose free list is not shared has one chunk.
func (s *slots) grow() error {
	if s.free == nil {
		s.free, s.n = make([]int32, slotsAtOnce), new(int32)
	}
	at := slices.IndexFunc(s.chunks, func(c chunk) bool { return c.memory == nil })
	if at < 0 && (len(s.chunks)+1)*slotsAtOnce > len(s.free) {
		return ErrNoMemory
	}
	b, err := unix.Mmap(-1, 0, slotsAtOnce*s.size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	c := chunk{memory: b}
	// A child of this process shall not have to copy what the adapter writes.
	if err = unix.Madvise(b, unix.MADV_DONTFORK); err == nil {
		err = s.register(&c)
	}
	if err != nil {
		_ = s.release(&c)
		return err
	}
	if at < 0 {
		at = len(s.chunks)
		s.chunks = append(s.chunks, chunk{})
		s.holder = append(s.holder, make([]uint8, slotsAtOnce)...)
	}
	s.chunks[at] = c
	if s.made != nil {
		s.made(at)
	}
	first := int32(at) * slotsAtOnce
	for i := range int32(slotsAtOnce) {
		s.put(first + slotsAtOnce - 1 - i)
	}
	return nil
}

func (s *slots) register(c *chunk) error {
	for _, pt := range s.ports {
		if pt.gone() || pt.isSpare() {
			continue
		}
		r, err := pt.register(c.memory)
		if err != nil {
			return err
		}
		c.regions[pt.index] = r
	}
	return nil
}

// registerWith registers all that there is with the adapter of a port.
func (s *slots) registerWith(pt *Port) (err error) {
	for i := range s.chunks {
		c := &s.chunks[i]
		if c.memory == nil {
			continue
		}
		if c.regions[pt.index], err = pt.register(c.memory); err != nil {
			return err
		}
		s.made(i)
	}
	return nil
}

// leave ends that.
func (s *slots) leave(pt *Port) {
	for i := range s.chunks {
		if r := &s.chunks[i].regions[pt.index]; *r != (ibv.Region{}) {
			_ = pt.adapter.DeregMR(r.MR)
			*r = ibv.Region{}
		}
	}
}

// release gives a chunk back. An adapter that is gone has forgotten it.
func (s *slots) release(c *chunk) (first error) {
	for _, pt := range s.ports {
		if pt.isSpare() {
			continue
		}
		if r := c.regions[pt.index]; r != (ibv.Region{}) {
			if err := pt.adapter.DeregMR(r.MR); err != nil && !pt.gone() {
				first = cmp.Or(first, err)
				continue
			}
			c.regions[pt.index] = ibv.Region{}
		}
	}
	if first == nil && c.memory != nil {
		first = unix.Munmap(c.memory)
	}
	return first
}

// chunkMade publishes to C where the slots of chunk k are.
func (s *Set) chunkMade(k int) {
	c, at := &s.slots.chunks[k], &s.cfg.Shared.Chunks[k]
	at.Memory = uint64(memory.AddrOf(c.memory))
	for i, r := range c.regions {
		at.Lkey[i] = r.Local
	}
}

// Slot takes a slot; false: no more memory can be had.
func (s *Set) Slot() (int32, bool) { return s.slots.get() }

// Free gives a slot back.
func (s *Set) Free(slot int32) { s.slots.put(slot) }

func (s *Set) Slots() int              { return s.slots.total() }     // how many slots there are
func (s *Set) Bytes(slot int32) []byte { return s.slots.bytes(slot) } // a slot

// trim gives chunks back of which no slot is in use, but for spareSlots free ones. From then on the
// lowest slots are taken first. It returns from where on slots are to go out of use, so that later
// more chunks can be given back.
func (s *slots) trim() (used int32) {
	total := s.total()
	all := s.free[:*s.n]
	if len(all) < spareSlots+slotsAtOnce {
		return math.MaxInt32
	}
	slices.SortFunc(all, func(a, b int32) int { return int(b - a) })
	left := len(all)
	for k := len(s.chunks) - 1; k >= 0 && left >= spareSlots+slotsAtOnce; k-- {
		first := int32(k) * slotsAtOnce
		from, _ := slices.BinarySearchFunc(all, first+slotsAtOnce-1,
			func(a, b int32) int { return int(b - a) })
		if end := from + slotsAtOnce; end > len(all) || all[end-1] != first ||
			s.release(&s.chunks[k]) != nil {
			continue
		}
		all = slices.Delete(all, from, from+slotsAtOnce)
		s.chunks[k] = chunk{}
		clear(s.holder[first : first+slotsAtOnce])
		left -= slotsAtOnce
		total -= slotsAtOnce
	}
	*s.n = int32(left)
	return s.place(total - left + spareSlots)
}

// place is the first slot behind n that there are.
func (s *slots) place(n int) int32 {
	for k := range s.chunks {
		if s.chunks[k].memory != nil {
			if n -= slotsAtOnce; n <= 0 {
				return int32(k+1) * slotsAtOnce
			}
		}
	}
	return math.MaxInt32
}

func (s *slots) bytes(i int32) []byte {
	at := int(i%slotsAtOnce) * s.size
	return s.chunks[i/slotsAtOnce].memory[at : at+s.size : at+s.size]
}

func (s *slots) addr(i int32) transport.Addr { return memory.AddrOf(s.bytes(i)) }

func (s *slots) key(i int32, pt *Port) uint32 {
	if pt.isSpare() {
		return 0
	}
	return s.chunks[i/slotsAtOnce].regions[pt.index].Local
}

// close gives all back. No slot may be with an adapter any more.
func (s *slots) close() error {
	var first error
	for i := range s.chunks {
		if err := s.release(&s.chunks[i]); first == nil {
			first = err
		}
	}
	s.chunks, s.free, s.n, s.holder = nil, nil, nil, nil
	return first
}
