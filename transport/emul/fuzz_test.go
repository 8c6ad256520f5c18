package emul

import (
	"bytes"
	"testing"
)

// FuzzWire: a decoded request is encoded as it was, but for the bytes that mean nothing.
func FuzzWire(f *testing.F) {
	f.Add(make([]byte, requestSize))
	f.Add(make([]byte, replySize))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r request
		if r.decode(b) {
			var again [requestSize]byte
			if r.encode(&again); !bytes.Equal(again[8:], b[8:]) || !bytes.Equal(again[:2], b[:2]) {
				t.Errorf("% x becomes % x", b, again)
			}
		}
		var p reply
		if p.decode(b) {
			var again [replySize]byte
			if p.encode(&again); !bytes.Equal(again[8:], b[8:]) || again[0] != b[0] {
				t.Errorf("% x becomes % x", b, again)
			}
		}
	})
}
