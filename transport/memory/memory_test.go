package memory

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/invariant"
	"lapi/transport"
)

// page is a mapped stretch of two pages whose second one has no access.
type page struct {
	start, hole transport.Addr
	size        uint64
}

func mapPage(t testing.TB) page {
	t.Helper()
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return page{AddrOf(b), AddrOf(b) + transport.Addr(size), uint64(size)}
}

// badRanges are starts and lengths of which no byte range is accessible.
func badRanges(p page) map[string]struct {
	a transport.Addr
	n uint64
} {
	type r = struct {
		a transport.Addr
		n uint64
	}
	return map[string]r{
		"null":          {0, 8},
		"first page":    {16, 8},
		"no access":     {p.hole, 8},
		"across":        {p.hole - 4, 8},
		"kernel":        {1 << 63, 8},
		"non-canonical": {1 << 60, 8},
		"top":           {^transport.Addr(0) - 3, 8},
		"wraps":         {p.start, ^uint64(0)},
		"half":          {p.start, 1 << 62},
		"max int":       {p.start, 1<<63 - 1},
	}
}

func wantFault(t *testing.T, what string, err error) *transport.FaultError {
	t.Helper()
	var f *transport.FaultError
	if !errors.As(err, &f) {
		t.Errorf("%s: error %v, want a fault", what, err)
		return &transport.FaultError{}
	}
	return f
}

func TestCopyFaults(t *testing.T) {
	Guard()
	p := mapPage(t)
	for name, bad := range badRanges(p) {
		f := wantFault(t, name+" as source", Copy(p.start+64, bad.a, bad.n))
		if f.Addr-bad.a >= transport.Addr(bad.n) {
			t.Errorf("%s as source: fault at %#x, outside the bad range", name, uint64(f.Addr))
		}
		wantFault(t, name+" onto itself", Copy(bad.a, bad.a, bad.n))
		if bad.n <= 8 {
			f = wantFault(t, name+" as destination", Copy(bad.a, p.start, bad.n))
			if f.Addr-bad.a >= transport.Addr(bad.n) {
				t.Errorf("%s as destination: fault at %#x, outside the bad range",
					name, uint64(f.Addr))
			}
			wantFault(t, name+" in", CopyIn(bad.a, make([]byte, bad.n)))
			wantFault(t, name+" out", CopyOut(make([]byte, bad.n), bad.a))
		}
	}
	if err := Copy(0, 0, 0); err != nil {
		t.Errorf("nothing copied from nowhere: %v", err)
	}
	if err := errors.Join(CopyIn(0, nil), CopyOut(nil, 0)); err != nil {
		t.Errorf("nothing copied from nowhere: %v", err)
	}
}

