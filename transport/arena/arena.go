// Package arena hands out reusable buffers that do not lie on the Go heap: for message copies that
// outlive a call, whose addresses may be given to handlers in C. Once the buffers that a load needs
// exist, nothing is allocated any more.
package arena

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

const (
	smallestShift = 7                 // 128 bytes: the header and data of a small message
	largestShift  = 17                // 128 KiB: the largest buffer
	chunkSize     = 1 << largestShift // bytes asked of the kernel at a time
	numClasses    = largestShift - smallestShift + 1
)

// Largest is the size of the largest buffer, in bytes.
const Largest = 1 << largestShift

// Arena is a pool of buffers in sizes of powers of two. The zero Arena is ready. It belongs to one
// owner and is not safe for concurrent use.
type Arena struct {
	free   [numClasses][][]byte
	chunks [][]byte
}

// Get returns a buffer of n bytes, aligned to 64 bytes, with whatever content. It fails if n is
// over Largest, or the kernel has no memory.
func (a *Arena) Get(n int) ([]byte, error) {
	if n < 0 || n > Largest {
		return nil, fmt.Errorf("arena: no buffers of %d bytes", n)
	}
	c := class(n)
	if len(a.free[c]) == 0 {
		if err := a.refill(c); err != nil {
			return nil, err
		}
	}
	last := len(a.free[c]) - 1
	b := a.free[c][last]
	a.free[c] = a.free[c][:last]
	return b[:n], nil
}

// Put takes back a buffer that Get returned, unchanged in its start and capacity; the caller must
// not use it again.
func (a *Arena) Put(b []byte) {
	b = b[:cap(b)]
	c := class(len(b))
	a.free[c] = append(a.free[c], b)
}

// Release gives all memory back to the kernel, buffers still in use included. The Arena is empty
// then and may be used anew.
func (a *Arena) Release() {
	for _, chunk := range a.chunks {
		Unmap(chunk)
	}
	*a = Arena{}
}

func class(n int) int {
	if n <= 1<<smallestShift {
		return 0
	}
	return bits.Len(uint(n-1)) - smallestShift
}

// refill maps a chunk and cuts it into buffers of class c. The capacity of each buffer is its size,
// by which Put knows its class.
func (a *Arena) refill(c int) error {
	chunk, err := Map(chunkSize)
	if err != nil {
		return err
	}
	a.chunks = append(a.chunks, chunk)
	size := 1 << (c + smallestShift)
	for at := 0; at < chunkSize; at += size {
		a.free[c] = append(a.free[c], chunk[at:at+size:at+size])
	}
	return nil
}

// Map returns n bytes, all zero, that begin on a page and do not lie on the Go heap: for memory
// that C or user code is given once and keeps. Unmap gives them back.
func Map(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	return b, nil
}

// Unmap gives back what Map or Grow returned, with whatever length; nil is nothing.
func Unmap(b []byte) {
	if b != nil {
		_ = unix.Munmap(b[:cap(b)]) // it is our own mapping: cannot fail
	}
}

// growMin is the least that Grow maps, bytes.
const growMin = 1 << 16

// Grow makes b, nil or from Grow, n bytes long. Its content is lost if it must move.
func Grow(b []byte, n int) ([]byte, error) {
	if b != nil && n <= cap(b) {
		return b[:n], nil
	}
	grown, err := Map(max(n, 2*cap(b), growMin))
	if err != nil {
		return b, err
	}
	Unmap(b)
	return grown[:n], nil
}
