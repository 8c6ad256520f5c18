package lapi

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// blockBytes is a list as bytes: a target that fetches an active message reads it straight from the origin's memory. Both
// tasks run this package on one machine, so they agree about the layout.
func blockBytes(list []block) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*blockSize)
}

const blockSize = int(unsafe.Sizeof(block{}))

// offHeap makes b at least n bytes of memory that is not Go's: user code gets its address. nil: there is none.
func offHeap(b []byte, n int) []byte {
	if n <= cap(b) && b != nil {
		return b[:n]
	}
	grown, err := unix.Mmap(-1, 0, max(n, 2*cap(b), 1<<16), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil
	}
	if b != nil {
		unix.Munmap(b[:cap(b)])
	}
	return grown[:n]
}
