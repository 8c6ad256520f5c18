package wire

import (
	"encoding/binary"
	"testing"
)

// TestOldNumberOfEither: each of the two numbers by itself makes a packet from before it wrapped
// around invalid.
func TestOldNumberOfEither(t *testing.T) {
	for _, moves := range []struct{ seq, ack bool }{{true, false}, {false, true}} {
		out, in := ends("key", LevelCookie)
		send := func(n Seq) []byte {
			seq, ack := testFirst, testFirst
			if moves.seq {
				seq += n
			}
			if moves.ack {
				ack += n
			}
			b := dataPacket(seq, 8)
			binary.LittleEndian.PutUint32(b[ackAt:], uint32(ack))
			out.Seal(b, nil, len(b))
			return b
		}
		open := func(b []byte) bool { return in.Open(append([]byte(nil), b...)) }
		old := send(0)
		if !open(old) {
			t.Fatal("a new packet is not accepted")
		}
		for range 5 {
			const step = Seq(1 << 30)
			last := Seq(0)
			for n := step; n != last; n += step { // once round the circle, in quarters
				if !open(send(n)) {
					t.Fatalf("%+v: a packet of now is not accepted", moves)
				}
			}
			if open(old) {
				t.Fatalf("%+v: the oldest packet is accepted a round later", moves)
			}
		}
	}
}
