package registration

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
)

const size = 16 * pageSize

// changes are what a program can do to memory that is registered: change changes the pages from a
// on, and returns where they are to be acquired then.
var changes = map[string]struct {
	change func(t *testing.T, a uint64) uint64
	kept   bool // the new registration is
}{
	"munmap, mmap": {func(t *testing.T, a uint64) uint64 {
		munmap(t, a, size)
		return fresh(t, a, size)
	}, true},
	"munmap of a page in the middle": {func(t *testing.T, a uint64) uint64 {
		munmap(t, a+5*pageSize, pageSize)
		fresh(t, a+5*pageSize, pageSize)
		return a
	}, true},
	"mmap over it": {func(t *testing.T, a uint64) uint64 { return fresh(t, a, size) }, true},
	"mremap grows in place": {func(t *testing.T, a uint64) uint64 {
		munmap(t, a+size/2, size/2)
		if b := mremap(t, a, size/2, size, 0, 0); b != a {
			t.Fatal("it has moved")
		}
		stamp(a+size/2, a+size)
		return a
	}, true},
	"mremap shrinks and grows": {func(t *testing.T, a uint64) uint64 {
		mremap(t, a, size, pageSize, 0, 0)
		mremap(t, a, pageSize, size, 0, 0)
		stamp(a+pageSize, a+size)
		return a
	}, true},
	"mremap moves it": {func(t *testing.T, a uint64) uint64 {
		b := mmap(t, 0, size)
		mremap(t, a, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, b)
		fresh(t, a, size)
		return a
	}, true},
	"mremap moves other memory there": {func(t *testing.T, a uint64) uint64 {
		b := fresh(t, 0, size)
		mremap(t, b, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, a)
		return a
	}, true},
	"mremap leaves the mapping": {func(t *testing.T, a uint64) uint64 {
		mremap(t, a, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_DONTUNMAP, 0)
		stamp(a, a+size)
		return a
	}, true},
	"MADV_DONTNEED": {func(t *testing.T, a uint64) uint64 {
		madvise(t, a, size, unix.MADV_DONTNEED)
		stamp(a, a+size)
		return a
	}, false},
	"MADV_DONTNEED of a page": {func(t *testing.T, a uint64) uint64 {
		madvise(t, a+pageSize, pageSize, unix.MADV_DONTNEED)
		stamp(a+pageSize, a+2*pageSize)
		return a
	}, false},
	"MADV_FREE": {func(t *testing.T, a uint64) uint64 {
		madvise(t, a, size, unix.MADV_FREE)
		stamp(a, a+size)
		return a
	}, false},
}

// Each of them, by the thread that acquires or by another.
func TestStale(t *testing.T) {
	for name, c := range changes {
		for _, other := range []bool{false, true} {
			name := name
			if other {
				name += ", by another thread"
			}
			t.Run(name, func(t *testing.T) {
				d := &fakeDevice{}
				cache := open(t, d, Config{})
				a := fresh(t, 0, size)
				held := acquire(t, cache, d, a, size) // in use: stays registered, is not found
				if other {
					var wg sync.WaitGroup
					wg.Add(1)
					go func(at uint64) {
						runtime.LockOSThread()
						defer wg.Done()
						a = c.change(t, at)
					}(a)
					wg.Wait()
				} else {
					a = c.change(t, a)
				}
				n := d.registered()
				touch(t, cache, d, a, size)
				touch(t, cache, d, a, size)
				if n != 1 {
					t.Errorf("%d registrations while one was in use", n)
				}
				if c.kept {
					counts(t, cache, 1, 2, 0, 1, 0)
				} else {
					counts(t, cache, 0, 3, 0, 1, 2)
				}
				cache.Release(held)
			})
		}
	}
}

// Memory that madvise has taken pages from is kept again once it was unmapped.
func TestTakenUntilUnmapped(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	madvise(t, a+pageSize, pageSize, unix.MADV_DONTNEED)
	stamp(a+pageSize, a+2*pageSize)
	touch(t, c, d, a, size)
	touch(t, c, d, a+4*pageSize, pageSize) // beside it
	touch(t, c, d, a+4*pageSize, pageSize)
	counts(t, c, 1, 3, 0, 1, 1)
	munmap(t, a, size)
	fresh(t, a, size)
	touch(t, c, d, a, size)
	touch(t, c, d, a, size)
	counts(t, c, 2, 4, 0, 2, 1)
}

