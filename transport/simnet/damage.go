package simnet

import (
	"lapi/transport/udp/wire"
)

// Level is how packets are authenticated (LAPI_AUTH), which decides what damage they are safe against.
type Level uint8

// Levels.
const (
	LevelNone Level = iota
	LevelCookie
	LevelMAC
)

func (l Level) String() string { return [...]string{"none", "cookie", "mac"}[l] }

// forge makes packet i one that must not be believed: cut short, of another version, of another session, or noise.
func (s *Net) forge(i int32) {
	k, r := &s.packets.all[i], s.random
	k.damaged = true
	switch r.IntN(4) {
	case 0:
		n := r.IntN(min(len(k.b), wire.HeaderSize))
		k.b = k.b[:n:n]
	case 1:
		k.b[0] ^= 0xf0
	case 2:
		k.b[8+r.IntN(8)] ^= 1 << r.IntN(8) // the cookie, or what a Hello's signature covers
	case 3:
		for j := range k.b {
			k.b[j] = byte(r.Uint32())
		}
	}
}

// damage flips some bits of packet i: anywhere if the protocol is to notice, else where it does: in the header.
func (s *Net) damage(i int32) {
	k, r := &s.packets.all[i], s.random
	s.Counts.Damaged++
	k.damaged = true
	first, n := 0, len(k.b)
	if !s.payload {
		first, n = guarded(k.b)
	}
	for range 1 + r.IntN(4) {
		j := first + r.IntN(n)
		k.b[j] ^= 1 << r.IntN(8)
	}
	s.note("damaged", i)
}

// guarded is the part of a packet in which the protocol notices every flipped bit at any level.
func guarded(b []byte) (first, n int) {
	if kind, _ := wire.KindOf(b); kind == wire.KindHello {
		return 0, len(b)
	}
	return 8, 8
}
