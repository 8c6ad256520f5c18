package wire

import "testing"

func TestPart(t *testing.T) {
	want := Part{Of: 7, Offset: 640, Total: 1000, Keep: 900}
	b := make([]byte, PartSize)
	want.Put(b)
	var got Part
	if err := got.Decode(b, 360); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// Nothing that does not fit is taken, however it is wrong.
func TestMalformedParts(t *testing.T) {
	for name, k := range map[string]struct {
		part   Part
		header int
		n      int
	}{
		"a short header":   {Part{Total: 100}, PartSize - 8, 50},
		"a long header":    {Part{Total: 100}, PartSize + 8, 50},
		"nothing":          {Part{Total: 100}, PartSize, 0},
		"behind the end":   {Part{Offset: 100, Total: 100}, PartSize, 1},
		"across the end":   {Part{Offset: 64, Total: 100}, PartSize, 37},
		"too long a whole": {Part{Total: MaxDatagram - HeaderSize + 1}, PartSize, 8},
		"an offset so far": {Part{Offset: 1<<32 - 8, Total: 100}, PartSize, 8},
		"keeps too much":   {Part{Total: 100, Keep: 101}, PartSize, 8},
	} {
		b := make([]byte, PartSize+8)
		k.part.Put(b)
		var got Part
		if got.Decode(b[:k.header], k.n) == nil {
			t.Errorf("%s is taken: %+v", name, got)
		}
	}
}
