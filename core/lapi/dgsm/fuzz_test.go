package dgsm

import (
	"errors"
	"math/rand/v2"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/transport"
)

// FuzzProgram gives arbitrary code to both ways of registering. Whatever it is, decoding and
// running come to an end without a crash; what can be run does as the naive machine does; and what
// verification lets pass stays within its descriptor's bounds.
func FuzzProgram(f *testing.F) {
	seed := func(g program) {
		f.Add(bytesOf(g.code), g.Depth, int32(g.Density), g.Size, g.Extent, g.Lext, g.Rext,
			g.AtomSize)
	}
	for _, b := range broken() {
		if len(b.program.code) < 1000 {
			seed(b.program)
		}
	}
	for i := range uint64(60) {
		g := random(rand.New(rand.NewPCG(i, 9)), i%2 == 0)
		g.describe(f)
		seed(g)
	}
	seed(nested(4))
	f.Fuzz(func(t *testing.T, code []byte, depth, density int32, size, extent, lext, rext int64,
		atom int32) {
		d := Descriptor{depth, Density(density), size, extent, lext, rext, atom}
		ints := intsOf(code)
		verified, err := New(d, ints, true)
		lenient, err2 := New(d, ints, false)
		switch {
		case err == nil && err2 != nil:
			t.Fatalf("only verification takes it: %v", err2)
		case err2 != nil:
			return
		case err == nil:
			if verified.covers() != uint64(size) {
				t.Fatalf("covers %d bytes, size is %d", verified.covers(), size)
			}
			stays(t, verified, min(2000, uint64(size)))
		case lenient.fault == nil: // perhaps only the descriptor was wrong
			d.Size, d.Lext, d.Rext = int64(lenient.main.size), lenient.main.bounds.lo,
				lenient.main.bounds.hi
			d.Density = Sparse
			if verified, err = New(d, ints, true); err == nil {
				stays(t, verified, min(2000, uint64(d.Size)))
			} else if err.Code != codes.ErrDgspBranch { // ITERATEs that are never taken
				t.Fatalf("verification with the right descriptor: %v", err)
			}
		}
		compare(t, lenient)
	})
}

func bytesOf(code []int32) []byte {
	b := make([]byte, 0, 4*len(code))
	for _, v := range code {
		b = native.AppendUint32(b, uint32(v))
	}
	return b
}

func intsOf(b []byte) []int32 {
	var code []int32
	for ; len(b) >= 4; b = b[4:] {
		code = append(code, int32(native.Uint32(b)))
	}
	return code
}

// stays checks that n bytes of the first application lie where the descriptor says.
func stays(t *testing.T, p *Program, n uint64) {
	var m Machine
	start(t, &m, p, 0, 0, n)
	for {
		piece, ok := m.Next(n)
		if !ok {
			return
		}
		if at := int64(int(piece.Addr)); at < p.Lext || at+int64(piece.N) > p.Rext {
			t.Fatalf("%d bytes at %d, outside %d to %d", piece.N, at, p.Lext, p.Rext)
		}
	}
}

// compare walks and seeks in a transfer beside the naive machine.
func compare(t *testing.T, p *Program) {
	const n = 500
	var m Machine
	ddm := func(_, _ transport.Addr, n uint64, _, _ int32) int64 { return int64(n) }
	if err := m.StartScatter(Transfer{p, 0, 0, n, ddm}, 1); err != nil {
		if _, ok := m.Next(1); ok {
			t.Fatalf("a piece in spite of %v", err)
		}
		return
	}
	places, err := naive(p.code, p.Extent, n, 1<<16)
	if err != nil {
		if errors.Is(err, errSteps) {
			return // the real one need not take steps that move nothing
		}
		t.Fatalf("the naive machine fails: %v", err)
	}
	v := model{p: p, places: places}
	for at := uint64(0); at < n; at = m.pos {
		piece, ok := m.Next(1 + at%13)
		if !ok || piece.N == 0 {
			t.Fatalf("no piece at %d", at)
		}
		v.check(t, piece, at)
	}
	for at := uint64(n - 1); at > 0; at -= min(at, 7) {
		m.Seek(at)
		piece, _ := m.Next(5)
		v.check(t, piece, at)
	}
}
