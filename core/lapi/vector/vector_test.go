package vector

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// random is a vector of blocks in buffer, and the indices of its bytes in the order of the stream.
func random(r *rand.Rand, buffer []byte) (v Vector, order []int) {
	base, next := memory.AddrOf(buffer), 0
	if r.IntN(2) == 0 {
		block := 1 + r.Uint64N(20)
		stride := block + r.Uint64N(3)*r.Uint64N(9)
		count := r.Uint64N(uint64(len(buffer)) / stride)
		v.strided(&wire.Vector{Base: base, Block: block, Stride: stride, Total: count * block})
		for i := range count * block {
			order = append(order, int(i/block*stride+i%block))
		}
		return v, order
	}
	v.EmptyList()
	for next < len(buffer)-40 {
		n := r.IntN(20)
		v.Append(base+transport.Addr(next), uint64(n))
		for i := range n {
			order = append(order, next+i)
		}
		next += n + r.IntN(9)
	}
	return v, order
}

// TestAgainstModel: what is gathered, scattered, walked through and described is what a list of all
// bytes says.
func TestAgainstModel(t *testing.T) {
	memory.Guard()
	r := rand.New(rand.NewPCG(1, 2))
	buffer, err := arena.Map(600) // it stays where it is
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Unmap(buffer)
	for range 2000 {
		clear(buffer)
		v, order := random(r, buffer)
		if v.Total() != uint64(len(order)) {
			t.Fatalf("%d bytes, not %d", v.Total(), len(order))
		}
		offset := r.IntN(len(order) + 1)
		n := r.IntN(len(order) - offset + 1)
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(r.Uint32()) | 1
		}
		if err := v.Scatter(uint64(offset), src); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, len(buffer))
		for i, b := range src {
			want[order[offset+i]] = b
		}
		if !bytes.Equal(buffer, want) {
			t.Fatalf("%d bytes from %d on went elsewhere", n, offset)
		}
		got := make([]byte, n)
		if err := v.Gather(got, uint64(offset)); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%d bytes from %d on come back as %v, %v", n, offset, got, err)
		}
		at, seen := v.At(uint64(offset)), 0
		for a, length := at.Next(13); length > 0; a, length = at.Next(13) {
			if int(a-memory.AddrOf(buffer)) != order[offset+seen] {
				t.Fatalf("byte %d is said to lie elsewhere", offset+seen)
			}
			seen += int(length)
		}
		if seen != len(order)-offset {
			t.Fatalf("%d bytes from %d on, not %d", seen, offset, len(order)-offset)
		}
		room := uint64(100 + r.IntN(300))
		entries, fits := v.Fit(uint64(offset), uint64(len(order)-offset), room)
		if fits == 0 && offset < len(order) || fits+uint64(entries)*wire.EntrySize > room {
			t.Fatalf("%d entries and %d bytes in %d", entries, fits, room)
		}
		if !v.Strided() {
			data := make([]byte, entries*wire.EntrySize)
			v.WriteEntries(data, uint64(offset), fits)
			if !wire.EntriesHold(data, uint32(entries), fits) {
				t.Fatalf("%d entries do not name %d bytes", entries, fits)
			}
			if !v.ValidList() {
				t.Fatal("its list is not valid")
			}
		}
	}
}
