package verbs

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/ibv/fake"
	"lapi/transport/udp"
	"lapi/transport/verbs/internal/wire"
)

// carrier makes the link by UDP/IP of a node, which loses a part of its packets.
func carrier(t testing.TB, task, tasks int, loss float64, seed uint64,
	failed func(transport.Endpoint, error)) *udp.Link {
	t.Helper()
	c := udp.Config{Task: task, NumTasks: tasks, PeerFailed: failed, PacketSize: 1500,
		PollingInterval: 5 * time.Millisecond,
		Locals:          []udp.Local{{Addr: netip.MustParseAddrPort("127.0.0.1:0")}}}
	if loss > 0 {
		c.Drop = udp.Losing(loss, seed, task)
	}
	l, err := udp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newSpareNet is newNetOfPorts with a spare port for each node.
func newSpareNet(t testing.TB, more []int, seed uint64, loss float64,
	set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	n := makeNet(t, more, seed, set)
	for i, l := range n.links {
		c := carrier(t, i, len(more), loss, seed,
			func(ep transport.Endpoint, _ error) { l.SpareFailed(ep) })
		n.carriers = append(n.carriers, c)
		l.UseSpare(c)
	}
	for i, l := range n.links {
		for j := range n.links {
			if i == j {
				continue
			}
			if err := l.Connect(transport.Endpoint(j), n.address(j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

// address is that of a node with its carrier.
func (n *net) address(i int) transport.Address {
	return JoinAddress(n.links[i].Address().Bytes, n.carriers[i].Address().Bytes)
}

// both is a link and its carrier, as one owner drives them.
type both struct {
	*Link
	carrier *udp.Link
	upset   func()
}

func (b both) Progress(max int) int {
	if b.upset != nil {
		b.upset()
	}
	n := b.carrier.Progress(max) + b.Link.Progress(max)
	b.carrier.Push()
	return n
}
func (b both) Descriptors() []int {
	return append(b.Link.Descriptors(), b.carrier.Descriptors()...)
}
func (b both) Arm() bool { return b.carrier.Arm() || b.Link.Arm() }
func (b both) Disarm()   { b.carrier.Disarm(); b.Link.Disarm() }
func (b both) NextTimeout() int64 {
	at, other := b.Link.NextTimeout(), b.carrier.NextTimeout()
	if at == 0 || other != 0 && other < at {
		return other
	}
	return at
}
func (b both) Close() error {
	err := b.Link.Close()
	if other := b.carrier.Close(); err == nil {
		err = other
	}
	return err
}

// spareFactory is factory with spare ports; upset is called in each turn.
func spareFactory(loss float64, set func(*fake.Fabric, *Config),
	upset func(n *net, random *rand.Rand)) conform.Factory {
	return conform.Factory{MaxNodes: 4, New: func(t *testing.T, nodes int) *conform.Net {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		n, out := newSpareNet(t, make([]int, nodes), seed, loss, set), &conform.Net{MovesLeft: true}
		if strings.HasSuffix(t.Name(), "/SteadyState") {
			n.fabric.Break = 0
		}
		for i, l := range n.links {
			b := both{l, n.carriers[i], func() { upset(n, random) }}
			out.Nodes = append(out.Nodes, conform.Node{Link: b,
				Emul: emul.New(b, conform.EmulRequest, conform.EmulReply)})
		}
		return out
	}}
}

// TestConformSpare: no adapter works from the beginning.
func TestConformSpare(t *testing.T) {
	conform.Run(t, spareFactory(0, func(f *fake.Fabric, c *Config) { f.Lose = 1 },
		func(n *net, _ *rand.Rand) {
			for _, d := range n.devices {
				d.Down(true)
			}
		}))
}

// TestConformSpareChanging: adapters go and come all the time, and the carrier loses packets.
func TestConformSpareChanging(t *testing.T) {
	conform.Run(t, spareFactory(2, func(f *fake.Fabric, c *Config) {
		f.Break, f.Lose, c.BulkMin, c.Clock = 0.002, 0.1, 2000, fast()
	}, func(n *net, random *rand.Rand) {
		if steady := n.fabric.Break == 0; !steady && random.IntN(300) == 0 {
			n.devices[random.IntN(len(n.devices))].Down(random.IntN(2) == 0)
		}
	}))
}

// TestLastAdapterFails: whichever task's only adapter fails in whichever way, messages and
// transfers under way and later ones arrive, once and in order; when it is back it moves data
// again.
func TestLastAdapterFails(t *testing.T) {
	for name := range failing {
		for side := range 2 {
			t.Run(fmt.Sprintf("%s/%d", name, side), func(t *testing.T) {
				testLastAdapterFails(t, name, side)
			})
		}
	}
}

// TestAdapterFailsOften: adapters that come and fail again, with nothing sent in between, end
// nothing as long as the spare port works.
func TestAdapterFailsOften(t *testing.T) {
	for side := range 2 {
		n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
		n.sendNumbers(t, 200, func(i int) {
			if i != 50 {
				return
			}
			for k, l := range n.links {
				p := l.peers[transport.Endpoint(1-k)]
				for range failuresMax + p.routes.Len() {
					p.Again()
				}
			}
			n.devices[side].Down(true)
		})
		if !n.links[side].UsesSpare() {
			t.Error("the spare port is not used")
		}
	}
}

func testLastAdapterFails(t *testing.T, name string, side int) {
	f := failing[name]
	var reported [2][]bool
	n := newSpareNet(t, []int{0, 0}, 1, 1, func(_ *fake.Fabric, c *Config) {
		c.Clock = fast()
		c.Spared = func(_ transport.Endpoint, on bool) {
			reported[c.Task] = append(reported[c.Task], on)
		}
	})
	d, others := n.devices[side], n.ports[1-side]
	n.sendNumbers(t, 200, func(i int) {
		if i == 50 {
			f.fail(d, others)
		}
	})
	if !n.links[0].UsesSpare() || !n.links[1].UsesSpare() {
		t.Error("the spare port is not used")
	}
	for _, get := range []bool{false, true} {
		n.transfer(t, get, 1<<20, func() {})
	}
	for i := range reported {
		if len(reported[i]) != 1 || !reported[i][0] {
			t.Errorf("task %d is notified of %v", i, reported[i])
		}
	}
	if f.back == nil {
		n.close(t)
		return
	}
	f.back(d, others)
	n.until(t, "an adapter that is back is used", func() bool {
		return !n.links[0].UsesSpare() && !n.links[1].UsesSpare()
	})
	n.until(t, "the owners get a report", func() bool {
		return len(reported[0])+len(reported[1]) == 4
	})
	before := n.devices[0].Moved()
	n.transfer(t, false, 1<<20, func() {})
	n.transfer(t, true, 1<<20, func() {})
	if moved := n.devices[0].Moved() - before; moved != 2<<20 {
		t.Errorf("%d bytes by RDMA, not %d", moved, 2<<20)
	}
	at := 0 // while data moves
	n.transfer(t, side == 1, 4<<20, func() {
		if at++; at == 5 {
			f.fail(d, others)
		}
	})
	n.sendNumbers(t, 50, func(int) {})
	f.back(d, others)
	n.until(t, "it is used again a second time", func() bool {
		return !n.links[0].UsesSpare() && !n.links[1].UsesSpare()
	})
	n.close(t)
}

// TestSleepBesideSpare: packets that the carrier has brought keep its task awake; a task that
// sleeps wakes to look for an adapter's way.
func TestSleepBesideSpare(t *testing.T) {
	n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.devices[0].Cut(n.devices[1], true)
	n.sendNumbers(t, 20, func(int) {})
	n.until(t, "lanes that rest", func() bool { return n.links[1].timers.Due() == 0 })
	if at := n.links[1].NextTimeout(); at == 0 {
		t.Error("nothing wakes it to look for an adapter's way")
	}
	for n.links[1].Arm() { // a lane is tried
		n.links[1].Disarm()
		n.links[1].Progress(16)
	}
	for came := false; !came; {
		if _, err := n.links[0].Send(1, 2, make([]byte, 8), &transport.Op{}); err != nil &&
			err != transport.ErrBusy {
			t.Fatal(err)
		}
		n.carriers[0].Push()
		came = n.carriers[1].Progress(16) > 0
	}
	if !n.links[1].Arm() {
		t.Error("it sleeps while a packet waits")
	}
	n.close(t)
}

// TestAdapterFailsAtAnyStep: after however many turns of a put, a get and messages the adapters of
// one task or of both fail, all arrives.
func TestAdapterFailsAtAnyStep(t *testing.T) {
	for step := range 60 {
		for side := range 3 {
			n := newSpareNet(t, []int{0, 0}, uint64(step), 0, func(f *fake.Fabric, c *Config) {
				c.Clock, f.Info.MaxMessage = fast(), 8<<10
			})
			n.sendNumbers(t, 1, func(int) {})
			turn := 0
			fail := func() {
				if turn++; turn != step {
					return
				}
				for i, d := range n.devices {
					if side == 2 || side == i {
						d.Vanish()
					}
				}
			}
			n.transfer(t, step%2 == 0, 100_000, fail)
			n.sendNumbers(t, 20, func(int) { fail() })
			if t.Failed() {
				t.Fatalf("step %d, side %d", step, side)
			}
			n.close(t)
		}
	}
}

// TestSpareAtRandom: adapters fail and come back all the time, all of them too, queue pairs fail,
// and Hellos and the carrier's packets are lost.
func TestSpareAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		n := newSpareNet(t, []int{int(seed % 2), int(seed / 2 % 2)}, seed, 1,
			func(f *fake.Fabric, c *Config) {
				f.Break, f.Lose, f.Delay, f.Twice = 0.002, 0.1, 0.05, 0.05
				c.Clock, c.BulkMin = fast(), 10_000
			})
		random := rand.New(rand.NewPCG(seed, 2))
		upset := func() {
			if random.IntN(30) > 0 {
				return
			}
			side := random.IntN(2)
			d := n.ports[side][random.IntN(len(n.ports[side]))]
			other := n.ports[1-side][random.IntN(len(n.ports[1-side]))]
			if random.IntN(3) == 0 {
				d.Cut(other, random.IntN(2) == 0)
			} else {
				d.Down(random.IntN(2) == 0)
			}
		}
		n.sendNumbers(t, 300, func(i int) {
			upset()
			if i%20 == 0 {
				n.transfer(t, i%40 == 0, 1+random.IntN(1<<19), upset)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		n.close(t)
	}
}

// TestConnectedAnewBySpare: tasks that gave each other up begin anew over the spare port, too, also
// where the adapter was gone before anything was said, which was not reported yet.
func TestConnectedAnewBySpare(t *testing.T) {
	n := newSpareNet(t, []int{0, 1}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	for round := range 4 {
		if round == 1 {
			n.devices[0].Vanish()
		}
		n.sendNumbers(t, 30, func(int) {})
		if n.links[0].UsesSpare() != (round > 0) {
			t.Errorf("round %d: the spare port is used: %v", round, n.links[0].UsesSpare())
		}
		for i, l := range n.links {
			l.Disconnect(transport.Endpoint(1-i), transport.ErrUnreachable)
		}
		for i, l := range n.links {
			ep := transport.Endpoint(1 - i)
			if err := l.Reconnect(ep, l.AddressOf(ep)); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.close(t)
}

// TestOtherPortAtFirst: of two ports one is gone before anything was said; the other is used.
func TestOtherPortAtFirst(t *testing.T) {
	for _, ports := range [][]int{{1, 0}, {1, 1}} {
		for which := range 2 {
			n := newNetOfPorts(t, ports, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
			n.ports[0][which].Vanish()
			n.sendNumbers(t, 30, func(int) {})
			n.close(t)
		}
	}
}

// TestCarrierGivesUp: the carrier has given the peer up while adapters led there. When they fail,
// it connects anew. While packets go over it, queue pairs fail with it, and nothing is lost.
func TestCarrierGivesUp(t *testing.T) {
	n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	giveUp := func() {
		for i, c := range n.carriers {
			c.Disconnect(transport.Endpoint(1-i), transport.ErrTimeout)
			n.links[i].SpareFailed(transport.Endpoint(1 - i))
		}
	}
	n.sendNumbers(t, 5, func(int) {})
	giveUp()
	n.devices[1].Vanish()
	n.sendNumbers(t, 100, func(i int) {
		if i == 50 {
			giveUp()
		}
	})
	n.transfer(t, true, 100_000, func() {})
	n.close(t)
}

// TestSpareMoves: a task that has begun again has another address of its carrier, too.
func TestSpareMoves(t *testing.T) {
	n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.devices[0].Vanish()
	n.sendNumbers(t, 50, func(int) {})
	n.devices[1].Kill()
	dead, deadCarrier := n.links[1], n.carriers[1]
	d, err := n.fabric.Device()
	if err != nil {
		t.Fatal(err)
	}
	if n.links[1], err = New(Config{Adapter: d, Task: 1, Key: []byte("a key"),
		Clock: fast()}); err != nil {
		t.Fatal(err)
	}
	n.carriers[1] = carrier(t, 1, 2, 0, 1, nil)
	n.links[1].UseSpare(n.carriers[1])
	if err := n.links[1].Connect(0, n.address(0)); err != nil {
		t.Fatal(err)
	}
	n.links[0].Disconnect(1, transport.ErrUnreachable)
	if err := n.links[0].Reconnect(1, n.address(1)); err != nil {
		t.Fatal(err)
	}
	n.sendNumbers(t, 50, func(int) {})
	n.close(t)
	_, _ = dead.Close(), deadCarrier.Close()
}

// TestCarrierGoesOn: packets that the carrier brings when the link over it is closed touch no
// memory that the link had.
func TestCarrierGoesOn(t *testing.T) {
	n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.devices[1].Vanish()
	n.sendNumbers(t, 50, func(int) {})
	if err := n.links[1].Close(); err != nil {
		t.Error(err)
	}
	l := n.links[0]
	l.peers[1].queue.hello(false) // for a datagram's buffer, and a packet
	if _, err := l.Send(1, 2, make([]byte, 8), &transport.Op{}); err != nil &&
		err != transport.ErrBusy {
		t.Fatal(err)
	}
	n.carriers[0].Push()
	for range 3000 {
		n.carriers[0].Progress(16)
		n.carriers[1].Progress(16)
	}
	n.close(t)
}

// TestNoPath: a way for which the kernel finds no path is left after one try, as each may take
// long.
func TestNoPath(t *testing.T) {
	spared := false
	n := newSpareNet(t, []int{0, 0}, 1, 0, func(_ *fake.Fabric, c *Config) {
		c.Clock = fast()
		if c.Task == 0 {
			c.Spared = func(_ transport.Endpoint, on bool) { spared = spared || on }
		}
	})
	n.devices[0].FailNext(fake.FindPath, 2)
	n.sendNumbers(t, 20, func(int) {})
	if !spared {
		t.Error("it was tried again")
	}
	n.close(t)
}

// TestNoSpareThere: a task that has no carrier is lost with the last adapter.
func TestNoSpareThere(t *testing.T) {
	var reported error
	n := makeNet(t, []int{0, 0}, 1, func(_ *fake.Fabric, c *Config) {
		if c.Task == 0 {
			c.PeerFailed = func(_ transport.Endpoint, err error) { reported = err }
		}
	})
	n.carriers = []*udp.Link{carrier(t, 0, 2, 0, 1, nil), carrier(t, 1, 2, 0, 1, nil)}
	n.links[0].UseSpare(n.carriers[0])
	conform.ConnectAll(t, n.links)
	n.sendNumbers(t, 5, func(int) {})
	n.devices[0].Vanish()
	n.until(t, "word of it", func() bool { return reported != nil })
	if reported != transport.ErrAdaptersDown {
		t.Errorf("the owner gets %v", reported)
	}
	if _, err := n.links[0].Send(1, 2, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send: %v", err)
	}
	if n.links[0].UsesSpare() {
		t.Error("the spare port is used")
	}
	n.close(t)
}

// TestHelloOfSpare: a Hello that names a spare port and an adapter's, or a lane of the spare port,
// is none of this connection.
func TestHelloOfSpare(t *testing.T) {
	n := newSpareNet(t, []int{0, 0}, 1, 0, nil)
	l := n.links[1]
	for _, h := range []wire.Hello{{Own: wire.SpareIndex}, {Peer: wire.SpareIndex},
		{Own: wire.SpareIndex, Peer: wire.SpareIndex, Lane: 1}} {
		h.QPN, h.Life, h.Round = 7, 1, 1
		ghosts := l.stats.GhostPackets
		l.onDatagram(n.from(h))
		if l.stats.GhostPackets != ghosts+1 {
			t.Errorf("%+v is taken", h)
		}
	}
	n.close(t)
}
