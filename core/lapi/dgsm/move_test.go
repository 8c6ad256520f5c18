package dgsm

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// TestDDM: every byte comes to the DDM function or to memory as the naive machine's CONTROL says,
// whatever the fragments, and also if the function takes its bytes in small parts.
func TestDDM(t *testing.T) {
	user, expect := userMemory(t, 1<<19), make([]byte, 1<<19)
	base := middle(user)
	src := userMemory(t, modelBytes)
	fill(src, rand.New(rand.NewPCG(3, 3)))
	calls := 0
	models(t, true, func(t *testing.T, rnd *rand.Rand, v model) {
		clear(user)
		clear(expect)
		// what the DDM function is to see, and sees, for each offset
		want, got := map[int64][]byte{}, map[int64][]byte{}
		at := uint64(0)
		part := 1 + rnd.Uint64N(6)
		ddm := func(in, inout transport.Addr, n uint64, operand, operation int32) int64 {
			calls++
			n = min(n, part)
			for i, b := range memory.Bytes(in, n) {
				place := v.places[at+uint64(in-memory.AddrOf(src)-transport.Addr(at))+uint64(i)]
				if place.at != int64(inout-base)+int64(i) ||
					place.ctl != (control{operation, operand}) {
					t.Fatalf("DDM for %d with %d, %d; want %+v",
						inout-base, operation, operand, place)
				}
				got[place.at] = append(got[place.at], b)
			}
			return int64(n)
		}
		var m Machine
		if err := m.StartScatter(Transfer{v.p, base, 0, modelBytes, ddm}, 1); err != nil {
			t.Fatal(err)
		}
		for at < modelBytes {
			n := min(1+rnd.Uint64N(100), modelBytes-at)
			if err := m.Scatter(src[at:at+n], at); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		for i, place := range v.places {
			if place.ctl.operation >= 0 {
				want[place.at] = append(want[place.at], src[i])
			} else {
				expect[int64(len(user)/2)+place.at] = src[i]
			}
		}
		for where, seen := range want {
			if !bytes.Equal(seen, got[where]) {
				t.Fatalf("offset %d: DDM saw %v, want %v", where, got[where], seen)
			}
		}
		if !bytes.Equal(user, expect) {
			t.Fatal("what is not for the DDM function is not in its place")
		}
	})
	if calls == 0 {
		t.Error("the DDM function was never called")
	}
}

// TestControlRules: where CONTROL may be, and what a DDM function may return.
func TestControlRules(t *testing.T) {
	user := userMemory(t, 4096)
	var a assembler
	a.control(0, 4)
	a.copy(8, 0)
	a.iterate(0)
	g := program{Descriptor{Depth: 1, Size: 8, Extent: 8, Rext: 8, AtomSize: 4}, a.code}
	p := g.must(t)
	if n := p.AtomAlign(23); n != 20 || p.AtomAlign(3) != 0 || !p.HasControl() {
		t.Errorf("23 bytes hold atoms of %d", n)
	}
	none := simple(8, 0, 8)
	if n := none.must(t).AtomAlign(23); n != 23 {
		t.Errorf("without atoms 23 bytes are %d", n)
	}
	returns := int64(0)
	ddm := func(_, _ transport.Addr, _ uint64, _, _ int32) int64 { return returns }
	tr := Transfer{p, memory.AddrOf(user), 0, 64, ddm}
	var m Machine
	if err := m.StartGather(tr); err == nil || err.Code != codes.ErrDgspCtl {
		t.Errorf("gather: %v", err)
	}
	if err := m.StartScatter(tr, 0); err == nil || err.Code != codes.ErrDgspCtl {
		t.Errorf("scatter without atoms: %v", err)
	}
	deaf := tr
	deaf.DDM = nil
	if err := m.StartScatter(deaf, 4); err == nil || err.Code != codes.ErrDgspCtl {
		t.Errorf("no DDM function: %v", err)
	}
	for _, returns = range []int64{0, -1, 9, -1 << 63} {
		if err := m.StartScatter(tr, 4); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "a DDM function that returns nonsense", m.Scatter(user[2048:2056], 0),
			codes.ErrDgspCtl)
	}
}

