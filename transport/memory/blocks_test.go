package memory

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/transport"
)

// TestBlocks compares runs of blocks, of each length that is moved in one piece and of others,
// forwards and backwards, with copies one by one.
func TestBlocks(t *testing.T) {
	Guard()
	p := mapPage(t)
	user := Bytes(p.start, p.size)
	random := rand.New(rand.NewPCG(6, 6))
	for range 10000 {
		n := []uint64{1, 2, 4, 8, 16, 32, 64, 300, 1 + random.Uint64N(callWorth+4)}[random.IntN(9)]
		stride := n + random.Uint64N(20)
		count := 1 + random.Uint64N((p.size-n)/stride)
		low := random.Uint64N(p.size - (count-1)*stride - n + 1)
		first := low
		if random.IntN(2) == 0 {
			first, stride = low+(count-1)*stride, -stride
		}
		for i := range user {
			user[i] = byte(random.Uint32())
		}
		packed, model := make([]byte, n*count), bytes.Clone(user)
		if err := CopyOutBlocks(packed, p.start+transport.Addr(first), n, stride); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			at := first + i*stride
			if !bytes.Equal(packed[i*n:(i+1)*n], user[at:at+n]) {
				t.Fatalf("block %d of %d bytes is damaged", i, n)
			}
			for k := range n {
				packed[i*n+k] ^= 0x55
				model[at+k] ^= 0x55
			}
		}
		if err := CopyInBlocks(p.start+transport.Addr(first), packed, n, stride); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(user, model) {
			t.Fatalf("%d blocks of %d bytes, %d apart, are not where they should be",
				count, n, int64(stride))
		}
	}
}

// TestBlocksOnTop: blocks that lie on each other, or partly, are written in order: the last one
// stays.
func TestBlocksOnTop(t *testing.T) {
	Guard()
	p := mapPage(t)
	for _, n := range []uint64{2, 8, 11, 24, 64, 100, 300} {
		for _, stride := range []uint64{0, 1, n - 1, -(n - 1)} {
			const count = 5
			packed, model := make([]byte, n*count), make([]byte, p.size)
			for i := range packed {
				packed[i] = byte(i + 1)
			}
			clear(Bytes(p.start, p.size))
			middle := p.size / 2
			for i := range uint64(count) {
				copy(model[middle+i*stride:], packed[i*n:(i+1)*n])
			}
			if err := CopyInBlocks(p.start+transport.Addr(middle), packed, n, stride); err != nil ||
				!bytes.Equal(Bytes(p.start, p.size), model) {
				t.Errorf("%d bytes, %d apart: %v", n, int64(stride), err)
			}
		}
	}
}

// TestWithin compares with a look at each block.
func TestWithin(t *testing.T) {
	edges := []uint64{0, 1, userStart - 1, userStart, userEnd - 1, userEnd, 1 << 62, 1 << 63,
		^uint64(0)}
	random := rand.New(rand.NewPCG(7, 7))
	some := func() uint64 { return edges[random.IntN(len(edges))] + random.Uint64N(200) - 100 }
	inside := 0
	for range 200000 {
		a, n, count := some(), 1+random.Uint64N(100), 1+random.Uint64N(30)
		stride := random.Uint64N(200) - 100
		if random.IntN(2) == 0 {
			stride = some() / (1 + random.Uint64N(20))
		}
		want := true
		for i := range count {
			want = want && !outside(transport.Addr(a+i*stride), n)
		}
		if want {
			inside++
		}
		if got := within(transport.Addr(a), n, stride, count); got != want {
			t.Fatalf("%d blocks of %d at %#x, %#x apart: %v", count, n, a, stride, got)
		}
	}
	if inside < 1000 {
		t.Errorf("only %d were inside", inside)
	}
}

// TestBlockFaults: the fault is in the first block that cannot be accessed, the blocks before it
// were copied.
func TestBlockFaults(t *testing.T) {
	Guard()
	p := mapPage(t)
	for name, bad := range badRanges(p) {
		if bad.n > 8 {
			continue
		}
		b := make([]byte, 3*bad.n)
		for what, err := range map[string]error{"in": CopyInBlocks(bad.a, b, bad.n, bad.n),
			"out": CopyOutBlocks(b, bad.a, bad.n, bad.n)} {
			if f := wantFault(t, name+" "+what, err); f.Addr-bad.a >= transport.Addr(bad.n) {
				t.Errorf("%s %s: fault at %#x, outside the block", name, what, uint64(f.Addr))
			}
		}
	}
	b, before := bytes.Repeat([]byte{7}, 80), p.hole-80
	f := wantFault(t, "the ninth block", CopyInBlocks(before, append(b, b...), 10, 10))
	if f.Addr < p.hole || f.Addr >= p.hole+10 || !bytes.Equal(Bytes(before, 80), b) {
		t.Errorf("fault at %#x, %d bytes behind the good ones", uint64(f.Addr), f.Addr-p.hole)
	}
}

// TestBlockFaultsByLength: for each length, the block that meets the hole is named, and all before
// it are in their place. The same holds where the kernel does not report the address: there the
// second block is at an address that no process has.
func TestBlockFaultsByLength(t *testing.T) {
	Guard()
	p := mapPage(t)
	for _, n := range []uint64{1, 2, 4, 5, 8, 11, 16, 24, 32, 48, 64, 72, 100, 128, 300} {
		const good, all = 5, 9
		src, dst := bytes.Repeat([]byte{byte(n)}, int(n*all)), make([]byte, n*all)
		start := p.hole - transport.Addr(good*n)
		clear(Bytes(start, good*n))
		in := wantFault(t, "in", CopyInBlocks(start, src, n, n))
		if in.Addr-p.hole >= transport.Addr(n) || !bytes.Equal(Bytes(start, good*n), src[:good*n]) {
			t.Errorf("%d bytes: fault at %#x, hole at %#x", n, uint64(in.Addr), uint64(p.hole))
		}
		out := wantFault(t, "out", CopyOutBlocks(dst, start, n, n))
		if out.Addr-p.hole >= transport.Addr(n) || !bytes.Equal(dst[:good*n], src[:good*n]) {
			t.Errorf("%d bytes: fault at %#x, hole at %#x", n, uint64(out.Addr), uint64(p.hole))
		}
		far := transport.Addr(1 << 55)
		stride := uint64(far - p.start)
		for what, err := range map[string]error{"in": CopyInBlocks(p.start, src[:2*n], n, stride),
			"out": CopyOutBlocks(dst[:2*n], p.start, n, stride)} {
			if f := wantFault(t, what, err); f.Addr-far >= transport.Addr(n) {
				t.Errorf("%d bytes %s: fault at %#x", n, what, uint64(f.Addr))
			}
		}
	}
}
