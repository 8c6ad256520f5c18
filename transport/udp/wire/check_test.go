package wire

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var levels = []Level{LevelCookie, LevelMAC, LevelNone}

const testFirst = Seq(1<<32 - 100)

// ends is both ends' idea of one direction.
func ends(key string, level Level) (out, in *Secret) {
	a, b := Side{1, 2, 3}, Side{4, 5, 6}
	return NewSecret([]byte(key), level, a, b, testFirst),
		NewSecret([]byte(key), level, a, b, testFirst)
}

// dataPacket has a message for each length.
func dataPacket(seq Seq, lengths ...int) []byte {
	b := make([]byte, HeaderSize)
	(&Header{Kind: KindData, Task: 1, Seq: seq, Ack: testFirst}).Put(b)
	for i, n := range lengths {
		b = append(b, make([]byte, Align8(len(b))-len(b)+MessageSize+48+n)...)
		PutMessage(b[len(b)-n-48-MessageSize:], uint8(i+1), 48, n)
		for j := range b[len(b)-n-48:] {
			b[len(b)-n-48+j] = byte(j)
		}
	}
	return b
}

func ackPacket(blocks int) []byte {
	b := make([]byte, HeaderSize+blocks*BlockSize)
	(&Header{Kind: KindAck, Task: 1, Ack: testFirst}).Put(b)
	for i := range blocks {
		(&Block{First: testFirst + Seq(i)*BlockSpan, Received: 5}).Put(b[HeaderSize+i*BlockSize:])
	}
	return b
}

// partPacket holds a part of n bytes of a longer packet.
func partPacket(n int) []byte {
	const front = HeaderSize + MessageSize + PartSize
	b := make([]byte, front+n)
	(&Header{Kind: KindData, Task: 1, Seq: testFirst, Ack: testFirst}).Put(b)
	PutMessage(b[HeaderSize:], PartID, PartSize, n)
	(&Part{Of: testFirst, Total: 2 * n, Keep: 2 * n}).Put(b[front-PartSize:])
	return b
}

func packets() map[string][]byte {
	return map[string][]byte{
		"empty": dataPacket(testFirst), "small": dataPacket(testFirst, 8),
		"no data": dataPacket(testFirst, 0), "odd": dataPacket(testFirst, 13),
		"several": dataPacket(testFirst, 8, 3, 0, 100),
		"many":    dataPacket(testFirst, make([]int, 64)...), "long": dataPacket(testFirst, 4000),
		"long last": dataPacket(testFirst, 600, 60, 1400), "huge": dataPacket(testFirst, 65000),
		"ack": ackPacket(0), "part": partPacket(1200), "blocks": ackPacket(8),
		"short by one":    dataPacket(testFirst, shortCheck-HeaderSize-MessageSize-48),
		"too long by one": dataPacket(testFirst, shortCheck-HeaderSize-MessageSize-47),
	}
}

// TestFlips: each bit of what a level covers counts: all at mac, else all but the last message's
// data.
func TestFlips(t *testing.T) {
	for _, level := range levels {
		for name, b := range packets() {
			out, in := ends("key", level)
			out.Seal(b, nil, len(b))
			covered, _ := front(b, len(b))
			if level == LevelMAC {
				covered = len(b)
			}
			if !in.Open(append([]byte(nil), b...)) {
				t.Fatalf("%v, %s: the packet is not accepted", level, name)
			}
			buf := make([]byte, len(b))
			step := 1 + covered/500
			for bit := 0; bit < 8*covered; bit += step {
				copy(buf, b)
				buf[bit/8] ^= 1 << (bit % 8)
				if in.Open(buf) {
					t.Fatalf("%v, %s: bit %d does not count", level, name, bit)
				}
			}
			for cut := 0; cut < len(b); cut += 1 + len(b)/300 {
				if in.Open(append([]byte(nil), b[:cut]...)) {
					t.Fatalf("%v, %s: accepted when cut to %d of %d bytes", level, name, cut,
						len(b))
				}
			}
		}
	}
}

