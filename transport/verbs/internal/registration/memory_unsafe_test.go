package registration

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

const pageSize = 4096

// mmap maps n bytes of private memory, at an address if it is not 0.
func mmap(t testing.TB, at, n uint64) uint64 {
	t.Helper()
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if at != 0 {
		flags |= unix.MAP_FIXED
	}
	return mmapOf(t, at, n, flags, -1)
}

func mmapOf(t testing.TB, at, n uint64, flags, fd int) uint64 {
	t.Helper()
	var hint unsafe.Pointer
	*(*uintptr)(unsafe.Pointer(&hint)) = uintptr(at)
	a, err := unix.MmapPtr(fd, 0, hint, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	return uint64(uintptr(a))
}

func munmap(t testing.TB, at, n uint64) {
	t.Helper()
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, uintptr(at), uintptr(n), 0); e != 0 {
		t.Fatalf("munmap: %v", e)
	}
}

func mremap(t testing.TB, at, old, n uint64, flags int, to uint64) uint64 {
	t.Helper()
	a, _, e := unix.Syscall6(unix.SYS_MREMAP, uintptr(at), uintptr(old), uintptr(n), uintptr(flags),
		uintptr(to), 0)
	if e != 0 {
		t.Fatalf("mremap of %#x from %#x to %#x bytes: %v", at, old, n, e)
	}
	return uint64(a)
}

func madvise(t testing.TB, at, n uint64, advice int) {
	t.Helper()
	if _, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(at), uintptr(n), uintptr(advice)); e != 0 {
		t.Fatalf("madvise %d: %v", advice, e)
	}
}

// shmat attaches a new System V segment, at an address that the kernel chooses or over an existing
// mapping.
func shmat(t testing.TB, at, n uint64) uint64 {
	t.Helper()
	id, _, e := unix.Syscall(unix.SYS_SHMGET, 0, uintptr(n), 0o600)
	if e != 0 {
		t.Skipf("shmget: %v", e)
	}
	a, _, e := unix.Syscall(unix.SYS_SHMAT, id, uintptr(at), 0)
	_, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	if e != 0 {
		t.Fatalf("shmat: %v", e)
	}
	return uint64(a)
}

func shmdt(t testing.TB, at uint64) {
	t.Helper()
	if _, _, e := unix.Syscall(unix.SYS_SHMDT, uintptr(at), 0, 0); e != 0 {
		t.Fatalf("shmdt: %v", e)
	}
}

// brk moves the end of the heap, and returns where it is then.
func brk(at uint64) uint64 {
	a, _, _ := unix.Syscall(unix.SYS_BRK, uintptr(at), 0, 0)
	return uint64(a)
}

// fork makes a child that lives until it is killed, and does nothing.
//
//go:norace
//go:nosplit
func fork() (pid uintptr) {
	pid, _, _ = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	for pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_PPOLL, 0, 0, 0)
	}
	return pid
}

// word is the 8 bytes at a.
func word(a uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(memory.Bytes(transport.Addr(a), 8))))
}

func TestMain(m *testing.M) {
	if os.Getpagesize() != pageSize {
		panic("these tests are for pages of 4096 bytes")
	}
	os.Exit(m.Run())
}
