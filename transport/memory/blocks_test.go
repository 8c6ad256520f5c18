package memory

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/transport"
)

// TestBlocks compares runs of blocks, of the lengths that are moved in one piece too, with copies one by one.
func TestBlocks(t *testing.T) {
	Guard()
	p := mapPage(t)
	user := Bytes(p.start, p.size)
	random := rand.New(rand.NewPCG(6, 6))
	for range 3000 {
		n := []uint64{1, 4, 8, 3, 40, 300}[random.IntN(6)]
		stride := n + random.Uint64N(20)
		count := 1 + random.Uint64N((p.size-n)/stride)
		at := random.Uint64N(p.size - (count-1)*stride - n + 1)
		for i := range user {
			user[i] = byte(random.Uint32())
		}
		packed, model := make([]byte, n*count), bytes.Clone(user)
		if err := CopyOutBlocks(packed, p.start+transport.Addr(at), n, stride); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			if !bytes.Equal(packed[i*n:(i+1)*n], user[at+i*stride:at+i*stride+n]) {
				t.Fatalf("block %d of %d bytes is damaged", i, n)
			}
			for k := range n {
				packed[i*n+k] ^= 0x55
				model[at+i*stride+k] ^= 0x55
			}
		}
		if err := CopyInBlocks(p.start+transport.Addr(at), packed, n, stride); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(user, model) {
			t.Fatalf("%d blocks of %d bytes, %d apart, are not where they should be", count, n, stride)
		}
	}
}

// TestBlockFaults: the fault is in the first block that cannot be accessed, the blocks before it were copied.
func TestBlockFaults(t *testing.T) {
	Guard()
	p := mapPage(t)
	for name, bad := range badRanges(p) {
		if bad.n > 8 {
			continue
		}
		b := make([]byte, 3*bad.n)
		for what, err := range map[string]error{"in": CopyInBlocks(bad.a, b, bad.n, bad.n), "out": CopyOutBlocks(b, bad.a, bad.n, bad.n)} {
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
