package dat

import (
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/simnet"
)

// TestAtomicArguments: what is wrong with an atomic operation is said of the argument that it is
// wrong with, whose number differs between the two calls.
func TestAtomicArguments(t *testing.T) {
	w := newWorld(t, 1, 2, simnet.Way{})
	p, q := w.procs[0], w.procs[1]
	a, b := p.end(nil), q.end(nil)
	w.connect(a, b)
	for _, c := range []struct {
		what                string
		local               Triplet
		remote              Triplet
		fetchAdd, compareTo codes.Return
	}{
		{"short", p.part(0, 4), q.part(0, 8), codes.Arg(3), codes.Arg(4)},
		{"local address", p.part(4, 8), q.part(0, 8), codes.Arg(3), codes.Arg(4)},
		{"remote address", p.part(0, 8), q.part(4, 8), codes.Arg(5), codes.Arg(6)},
		{"good", p.part(0, 8), q.part(0, 8), codes.Success, codes.Success},
	} {
		for op, want := range map[rc.Op]codes.Return{rc.FetchAdd: c.fetchAdd,
			rc.CompareSwap: c.compareTo} {
			if got := a.ep.Post(PostArgs{Op: op, Triplets: []Triplet{c.local},
				Remote: c.remote}); got != want {
				t.Errorf("%s, operation %d: %#x, not %#x", c.what, op, got, want)
			}
		}
	}
}
