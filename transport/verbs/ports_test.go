package verbs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/bulk"
)

// transfer has node 0 put, or get, length bytes, and checks them.
func (n *net) transfer(t *testing.T, get bool, length int, meanwhile func()) {
	t.Helper()
	n.transferOf(t, get, userMemory(t, length), userMemory(t, length), meanwhile)
}

// transferOf is transfer from or to here, of all that there is.
func (n *net) transferOf(t *testing.T, get bool, here, there []byte, meanwhile func()) {
	t.Helper()
	length := len(here)
	source, sink, start := here, there, n.links[0].Put
	if get {
		source, sink, start = there, here, n.links[0].Get
	}
	for i := range source {
		source[i] = byte(i*7 + i>>12)
	}
	ended := false
	op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: uint64(length),
		Done: func(_ *transport.Op, err error) {
			if ended = true; err != nil {
				t.Error(err)
			}
		}}
	if _, err := start(1, op); err != nil {
		t.Fatal(err)
	}
	n.until(t, "the end of a transfer", func() bool {
		meanwhile()
		return ended
	})
	if string(source) != string(sink) {
		t.Errorf("get %v of %d bytes: damaged", get, length)
	}
}

// TestStripes: long transfers go over all ports, also where one task has fewer than the other;
// short ones over one.
func TestStripes(t *testing.T) {
	for _, more := range [][]int{{1, 1}, {2, 1}, {0, 2}, {3, 3}} {
		for _, get := range []bool{false, true} {
			n := newNetOfPorts(t, more, 1, nil)
			n.sendNumbers(t, 1, func(int) {})
			n.transfer(t, get, 8<<20, func() {}) // lanes are made meanwhile
			var before []uint64
			for _, d := range n.ports[0] {
				before = append(before, d.Moved())
			}
			n.transfer(t, get, 8<<20, func() {})
			for i, d := range n.ports[0] {
				share := d.Moved() - before[i]
				if even := uint64(8<<20) / uint64(len(n.ports[0])); share < even/2 {
					t.Errorf("%v, get %v: port %d moved %d bytes, an even share is %d", more, get,
						i, share, even)
				}
			}
			used := 0
			for i, d := range n.ports[0] {
				before[i] = d.Moved()
			}
			n.transfer(t, get, bulk.LanesMin-1, func() {})
			for i, d := range n.ports[0] {
				if d.Moved() != before[i] {
					used++
				}
			}
			if used != 1 {
				t.Errorf("%v, get %v: a short transfer went over %d ports", more, get, used)
			}
			n.close(t)
		}
	}
}

