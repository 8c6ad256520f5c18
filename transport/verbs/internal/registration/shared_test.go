package registration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
)

// onDisk is a file of size bytes that is not in memory.
func onDisk(t testing.TB) int {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	var kind unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &kind) == nil && kind.Type == unix.TMPFS_MAGIC {
		t.Log("this is in memory, but not below /dev/shm")
	}
	return int(f.Fd())
}

// memfd is a file of size bytes in memory.
func memfd(t testing.TB) int {
	t.Helper()
	f, err := unix.MemfdCreate("registration", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(f) })
	if err := unix.Ftruncate(f, size); err != nil {
		t.Fatal(err)
	}
	return f
}

// mapFile maps f, stamped.
func mapFile(t testing.TB, at uint64, f int) uint64 {
	flags := unix.MAP_SHARED
	if at != 0 {
		flags |= unix.MAP_FIXED
	}
	a := mmapOf(t, at, size, flags, f)
	stamp(a, a+size)
	return a
}

// punch takes n bytes of a file's pages away.
func punch(t testing.TB, f int, at, n int64) {
	t.Helper()
	if err := unix.Fallocate(f, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at,
		n); err != nil {
		t.Fatal(err)
	}
}

// sharedChanges are what can be done to shared memory that is registered, by f or at a.
var sharedChanges = map[string]struct {
	change func(t *testing.T, f int, a uint64)
	kept   bool // the new registration is
}{
	"a hole": {func(t *testing.T, f int, a uint64) {
		punch(t, f, 3*pageSize, pageSize)
		stamp(a+3*pageSize, a+4*pageSize)
	}, true},
	"a hole by another process": {func(t *testing.T, f int, a uint64) {
		child := exec.Command("fallocate", "-p", "-o", "4096", "-l", "4096", "/proc/self/fd/3")
		child.ExtraFiles = []*os.File{os.NewFile(uintptr(dup(t, f)), "memfd")}
		if out, err := child.CombinedOutput(); err != nil {
			t.Skipf("fallocate: %v %s", err, out)
		}
		stamp(a+pageSize, a+2*pageSize)
	}, true},
	"a hole that another mapping fills": {func(t *testing.T, f int, a uint64) {
		punch(t, f, 0, size)
		mapFile(t, 0, f)
	}, true},
	"cut and grown": {func(t *testing.T, f int, a uint64) {
		for _, n := range []int64{size / 2, size} {
			if err := unix.Ftruncate(f, n); err != nil {
				t.Fatal(err)
			}
		}
		stamp(a+size/2, a+size)
	}, true},
	"munmap, other memory": {func(t *testing.T, f int, a uint64) {
		munmap(t, a, size)
		fresh(t, a, size)
	}, true},
	"another file over it": {func(t *testing.T, f int, a uint64) {
		mapFile(t, a, memfd(t))
	}, true},
	"another file over a part": {func(t *testing.T, f int, a uint64) {
		mmapOf(t, a+size/2, size/2, unix.MAP_SHARED|unix.MAP_FIXED, memfd(t))
		stamp(a+size/2, a+size)
	}, false},
	"mremap": {func(t *testing.T, f int, a uint64) {
		b := mmap(t, 0, size)
		mremap(t, a, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, b)
		fresh(t, a, size)
	}, true},
	"MADV_REMOVE": {func(t *testing.T, f int, a uint64) {
		madvise(t, a, size, unix.MADV_REMOVE)
		stamp(a, a+size)
	}, false},
}

