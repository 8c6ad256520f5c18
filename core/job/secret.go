package job

import (
	"crypto/rand"
	"fmt"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// Secret memory is off the Go heap, in pages that no core dump contains, no child of fork sees and,
// if the user may lock memory, no swap file gets. freeSecret wipes it. A kernel or a filter of
// system calls that refuses any of this ends no job.

// secretMemory returns n bytes, zero, or the kernel's error.
func secretMemory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("memory for the job key: %w", err)
	}
	_ = unix.Madvise(b, unix.MADV_DONTDUMP)
	_ = unix.Madvise(b, unix.MADV_WIPEONFORK) // kernels before 4.14 lack it
	_ = unix.Mlock(b)                         // the limit may be 0
	return b, nil
}

// freeSecret wipes b, which secretMemory made.
func freeSecret(b []byte) {
	if b != nil {
		wire.Wipe(b)
		unix.Munmap(b)
	}
}

// NewKey makes the key of a job, for its launcher: KeySize random bytes in memory that no core dump
// contains. It is never freed.
func NewKey() ([]byte, error) {
	key, err := secretMemory(KeySize)
	if err != nil {
		return nil, err
	}
	rand.Read(key) // never fails, says its documentation
	wire.Wipe(nil)
	return key, nil
}

// scrub overwrites the stack below its caller, where a function that has returned may have left a
// part of a secret. It must also be called before that function, so that the stack does not move in
// between.
//
//go:noinline
func scrub() {
	var below [32 << 10]byte
	touch(&below)
	wire.Wipe(nil)
}

//go:noinline
func touch(b *[32 << 10]byte) { clear(b[:]) }