// TestLentData: data beside the packet's own memory gives the same check as data in it.
func TestLentData(t *testing.T) {
	for _, level := range levels {
		for _, n := range []int{0, 1, 8, 300, 424, 425, 4000, 65000} {
			out, in := ends("key", level)
			b := dataPacket(testFirst, n)
			head := append([]byte(nil), b[:len(b)-n]...)
			out.Seal(head, b[len(b)-n:], len(b))
			if !in.Open(append(head, b[len(b)-n:]...)) {
				t.Errorf("%v: a packet that lends %d bytes is not accepted", level, n)
			}
		}
	}
}

// TestSecrets: everything that a session is made of counts.
func TestSecrets(t *testing.T) {
	a, b := Side{1, 2, 3}, Side{4, 5, 6}
	key := []byte("k")
	seen := map[string]string{}
	for name, s := range map[string]*Secret{
		"there": NewSecret(key, LevelCookie, a, b, 1), "back": NewSecret(key, LevelCookie, b, a, 1),
		"key":    NewSecret([]byte("K"), LevelCookie, a, b, 1),
		"no key": NewSecret(nil, LevelCookie, a, b, 1), "mac": NewSecret(key, LevelMAC, a, b, 1),
		"none":        NewSecret(key, LevelNone, a, b, 1),
		"nonce":       NewSecret(key, LevelCookie, Side{1, 2, 9}, b, 1),
		"incarnation": NewSecret(key, LevelCookie, Side{1, 9, 3}, b, 1),
		"task":        NewSecret(key, LevelCookie, Side{9, 2, 3}, b, 1),
		"their nonce": NewSecret(key, LevelCookie, a, Side{4, 5, 9}, 1),
	} {
		p := dataPacket(1, 2000) // at mac GMAC's key counts, too
		s.Seal(p, nil, len(p))
		check := fmt.Sprint(p[checkAt:seqAt])
		if seen[check] != "" {
			t.Errorf("%q and %q have the same secret", name, seen[check])
		}
		seen[check] = name
	}
	p := dataPacket(testFirst, 8)
	NewSecret([]byte("one"), LevelNone, a, b, testFirst).Seal(p, nil, len(p))
	if !NewSecret([]byte("other"), LevelNone, a, b, testFirst).Open(p) {
		t.Error("the key counts at level none")
	}
}

// TestOldNumbers: a packet, or an acknowledgement, from before the numbers wrapped around is not
// valid now; the sequence goes on.
func TestOldNumbers(t *testing.T) {
	out, in := ends("key", LevelCookie)
	send := func(seq, ack Seq) []byte {
		b := dataPacket(seq, 8)
		binary.LittleEndian.PutUint32(b[ackAt:], uint32(ack))
		out.Seal(b, nil, len(b))
		return b
	}
	open := func(b []byte) bool { return in.Open(append([]byte(nil), b...)) }
	old := send(testFirst, testFirst)
	bare := ackPacket(0)
	out.Seal(bare, nil, len(bare))
	//lint:ignore SA4000 twice on purpose
	if !open(old) || !open(old) || !open(bare) {
		t.Fatal("an old packet was not accepted when it was new, or once more within the window")
	}
	for step, n := Seq(1<<30), 1; n <= 5; n++ { // both numbers go round the circle
		s := testFirst + step*Seq(n)
		if !open(send(s, s)) {
			t.Fatalf("the packet after %d quarters is not accepted", n)
		}
		if n >= 3 && (open(old) || open(bare)) {
			t.Errorf("an old packet is accepted after %d quarters", n)
		}
	}
	if s := Seq(1<<30 - 300); !open(send(s, s)) {
		t.Error("a late packet of now is not accepted")
	}
}

