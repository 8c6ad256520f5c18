package proved

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"lapi/core/job/wire"
)

func pair(t *testing.T) (calling, hosting net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if calling, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if hosting, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { calling.Close(); hosting.Close() })
	return calling, hosting
}

// meet has two sides with these job keys meet; c is what the caller's stream sends by.
func meet(t *testing.T, callers, hosts []byte, purpose string) (c, h *Stream, err, hostErr error) {
	t.Helper()
	a, b := pair(t)
	side := func(conn net.Conn, key []byte, purpose string, d Direction) *Stream {
		derived, err := Key(key, purpose)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(conn, derived, d)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c, h = side(a, callers, "one", ToHost), side(b, hosts, purpose, ToCaller)
	answered := make(chan error, 1)
	go func() {
		_, err := h.Challenge(NewOpening(1, true))
		answered <- err
	}()
	_, err = c.Greet(NewOpening(1, true))
	return c, h, err, <-answered
}

func any(Kind) int { return 100 }

// Whoever lacks the key, or has one for something else, is found out by the other.
func TestKeys(t *testing.T) {
	key, wrong := bytes.Repeat([]byte{7}, wire.KeySize), bytes.Repeat([]byte{8}, wire.KeySize)
	for name, c := range map[string]struct {
		callers, hosts []byte
		purpose        string
	}{"caller": {wrong, key, "one"}, "host": {key, wrong, "one"}, "no key": {nil, key, "one"},
		"purpose": {key, key, "other"}} {
		caller, host, err, hostErr := meet(t, c.callers, c.hosts, c.purpose)
		if !errors.Is(err, ErrUnproved) || hostErr != nil {
			t.Errorf("%s: %v, %v", name, err, hostErr)
		}
		if err := caller.Send(1, NewContent(nil)); err != nil { // which ignores the error
			t.Fatal(err)
		}
		if _, _, err := host.Receive(any); !errors.Is(err, ErrUnproved) {
			t.Errorf("%s is heard: %v", name, err)
		}
	}
}

// A message that is altered, cut, repeated, left out or sent back on its way is detected.
func TestMessages(t *testing.T) {
	key := bytes.Repeat([]byte{7}, wire.KeySize)
	for name, c := range map[string]struct {
		alter func(one, two []byte) []byte
		good  int // messages that are taken
	}{
		"as it is": {func(one, two []byte) []byte { return append(one, two...) }, 2},
		"altered":  {func(one, two []byte) []byte { one[len(one)-1] ^= 1; return one }, 0},
		"proof":    {func(one, two []byte) []byte { one[9] ^= 1; return one }, 0},
		"kind":     {func(one, two []byte) []byte { one[0] ^= 1; return one }, 0},
		"length":   {func(one, two []byte) []byte { one[4]--; return one }, 0},
		"long":     {func(one, two []byte) []byte { one[7] = 0xff; return one }, 0},
		"repeated": {func(one, two []byte) []byte { return append(one, one...) }, 1},
		"left out": {func(one, two []byte) []byte { return two }, 0},
		"turned":   {func(one, two []byte) []byte { return append(two, one...) }, 0},
	} {
		caller, host, err, hostErr := meet(t, key, key, "one")
		if err != nil || hostErr != nil {
			t.Fatal(err, hostErr)
		}
		var said [2][]byte
		for i, text := range []string{"hello", "again"} {
			content := NewContent([]byte(text))
			b := []byte{3, 0, 0, 0, byte(len(text)), 0, 0, 0}
			b = append(b, caller.prove.proof(ToHost, 3, uint64(i), len(text), content.hash)...)
			said[i] = append(b, text...)
		}
		if _, err := caller.Write(c.alter(bytes.Clone(said[0]), bytes.Clone(said[1]))); err != nil {
			t.Fatal(err)
		}
		caller.Close()
		got := 0
		for {
			kind, b, err := host.Receive(any)
			if err != nil {
				break
			}
			if text := []string{"hello", "again"}[got]; kind != 3 || string(b) != text {
				t.Errorf("%s: message %d is %d %q", name, got, kind, b)
			}
			got++
		}
		if got != c.good {
			t.Errorf("%s: %d messages are taken", name, got)
		}
	}
	caller, host, _, _ := meet(t, key, key, "one")
	if err := host.Send(3, NewContent(nil)); err != nil {
		t.Fatal(err)
	}
	sentBack := make([]byte, HeadSize)
	if _, err := caller.TCPConn.Read(sentBack); err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Write(sentBack); err != nil {
		t.Fatal(err)
	}
	if _, _, err := host.Receive(any); !errors.Is(err, ErrUnproved) {
		t.Errorf("what was sent back is taken: %v", err)
	}
}

// FuzzOpening: what is read of an opening is what was written.
func FuzzOpening(f *testing.F) {
	o := NewOpening(1, true)
	f.Add(o.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		o, read, err := readOpening(bytes.NewReader(b))
		if err != nil {
			return
		}
		again := o.Encode()
		again[len(magic)+3] = read[len(magic)+3] // for later versions
		if !bytes.Equal(again, b[:OpeningSize]) {
			t.Fatalf("%x gives %x", b, again)
		}
	})
}
