package sock

import (
	"bytes"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/internal/medium"
)

const longData = 40000 // of a datagram that finds no company

// gatherLong gathers n long datagrams, with data of their own but for number bad, whose data cannot
// be read.
func gatherLong(t *testing.T, a, b *Socket, n, bad int) {
	t.Helper()
	for i := range n {
		data := uint64(addressOf(pattern(t, i, longData)))
		if i == bad {
			data = uint64(addressOf(mapped(t, 4096))) + 4096 - 50
		}
		if o := a.Gather(i, b.Local(), front(t, i, 16, 16+longData), data,
			longData); o != medium.Gathered {
			t.Fatalf("outcome %d", o)
		}
	}
}

// receiveLong receives them.
func receiveLong(t *testing.T, b *Socket, numbers ...int) {
	t.Helper()
	for _, i := range numbers {
		if d, _ := receive(t, b); !bytes.Equal(d,
			slices.Concat(front(t, i, 16, 16+longData), pattern(t, i, longData))) {
			t.Errorf("packet %d is damaged", i)
		}
	}
	if _, _, ok := b.Receive(); ok {
		t.Error("more arrives than was sent")
	}
}

// Long packets wait for each other until Push, or until the row is full or a shorter one ends it.
func TestRow(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	gatherLong(t, a, b, 3, -1)
	if _, _, ok := b.Receive(); ok {
		t.Fatal("sent before Push")
	}
	if got := a.Push(nil); len(got) != 0 {
		t.Errorf("%v come back", got)
	}
	receiveLong(t, b, 0, 1, 2)
	gatherLong(t, a, b, 2, -1)
	short := pattern(t, 2, 16)
	a.Gather(2, b.Local(), short, 0, 0)
	receive(t, b)
	receive(t, b)
	if d, _ := receive(t, b); !bytes.Equal(d, short) {
		t.Error("the short packet is damaged")
	}
	gatherLong(t, a, b, maxRow, -1)
	for range maxRow {
		receive(t, b)
	}
}

// One packet's data cannot be read, wherever in the row: it comes back, the others go.
func TestRowFault(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	for bad := range 4 {
		gatherLong(t, a, b, 4, bad)
		if got := a.Push(nil); !slices.Equal(got, fault(bad)) {
			t.Errorf("%v come back", got)
		}
		receiveLong(t, b, slices.DeleteFunc([]int{0, 1, 2, 3},
			func(i int) bool { return i == bad })...)
	}
	gatherLong(t, a, b, 1, 0)
	if got := a.Push(nil); !slices.Equal(got, fault(0)) {
		t.Errorf("of one alone, %v come back", got)
	}
}

// The kernel has no room: all of the row comes back, and the socket says so until Push. (See
// TestGatherFull.)
func TestRowFull(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	gatherLong(t, a, b, 3, -1)
	a.full = true
	a.sendRow()
	if o := a.Gather(3, b.Local(), pattern(t, 3, longData), 0, 0); o != medium.Full {
		t.Errorf("outcome %d after the kernel had no room", o)
	}
	if got, want := a.Push(nil), full(0, 1, 2); !slices.Equal(got, want) {
		t.Errorf("%v come back", got)
	}
	gatherLong(t, a, b, 2, -1)
	a.Push(nil)
	receiveLong(t, b, 0, 1)
}

// Two receivers: each gets its own, in order.
func TestRowToSeveral(t *testing.T) {
	a := open(t, loopback)
	to := []*Socket{open(t, loopback), open(t, loopback)}
	for i := range 8 {
		a.Gather(i, to[i/2%2].Local(), pattern(t, i, longData), 0, 0)
	}
	a.Push(nil)
	for i := range 8 {
		if d, _ := receive(t, to[i/2%2]); !bytes.Equal(d, pattern(t, i, longData)) {
			t.Errorf("packet %d is damaged", i)
		}
	}
}

// A program's filter of system calls that knows no sendmmsg costs time, no packets.
func TestRowFiltered(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	gatherLong(t, a, b, 3, -1)
	refused := make(chan syscall.Errno)
	go func() { // on a thread that ends with this function, as it is not unlocked
		runtime.LockOSThread()
		if errno := forbid(unix.SYS_SENDMMSG); errno != 0 {
			refused <- errno
			return
		}
		_, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(a.fd), 0, 0, 0, 0, 0)
		a.Push(nil)
		refused <- errno
	}()
	if errno := <-refused; errno != syscall.EPERM {
		t.Skipf("skipped: a filter of system calls cannot be tried: errno %d", errno)
	}
	receiveLong(t, b, 0, 1, 2)
}

// forbid makes the kernel refuse a system call to this thread, with EPERM.
func forbid(call uint32) syscall.Errno {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0,
		0); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&p)))
	return errno
}
