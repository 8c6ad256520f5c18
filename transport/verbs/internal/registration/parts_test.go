package registration

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A set of addresses against a set with a bit for each.
func TestIntervals(t *testing.T) {
	const space = 64
	r := rand.New(rand.NewPCG(1, 2))
	var s intervals
	var model [space]bool
	for range 20000 {
		lo := r.Uint64N(space - 1)
		hi := lo + 1 + r.Uint64N(min(space-lo-1, 12)+1)
		hi = min(hi, space)
		every, some := true, false
		for i := lo; i < hi; i++ {
			every, some = every && model[i], some || model[i]
		}
		switch r.IntN(4) {
		case 0:
			s.add(lo, hi)
			for i := lo; i < hi; i++ {
				model[i] = true
			}
		case 1:
			s.remove(lo, hi)
			for i := lo; i < hi; i++ {
				model[i] = false
			}
		case 2:
			if got := s.covers(lo, hi); got != every {
				t.Fatalf("covers(%d, %d) of %v: %v", lo, hi, s, got)
			}
		case 3:
			if got := s.overlaps(lo, hi); got != some {
				t.Fatalf("overlaps(%d, %d) of %v: %v", lo, hi, s, got)
			}
		}
		for i, v := range s {
			if v.lo >= v.hi || i > 0 && s[i-1].hi >= v.lo {
				t.Fatalf("not sorted, disjoint and apart: %v", s)
			}
		}
	}
}

const someMaps = `00400000-00401000 r-xp 00000000 08:01 12                 /bin/prog name
00401000-00403000 rw-p 00001000 08:01 12                 /bin/prog name
00403000-00409000 rw-p 00000000 00:00 0
01000000-01100000 rw-p 00000000 00:00 0                  [heap]
7f0000000000-7f0000010000 rw-p 00000000 00:00 0
7f0000010000-7f0000020000 r--p 00000000 00:00 0          [anon:a name]
7f0000020000-7f0000030000 rw-s 00000000 00:01 77         /dev/zero (deleted)
7f0000030000-7f0000040000 rw-s 00000000 00:01 5          /SYSV00000000 (deleted)
7f0000040000-7f0000050000 rw-p 00000000 00:0f 99         /anon_hugepage (deleted)
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0          [stack]
7ffd00030000-7ffd00031000 r-xp 00000000 00:00 0          [vdso]
`

func TestHull(t *testing.T) {
	for _, c := range []struct{ lo, hi, from, to uint64 }{
		{0x403010, 0x403020, 0x403000, 0x409000},
		{0x1000000, 0x1100000, 0x1000000, 0x1100000},
		{0x7f000000ffff, 0x7f0000010001, 0x7f0000000000, 0x7f0000020000},
		{0x7ffd00020000, 0x7ffd00021000, 0x7ffd00000000, 0x7ffd00021000},
		{0x7f0000021000, 0x7f0000022000, 0x7f0000020000, 0x7f0000030000}, // shared
		{0x402ff0, 0x403010, 0, 0},                                       // a file
		{0x408000, 0x40a000, 0, 0},                                       // ends before
		{0x40a000, 0x40b000, 0, 0},                                       // a hole
		{0xffffff, 0x1000001, 0, 0},                                      // begins after
		{0x7f000001f000, 0x7f0000021000, 0, 0},                           // shared
		{0x7f0000030000, 0x7f0000030001, 0, 0},                           // System V
		{0x7f0000040000, 0x7f0000040001, 0, 0},                           // huge pages
		{0x7ffd00030000, 0x7ffd00030001, 0, 0},                           // the kernel's
		{0x7ffe00000000, 0x7ffe00000001, 0, 0},                           // beyond all
	} {
		at, _, err := hull(strings.NewReader(someMaps), c.lo, c.hi)
		if c.to == 0 && err == nil || c.to != 0 && (err != nil || at != interval{c.from, c.to}) {
			t.Errorf("%#x to %#x: %#x, %v", c.lo, c.hi, at, err)
		}
	}
	if _, _, err := hull(strings.NewReader("nonsense\n"), 1, 2); err == nil {
		t.Error("nonsense is taken for a mapping")
	}
}
