package paths

import (
	"testing"

	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// link notes what the ports ask for.
type link struct {
	up, gone, all, ghosts int
	datagrams             int
}

func (l *link) Datagram([]byte)    { l.datagrams++ }
func (l *link) Ghost()             { l.ghosts++ }
func (l *link) Up(*Port)           { l.up++ }
func (l *link) Gone(*Port)         { l.gone++ }
func (l *link) AllGone()           { l.all++ }
func (l *link) Sending([]bool)     {}
func (l *link) Claim(int32) bool   { return false }
func (l *link) Disposed(*Port)     {}
func (l *link) Replaced(*Port)     {}
func (l *link) MovedElsewhere(int) {}

// owner of a queue pair.
type owner struct {
	broke, moved int
	received     []byte
	sent         uint64
}

func (o *owner) Received(b []byte, _ int)      { o.received = append(o.received, b...) }
func (o *owner) Sent(upTo uint64)              { o.sent = upTo }
func (o *owner) Moved(uint64, ibv.Status)      { o.moved++ }
func (o *owner) Broke()                        { o.broke++ }
func (o *owner) Note(_ ibv.Failure, _ Request) {}
func (o *owner) Sparable() bool                { return false }

func newSet(t *testing.T, f *fake.Fabric, ports int) (*Set, *link, []*fake.Device) {
	t.Helper()
	memory.Guard()
	var c Config
	var devices []*fake.Device
	for range ports {
		d, err := f.Device()
		if err != nil {
			t.Fatal(err)
		}
		c.Adapters, devices = append(c.Adapters, d), append(devices, d)
	}
	c.Shared, c.Clock = new(layout.VerbsLink), func() int64 { return 1 }
	c.Map = func(int) *layout.VerbsPort { return new(layout.VerbsPort) }
	l := new(link)
	s := New(c, l)
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l, devices
}

// TestWays: two tasks with any numbers of ports number the ways between them alike; each two ports
// are joined by one way, except that lanes of the task with fewer ports share its ports.
func TestWays(t *testing.T) {
	for a := 1; a <= wire.PortsMax; a++ {
		for b := 1; b <= wire.PortsMax; b++ {
			ports := func(n int) *Set {
				s := new(Set)
				for i := range n {
					s.ports = append(s.ports, &Port{index: i})
				}
				return s
			}
			mine, lanes := ports(a).Ways(b)
			theirs, others := ports(b).Ways(a)
			if lanes != max(a, b) || others != lanes || len(mine) != a*b || len(theirs) != a*b {
				t.Fatalf("%d and %d ports: %d and %d ways, %d and %d lanes", a, b, len(mine),
					len(theirs), lanes, others)
			}
			seen := map[[2]int]bool{}
			for i, w := range mine {
				at := [2]int{w.Own(), w.Far()}
				if seen[at] {
					t.Errorf("%d and %d ports: %v comes twice", a, b, at)
				}
				seen[at] = true
				if i < lanes && at != [2]int{theirs[i].Far(), theirs[i].Own()} {
					t.Errorf("%d and %d ports: lane %d is %v and %v", a, b, i, w, theirs[i])
				}
			}
		}
	}
}

// TestAnother: a way that leads nowhere is followed by the next whose port is up; where all were
// tried, or no port is up, by the spare one, and by none where there is none.
func TestAnother(t *testing.T) {
	s, l, devices := newSet(t, fake.New(), 2)
	to := &wire.Address{Places: make([]wire.Place, 2)}
	r := s.To(to)
	first := r.At(0)
	if w, ok := r.Another(first, 0); !ok || w != r.At(1) || w.IsSpare() {
		t.Error(w, ok)
	}
	devices[1].Down(true)
	s.Events()
	if w, ok := r.Another(first, 0); !ok || w.Own() != 0 || w == first {
		t.Error("a port that is down is taken", w)
	}
	devices[0].Vanish()
	if s.Events(); l.gone != 1 || l.all != 0 || s.Dead() {
		t.Error("one adapter is gone", l, s.Dead())
	}
	if w, ok := r.Another(first, 0); ok {
		t.Error("there is a way", w)
	}
	devices[1].Down(false)
	if s.Events(); l.up != 1 {
		t.Error("a port that is up again is not noticed")
	}
	devices[1].Vanish()
	if s.Events(); l.all != 1 || !s.Dead() {
		t.Error("all adapters are gone", l)
	}
	spare := Way{&Port{index: wire.SpareIndex}, wire.SpareIndex}
	r.spare = spare
	if w, ok := r.Another(first, 0); !ok || w != spare {
		t.Error("the spare port is not taken")
	}
}

// TestCompletions: completions of a queue pair go to its owner; a packet to a queue pair that has
// ended goes nowhere, and its buffers are used again.
func TestCompletions(t *testing.T) {
	f := fake.New()
	a, _, _ := newSet(t, f, 1)
	b, l, _ := newSet(t, f, 1)
	var qs [2]Queue
	var owners [2]owner
	var hellos [2]wire.Hello
	for i, s := range []*Set{a, b} {
		qs[i].Route(Way{s.ports[0], 0})
		qpn, psn, err := qs[i].Create(&owners[i], 16, 1, 4)
		if err != nil {
			t.Fatal(err)
		}
		hellos[i] = wire.Hello{QPN: qpn, PSN: psn}
	}
	for i, s := range []*Set{a, b} {
		if err := qs[i].Connect(hellos[i].PSN, &hellos[1-i], &[]*Set{b, a}[i].places[0]); err != nil {
			t.Fatal(err)
		}
		_ = s
	}
	slot, _ := a.Slot()
	copy(a.Bytes(slot), "hello")
	if err := qs[0].Packet(a, slot, 5, 7, true); err != nil {
		t.Fatal(err)
	}
	if a.Take(10); owners[0].sent != 7 {
		t.Errorf("%d packets are sent", owners[0].sent)
	}
	if b.Take(10); string(owners[1].received) != "hello" {
		t.Errorf("%q has come", owners[1].received)
	}
	if err := qs[0].Packet(a, slot, 5, 8, true); err != nil {
		t.Fatal(err)
	}
	free := b.cfg.Shared.NumFree + b.ports[0].Receives
	qs[1].Destroy()
	if b.Take(10); string(owners[1].received) != "hello" || l.ghosts != 1 {
		t.Errorf("%q has come to a queue pair that is gone, %d ghosts", owners[1].received, l.ghosts)
	}
	if now := b.cfg.Shared.NumFree + b.ports[0].Receives; now != free {
		t.Errorf("%d slots, and %d before", now, free)
	}
	qs[0].Destroy()
}
