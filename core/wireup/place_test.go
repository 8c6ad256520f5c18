package wireup

import (
	"slices"
	"testing"

	"lapi/core/processors"
)

// TestPlaces: what a card says comes out again, and tasks of other machines do not count.
func TestPlaces(t *testing.T) {
	w := where{machineID(), processors.Set{5, 9}}
	got := decodeWhere(w.append(nil))
	if got.machine != w.machine || !slices.Equal(got.may, w.may) {
		t.Errorf("%v became %v", w, got)
	}
	one := where{machineID(), processors.Set{1}}.append(nil)
	far := where{machineID() + 1, processors.Set{1}}.append(nil)
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
}