// TestProbes: Readable and Writable see what cannot be accessed, and change nothing.
func TestProbes(t *testing.T) {
	Guard()
	p := mapPage(t)
	for name, bad := range badRanges(p) {
		wantFault(t, name+" to read", Readable(bad.a, bad.n))
		wantFault(t, name+" to write", Writable(bad.a, bad.n))
	}
	size := unix.Getpagesize()
	pages, err := unix.Mmap(-1, 0, 4*size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(pages)
	for i := range pages {
		pages[i] = 5
	}
	if err := unix.Mprotect(pages[size:2*size], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	a, n := AddrOf(pages), uint64(size)
	for _, c := range []struct {
		at, n uint64
		bad   bool
	}{{0, n, false}, {0, n + 1, true}, {n, 1, true}, {2*n - 1, 1, true}, {2 * n, 2 * n, false},
		{0, 4 * n, true}, {n - 1, n + 2, true}, {n - 1, 1, false}, {n, 0, false}} {
		if err := Writable(a+transport.Addr(c.at), c.n); (err != nil) != c.bad {
			t.Errorf("%d bytes to write at %d: %v", c.n, c.at, err)
		}
		if err := Readable(a+transport.Addr(c.at), c.n); err != nil {
			t.Errorf("%d bytes to read at %d: %v", c.n, c.at, err)
		}
	}
	for i, b := range pages {
		if b != 5 {
			t.Fatalf("byte %d has become %d", i, b)
		}
	}
}

func TestWordFaults(t *testing.T) {
	Guard()
	p := mapPage(t)
	for name, bad := range badRanges(p) {
		if bad.n > 8 {
			continue
		}
		for kind := transport.AtomicAdd; kind <= transport.AtomicMax; kind++ {
			_, err := Atomic(kind, bad.a, 8, 1, 1)
			wantFault(t, name, err)
		}
		if name == "across" {
			continue // a word of 4 bytes ends before the hole
		}
		_, err := Add32(bad.a, 1)
		wantFault(t, name, err)
		_, err = Load32(bad.a)
		wantFault(t, name, err)
	}
	// A fault while the lock for unaligned words is held must release it.
	done := make(chan struct{})
	go func() {
		defer close(done)
		Guard()
		_, err := Atomic(transport.AtomicAdd, p.start+1, 4, 1, 0)
		if err != nil {
			t.Errorf("unaligned add after a fault: %v", err)
		}
	}()
	<-done
}

// TestOtherPanicsPass: only faults become errors.
func TestOtherPanicsPass(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a panic that is no fault was swallowed")
		}
	}()
	var err error
	func() {
		defer recoverFault(&err, 0)
		panic("something else")
	}()
}

// TestCopyModel compares overlapping and separate copies with Go's copy.
func TestCopyModel(t *testing.T) {
	Guard()
	p := mapPage(t)
	random := rand.New(rand.NewPCG(1, 2))
	model := make([]byte, p.size)
	for i := range model {
		model[i] = byte(random.Uint32())
	}
	if err := CopyIn(p.start, model); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		n := random.Uint64N(p.size)
		from, to := random.Uint64N(p.size-n), random.Uint64N(p.size-n)
		copy(model[to:to+n], model[from:from+n])
		if err := Copy(p.start+transport.Addr(to), p.start+transport.Addr(from), n); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(Bytes(p.start, p.size), model) {
		t.Error("copies differ from the model")
	}
}

func TestAtomicValues(t *testing.T) {
	Guard()
	p := mapPage(t)
	const before, operand = 0xF0F0F0F0_80000001, 0x0F0F0000_8000000F
	after := map[transport.AtomicKind]func(old, op uint64) uint64{
		transport.AtomicAdd:  func(old, op uint64) uint64 { return old + op },
		transport.AtomicOr:   func(old, op uint64) uint64 { return old | op },
		transport.AtomicSwap: func(_, op uint64) uint64 { return op },
		transport.AtomicCAS:  func(_, op uint64) uint64 { return op },
		transport.AtomicAnd:  func(old, op uint64) uint64 { return old & op },
		transport.AtomicXor:  func(old, op uint64) uint64 { return old ^ op },
		// As a signed number before is the lesser, in both widths.
		transport.AtomicMin: func(old, _ uint64) uint64 { return old },
		transport.AtomicMax: func(_, op uint64) uint64 { return op },
	}
	for kind, f := range after {
		for _, width := range []uint8{4, 8} {
			mask := ^uint64(0) >> (64 - 8*uint(width))
			for _, at := range []transport.Addr{p.start, p.start + 8, p.start + 3, p.start + 61} {
				word := Bytes(at-at%8, 24)
				clear(word)
				_, _ = Atomic(transport.AtomicSwap, at, width, before, 0)
				old, err := Atomic(kind, at, width, operand, before&mask)
				if err != nil || old != before&mask {
					t.Errorf("kind %d width %d at +%d: old %#x, %v",
						kind, width, at-p.start, old, err)
				}
				got, _ := Atomic(transport.AtomicAdd, at, width, 0, 0)
				if want := f(before&mask, operand&mask) & mask; got != want {
					t.Errorf("kind %d width %d at +%d: %#x, want %#x",
						kind, width, at-p.start, got, want)
				}
				for i, b := range word {
					if off := int(at % 8); b != 0 && (i < off || i >= off+int(width)) {
						t.Errorf("kind %d width %d at +%d: byte beside the word changed",
							kind, width, at-p.start)
					}
				}
			}
			if old, _ := Atomic(transport.AtomicCAS, p.start, width, 5, 12345); old == 12345 {
				t.Error("compare-and-swap found a value that is not there")
			} else if now, _ := Atomic(transport.AtomicAdd, p.start, width, 0, 0); now != old {
				t.Error("compare-and-swap stored although the comparison failed")
			}
		}
	}
	for _, start := range []int32{0, -1, 1<<31 - 1} {
		_, _ = Atomic(transport.AtomicSwap, p.start, 4, uint64(uint32(start)), 0)
		if sum, err := Add32(p.start, 3); err != nil || sum != start+3 {
			t.Errorf("Add32 to %d: %d, %v", start, sum, err)
		}
		if v, err := Load32(p.start); err != nil || v != start+3 {
			t.Errorf("Load32: %d, %v", v, err)
		}
	}
}

