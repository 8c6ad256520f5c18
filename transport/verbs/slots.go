package verbs

import (
	"errors"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// slots is registered memory in pieces of one size, which lies outside the Go heap. It grows.
type slots struct {
	ports  []*port // that it is registered with
	size   int
	chunks []chunk
	free   []int32 // [:*n]; nil: made here
	n      *int32
	made   func(c *chunk) // told of each chunk; may be nil
	holder []uint8        // of each slot: the port that it was given to last, to receive into
}

var errNoMemory = errors.New("verbs: out of memory or of objects")

type chunk struct {
	memory  []byte
	regions [PortsMax]ibv.Region // by port; zero where the port was gone
}

// get takes a slot; false if no more memory can be had.
func (s *slots) get() (int32, bool) {
	if (s.n == nil || *s.n == 0) && s.grow() != nil {
		return 0, false
	}
	*s.n--
	return s.free[*s.n], true
}

func (s *slots) put(i int32) {
	s.free[*s.n] = i
	*s.n++
}

// grow makes a chunk. Whose free list is not shared has one chunk.
func (s *slots) grow() error {
	if s.free == nil {
		s.free, s.n = make([]int32, slotsAtOnce), new(int32)
	}
	if (len(s.chunks)+1)*slotsAtOnce > len(s.free) {
		return errNoMemory
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
	s.chunks = append(s.chunks, c)
	s.holder = append(s.holder, make([]uint8, slotsAtOnce)...)
	if s.made != nil {
		s.made(&c)
	}
	first := int32(len(s.chunks)-1) * slotsAtOnce
	for i := range int32(slotsAtOnce) {
		s.put(first + slotsAtOnce - 1 - i)
	}
	return nil
}

func (s *slots) register(c *chunk) error {
	for _, pt := range s.ports {
		if pt.state == PortGone || pt.isSpare() {
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

// registerWith registers all that there is with the adapter of a port. What it has done when it
// fails, it returns with the error.
func (s *slots) registerWith(pt *port) (done []ibv.Region, err error) {
	for i := range s.chunks {
		r, err := pt.register(s.chunks[i].memory)
		if err != nil {
			return done, err
		}
		done = append(done, r)
	}
	return done, nil
}

// release gives a chunk back. An adapter that is gone has forgotten it.
func (s *slots) release(c *chunk) (first error) {
	for _, pt := range s.ports {
		if pt.isSpare() {
			continue
		}
		if r := c.regions[pt.index]; r != (ibv.Region{}) {
			if err := pt.adapter.DeregMR(r.MR); err != nil && pt.state != PortGone && first == nil {
				first = err
			}
		}
	}
	if first == nil {
		first = unix.Munmap(c.memory)
	}
	return first
}

func (s *slots) bytes(i int32) []byte {
	at := int(i%slotsAtOnce) * s.size
	return s.chunks[i/slotsAtOnce].memory[at : at+s.size : at+s.size]
}

func (s *slots) addr(i int32) transport.Addr { return memory.AddrOf(s.bytes(i)) }

func (s *slots) key(i int32, pt *port) uint32 {
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
