package arena

import (
	"testing"
	"unsafe"
)

func TestSizesAndAlignment(t *testing.T) {
	var a Arena
	defer a.Release()
	for _, n := range []int{0, 1, 127, 128, 129, 4096, 4097, Largest - 1, Largest} {
		b, err := a.Get(n)
		if err != nil {
			t.Fatalf("Get(%d): %v", n, err)
		}
		if len(b) != n {
			t.Errorf("Get(%d) has %d bytes", n, len(b))
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); at%64 != 0 {
			t.Errorf("Get(%d) lies at %#x, not on a multiple of 64", n, at)
		}
		for i := range b {
			b[i] = byte(i)
		}
	}
	for _, n := range []int{-1, Largest + 1} {
		if _, err := a.Get(n); err == nil {
			t.Errorf("Get(%d) succeeded", n)
		}
	}
}

// TestDistinct holds many buffers of mixed sizes at once and checks that none overlaps another.
func TestDistinct(t *testing.T) {
	var a Arena
	defer a.Release()
	var held [][]byte
	for i := range 3000 {
		b, err := a.Get(1 + (i*37)%600)
		if err != nil {
			t.Fatal(err)
		}
		for j := range b {
			b[j] = byte(i)
		}
		held = append(held, b)
		if i%3 == 0 {
			a.Put(held[0])
			held = held[1:]
		}
	}
	first := 3000 - len(held)
	for i, b := range held {
		for _, v := range b {
			if v != byte(first+i) {
				t.Fatalf("buffer %d was overwritten by another", first+i)
			}
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var a Arena
	defer a.Release()
	if n := testing.AllocsPerRun(100, func() {
		b, err := a.Get(1000)
		if err != nil {
			t.Fatal(err)
		}
		a.Put(b)
	}); n != 0 {
		t.Errorf("%v allocations for each buffer", n)
	}
}

// TestGrow: a block that grows keeps its place while it fits, and its new part is zero.
func TestGrow(t *testing.T) {
	var b []byte
	for _, n := range []int{1, growMin, growMin + 1, 3, 10 * growMin} {
		before := cap(b)
		at := unsafe.SliceData(b)
		var err error
		if b, err = Grow(b, n); err != nil || len(b) != n {
			t.Fatalf("Grow to %d: %d bytes, %v", n, len(b), err)
		}
		if n <= before && unsafe.SliceData(b) != at {
			t.Errorf("%d of %d bytes: it has moved", n, before)
		}
		b[n-1]++
	}
	Unmap(b)
	Unmap(nil)
}
