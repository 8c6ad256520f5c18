package verbs

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/adapter"
)

// slots is registered memory in pieces of one size, which lies outside the Go heap. It grows.
type slots struct {
	adapter adapter.Adapter
	size    int
	chunks  []chunk
	free    []int32
}

type chunk struct {
	memory []byte
	region adapter.Region
}

// get takes a slot; false if no more memory can be had.
func (s *slots) get() (int32, bool) {
	if len(s.free) == 0 && s.grow() != nil {
		return 0, false
	}
	last := len(s.free) - 1
	i := s.free[last]
	s.free = s.free[:last]
	return i, true
}

func (s *slots) put(i int32) { s.free = append(s.free, i) }

func (s *slots) grow() error {
	b, err := unix.Mmap(-1, 0, slotsAtOnce*s.size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	// A child of this process shall not have to copy what the adapter writes.
	if err = unix.Madvise(b, unix.MADV_DONTFORK); err == nil {
		var r adapter.Region
		r, err = s.adapter.Register(memory.AddrOf(b), uint64(len(b)), adapter.LocalWrite)
		if err == nil {
			s.chunks = append(s.chunks, chunk{b, r})
		}
	}
	if err != nil {
		_ = unix.Munmap(b)
		return err
	}
	first := int32(len(s.chunks)-1) * slotsAtOnce
	for i := range int32(slotsAtOnce) {
		s.put(first + slotsAtOnce - 1 - i)
	}
	return nil
}

func (s *slots) bytes(i int32) []byte {
	at := int(i%slotsAtOnce) * s.size
	return s.chunks[i/slotsAtOnce].memory[at : at+s.size : at+s.size]
}

func (s *slots) addr(i int32) transport.Addr { return memory.AddrOf(s.bytes(i)) }

func (s *slots) key(i int32) uint32 { return s.chunks[i/slotsAtOnce].region.LKey }

// close gives all back. No slot may be with the adapter any more.
func (s *slots) close() error {
	var first error
	for _, c := range s.chunks {
		err := s.adapter.Deregister(c.region)
		if err == nil {
			err = unix.Munmap(c.memory)
		}
		if first == nil {
			first = err
		}
	}
	s.chunks, s.free = nil, nil
	return first
}
