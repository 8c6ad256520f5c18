package shm

import "unsafe"

// all is the whole memory of a ring.
func (s slots) all() []byte { return unsafe.Slice((*byte)(s.base), ringSize) }
