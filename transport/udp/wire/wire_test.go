package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestHeader(t *testing.T) {
	h := Header{KindData, FlagAckNow, 5, 0x1234, 0x0807, 0x0a09, 0xfffffff0, 0x80000001,
		0xf00000000000000f, 0x01020304}
	var b [HeaderSize]byte
	h.Put(b[:])
	want := []byte{
		0x42, 0x29, 0x34, 0x12, 7, 8, 9, 0xa, 0, 0, 0, 0, 0, 0, 0, 0,
		0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0x80, 0xf, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, 4, 3, 2, 1,
	}
	if !bytes.Equal(b[:], want) {
		t.Errorf("bytes % x\nwant  % x", b, want)
	}
	var g Header
	if err := g.Decode(b[:]); err != nil || g != h {
		t.Errorf("decoded %+v, %v", g, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	var b [HeaderSize]byte
	(&Header{Kind: KindAck}).Put(b[:])
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrShort},
		{"short", b[:HeaderSize-1], ErrShort},
		{"version", append([]byte{0x12}, b[1:]...), ErrVersion},
		{"kind 0", append([]byte{0x40}, b[1:]...), ErrKind},
		{"kind 5", append([]byte{0x45}, b[1:]...), ErrKind},
		{"hello", append([]byte{0x41}, b[1:]...), ErrKind},
	} {
		var h Header
		if err := h.Decode(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestLength: the length that Length reads from a packet before it is known to be genuine.
func TestLength(t *testing.T) {
	out, _ := ends("key", LevelCookie)
	data := dataPacket(testFirst, 8, 100)
	out.Seal(data, nil, len(data))
	ack := ackPacket(3)
	out.Seal(ack, nil, len(ack))
	hello := make([]byte, HelloSize)
	(&Hello{Task: 1}).Put(hello, HelloKey{})
	for name, b := range map[string][]byte{"data": data, "ack": ack, "hello": hello} {
		if n := Length(append(append([]byte(nil), b...), b...)); n != len(b) {
			t.Errorf("%s of %d bytes: %d", name, len(b), n)
		}
	}
	short := append([]byte(nil), data...)
	short[lengthAt], short[lengthAt+1] = HeaderSize-1, 0
	for name, b := range map[string][]byte{"nothing": nil, "half a header": data[:HeaderSize-1],
		"another version": {0x12}, "too short a packet": short} {
		if n := Length(b); n != 0 {
			t.Errorf("%s: %d", name, n)
		}
	}
	borrowed := dataPacket(testFirst, 65000)
	head := borrowed[:len(borrowed)-65000]
	out.Seal(head, borrowed[len(head):], len(borrowed))
	if n := Length(head); n != len(borrowed) {
		t.Errorf("with data beside it: %d, not %d", n, len(borrowed))
	}
}

func TestSeq(t *testing.T) {
	for _, c := range []struct {
		a, b   Seq
		before bool
	}{{1, 2, true}, {2, 1, false}, {5, 5, false}, {0xffffffff, 0, true}, {0, 0xffffffff, false},
		{0xffffff00, 0xff, true}} {
		if c.a.Before(c.b) != c.before {
			t.Errorf("%#x before %#x: %v", c.a, c.b, !c.before)
		}
	}
	if !Seq(3).InWindow(0xfffffffe, 6) || Seq(4).InWindow(0xfffffffe, 6) ||
		Seq(0xfffffffd).InWindow(0xfffffffe, 6) {
		t.Error("a window over the wrap is wrong")
	}
}

func TestMessages(t *testing.T) {
	var b []byte
	add := func(id uint8, hdr, data string) {
		b = append(b, make([]byte, Align8(len(b))-len(b)+MessageSize)...)
		PutMessage(b[len(b)-MessageSize:], id, len(hdr), len(data))
		b = append(b, hdr...)
		b = append(b, data...)
	}
	add(1, "", "")
	add(2, "12345678", "abc")
	add(3, "", "0123456789")
	if n, err := Count(b); n != 3 || err != nil {
		t.Fatalf("count %d, %v", n, err)
	}
	if id, header, data := Split(b[MessageSize:]); id != 2 || header != MessageSize+8 ||
		data != header+3 {
		t.Errorf("split: id %d, header to %d, data to %d", id, header, data)
	}
	var m Message
	rest, _ := m.Next(b)
	rest, _ = m.Next(rest)
	if m.ID != 2 || string(m.Hdr) != "12345678" || string(m.Data) != "abc" || cap(m.Data) != 3 {
		t.Errorf("second message %+v", m)
	}
	if rest, err := m.Next(rest); err != nil || string(m.Data) != "0123456789" || len(rest) != 0 {
		t.Errorf("third message %+v, rest %d, %v", m, len(rest), err)
	}
	// the last message is damaged, or an earlier one and nothing follows
	for cut := 1; cut < len(b); cut++ {
		if n, err := Count(b[:cut]); err == nil && n == 3 {
			t.Errorf("cut at %d: %d messages", cut, n)
		}
	}
	for _, bad := range [][]byte{{1, 1, 0, 0, 0, 0, 0, 0}, {1, 0, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4},
		{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, {1, 0, 0xf8, 0xff, 0, 0, 0, 0}} {
		if _, err := m.Next(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("% x: %v", bad, err)
		}
	}
}

func TestHello(t *testing.T) {
	h := Hello{LevelMAC, FlagAnswer, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}
	b := make([]byte, HelloSize)
	key := NewHelloKey([]byte("secret"), LevelMAC, 4, 5)
	h.Put(b, key)
	var g Hello
	if err := g.Decode(b); err != nil || g != h {
		t.Errorf("decoded %+v, %v", g, err)
	}
	other := func(key string, level Level, origin, target uint32) bool {
		return Verify(b, NewHelloKey([]byte(key), level, origin, target))
	}
	if !Verify(b, key) || other("", LevelMAC, 4, 5) || other("Secret", LevelMAC, 4, 5) ||
		other("secret", LevelNone, 4, 5) || other("secret", LevelMAC, 5, 4) ||
		Verify(b[:HelloSize-1], key) {
		t.Error("a signature is judged wrongly")
	}
	for i := range b {
		b[i] ^= 1
		if Verify(b, key) {
			t.Errorf("byte %d is not protected", i)
		}
		b[i] ^= 1
	}
	if err := g.Decode(append(b, 0)); err == nil {
		t.Error("a longer Hello is taken")
	}
}

func FuzzDecode(f *testing.F) {
	var b [HeaderSize + 40]byte
	(&Header{Kind: KindData, Seq: 1}).Put(b[:])
	PutMessage(b[HeaderSize:], 1, 8, 3)
	f.Add(b[:])
	hello := make([]byte, HelloSize)
	(&Hello{Task: 1}).Put(hello, HelloKey{})
	f.Add(hello)
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := Length(b); n != 0 && (n < HeaderSize || n > 1<<16) {
			t.Errorf("a packet of %d bytes", n)
		}
		var h Header
		if h.Decode(b) == nil {
			var again [HeaderSize]byte
			h.Put(again[:])
			copy(again[checkAt:seqAt], b[checkAt:])
			copy(again[lengthAt:roomAt], b[lengthAt:]) // Seal's
			if !bytes.Equal(again[:], b[:HeaderSize]) {
				t.Errorf("% x is decoded and encoded as % x", b[:HeaderSize], again)
			}
			walk(t, b[HeaderSize:])
		}
		var g Hello
		if g.Decode(b) == nil {
			again := make([]byte, HelloSize)
			g.Put(again, HelloKey{})
			if !bytes.Equal(again[:helloSigned], b[:helloSigned]) {
				t.Errorf("Hello % x is decoded and encoded as % x", b[:helloSigned],
					again[:helloSigned])
			}
		}
	})
}

// walk takes messages and blocks off b and checks that they lie inside, in order.
func walk(t *testing.T, b []byte) {
	n, err := Count(b)
	rest := b
	for i := 0; i < n; i++ {
		var m Message
		before := len(rest)
		var e error
		if rest, e = m.Next(rest); e != nil {
			t.Fatalf("message %d of %d: %v", i, n, e)
		}
		if id, header, data := Split(b[len(b)-before:]); id != m.ID ||
			header != MessageSize+len(m.Hdr) || data != header+len(m.Data) {
			t.Fatalf("message %d is split at %d and %d", i, header, data)
		}
		if len(m.Hdr)%8 != 0 || len(m.Hdr)+len(m.Data)+MessageSize > before {
			t.Fatalf("message %d does not fit", i)
		}
	}
	if err == nil && len(rest) != 0 {
		t.Errorf("%d bytes are left over", len(rest))
	}
	var k Block
	for rest, err = b, nil; len(rest) > 0 && err == nil; {
		before := len(rest)
		if rest, err = k.Next(rest); err == nil && len(rest) != before-BlockSize {
			t.Fatal("a block has another length")
		}
	}
}
