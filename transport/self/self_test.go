package self_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/self"
)

func newLink(t testing.TB) *self.Link {
	t.Helper()
	memory.Guard()
	l, err := self.New(clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestConnectRefuses(t *testing.T) {
	l, other := newLink(t), newLink(t)
	for name, a := range map[string]transport.Address{"nothing": {},
		"another link's": other.Address()} {
		if err := l.Connect(0, a); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.Connect(5, l.Address()); err != nil {
		t.Fatal(err)
	}
	if err := l.Connect(6, l.Address()); !errors.Is(err, transport.ErrBadParam) {
		t.Errorf("a second time: %v", err)
	}
}

// TestStats counts what the guide calls packets and data: messages and user bytes, direct copies
// too.
func TestStats(t *testing.T) {
	l := newLink(t)
	if err := l.Connect(5, l.Address()); err != nil {
		t.Fatal(err)
	}
	offers := 0
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		if offers++; offers == 1 {
			return transport.Refuse
		}
		return transport.Accept
	})
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	op := &transport.Op{Local: memory.AddrOf(b), Remote: memory.AddrOf(b[2048:]), N: 100}
	if _, err := l.Send(5, 1, make([]byte, 8), op); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Send(5, 2, nil, op); err != nil { // nobody handles this kind
		t.Fatal(err)
	}
	if offers != 0 {
		t.Error("a handler ran inside Send")
	}
	for range 5 {
		l.Progress(10)
	}
	if _, err := l.Put(5, op); err != nil {
		t.Fatal(err)
	}
	want := transport.Stats{RetransmittedPackets: 1, GhostPackets: 1, PacketsSent: 3,
		PacketsReceived: 2, DataSent: 300, DataReceived: 200}
	if *l.Stats() != want {
		t.Errorf("%+v, want %+v", *l.Stats(), want)
	}
}

func BenchmarkSendReceive(b *testing.B) {
	l := newLink(b)
	if err := l.Connect(0, l.Address()); err != nil {
		b.Fatal(err)
	}
	l.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	hdr, op := make([]byte, 32), &transport.Op{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Send(0, 1, hdr, op); err != nil {
			b.Fatal(err)
		}
		l.Progress(16)
	}
}