func wantCode(t *testing.T, what string, err error, code codes.Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Text == "" ||
		!strings.HasPrefix(e.Error(), codes.Name(code)+": ") {
		t.Errorf("%s: %v, want %s", what, err, codes.Name(code))
	}
}

// TestFaults: memory that cannot be accessed, in every place, is an error that names it; what lies
// before it is moved.
func TestFaults(t *testing.T) {
	page := uint64(unix.Getpagesize())
	user := userMemory(t, int(4*page))
	if err := unix.Mprotect(user[2*page:3*page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	hole := memory.AddrOf(user) + transport.Addr(2*page)
	packed := userMemory(t, int(page))
	fill(packed, rand.New(rand.NewPCG(4, 4)))
	var list assembler
	list.mcopy(0, 8, 24, 16, 48, 8)
	list.iterate(0)
	irregular := program{Descriptor{Depth: 1, Extent: 64}, list.code}
	run, word, row, deep := strided(12, 4, 16, 64), simple(8, 0, 16), simple(64, 0, 128), nested(3)
	for name, p := range map[string]*Program{
		"strided": run.must(t), "words": word.must(t), "rows": row.must(t),
		"irregular": irregular.describe(t), "nested": deep.must(t),
	} {
		for _, before := range []uint64{64, 128, 1000} {
			base := hole - transport.Addr(before)
			var m Machine
			start(t, &m, p, base, 0, page)
			wantFault(t, name+" gather", m.Gather(make([]byte, page), 0), hole, page)
			start(t, &m, p, base, 0, page)
			wantFault(t, name+" scatter", m.Scatter(packed, 0), hole, page)
			if n := m.pos; n == 0 || n >= page {
				t.Errorf("%s: %d bytes moved", name, n)
			}
			stream := make([]byte, m.pos)
			start(t, &m, p, base, 0, page)
			if err := m.Gather(stream, 0); err != nil ||
				!bytes.Equal(stream, packed[:len(stream)]) {
				t.Errorf("%s: what lies before the fault is not there: %v", name, err)
			}
		}
		for _, base := range []transport.Addr{8, 1 << 60, 1 << 63, ^transport.Addr(0) - 20} {
			var m Machine
			start(t, &m, p, base, 0, page)
			wantFault(t, name+" gather", m.Gather(make([]byte, page), 0), base, 1<<16)
			wantFault(t, name+" scatter", m.Scatter(packed, 0), base, 1<<16)
		}
	}
}

func wantFault(t *testing.T, what string, err error, at transport.Addr, n uint64) {
	t.Helper()
	var f *transport.FaultError
	if !errors.As(err, &f) || uint64(f.Addr-at) >= n {
		t.Errorf("%s: %v, want a fault within %#x", what, err, uint64(at))
	}
}

// TestFragments: fragments outside the transfer are refused, and the machine stays usable.
func TestFragments(t *testing.T) {
	user := userMemory(t, 4096)
	var m Machine
	if err := m.Gather(nil, 0); err != nil {
		t.Errorf("nothing of nothing: %v", err)
	}
	wantCode(t, "zero machine", m.Gather(make([]byte, 1), 0), codes.ErrDgspOther)
	if err := m.StartGather(Transfer{}); err == nil || err.Code != codes.ErrDgsp {
		t.Errorf("no program: %v", err)
	}
	g := simple(4, 0, 8)
	p := g.must(t)
	for _, n := range []uint64{MaxBytes + 1, 1 << 63, ^uint64(0)} {
		if err := m.StartGather(Transfer{Program: p, Bytes: n}); err == nil ||
			err.Code != codes.ErrDgspOther {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err := m.StartGather(Transfer{Program: p, First: n}); err == nil ||
			err.Code != codes.ErrDgspOther {
			t.Errorf("from byte %d: %v", n, err)
		}
	}
	start(t, &m, p, memory.AddrOf(user), 3, 100)
	wantCode(t, "too long", m.Gather(make([]byte, 101), 0), codes.ErrDgspOther)
	wantCode(t, "behind the end", m.Scatter(make([]byte, 1), 100), codes.ErrDgspOther)
	wantCode(t, "far behind the end", m.Scatter(make([]byte, 1), ^uint64(0)), codes.ErrDgspOther)
	if err := errors.Join(m.Gather(nil, 100), m.Gather(make([]byte, 100), 0),
		m.Gather(make([]byte, 1), 99)); err != nil {
		t.Error(err)
	}
	empty := raw(func(a *assembler) { a.copy(0, 0); a.gosub(0, 0, 0); a.iterate(0) })
	q := empty.must(t)
	start(t, &m, q, 0, 0, 0)
	if err := m.StartGather(Transfer{Program: q, Bytes: 1}); err == nil ||
		err.Code != codes.ErrDgspOther {
		t.Errorf("a byte of a program without any: %v", err)
	}
}

// TestNoAllocation: a machine that has met its program allocates nothing, whatever it does.
func TestNoAllocation(t *testing.T) {
	user := userMemory(t, 1<<20)
	fragment := make([]byte, 1000)
	packed := userMemory(t, 4096)
	run, deep, block := strided(12, 4, 16, 64), nested(3), simple(8, 0, 16)
	for name, p := range map[string]*Program{"strided": run.must(t), "nested": deep.must(t),
		"block": block.must(t)} {
		var m Machine
		tr := Transfer{Program: p, Base: memory.AddrOf(user), Bytes: 3000}
		var list [8]Piece
		if n := testing.AllocsPerRun(100, func() {
			var err error
			if e := m.StartGather(tr); e != nil {
				err = e
			}
			for _, at := range []uint64{2000, 0, 1000} {
				err = errors.Join(err, m.Gather(fragment, at), m.Scatter(fragment, at))
			}
			m.Pieces(list[:], 100)
			in, out := Buffer{memory.AddrOf(packed), 4096, 1},
				Buffer{memory.AddrOf(packed), 4096, 0}
			if err = errors.Join(err, m.Pack(tr, &out), m.Unpack(tr, &in, 1<<20)); err != nil {
				t.Error(name, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestListThenFragments: a part of a program is listed block by block, as for a direct copy, and
// then gathered in fragments in any order after all; then once more. The lists and the bytes are
// those of the naive machine.
func TestListThenFragments(t *testing.T) {
	user := userMemory(t, 1<<19)
	fill(user, rand.New(rand.NewPCG(5, 5)))
	base := middle(user)
	models(t, false, func(t *testing.T, rnd *rand.Rand, v model) {
		n := 1 + rnd.Uint64N(modelBytes)
		var m Machine
		if err := m.StartGather(Transfer{Program: v.p, Base: base, Bytes: n}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m.Seek(0)
			var list [5]Piece
			for at := uint64(0); at < n; at = m.pos {
				from := at
				for _, piece := range list[:m.Pieces(list[:1+rnd.IntN(5)], n-at)] {
					for i := range piece.N {
						if got, want := int64(piece.Addr-base)+int64(i),
							v.places[from+i].at; got != want {
							t.Fatalf("byte %d is listed at %d, want %d", from+i, got, want)
						}
					}
					from += piece.N
				}
				if from == at {
					t.Fatalf("no pieces at %d of %d", at, n)
				}
			}
			step := 1 + rnd.Uint64N(n)
			for _, k := range rnd.Perm(int((n + step - 1) / step)) {
				at := uint64(k) * step
				dst := make([]byte, min(step, n-at))
				if err := m.Gather(dst, at); err != nil {
					t.Fatal(err)
				}
				for i, b := range dst {
					if want := user[int64(len(user)/2)+v.places[at+uint64(i)].at]; b != want {
						t.Fatalf("byte %d is %d, want %d", at+uint64(i), b, want)
					}
				}
			}
		}
	})
}
