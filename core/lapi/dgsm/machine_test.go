package dgsm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/transport"
)

// model is a program with the places of a transfer's bytes as the naive machine finds them.
type model struct {
	program
	p      *Program
	places []naiveByte
}

const modelBytes = 700

// models runs f for many random programs, each with the seed that makes it.
func models(t *testing.T, controls bool, f func(t *testing.T, rnd *rand.Rand, v model)) {
	used := 0
	for seed := range uint64(250) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		g := random(rnd, controls)
		p := g.describe(t)
		if p.covers() == 0 {
			continue
		}
		used++
		places, err := naive(g.code, g.Extent, modelBytes, 1<<20)
		if err != nil {
			t.Fatalf("seed %d: naive: %v", seed, err)
		}
		f(t, rnd, model{g, p, places})
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, g)
		}
	}
	if used < 120 {
		t.Fatalf("only %d programs were of use", used)
	}
}

// start begins a transfer of n bytes from first on at base, by a DDM function that is never called.
func start(t testing.TB, m *Machine, p *Program, base transport.Addr, first, n uint64) {
	t.Helper()
	ddm := func(_, _ transport.Addr, _ uint64, _, _ int32) int64 {
		panic("the DDM function was called")
	}
	if err := m.StartScatter(Transfer{p, base, first, n, ddm}, 1); err != nil {
		t.Fatal(err)
	}
}

// check compares a piece with the model from byte at on; its address is an offset, in a long of C.
func (v *model) check(t *testing.T, piece Piece, at uint64) {
	t.Helper()
	for i := range piece.N {
		want := v.places[at+i]
		got := naiveByte{int64(int(piece.Addr)) + int64(i), control{piece.Operation, piece.Operand}}
		if got.ctl.operation == NoControl && want.ctl.operation == NoControl {
			got.ctl, want.ctl = noControl, noControl
		}
		if got != want {
			t.Fatalf("byte %d is at %+v, want %+v", at+i, got, want)
		}
	}
}

// TestMachineIsNaive: the blocks of a walk, with every kind of step, are the bytes of the naive
// machine in its order.
func TestMachineIsNaive(t *testing.T) {
	for _, controls := range []bool{false, true} {
		models(t, controls, func(t *testing.T, rnd *rand.Rand, v model) {
			var m Machine
			for _, limit := range []uint64{1, 3, 8, 1 << 40, 0} {
				start(t, &m, v.p, 0, 0, modelBytes)
				for at := uint64(0); at < modelBytes; at = m.pos {
					step := limit
					if limit == 0 {
						step = 1 + rnd.Uint64N(20)
					}
					piece, ok := m.Next(step)
					if !ok || piece.N == 0 || piece.N > step || at+piece.N != m.pos {
						t.Fatalf("at %d: piece %+v, then at %d, %v", at, piece, m.pos, ok)
					}
					v.check(t, piece, at)
				}
				if piece, ok := m.Next(1); ok {
					t.Fatalf("a piece behind the end: %+v", piece)
				}
			}
		})
	}
}

// TestSeekIsWalking: from every byte on, in any order, a walk after Seek is the rest of the walk.
func TestSeekIsWalking(t *testing.T) {
	for _, controls := range []bool{false, true} {
		models(t, controls, func(t *testing.T, rnd *rand.Rand, v model) {
			var m Machine
			first := rnd.Uint64N(50)
			n := modelBytes - first
			start(t, &m, v.p, 0, first, n)
			for _, at := range rnd.Perm(int(n) + 1) {
				if !m.Seek(uint64(at)) || m.pos != uint64(at) {
					t.Fatalf("Seek to %d: at %d", at, m.pos)
				}
				for range 3 {
					from := m.pos
					if piece, ok := m.Next(1 + rnd.Uint64N(30)); ok {
						v.check(t, piece, first+from)
					} else if from != n {
						t.Fatalf("no piece at %d of %d", from, n)
					}
				}
			}
			if m.Seek(n+1) || m.n != n {
				t.Fatalf("Seek behind the end of %d bytes of %d", m.n, n)
			}
		})
	}
}

// TestPieces: the lists have as few pieces as can be, and are the walk.
func TestPieces(t *testing.T) {
	models(t, false, func(t *testing.T, rnd *rand.Rand, v model) {
		var m Machine
		start(t, &m, v.p, 0, 0, modelBytes)
		end := transport.Addr(0)
		for at := uint64(0); at < modelBytes; {
			list := make([]Piece, 1+rnd.IntN(6))
			limit := 1 + rnd.Uint64N(100)
			n := m.Pieces(list, limit)
			if n == 0 || n < len(list) && m.pos < modelBytes && m.pos-at < limit {
				t.Fatalf("at %d: %d pieces of %d, then at %d", at, n, len(list), m.pos)
			}
			for i, piece := range list[:n] {
				if i > 0 && piece.Addr == end {
					t.Fatalf("at %d: two pieces that touch", at)
				}
				v.check(t, piece, at)
				at += piece.N
				end = piece.Addr + transport.Addr(piece.N)
			}
			if at != m.pos {
				t.Fatalf("pieces up to %d, machine at %d", at, m.pos)
			}
		}
	})
}

// TestSpan: the bounds are those of the bytes, for every length.
func TestSpan(t *testing.T) {
	models(t, true, func(t *testing.T, rnd *rand.Rand, v model) {
		lo, hi := v.places[0].at, v.places[0].at+1
		for n := uint64(1); n <= modelBytes; n++ {
			at := v.places[n-1].at
			lo, hi = min(lo, at), max(hi, at+1)
			if l, h, ok := v.p.Span(n); !ok || l != lo || h != hi {
				t.Fatalf("Span(%d) is %d to %d, %v; the bytes lie from %d to %d",
					n, l, h, ok, lo, hi)
			}
		}
	})
}

// TestGatherScatter: fragments in any order move the bytes of the model and no others.
func TestGatherScatter(t *testing.T) {
	const size = 1 << 19 // more than the largest extent for each byte
	user, before, fresh := userMemory(t, size), make([]byte, size), make([]byte, size)
	fill(user, rand.New(rand.NewPCG(1, 1)))
	fill(fresh, rand.New(rand.NewPCG(2, 2)))
	base := middle(user)
	models(t, false, func(t *testing.T, rnd *rand.Rand, v model) {
		copy(before, user)
		at := func(i int) int64 { return int64(len(user)/2) + v.places[i].at }
		var m Machine
		start(t, &m, v.p, base, 0, modelBytes)
		fragment := 1 + rnd.IntN(90)
		order := rnd.Perm((modelBytes + fragment - 1) / fragment)
		stream := make([]byte, modelBytes)
		for _, f := range order {
			if err := m.Gather(stream[f*fragment:min((f+1)*fragment, modelBytes)],
				uint64(f*fragment)); err != nil {
				t.Fatal(err)
			}
		}
		for i, b := range stream {
			if b != before[at(i)] {
				t.Fatalf("gathered byte %d is %#x, want %#x", i, b, before[at(i)])
			}
		}
		if !bytes.Equal(user, before) {
			t.Fatal("gathering wrote")
		}
		// Where a place occurs twice in the stream any of its bytes may stay, as fragments come in
		// any order: give both the same.
		for i := range stream {
			stream[i] = fresh[at(i)]
		}
		for i := range stream {
			before[at(i)] = stream[i]
		}
		for _, f := range order {
			if err := m.Scatter(stream[f*fragment:min((f+1)*fragment, modelBytes)],
				uint64(f*fragment)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(user, before) {
			t.Fatal("scattered bytes differ from the model's")
		}
	})
}