// TestReplays: packets from any part of the past come again, in any order, between current packets,
// which all open, late ones too. A packet that opens again is of the last half of the numbers'
// round, and so a duplicate by its number.
func TestReplays(t *testing.T) {
	type packet struct {
		at uint64 // its number, with the high half
		b  []byte
	}
	for _, level := range levels {
		out, in := ends("key", level)
		seal := func(at uint64, b []byte) packet {
			binary.LittleEndian.PutUint32(b[ackAt:], uint32(at))
			out.Seal(b, nil, len(b))
			return packet{at, b}
		}
		open := func(p packet) bool { return in.Open(slices.Clone(p.b)) }
		r := rand.New(rand.NewPCG(uint64(level), 5))
		now, opened, past := uint64(testFirst), 0, []packet(nil)
		for step := range 2000 {
			newest := now
			now += 1 + r.Uint64N(2048)<<r.IntN(20)
			next, ack := seal(now, dataPacket(Seq(now), 8)), seal(now, ackPacket(0))
			late := seal(now-1000, dataPacket(Seq(now-1000), 8))
			for range min(len(past), 5) {
				if old := past[r.IntN(len(past))]; open(old) {
					if opened++; newest-old.at > 1<<31 {
						t.Fatalf("%v: a packet opens that is %d numbers old", level,
							newest-old.at)
					}
				}
			}
			if !open(next) || !open(ack) || !open(late) {
				t.Fatalf("%v: after replays, a packet of step %d does not open", level, step)
			}
			past = append(past, next, ack, late)
		}
		if opened == 0 {
			t.Errorf("%v: no replay was recent enough to open", level)
		}
	}
}

func TestMalformedIsNotOpened(t *testing.T) {
	_, in := ends("key", LevelCookie)
	b := dataPacket(testFirst, 8)
	binary.LittleEndian.PutUint32(b[HeaderSize+4:], 1<<31)
	if in.Open(b) || in.Open(b[:HeaderSize-1]) || in.Open(nil) {
		t.Error("accepted")
	}
}

func TestLevels(t *testing.T) {
	if s := fmt.Sprint(levels, Level(7)); s != "[cookie mac none] level 7" {
		t.Error(s)
	}
	if PartitionHash("a") == PartitionHash("b") || !strings.Contains(public, "no secret") {
		t.Error("two partitions are one")
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	for _, level := range levels {
		for name, b := range packets() {
			out, in := ends("key", level)
			if n := testing.AllocsPerRun(20, func() {
				out.Seal(b, nil, len(b))
				if !in.Open(b) {
					t.Error("not accepted")
				}
				out.Seal(b, nil, len(b)) // Open leaves the packet's check changed
			}); n != 0 {
				t.Errorf("%v, %s: %v allocations", level, name, n)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, level := range levels[:2] {
		for _, n := range []int{8, 1024, 65000} {
			p := dataPacket(testFirst, n)
			out, _ := ends("key", level)
			b.Run(fmt.Sprintf("%v/%d", level, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					out.Seal(p, nil, len(p))
				}
			})
		}
		p := dataPacket(testFirst, make([]int, 64)...)
		out, _ := ends("key", level)
		b.Run(fmt.Sprintf("%v/64x0", level), func(b *testing.B) {
			for b.Loop() {
				out.Seal(p, nil, len(p))
			}
		})
	}
}

// TestAckAfterEitherHalf: an Ack is accepted whether the last Data packet that arrived, or that was
// sent, is from before or after the wrap.
func TestAckAfterEitherHalf(t *testing.T) {
	for _, arrived := range []Seq{testFirst, 5} {
		out, in := ends("key", LevelCookie)
		for _, seq := range []Seq{testFirst, 5} {
			b := dataPacket(seq, 8)
			out.Seal(b, nil, len(b))
			if seq == arrived && !in.Open(b) {
				t.Fatal("a data packet is not believed")
			}
		}
		b := ackPacket(1)
		if out.Seal(b, nil, len(b)); !in.Open(b) {
			t.Errorf("an Ack after %#x is not believed", uint32(arrived))
		}
	}
}