// TestPeersShareOut: the packets of different peers go over different ports.
func TestPeersShareOut(t *testing.T) {
	n := newNetOfPorts(t, []int{1, 1, 1}, 1, nil)
	l := n.links[0]
	for ep := transport.Endpoint(1); ep < 3; ep++ {
		if _, err := l.Send(ep, 2, nil, &transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	if l.peers[1].Own() == l.peers[2].Own() {
		t.Error("both go over one port")
	}
	n.close(t)
}

// failing is how a port of a task can fail, and come back; nil: it does not.
var failing = map[string]struct {
	fail, back func(d *fake.Device, others []*fake.Device)
}{
	"down": {func(d *fake.Device, _ []*fake.Device) { d.Down(true) },
		func(d *fake.Device, _ []*fake.Device) { d.Down(false) }},
	"cut off": {func(d *fake.Device, others []*fake.Device) {
		for _, o := range others {
			d.Cut(o, true)
		}
	}, func(d *fake.Device, others []*fake.Device) {
		for _, o := range others {
			d.Cut(o, false)
		}
	}},
	"gone": {func(d *fake.Device, _ []*fake.Device) { d.Vanish() }, nil},
}

// TestPortFails: whichever port of whichever task fails in whichever way, messages and transfers
// under way and later ones arrive, once and in order; when it is back it is used again.
func TestPortFails(t *testing.T) {
	for name := range failing {
		for side := range 2 {
			for which := range 2 {
				t.Run(fmt.Sprintf("%s/%d/%d", name, side, which), func(t *testing.T) {
					testPortFails(t, name, side, which)
				})
			}
		}
	}
}

func testPortFails(t *testing.T, name string, side, which int) {
	f := failing[name]
	n := newNetOfPorts(t, []int{1, 1}, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	d, others := n.ports[side][which], n.ports[1-side]
	n.sendNumbers(t, 200, func(i int) {
		if i == 50 {
			f.fail(d, others)
		}
	})
	for _, get := range []bool{false, true} {
		n.transfer(t, get, 4<<20, func() {})
	}
	if f.back != nil {
		f.back(d, others)
		before := d.Moved() + others[which].Moved()
		n.until(t, "a port that is back moves data", func() bool {
			n.transfer(t, false, bulk.LanesMin, func() {})
			n.transfer(t, true, bulk.LanesMin, func() {})
			return d.Moved()+others[which].Moved() > before
		})
	}
	// While data moves, the other port of the other task: where none comes back, one way is left,
	// from one's first to the other's second.
	at := 0
	n.transfer(t, side == 1, 32<<20, func() {
		if at++; at == 5 {
			f.fail(others[1-which], n.ports[side])
		}
	})
	n.sendNumbers(t, 50, func(int) {})
	n.close(t)
}

// TestPortsAtRandom: ports fail and come back all the time, one way at least is always left.
func TestPortsAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		n := newNetOfPorts(t, []int{2, 1}, seed, func(f *fake.Fabric, c *Config) {
			f.Break, f.Lose, c.Clock, c.BulkMin = 0.002, 0.1, fast(), 10_000
		})
		random := rand.New(rand.NewPCG(seed, 2))
		var down *fake.Device
		upset := func() {
			if random.IntN(40) > 0 {
				return
			}
			if down != nil {
				down.Down(false)
				for _, d := range n.ports[0] {
					d.Cut(down, false)
				}
				down = nil
				return
			}
			side := random.IntN(2)
			down = n.ports[side][random.IntN(len(n.ports[side]))]
			if side == 1 && random.IntN(2) == 0 {
				for _, d := range n.ports[0] {
					d.Cut(down, true)
				}
				return
			}
			down.Down(true)
		}
		n.sendNumbers(t, 300, func(i int) {
			upset()
			if i%10 == 0 {
				n.transfer(t, i%20 == 0, 1+random.IntN(1<<20), upset)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		n.close(t)
	}
}

// TestChanged: the owner gets one report of each change of a port.
func TestChanged(t *testing.T) {
	var reported []PortChange
	n := newNetOfPorts(t, []int{1, 0}, 1, func(_ *fake.Fabric, c *Config) {
		if c.Task == 0 {
			c.Changed = func(p PortChange) { reported = append(reported, p) }
		}
	})
	n.ports[0][0].Down(true)
	n.ports[0][0].Down(true)
	n.ports[0][0].Down(false)
	n.ports[0][1].Vanish()
	n.links[0].Disarm()
	want := []PortChange{{Name: "fake0", State: PortDown}, {Name: "fake0", State: PortUp},
		{Index: 1, Name: "fake1", State: PortGone}}
	if len(reported) != len(want) {
		t.Fatalf("reported %v", reported)
	}
	for i := range want {
		if reported[i] != want[i] {
			t.Errorf("reported %v, not %v", reported[i], want[i])
		}
	}
	n.sendNumbers(t, 10, func(int) {})
	n.close(t)
}

// TestTooManyPorts: more than a link can have are refused, and closed.
func TestTooManyPorts(t *testing.T) {
	f := fake.NewRandom(1)
	var c Config
	for range PortsMax + 1 {
		d, err := f.Device()
		if err != nil {
			t.Fatal(err)
		}
		c.More = append(c.More, d)
	}
	c.Adapter, c.More = c.More[0], c.More[1:]
	if _, err := New(c); err == nil {
		t.Error("a link was made")
	}
}

// TestHelloOvertakesPackets: a peer whose queue pair fails says so over another port, before the
// packets were looked at that had come over the first. They count as received: the peer's adapter
// has acknowledged them, and it cannot send them again.
func TestHelloOvertakesPackets(t *testing.T) {
	n := newNetOfPorts(t, []int{1, 1}, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	sender, receiver := n.links[0], n.links[1]
	there, here := &sender.peers[1].queue, &receiver.peers[0].queue
	var got []byte
	receiver.Handle(2, func(m *transport.Msg) transport.Verdict {
		got = append(got, m.Hdr[0])
		return transport.Accept
	})
	send := func(i int) {
		if _, err := sender.Send(1, 2, []byte{byte(i), 0, 0, 0, 0, 0, 0, 0},
			&transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	parts := func() { // the sender's queue pair fails; it says so over the next way
		there.fail()
		sender.Progress(16)
	}
	parts()
	for i := range layout.VerbsSignal {
		send(i)
	}
	n.until(t, "a joined queue pair", func() bool {
		return here.Hello(false).Echo == there.QPN()
	})
	first := there.Way
	for end := 0; sender.shared.Sending > 0; end++ { // the receiver looks at nothing meanwhile
		if sender.Progress(16); end > 10_000_000 {
			t.Fatal("the packets never went")
		}
	}
	if here.Works() {
		t.Fatal("the receiver has looked at packets")
	}
	if parts(); there.Far() >= first.Far() {
		t.Fatalf("packets went to port %d, Hello to port %d: it overtakes nothing", first.Far(), there.Far())
	}
	send(layout.VerbsSignal)
	n.until(t, "all messages", func() bool { return len(got) == layout.VerbsSignal+1 })
	for i, g := range got {
		if int(g) != i {
			t.Fatalf("they come as %v", got)
		}
	}
	n.close(t)
}
