package verbs

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// until makes progress until done; it only guards against a hang.
func (n *net) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); n.turn() {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func (n *net) turn() {
	n.deliver()
	for i, l := range n.links {
		if n.carriers != nil {
			n.carriers[i].Progress(16)
		}
		l.Progress(16)
		if n.carriers != nil {
			n.carriers[i].Push()
		}
	}
}

func userMemory(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// close closes all links; the fake panics if anything is left open.
func (n *net) close(t testing.TB) {
	t.Helper()
	for _, l := range n.links {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, c := range n.carriers {
		if err := c.Close(); err != nil {
			t.Errorf("Close of a carrier: %v", err)
		}
	}
}

// sendNumbers has node 0 send numbered messages to node 1, and checks that each comes once
// and in order, while upset does what it wants before each.
func (n *net) sendNumbers(t *testing.T, many int, upset func(i int)) {
	t.Helper()
	next := uint64(0)
	n.links[1].Handle(2, func(m *transport.Msg) transport.Verdict {
		if got := uint64(m.Hdr[0]) | uint64(m.Hdr[1])<<8; got != next {
			t.Fatalf("message %d comes where %d should", got, next)
		}
		next++
		return transport.Accept
	})
	hdr := make([]byte, 8)
	for i := range many {
		upset(i)
		hdr[0], hdr[1] = byte(i), byte(i>>8)
		n.until(t, "room", func() bool {
			_, err := n.links[0].Send(1, 2, hdr, &transport.Op{})
			if err != nil && err != transport.ErrBusy {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	n.until(t, "all messages", func() bool { return next == uint64(many) })
}

// TestEachState: whatever a send ends with, another queue pair takes over; nothing is lost, nothing
// comes twice.
func TestEachState(t *testing.T) {
	for _, state := range []ibv.Status{ibv.RetryExcErr, ibv.RNRRetryErr, ibv.GeneralErr,
		ibv.WRFlushErr, ibv.RemAccessErr, ibv.LocProtErr} {
		n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
		n.sendNumbers(t, 300, func(i int) {
			if i%50 == 20 {
				n.devices[i/50%2].EndNext(state, false)
			}
		})
		if again := n.links[0].Stats().RetransmittedPackets; again == 0 {
			t.Errorf("state %d: nothing was sent again", state)
		}
		n.close(t)
	}
}

// TestBreaking: queue pairs fail, half of the time after the data has arrived, while messages, puts
// and gets go both ways.
func TestBreaking(t *testing.T) {
	for seed := range uint64(20) {
		n := newNet(t, 2, seed, func(f *fake.Fabric, c *Config) {
			f.Break, f.Lose, c.Clock, c.BulkMin = 0.02, 0.2, fast(), 10_000
			f.Info.MaxMessage = 4096
		})
		random := rand.New(rand.NewPCG(seed, 1))
		memories := [2][]byte{userMemory(t, 1<<20), userMemory(t, 1<<20)}
		for _, b := range memories {
			for i := range b {
				b[i] = byte(random.Uint32())
			}
		}
		done, began := 0, 0
		n.sendNumbers(t, 400, func(i int) {
			me := i % 2
			length := 1 + random.IntN(1<<20/400)*(1+random.IntN(10))
			op := &transport.Op{N: uint64(length),
				Local:  memory.AddrOf(memories[me][random.IntN(1<<19):]),
				Remote: memory.AddrOf(memories[1-me][random.IntN(1<<19):])}
			local, remote := memory.Bytes(op.Local, op.N), memory.Bytes(op.Remote, op.N)
			start := n.links[me].Put
			if i%4 > 1 {
				start = n.links[me].Get
			}
			// One at a time, so that the ranges may overlap.
			op.Done = func(_ *transport.Op, err error) {
				if done++; err != nil || string(local) != string(remote) {
					t.Fatalf("seed %d: operation %d of %d bytes: %v, or damaged", seed, i, length,
						err)
				}
			}
			if _, err := start(transport.Endpoint(1-me), op); err != nil {
				t.Fatal(err)
			}
			began++
			n.until(t, "the end of an operation", func() bool { return done == began })
		})
		if n.fabric.Broken() == 0 {
			t.Errorf("seed %d: nothing broke", seed)
		}
		n.close(t)
	}
}

// TestFailingCalls: each call that makes an object fails some times, and passes.
func TestFailingCalls(t *testing.T) {
	for _, call := range []string{fake.Register, fake.Create, fake.Connect, fake.FindPath} {
		for side := range 2 {
			n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
			n.devices[side].FailNext(call, 3)
			n.sendNumbers(t, 100, func(int) {})
			n.close(t)
		}
	}
}

// TestOpenFails: a link that cannot be made leaves nothing open.
func TestOpenFails(t *testing.T) {
	for _, call := range []string{fake.Open, fake.Register} {
		d, err := fake.NewRandom(1).Device()
		if err != nil {
			t.Fatal(err)
		}
		d.FailNext(call, 1)
		if _, err := New(Config{Adapter: d}); err == nil {
			t.Errorf("call %s failed, and the link was made", call)
		}
		if n := d.Regions(); n != 0 {
			t.Errorf("call %s: %d regions are left", call, n)
		}
	}
}

// TestNoRegistration: puts and gets whose memory cannot be registered, at either side, are copied.
func TestNoRegistration(t *testing.T) {
	const length = 100_000
	for side := range 2 {
		for _, get := range []bool{false, true} {
			n := newNet(t, 2, 1, nil)
			n.sendNumbers(t, 1, func(int) {}) // all slots are there
			here, there := userMemory(t, length), userMemory(t, length)
			source, sink, start := here, there, n.links[0].Put
			if get {
				source, sink, start = there, here, n.links[0].Get
			}
			for i := range source {
				source[i] = byte(i * 7)
			}
			n.devices[side].FailNext(fake.Register, 1)
			ended := false
			op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: length,
				Done: func(_ *transport.Op, err error) {
					if ended = true; err != nil {
						t.Error(err)
					}
				}}
			packets := n.links[0].Stats().PacketsSent + n.links[1].Stats().PacketsSent
			if _, err := start(1, op); err != nil {
				t.Fatal(err)
			}
			n.until(t, "the end", func() bool { return ended })
			if string(source) != string(sink) {
				t.Errorf("side %d, get %v: damaged", side, get)
			}
			packets = n.links[0].Stats().PacketsSent + n.links[1].Stats().PacketsSent - packets
			if packets < length/wire.PacketMax {
				t.Errorf("side %d, get %v: %d packets, so nothing was copied", side, get, packets)
			}
			n.close(t)
		}
	}
}

// TestRefusedKey: an adapter refuses an RDMA request; the operation is copied.
func TestRefusedKey(t *testing.T) {
	for _, state := range []ibv.Status{ibv.RemAccessErr, ibv.LocProtErr} {
		n := newNet(t, 2, 1, func(f *fake.Fabric, c *Config) {
			c.Clock, f.Info.MaxMessage = fast(), 1<<14
		})
		n.sendNumbers(t, 1, func(int) {})
		here, there := userMemory(t, 1<<18), userMemory(t, 1<<18)
		here[1<<17] = 5
		ended := false
		op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 1 << 18,
			Done: func(_ *transport.Op, err error) {
				if ended = true; err != nil {
					t.Error(err)
				}
			}}
		if _, err := n.links[0].Put(1, op); err != nil {
			t.Fatal(err)
		}
		before := n.links[1].Stats().DataReceived // RDMA writes are not its
		n.devices[0].EndNext(state, true)
		n.until(t, "the end", func() bool { return ended })
		copied := n.links[1].Stats().DataReceived-before == 1<<18
		if there[1<<17] != 5 || !copied || n.links[0].Replaced() == 0 {
			t.Errorf("damaged, or not copied (%v)", copied)
		}
		n.close(t)
	}
}

// TestKeysEnd: where nothing is kept, nobody has a key when an operation is over, and nothing is
// registered.
func TestKeysEnd(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.KeepNoRegistrations = true })
	n.sendNumbers(t, 1, func(int) {})
	before := n.devices[1].Regions()
	here, there := userMemory(t, 1<<18), userMemory(t, 1<<18)
	ended := 0
	done := func(_ *transport.Op, err error) {
		if ended++; err != nil {
			t.Error(err)
		}
		if now := n.devices[1].Regions(); now != before {
			t.Errorf("%v regions before, %v at the end", before, now)
		}
		if keys := n.devices[0].Keys() + n.devices[1].Keys(); keys != 0 {
			t.Errorf("%d keys are left", keys)
		}
	}
	most := 0
	for i, start := range []func(transport.Endpoint, *transport.Op) (transport.Status, error){
		n.links[0].Put, n.links[0].Get} {
		op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 1 << 18,
			Done: done}
		if _, err := start(1, op); err != nil {
			t.Fatal(err)
		}
		n.until(t, "the end", func() bool {
			most = max(most, n.devices[1].Keys())
			return ended == i+1
		})
	}
	if most == 0 {
		t.Error("the target never registered anything: nothing tested")
	}
	n.close(t)
}

// TestUnanswered: a peer that never answers is given up, and only then.
func TestUnanswered(t *testing.T) {
	now := int64(1)
	n := newNet(t, 2, 1, func(f *fake.Fabric, c *Config) {
		c.Clock = func() int64 { return now }
		f.Lose = 1
	})
	l := n.links[0]
	if _, err := l.Send(1, 2, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	var ended error
	flush := &transport.Op{Done: func(_ *transport.Op, err error) { ended = err }}
	if s, err := l.Flush(1, flush); s != transport.Queued || err != nil {
		t.Fatal(s, err)
	}
	hellos := 0
	for ; now < defaultTimeout; now += int64(time.Millisecond) {
		due := l.NextTimeout()
		if l.Progress(10); l.NextTimeout() != due {
			hellos++
		}
		if ended != nil {
			t.Fatalf("given up after %v", time.Duration(now))
		}
	}
	now += int64(time.Second)
	l.Progress(10)
	if ended != transport.ErrUnreachable {
		t.Errorf("the flush ends with %v", ended)
	}
	if _, err := l.Send(1, 2, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send: %v", err)
	}
	if hellos < 100 || hellos > 1000 {
		t.Errorf("%d Hellos", hellos)
	}
	if l.NextTimeout() != 0 || n.devices[0].Pairs() != 0 {
		t.Error("something is left")
	}
	n.close(t)
}

// TestGivenUp: a peer whose queue pairs fail one after the other is given up, and its operations
// end; another peer is not concerned.
func TestGivenUp(t *testing.T) {
	n := newNet(t, 3, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 1, func(int) {})
	n.devices[1].Down(true)
	if _, err := n.links[0].Send(1, 2, make([]byte, 8), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "a port that is down", func() bool {
		_, err := n.links[0].Send(1, 2, make([]byte, 8), &transport.Op{})
		return errors.Is(err, transport.ErrUnreachable)
	})
	got := false
	n.links[2].Handle(3, func(*transport.Msg) transport.Verdict { got = true; return transport.Accept })
	if _, err := n.links[0].Send(2, 3, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "a message to another", func() bool { return got })
	n.close(t)
}

// TestKilled: a peer's adapter has taken a flush, and its process has died before it could answer.
func TestKilled(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 1, func(int) {})
	var ended error
	if _, err := n.links[0].Flush(1, &transport.Op{Done: func(_ *transport.Op, err error) {
		ended = err
	}}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		n.links[0].Progress(16) // the network brings it
	}
	n.devices[1].Kill()
	for end := time.Now().Add(time.Minute); ended == nil; n.links[0].Progress(16) {
		if time.Now().After(end) {
			t.Fatal("the death is not noticed")
		}
	}
	if ended != transport.ErrUnreachable {
		t.Errorf("the flush ends with %v", ended)
	}
	n.close(t)
}

// TestPortReturns: a port is down for a while; messages sent meanwhile arrive.
func TestPortReturns(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 200, func(i int) {
		if i%60 == 30 {
			n.devices[i/60%2].Down(true)
			for range 50 {
				n.turn()
			}
			n.devices[i/60%2].Down(false)
		}
	})
	n.close(t)
}

// TestFatal: an adapter that is gone ends everything over it.
func TestFatal(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	n.links[1].Handle(2, func(*transport.Msg) transport.Verdict { return transport.Refuse })
	if _, err := n.links[0].Send(1, 2, make([]byte, 8), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	var ended error
	flush := &transport.Op{Done: func(_ *transport.Op, err error) { ended = err }}
	if _, err := n.links[0].Flush(1, flush); err != nil {
		t.Fatal(err)
	}
	n.devices[0].Raise(ibv.Event{Kind: ibv.Fatal})
	n.until(t, "the end", func() bool { return ended != nil })
	if ended != transport.ErrAdaptersDown {
		t.Errorf("the flush ends with %v", ended)
	}
	if _, err := n.links[0].Send(1, 2, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send: %v", err)
	}
	n.close(t)
}

// TestEvent: a queue pair of which the adapter says that it has failed is replaced.
func TestEvent(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 1, func(int) {})
	qp := n.links[0].peers[1].QPN()
	n.devices[0].Raise(ibv.Event{Kind: ibv.QPFailed, QPN: qp})
	n.until(t, "another queue pair", func() bool {
		p := n.links[0].peers[1]
		return p.Works() && p.QPN() != qp
	})
	n.sendNumbers(t, 10, func(int) {})
	n.close(t)
}

// TestLateHellos: queue pairs fail, and Hellos come late, twice, or not at all. Both sides agree
// all the same on two of them: neither makes another because the other has, for ever.
func TestLateHellos(t *testing.T) {
	for seed := range uint64(30) {
		n := newNet(t, 2, seed, func(f *fake.Fabric, c *Config) {
			f.Lose, f.Delay, f.Twice, c.Clock = 0.1, 0.5, 0.3, fast()
		})
		n.sendNumbers(t, 400, func(i int) {
			if i%20 == 10 {
				n.devices[i/20%2].EndNext(ibv.RetryExcErr, false)
				n.devices[1-i/20%2].EndNext(ibv.RetryExcErr, false)
			}
		})
		p := n.links[0].peers[1]
		if most := 3 * n.links[0].Replaced(); p.Round() > most || n.links[0].Replaced() == 0 {
			t.Errorf("seed %d: %d queue pairs were made for %d that failed", seed, p.Round(),
				n.links[0].Replaced())
		}
		n.close(t)
	}
}
