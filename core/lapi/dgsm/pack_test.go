package dgsm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// TestPackUnpack: a series of packs into one buffer, each from the program's beginning, and unpacks
// of the same.
func TestPackUnpack(t *testing.T) {
	user, packed, copied := userMemory(t, 1<<16), userMemory(t, 1<<12), userMemory(t, 1<<16)
	fill(user, rand.New(rand.NewPCG(5, 5)))
	g := strided(3, 4, 7, 100)
	p := g.must(t)
	var m Machine
	tr := Transfer{Program: p, Base: memory.AddrOf(user), First: 5}
	out := Buffer{Addr: memory.AddrOf(packed), Size: 60, Position: 10}
	var want []byte
	for _, n := range []uint64{5, 0, 17, 28} {
		tr.Bytes = n
		if err := m.Pack(tr, &out); err != nil {
			t.Fatal(err)
		}
		places, err := naive(g.code, g.Extent, int(n), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range places {
			want = append(want, user[place.at])
		}
	}
	if out.Position != 60 || !bytes.Equal(packed[10:60], want) {
		t.Fatalf("packed up to %d: %v, want %v", out.Position, packed[10:60], want)
	}
	wantCode(t, "no room", m.Pack(Transfer{Program: p, Base: tr.Base, Bytes: 1}, &out),
		codes.ErrPackSz)
	in := Buffer{Addr: out.Addr, Size: 60, Position: 10}
	tr.Base = memory.AddrOf(copied)
	for _, n := range []uint64{5, 0, 17, 28} {
		tr.Bytes = n
		if err := m.Unpack(tr, &in, 1<<16); err != nil {
			t.Fatal(err)
		}
		tr.Base += 1000
	}
	tr.Base = memory.AddrOf(copied)
	again := Buffer{Addr: memory.AddrOf(packed) + 2048, Size: 100}
	for _, n := range []uint64{5, 0, 17, 28} {
		tr.Bytes = n
		if err := m.Pack(tr, &again); err != nil {
			t.Fatal(err)
		}
		tr.Base += 1000
	}
	if in.Position != 60 || !bytes.Equal(packed[2048:2098], want) {
		t.Errorf("unpacked up to %d; packed again: %v, want %v",
			in.Position, packed[2048:2098], want)
	}
}

// TestPackErrors: sizes and addresses that do not do leave position and memory alone.
func TestPackErrors(t *testing.T) {
	user, packed := userMemory(t, 4096), userMemory(t, 4096)
	g := strided(4, 4, 8, 32)
	p := g.must(t)
	var m Machine
	at := memory.AddrOf(packed)
	base := memory.AddrOf(user)
	for name, c := range map[string]struct {
		b    Buffer
		n    uint64
		code codes.Code
	}{
		"size":               {Buffer{at, 15, 0}, 16, codes.ErrPackSz},
		"position":           {Buffer{at, 16, 1}, 16, codes.ErrPackSz},
		"position behind":    {Buffer{at, 16, 17}, 0, codes.ErrPackSz},
		"position far away":  {Buffer{at, 16, ^uint64(0)}, 16, codes.ErrPackSz},
		"more than anything": {Buffer{at, 1 << 62, 0}, 1 << 63, codes.ErrDgspOther},
	} {
		b := c.b
		wantCode(t, name+", pack", m.Pack(Transfer{Program: p, Base: base, Bytes: c.n}, &b), c.code)
		wantCode(t, name+", unpack",
			m.Unpack(Transfer{Program: p, Base: base, Bytes: c.n}, &b, 4096), c.code)
		if b != c.b {
			t.Errorf("%s: the buffer is %+v", name, b)
		}
	}
	for _, bad := range []transport.Addr{0, 8, 1 << 60, 1 << 63, ^transport.Addr(0) - 3} {
		b := Buffer{bad, 1 << 62, 0}
		wantFault(t, "packed buffer", m.Pack(Transfer{Program: p, Base: base, Bytes: 64}, &b), bad,
			256)
		wantFault(t, "packed buffer",
			m.Unpack(Transfer{Program: p, Base: base, Bytes: 64}, &b, 4096), bad, 256)
		good := Buffer{at, 4096, 0}
		wantFault(t, "user buffer", m.Pack(Transfer{Program: p, Base: bad, Bytes: 64}, &good), bad,
			256)
		wantFault(t, "user buffer",
			m.Unpack(Transfer{Program: p, Base: bad, Bytes: 64}, &good, 4096), bad, 256)
		if b.Position != 0 || good.Position != 0 {
			t.Errorf("positions %d, %d after errors", b.Position, good.Position)
		}
	}
	// 20 bytes end with the first block of the second repetition.
	for size, ok := range map[uint64]bool{36: true, 35: false, 20: false} {
		in := Buffer{at, 4096, 0}
		err := m.Unpack(Transfer{Program: p, Base: base, Bytes: 20}, &in, size)
		if ok && err != nil {
			t.Errorf("an output buffer of %d: %v", size, err)
		} else if !ok {
			wantCode(t, "output buffer too small", err, codes.ErrPackSz)
		}
	}
}

// TestAbsolute: with no base the offsets are addresses.
func TestAbsolute(t *testing.T) {
	user, packed := userMemory(t, 4096), userMemory(t, 4096)
	fill(user, rand.New(rand.NewPCG(6, 6)))
	// a long of C: negative for the upper half of 32-bit addresses
	g := simple(16, int64(int(memory.AddrOf(user))), 32)
	p := g.must(t)
	var m Machine
	b := Buffer{memory.AddrOf(packed), 64, 0}
	if err := m.Pack(Transfer{Program: p, Bytes: 64}, &b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed[:16], user[:16]) || !bytes.Equal(packed[48:64], user[96:112]) {
		t.Error("packed bytes differ")
	}
	want := bytes.Clone(user)
	clear(user)
	b.Position = 0
	if err := m.Unpack(Transfer{Program: p, Bytes: 64}, &b, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(user[96:112], want[96:112]) {
		t.Error("unpacked bytes differ")
	}
}
