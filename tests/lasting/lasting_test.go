package lasting

import "testing"

// TestFixture: a value serves its number of inputs, and is discarded after them or when it is spoilt.
func TestFixture(t *testing.T) {
	made, discarded := 0, 0
	create := func(t testing.TB) *testing.TB {
		made++
		t.Cleanup(func() { discarded++ })
		return &t
	}
	x := &Fixture[*testing.TB]{create: create, inputs: 3}
	for i := range 7 {
		t.Run("", func(t *testing.T) {
			value, anew := x.For(t)
			if anew != (i%3 == 0) || (*value).Name() != t.Name() {
				t.Errorf("input %d: anew %v, the test %q", i, anew, (*value).Name())
			}
		})
	}
	if made != 3 || discarded != 2 {
		t.Errorf("%d values were made and %d discarded for 7 inputs", made, discarded)
	}
	x.Spoil()
	if _, anew := x.For(t); !anew || discarded != 3 {
		t.Errorf("after Spoil: anew %v, %d discarded", anew, discarded)
	}
	x.Spoil()
}
