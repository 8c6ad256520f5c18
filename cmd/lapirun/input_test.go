package main

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A task that does not read holds up neither the others nor lapirun's memory, and gets all in the
// end; the file between them shrinks as they read.
func TestFeedIsBounded(t *testing.T) {
	const size = 32 << 20
	f, err := newFeed(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := fedPipe(t, f), fedPipe(t, f)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	go f.read(int(from.Fd()))
	go func() {
		for i := range size >> 20 {
			to.Write(mebibyte(i))
		}
		to.Close()
	}()
	wantFed(t, fast, size)
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	wantFed(t, slow, size)
	var s unix.Stat_t
	if err := unix.Fstat(int(f.spool.Fd()), &s); err != nil || s.Blocks*512 > size/2 {
		t.Errorf("%d MiB of the file are left: %v", s.Blocks>>11, err)
	}
	runtime.KeepAlive(from)
}

// mebibyte is the i-th of the input, different from its neighbours at each place.
func mebibyte(i int) []byte {
	return bytes.Repeat([]byte{byte(i), byte(i >> 1), 7, ^byte(i)}, 1<<18)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func fedPipe(t *testing.T, f *feed) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f.to(w)
	t.Cleanup(func() { r.Close() })
	return r
}

// wantFed reads what TestFeedIsBounded writes.
func wantFed(t *testing.T, r io.Reader, size int) {
	t.Helper()
	got := make([]byte, 1<<20)
	for i := range size / len(got) {
		if _, err := io.ReadFull(r, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, mebibyte(i)) {
			t.Fatalf("MiB %d is not what was written", i)
		}
	}
	if n, err := r.Read(got); err != io.EOF {
		t.Errorf("%d bytes more, %v", n, err)
	}
}
