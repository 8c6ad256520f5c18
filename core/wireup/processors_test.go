package wireup

import (
	"slices"
	"testing"
)

// TestShares: which tasks share processors is a matter of what each task may use, not of how many
// tasks and processors there are.
func TestShares(t *testing.T) {
	both, first, second, third := processors{3}, processors{1}, processors{2}, processors{4}
	for name, c := range map[string]struct {
		tasks []processors
		want  []bool
	}{
		"as many as tasks":       {[]processors{both, both}, []bool{false, false}},
		"fewer":                  {[]processors{both, both, both}, []bool{true, true, true}},
		"each bound to one":      {[]processors{first, second, third}, []bool{false, false, false}},
		"two bound to the same":  {[]processors{first, first, third}, []bool{true, true, false}},
		"one bound among others": {[]processors{both, first}, []bool{false, false}},
		"no way out":             {[]processors{both, first, second, third}, []bool{true, true, true, false}},
		"must be given away":     {[]processors{{7}, both, first}, []bool{false, false, false}},
		"many words":             {[]processors{{0, 1}, {0, 0, 1}, {0, 1}}, []bool{true, false, true}},
		"alone":                  {[]processors{first}, []bool{false}},
	} {
		for range 2 {
			if got := shares(c.tasks); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
			slices.Reverse(c.tasks)
			slices.Reverse(c.want)
		}
	}
}

// TestPlaces: what a card says comes out again, and tasks of other machines do not count.
func TestPlaces(t *testing.T) {
	w := where{machineID(), processors{5, 9}}
	got := decodeWhere(w.append(nil))
	if got.machine != w.machine || !slices.Equal(got.may, w.may) {
		t.Errorf("%v became %v", w, got)
	}
	one := where{machineID(), processors{1}}.append(nil)
	far := where{machineID() + 1, processors{1}}.append(nil)
	for name, c := range map[string]struct {
		places       [][]byte
		me           int
		crowded, any bool
	}{
		"another machine": {[][]byte{one, far, far}, 0, false, false},
		"here":            {[][]byte{far, one, one}, 2, true, true},
	} {
		n := &Net{me: c.me}
		n.chooseProcessors(c.places)
		if n.Crowded() != c.crowded || n.AnyCrowded() != c.any {
			t.Errorf("%s: %v, %v", name, n.Crowded(), n.AnyCrowded())
		}
	}
	if p := ownProcessors(); len(p) == 0 || slices.Equal(p, make(processors, len(p))) {
		t.Errorf("this thread may run on %v", p)
	}
}
