package dat

import (
	"bytes"
	"testing"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
)

// FuzzGreeting: what comes by a line is read or refused, and believed only with the secret.
func FuzzGreeting(f *testing.F) {
	pair, me := cm.Secret{1}, cm.PublicKey{2}
	g := greeting{from: cm.PublicKey{3}, to: me, address: []byte("address")}
	good := g.seal(pair, wire.Hello, 4)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, ok := readGreeting(b)
		m := &wire.Message{Kind: wire.Hello, Number: 4, Data: b}
		if proved := ok && g.proved(pair, me, m); proved != bytes.Equal(b, good) {
			t.Errorf("%x is proved: %v", b, proved)
		}
		if m.Number++; ok && g.proved(pair, me, m) {
			t.Errorf("%x is proved for another link", b)
		}
		if ok && g.proved(cm.Secret{5}, me, m) || ok && g.proved(pair, cm.PublicKey{6}, m) {
			t.Errorf("%x is proved by or for others", b)
		}
	})
}
