package shm

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

func clock() int64 { return time.Now().UnixNano() }

// newLinks makes n links of one process, connected all to all, themselves included. They are closed
// after the test.
func newLinks(t testing.TB, n int, change ...func(*Config)) []*Link {
	t.Helper()
	memory.Guard()
	tasks := make([]int, n)
	for i := range tasks {
		tasks[i] = i
	}
	links := make([]*Link, n)
	for i := range links {
		config := Config{Task: i, NumTasks: n, Tasks: tasks, Clock: clock}
		for _, f := range change {
			f(&config)
		}
		l, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		links[i] = l
	}
	for _, l := range links {
		for j, q := range links {
			if err := l.Connect(transport.Endpoint(j), pass(t, q.Address())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return links
}

// pass gives an address the descriptors of its own that it has after it was passed over a socket.
func pass(t testing.TB, a transport.Address) transport.Address {
	t.Helper()
	out := transport.Address{Bytes: bytes.Clone(a.Bytes)}
	for _, file := range a.Files {
		fd, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		out.Files = append(out.Files, fd)
	}
	return out
}

// userMemory is n bytes that are not on the Go heap.
func userMemory(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// mustSend sends and fails the test if that did not work.
func mustSend(t testing.TB, l *Link, ep int, id transport.MsgID, hdr, data []byte) {
	t.Helper()
	op := transport.Op{Local: memory.AddrOf(data), N: uint64(len(data))}
	if _, err := l.Send(transport.Endpoint(ep), id, hdr, &op); err != nil {
		t.Fatalf("Send of %d + %d bytes: %v", len(hdr), len(data), err)
	}
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// until runs step until done, for at most a time that only guards against a hang.
func until(t testing.TB, what string, done func() bool, step func()) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); step() {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
