package processors

import (
	"slices"
	"testing"
)

// TestShares: who shares processors is a matter of what each task may use, not of how many tasks
// and processors there are.
func TestShares(t *testing.T) {
	both, first, second, third := Set{3}, Set{1}, Set{2}, Set{4}
	for name, c := range map[string]struct {
		tasks []Set
		want  []bool
	}{
		"as many as tasks":       {[]Set{both, both}, []bool{false, false}},
		"fewer":                  {[]Set{both, both, both}, []bool{true, true, true}},
		"each bound to one":      {[]Set{first, second, third}, []bool{false, false, false}},
		"two bound to the same":  {[]Set{first, first, third}, []bool{true, true, false}},
		"one bound among others": {[]Set{both, first}, []bool{false, false}},
		"no way out":             {[]Set{both, first, second, third}, []bool{true, true, true, false}},
		"must be given away":     {[]Set{{7}, both, first}, []bool{false, false, false}},
		"many words":             {[]Set{{0, 1}, {0, 0, 1}, {0, 1}}, []bool{true, false, true}},
		"alone":                  {[]Set{first}, []bool{false}},
	} {
		for range 2 {
			if got := Shares(c.tasks); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
			slices.Reverse(c.tasks)
			slices.Reverse(c.want)
		}
	}
}

// TestSetIsRead: what one process says of its processors another reads, and refuses what cannot be.
func TestSetIsRead(t *testing.T) {
	own := Own()
	if len(own) == 0 || slices.Equal(own, make(Set, len(own))) {
		t.Errorf("this thread may run on %v", own)
	}
	for _, s := range []Set{own, {5, 9}, make(Set, most/64)} {
		if got, ok := Decode(s.Append(nil)); !ok || !slices.Equal(got, s) {
			t.Errorf("%v became %v", s, got)
		}
	}
	for _, n := range []int{1, 9, most/8 + 8} {
		if s, ok := Decode(make([]byte, n)); ok {
			t.Errorf("%d bytes are %v", n, s)
		}
	}
}