// TestAtomicsTogether has several threads add to one word; the sum shows every addition.
func TestAtomicsTogether(t *testing.T) {
	p := mapPage(t)
	for _, at := range []transport.Addr{p.start, p.start + 62} {
		var all invariant.Group
		for range 4 {
			all.Go(func() {
				Guard()
				for range 5000 {
					if _, err := Atomic(transport.AtomicAdd, at, 4, 1, 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if v, _ := Load32(at); v != 20000 {
			t.Errorf("at +%d: %d, want 20000", at-p.start, v)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	Guard()
	p := mapPage(t)
	buffer := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		_ = CopyIn(p.start, buffer)
		_ = CopyOut(buffer, p.start)
		_ = Copy(p.start, p.start+64, 64)
		_, _ = Atomic(transport.AtomicAdd, p.start, 8, 1, 0)
		_, _ = Add32(p.start+1, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A goroutine starts with a few KiB; after room, 1.2 MiB below must not make the stack grow (and
// move) any more.
func TestRoomForSignalHandlers(t *testing.T) {
	done := make(chan [2]uintptr)
	go func() {
		var here int
		room()
		before := stackAddress(&here)
		touchDeep(1200 << 10 / 1024)
		done <- [2]uintptr{before, stackAddress(&here)}
	}()
	if got := <-done; got[0] != got[1] {
		t.Errorf("the stack moved from %#x to %#x: there was no room", got[0], got[1])
	}
	if n := testing.AllocsPerRun(100, Guard); n != 0 {
		t.Errorf("Guard allocates %v times", n)
	}
}

//go:noinline
func touchDeep(kib int) byte {
	var pad [900]byte
	pad[kib%900] = 1
	if kib == 0 {
		return pad[0]
	}
	return touchDeep(kib-1) + pad[1]
}

// CopyInLast as it works where stores are seen in any order, tried everywhere: the right bytes, and
// a fault that is reported.
func TestCopyInLastOfEachLength(t *testing.T) {
	to := make([]byte, 16)
	for n := 1; n <= 8; n++ {
		for at := 0; at+n <= 8; at++ {
			clear(to)
			src := []byte{1, 2, 3, 4, 5, 6, 7, 8}[:n]
			if err := copyInLast(AddrOf(to)+transport.Addr(at), src); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(to[at:at+n], src) || bytes.Count(to, []byte{0}) != 16-n {
				t.Errorf("%d bytes at %d: % x", n, at, to)
			}
		}
		if err := copyInLast(16, make([]byte, n)); err == nil {
			t.Errorf("%d bytes at a bad address: no error", n)
		}
	}
}
