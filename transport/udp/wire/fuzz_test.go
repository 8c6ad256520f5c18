package wire

import (
	"bytes"
	"testing"
)

// FuzzOpen: a packet that a Secret opens was sealed, in all that the level covers; whatever it
// holds, opening ends.
func FuzzOpen(f *testing.F) {
	for _, b := range packets() {
		if len(b) < 5000 {
			f.Add(b, 0, byte(0), byte(0))
			f.Add(b, 40, byte(1), byte(1))
			f.Add(b[:len(b)*2/3], 8, byte(255), byte(2))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, at int, flip, l byte) {
		level := levels[int(l)%len(levels)]
		out, in := ends("key", level)
		if in.Open(append([]byte(nil), b...)) {
			t.Fatal("a packet that nobody has sealed is opened")
		}
		if len(b) < HeaderSize || len(b) > MaxDatagram {
			return
		}
		covered, ok := front(b, len(b))
		if !ok {
			return
		}
		if level == LevelMAC {
			covered = len(b)
		}
		sealed := append([]byte(nil), b...)
		out.Seal(sealed, nil, len(sealed))
		if !in.Open(append([]byte(nil), sealed...)) {
			t.Fatal("a sealed packet is not opened")
		}
		if !bytes.Equal(sealed[seqAt:lengthAt], b[seqAt:lengthAt]) ||
			!bytes.Equal(sealed[lengthAt+2:], b[lengthAt+2:]) ||
			!bytes.Equal(sealed[:checkAt], b[:checkAt]) {
			t.Fatal("sealing changes more than check and length")
		}
		if at = max(at, 0) % max(covered, 1); flip != 0 && at < len(sealed) {
			sealed[at] ^= flip
			if in.Open(sealed) {
				t.Fatalf("%v: byte %d of %d does not count", level, at, covered)
			}
		}
	})
}
