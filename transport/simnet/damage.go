package simnet

import (
	"lapi/transport/udp/wire"
)

// stray makes a packet that must not be believed, after the model of packet i: one of earlier
// again, or one cut short, of another version, with another check, or noise.
func (s *Net) stray(i int32) int32 {
	if s.random.IntN(3) == 0 {
		if j := s.replay(); j >= 0 {
			return j
		}
	}
	j := s.copyOf(i)
	s.forge(j)
	return j
}

// A packet in remembered is replaced after keepTimes packets, on the average.
const (
	remembered = 16
	keepTimes  = 50
)

// remember keeps packet i for a replay perhaps, much later.
func (s *Net) remember(i int32) {
	if len(s.earlier) < remembered {
		s.earlier = append(s.earlier, s.copyOf(i))
		return
	}
	if n := s.random.IntN(remembered * keepTimes); n < remembered {
		s.packets.drop(s.earlier[n])
		s.earlier[n] = s.copyOf(i)
	}
}

// replay is a copy of a packet of earlier; -1: there is none.
func (s *Net) replay() int32 {
	if len(s.earlier) == 0 {
		return -1
	}
	s.Counts.Replayed++
	return s.copyOf(s.earlier[s.random.IntN(len(s.earlier))])
}

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
		k.b[8+r.IntN(8)] ^= 1 << r.IntN(8) // the check, or what a Hello's signature covers
	case 3:
		for j := range k.b {
			k.b[j] = byte(r.Uint32())
		}
	}
}

// damage flips some bits of packet i: anywhere if the protocol is to notice, else where it does: in
// the header.
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

// guarded is the part of a packet in which the protocol notices every flipped bit at any level: all
// but the data of the last message.
func guarded(b []byte) (first, n int) {
	n = len(b)
	if kind, err := wire.KindOf(b); err != nil || kind != wire.KindData || isPart(b) {
		return 0, n
	}
	for rest := b[min(wire.HeaderSize, len(b)):]; len(rest) > 0; {
		var m wire.Message
		var err error
		if rest, err = m.Next(rest); err != nil {
			return 0, n
		}
		n = len(b) - len(m.Data)
	}
	return 0, n
}