func dup(t testing.TB, f int) int {
	d, err := unix.FcntlInt(uintptr(f), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSharedMemoryIsKept: memory of shm_open, memfd_create and MAP_SHARED|MAP_ANONYMOUS is
// registered once.
func TestSharedMemoryIsKept(t *testing.T) {
	name := "/dev/shm/lapi-registration-test"
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil { // as MPI's libraries do
		t.Fatal(err)
	}
	for name, a := range map[string]uint64{
		"memfd":     mapFile(t, 0, memfd(t)),
		"/dev/shm":  mapFile(t, 0, int(file.Fd())),
		"anonymous": mmapOf(t, 0, size, unix.MAP_SHARED|unix.MAP_ANONYMOUS, -1),
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			c := open(t, d, Config{})
			stamp(a, a+size)
			touch(t, c, d, a, size)
			touch(t, c, d, a, size)
			touch(t, c, d, a+pageSize+8, pageSize)
			counts(t, c, 2, 1, 0, 0, 0)
			if n := len(c.watcher.aliases); n != 1 {
				t.Errorf("%d aliases", n)
			}
		})
	}
}

// TestStaleSharedMemory: after each change the adapter is given the pages that are there now.
func TestStaleSharedMemory(t *testing.T) {
	for name, change := range sharedChanges {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			c := open(t, d, Config{})
			f := memfd(t)
			a := mapFile(t, 0, f)
			touch(t, c, d, a, size)
			change.change(t, f, a)
			touch(t, c, d, a, size)
			touch(t, c, d, a, size)
			if change.kept {
				counts(t, c, 1, 2, 0, 1, 0)
			} else {
				counts(t, c, 0, 3, 0, 1, 2)
			}
		})
	}
}

// TestSharedMemoryChangesWhileItIsRegistered: such a registration is not kept.
func TestSharedMemoryChangesWhileItIsRegistered(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	f := memfd(t)
	a := mapFile(t, 0, f)
	d.within = func() {
		d.within = nil
		punch(t, f, 2*pageSize, pageSize)
		stamp(a+2*pageSize, a+3*pageSize)
	}
	e, err := c.Acquire(transport.Addr(a), size, all)
	if err != nil {
		t.Fatal(err)
	}
	c.Release(e)
	touch(t, c, d, a, size)
	counts(t, c, 0, 2, 0, 0, 1)
}

// TestAliasesGo: the second mapping of shared memory does not keep it when the program has unmapped
// it, nor after Close.
func TestAliasesGo(t *testing.T) {
	mappings := func(inode string) (n int) {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(maps), inode)
	}
	d := &fakeDevice{}
	c := open(t, d, Config{})
	f, err := unix.MemfdCreate("aliases-go", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(f)
	if err := unix.Ftruncate(f, size); err != nil {
		t.Fatal(err)
	}
	a, b := mapFile(t, 0, f), mapFile(t, 0, f)
	touch(t, c, d, a, size)
	touch(t, c, d, b, size)
	if n := mappings("aliases-go"); n != 4 {
		t.Fatalf("%d mappings of two, with their aliases", n)
	}
	munmap(t, a, pageSize) // a part
	munmap(t, a+pageSize, size-pageSize)
	for deadline := time.Now().Add(time.Minute); mappings("aliases-go") != 2; {
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatal("the alias stays")
		}
	}
	if n := d.registered(); n != 1 {
		t.Errorf("%d registrations of one mapping", n)
	}
	c.Close()
	if n := mappings("aliases-go"); n != 1 {
		t.Errorf("%d mappings after Close", n)
	}
	munmap(t, b, size)
}

// TestOtherRegistrationsHideNoChange: a page that has gone stays known when the next registration
// brings it, or pages beside it, into page tables again.
func TestOtherRegistrationsHideNoChange(t *testing.T) {
	for name, next := range map[string]uint64{"that page": 0, "pages beside it": 1} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			c := open(t, d, Config{})
			f := memfd(t)
			a := mapFile(t, 0, f)
			const pages = size / pageSize
			each := func(first uint64, do func(at uint64)) {
				for i := first; i < pages-1; i += 2 {
					do(i * pageSize)
				}
			}
			each(0, func(at uint64) { touch(t, c, d, a+at, pageSize) })
			punch(t, f, 0, size)
			stamp(a, a+size)
			each(next, func(at uint64) { touch(t, c, d, a+at, pageSize+1) })
			each(0, func(at uint64) { touch(t, c, d, a+at, pageSize) })
		})
	}
}