// mremap in place adds no new registration where the old part is used again.
func TestGrownPartIsMissed(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, 2*size)
	munmap(t, a+size, size)
	touch(t, c, d, a, size)
	mremap(t, a, size, 2*size, 0, 0)
	stamp(a+size, a+2*size)
	touch(t, c, d, a, size)
	touch(t, c, d, a, 2*size)
	counts(t, c, 1, 2, 1, 0, 0)
	munmap(t, a+size, size) // the grown part is watched, too
	fresh(t, a+size, size)
	touch(t, c, d, a, 2*size)
	counts(t, c, 1, 3, 1, 1, 0)
}

// behind sees to it that a mapping which ends at a cannot grow there.
func behind(t *testing.T, a uint64) {
	mmapOf(t, a, pageSize, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1)
}

// A program that uses a part of its mapping for a transfer may mremap the whole: watching has not
// cut it in two.
func TestMappingsStayWhole(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := mmap(t, 0, size)
	stamp(a, a+size)
	touch(t, c, d, a+4*pageSize, pageSize)
	behind(t, a+size)
	b := mremap(t, a, size, 64*size, unix.MREMAP_MAYMOVE, 0)
	stamp(b+size, b+64*size)
	touch(t, c, d, b, 64*size)
	behind(t, b+64*size)
	mremap(t, b+32*size, 32*size, 64*size, unix.MREMAP_MAYMOVE, 0)
	touch(t, c, d, b, 32*size)
	counts(t, c, 0, 3, 0, 2, 0)
}

// The end of the heap goes down, as free does it, and up again.
func TestBreak(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	end := brk(0)
	lo := (end + pageSize - 1) &^ (pageSize - 1)
	hi := lo + size
	for range 20 {
		if brk(hi) != hi {
			t.Skip("the heap cannot grow")
		}
		stamp(lo, hi)
		touch(t, c, d, lo, size)
		touch(t, c, d, lo, size)
		if brk(0) != hi {
			t.Skip("somebody else uses the heap")
		}
		brk(end)
	}
	touch(t, c, d, fresh(t, 0, size), size) // the last change has been applied
	counts(t, c, 20, 21, 0, 20, 0)
}

// The kernel does not report all changes of such memory.
func TestUnwatched(t *testing.T) {
	file, err := unix.MemfdCreate("registration", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	if err := unix.Ftruncate(file, size); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]uint64{
		"System V": shmat(t, 0, size),
		"copied":   mmapOf(t, 0, size, unix.MAP_PRIVATE, file),
		"disk":     mmapOf(t, 0, size, unix.MAP_SHARED, onDisk(t)),
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			c := open(t, d, Config{})
			for range 2 {
				e := acquire(t, c, d, a, pageSize)
				if d.registered() != 1 {
					t.Error("not registered while in use")
				}
				c.Release(e)
				if d.registered() != 0 {
					t.Error("registered while not in use")
				}
			}
			counts(t, c, 0, 2, 0, 0, 2)
			if name == "System V" {
				shmdt(t, a)
				fresh(t, a, size)
				touch(t, c, d, a, size)
				touch(t, c, d, a, size)
				counts(t, c, 1, 3, 0, 0, 2)
			}
		})
	}
}

// A child neither changes what its parent has registered nor, though it holds the userfaultfd,
// makes a thread of its parent wait for it.
func TestFork(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	child := fork()
	if int(child) <= 0 {
		t.Fatal("fork failed")
	}
	defer func() {
		_ = unix.Kill(int(child), unix.SIGKILL)
		_, _ = unix.Wait4(int(child), nil, 0, nil)
	}()
	touch(t, c, d, a, size)
	counts(t, c, 1, 1, 0, 0, 0)
	munmap(t, a, size/2)
	fresh(t, a, size/2)
	touch(t, c, d, a, size)
	counts(t, c, 1, 2, 0, 1, 0)
	whole := fresh(t, 0, size)
	touch(t, c, d, whole, size)
	b := mremap(t, whole, size, 2*size, unix.MREMAP_MAYMOVE, 0)
	stamp(b+size, b+2*size)
	touch(t, c, d, b, 2*size)
	c.Close()
	madvise(t, b, 2*size, unix.MADV_DONTNEED) // nobody reads: would wait for ever
	munmap(t, b, 2*size)
}

// After Close nobody reads, and nobody must wait for it.
func TestUnmapAfterClose(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	e := acquire(t, c, d, a, size)
	c.Close()
	munmap(t, a, size)
	if _, err := c.Acquire(transport.Addr(a), size, all); err != ErrClosed {
		t.Errorf("Acquire after Close: %v", err)
	}
	if d.registered() != 1 {
		t.Error("Close has deregistered what is in use")
	}
	c.Release(e)
	if d.registered() != 0 {
		t.Error("not deregistered at its release after Close")
	}
}
