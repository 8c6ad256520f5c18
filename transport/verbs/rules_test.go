package verbs

import (
	"bytes"
	"math"
	"testing"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/window"
	"lapi/transport/verbs/internal/wire"
)

// TestHeldIsBounded: a peer whose messages are all refused must wait at last, and goes on.
func TestHeldIsBounded(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	refuse, got := true, 0
	n.links[1].Handle(2, func(*transport.Msg) transport.Verdict {
		if refuse {
			return transport.Refuse
		}
		got++
		return transport.Accept
	})
	sent := 0
	push := func() {
		for {
			if _, err := n.links[0].Send(1, 2, nil, &transport.Op{}); err != nil {
				return
			}
			sent++
		}
	}
	for range 3000 {
		push()
		n.turn()
	}
	if held := n.links[1].peers[0].held.Len(); held <= wire.Window || held > window.HeldMax+wire.Window {
		t.Errorf("%d messages are held, the bound is %d", held, window.HeldMax+wire.Window)
	}
	refuse = false
	n.until(t, "all messages", func() bool { return got == sent })
	before := sent
	push()
	n.until(t, "more messages", func() bool { return got == sent })
	if sent == before {
		t.Error("there was no room again")
	}
	n.close(t)
}

// TestFlushWaitsForPuts: a flush is not done before a put that began earlier, however long.
func TestFlushWaitsForPuts(t *testing.T) {
	for _, length := range []uint64{3000, 15_000, 1 << 20} {
		n := newNet(t, 2, 1, nil)
		n.sendNumbers(t, 1, func(int) {})
		here, there := userMemory(t, 1<<20), userMemory(t, 1<<20)
		order := ""
		put := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: length,
			Done: func(*transport.Op, error) { order += "p" }}
		flush := &transport.Op{Done: func(*transport.Op, error) { order += "f" }}
		if _, err := n.links[0].Put(1, put); err != nil {
			t.Fatal(err)
		}
		if _, err := n.links[0].Flush(1, flush); err != nil {
			t.Fatal(err)
		}
		n.until(t, "both", func() bool { return len(order) == 2 })
		if order != "pf" {
			t.Errorf("%d bytes: %s", length, order)
		}
		n.close(t)
	}
}

// TestFlushAsksOnce: two flushes of the same packets are one question, and a flush of packets that
// the peer has accepted is none.
func TestFlushAsksOnce(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	over := 0
	flush := func() transport.Status {
		s, err := n.links[0].Flush(1, &transport.Op{Done: func(_ *transport.Op, err error) {
			if over++; err != nil {
				t.Error(err)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := n.links[0].Stats().PacketsSent
	for range 2 {
		if flush() != transport.Queued {
			t.Fatal("a flush is over without an answer")
		}
	}
	n.until(t, "the flushes", func() bool { return over == 2 })
	if flush() != transport.Done {
		t.Error("a flush waits, and nothing was sent since the latest")
	}
	if sent := n.links[0].Stats().PacketsSent - before; sent != 1 {
		t.Errorf("three flushes of the same packets send %d", sent)
	}
	n.sendNumbers(t, 1, func(int) {})
	if flush() != transport.Queued {
		t.Error("a flush does not ask for what was sent since")
	}
	n.until(t, "the last", func() bool { return over == 3 })
	n.close(t)
}

// TestFlushWaitsForHandlers: a message whose handler runs is not accepted: another thread, which
// takes the messages behind it, answers no flush.
func TestFlushWaitsForHandlers(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	l, over, within := n.links[1], false, false
	l.Handle(2, func(*transport.Msg) transport.Verdict {
		within = true
		for range 20 { // the question comes, and nothing goes
			l.Progress(16)
			n.links[0].Progress(16)
		}
		if within = false; over {
			t.Error("a flush is over while a handler runs")
		}
		return transport.Accept
	})
	if _, err := n.links[0].Send(1, 2, numbered(1), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.links[0].Flush(1, &transport.Op{Done: func(_ *transport.Op, err error) {
		if over = true; err != nil || within {
			t.Errorf("the flush ends with %v, in the handler: %v", err, within)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "the flush", func() bool { return over })
	n.close(t)
}

// TestManyQuestions: of more flushes than are kept, while a message is held, the last is answered,
// and the others with it; nobody is given up.
func TestManyQuestions(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	l, refuse := n.links[1], true
	l.Handle(2, func(*transport.Msg) transport.Verdict {
		if refuse {
			return transport.Refuse
		}
		return transport.Accept
	})
	from := n.links[0].peers[1]
	if _, err := n.links[0].Send(1, 2, numbered(1), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	p := l.peers[0]
	n.until(t, "the refused one", func() bool { return p.held.Len() == 1 })
	for i := range uint64(2 * flushesMax) {
		p.wants(p.Expected + i)
	}
	from.Asked = p.Expected + 2*flushesMax - 1
	if len(p.asked) > flushesMax || p.Held == 0 {
		t.Errorf("%d questions are kept, C may answer: %v", len(p.asked), p.Held == 0)
	}
	refuse = false
	n.until(t, "the answers", func() bool { return from.Flushed == from.Asked })
	if p.gone || len(p.asked) > 0 || p.Held != 0 {
		t.Errorf("gone %v, %d questions, C may not answer: %v", p.gone, len(p.asked), p.Held != 0)
	}
	n.close(t)
}

// TestScarceSlots: a peer that finds no slot goes on when another has given some back.
func TestScarceSlots(t *testing.T) {
	n := newNet(t, 3, 1, func(f *fake.Fabric, c *Config) {
		f.Info.MaxCQE = 32                  // 8 slots
		c.Clock = func() int64 { return 1 } // no timer looks after a peer
	})
	n.links[0].probeAt = math.MaxInt64 // nor a probe
	refuse := true
	got := [3]int{}
	for i := 1; i < 3; i++ {
		n.links[i].Handle(2, func(*transport.Msg) transport.Verdict {
			if refuse && i == 1 {
				return transport.Refuse
			}
			got[i]++
			return transport.Accept
		})
	}
	send := func(ep transport.Endpoint) {
		if _, err := n.links[0].Send(ep, 2, nil, &transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	const asks = 3 // the third packet asks for a completion: a quarter of the slots is taken
	for range asks {
		send(2)
	}
	n.until(t, "the slots", func() bool {
		return n.links[0].shared.Sending == 0 && len(n.links[0].active) == 0
	})
	limit := int(n.links[0].shared.LimitSend)
	for range limit {
		send(1)
	}
	// No slot is left, and nothing of task 2 is under way: nothing else looks after its flush.
	flushed := false
	if _, err := n.links[0].Flush(2, &transport.Op{Done: func(*transport.Op, error) {
		flushed = true
	}}); err != nil {
		t.Fatal(err)
	}
	refuse = false
	n.until(t, "the flush", func() bool { return flushed })
	n.until(t, "the messages", func() bool { return got == [3]int{0, limit, asks} })
	n.close(t)
}

// TestRDMAIsCounted: RDMA requests that a failure has cut off are not counted for ever.
func TestRDMAIsCounted(t *testing.T) {
	n := newNet(t, 2, 3, func(f *fake.Fabric, c *Config) {
		c.Clock, f.Info.MaxMessage, f.Break = fast(), 1<<10, 0.05
	})
	here, there := userMemory(t, 1<<18), userMemory(t, 1<<18)
	ended := false
	put := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 1 << 17,
		Done: func(*transport.Op, error) { ended = true }}
	if _, err := n.links[0].Put(1, put); err != nil {
		t.Fatal(err)
	}
	n.until(t, "the put", func() bool { return ended })
	if n.links[0].Replaced() == 0 || n.links[0].transfers.Moving() != 0 {
		t.Errorf("%d queue pairs failed, %d requests are under way", n.links[0].Replaced(),
			n.links[0].transfers.Moving())
	}
	ended = false
	if _, err := n.links[0].Put(1, put); err != nil {
		t.Fatal(err)
	}
	n.until(t, "RDMA", func() bool { return n.links[0].transfers.Moving() > 0 })
	n.links[0].Disconnect(1, transport.ErrUnreachable)
	if !ended || n.links[0].transfers.Moving() != 0 {
		t.Errorf("%d requests of a peer that is gone are under way", n.links[0].transfers.Moving())
	}
	n.close(t)
}

// TestRDMAAgain: requests that a queue pair had under way when it failed are done again over the
// next, all of them and once: put and get, at each of some requests.
func TestRDMAAgain(t *testing.T) {
	const size, piece = 1 << 16, 1 << 12
	for _, get := range []bool{false, true} {
		for skip := range 6 {
			n := newNet(t, 2, uint64(skip), func(f *fake.Fabric, c *Config) {
				c.Clock, f.Info.MaxMessage = fast(), piece
			})
			from, to := userMemory(t, size), userMemory(t, size)
			for i := range from {
				from[i] = byte(i>>8 + i + 1)
			}
			ended := false
			op := &transport.Op{Local: memory.AddrOf(from), Remote: memory.AddrOf(to), N: size,
				Done: func(_ *transport.Op, err error) { ended = err == nil }}
			start := n.links[0].Put
			if get {
				op.Local, op.Remote, start = op.Remote, op.Local, n.links[0].Get
			}
			if _, err := start(1, op); err != nil {
				t.Fatal(err)
			}
			n.until(t, "RDMA", func() bool {
				return n.devices[0].Moved() >= uint64(skip*piece) &&
					n.links[0].transfers.Moving() > 0
			})
			n.devices[0].EndNext(ibv.RetryExcErr, true)
			n.until(t, "the end", func() bool { return ended })
			if n.links[0].Replaced() == 0 {
				t.Errorf("get %v, after %d requests: no queue pair has failed", get, skip)
			}
			if !bytes.Equal(from, to) || n.devices[0].Moved() != size {
				t.Errorf("get %v, after %d requests: damaged, or not once: %d of %d bytes", get, skip,
					n.devices[0].Moved(), size)
			}
			n.close(t)
		}
	}
}

// TestArmLooksAgain: a packet that came before the adapter was armed is work.
func TestArmLooksAgain(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	n.until(t, "a quiet link", func() bool { return !n.links[1].Arm() })
	n.links[1].Disarm()
	n.devices[1].Quiet(nil)
	if _, err := n.links[0].Send(1, 2, make([]byte, 8), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	for range 50 { // the network brings it, and nobody is woken
		n.links[0].Progress(16)
	}
	if !n.links[1].Arm() {
		t.Error("a message waits, and the link would sleep")
	}
	n.close(t)
}

// TestReceiveBuffers: there are as many receive buffers as the windows of connected peers need, and
// none for a peer never talked to.
func TestReceiveBuffers(t *testing.T) {
	n := newNet(t, 3, 1, nil)
	n.sendNumbers(t, 200, func(int) {})
	if now, notReady := n.devices[1].Receives(); now != wire.Window+spare+pool.Each || notReady != 0 {
		t.Errorf("%d buffers for one peer, and %d times there was none", now, notReady)
	}
	if now, _ := n.devices[2].Receives(); now != 0 || n.devices[2].Pairs() != 0 {
		t.Errorf("%d buffers, %d queue pairs for no peer", now, n.devices[2].Pairs())
	}
	n.close(t)
}

// from is a Hello of node 0 for node 1, as node 0 would say it.
func (n *net) from(h wire.Hello) []byte {
	h.From, h.To = 0, 1
	b := h.Encode([]byte("a key"), n.links[0].own.Generation, n.links[1].own.Generation)
	return b
}

// TestForgedHello: a Hello that is not proven, or is an earlier one, changes nothing.
func TestForgedHello(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 1, func(int) {})
	n.devices[0].EndNext(5, false)
	n.sendNumbers(t, 20, func(int) {}) // the second round
	p := n.links[1].peers[0]
	before, round := p.queue, n.links[0].peers[1].Round()
	forged := n.from(wire.Hello{QPN: 7, PSN: 1, Life: 1, Round: round + 1})
	forged[20]++
	for what, b := range map[string][]byte{
		"not proven":            forged,
		"an older one":          n.from(wire.Hello{QPN: 7, PSN: 1, Life: 1, Round: round - 1}),
		"another of this round": n.from(wire.Hello{QPN: 7, PSN: 1, Life: 1, Round: round}),
		"a short one":           forged[:20],
		"nothing":               nil,
	} {
		ghosts := n.links[1].stats.GhostPackets
		n.links[1].onDatagram(b)
		if p.queue != before || n.links[1].stats.GhostPackets != ghosts+1 {
			t.Errorf("%s changes something", what)
		}
	}
	n.close(t)
}

// TestLateHello: one of a queue pair that was joined and has failed joins no other to it.
func TestLateHello(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	l := n.links[1]
	p := l.peers[0]
	there := n.links[0].peers[1]
	late := n.from(wire.Hello{QPN: there.QPN(), PSN: 1, Life: 1, Round: there.Round()})
	p.queue.dropPair()
	ghosts := l.stats.GhostPackets
	l.onDatagram(late)
	if p.Exists() || l.stats.GhostPackets != ghosts+1 {
		t.Error("it is taken")
	}
	n.close(t)
}

// TestHelloForAnother: a queue pair that is joined to an earlier one is not joined to.
func TestHelloForAnother(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.links[1].onDatagram(n.from(wire.Hello{QPN: 7, PSN: 1, Life: 1, Round: 1, Echo: 99999}))
	p := n.links[1].peers[0]
	if p == nil || !p.Exists() || p.State() != pair.Said {
		t.Fatal("joined, or no answer")
	}
	n.sendNumbers(t, 5, func(int) {})
	n.close(t)
}

// TestNonsense: packets that no peer sends end nothing that is not theirs.
func TestNonsense(t *testing.T) {
	n := newNet(t, 3, 1, nil)
	l := n.links[1]
	n.sendNumbers(t, 1, func(int) {})
	got := 0
	l.Handle(3, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	if _, err := n.links[2].Send(1, 3, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "a message", func() bool { return got == 1 })
	l.peers[2].onFlushed(5)
	for _, b := range [][]byte{nil, make([]byte, wire.HeadSize-1), make([]byte, wire.HeadSize),
		make([]byte, 200)} {
		ghosts := l.stats.GhostPackets
		if l.peers[2].queue.receive(b, 0); l.stats.GhostPackets != ghosts+1 {
			t.Errorf("%d zeros are a packet", len(b))
		}
	}
	if l.peers[2].gone || l.peers[0].gone {
		t.Error("a peer was given up")
	}
	n.close(t)
}

// TestCallsPerMessage: the cost of a short message, in calls of the adapter and in completions.
// There and back each is one request, which brings the credit along; receive buffers go back many
// at a time, and few sends make a completion.
func TestCallsPerMessage(t *testing.T) {
	const rounds = 800
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	got := [2]int{}
	for i, l := range n.links {
		l.Handle(3, func(*transport.Msg) transport.Verdict {
			got[i]++
			return transport.Accept
		})
	}
	before := [2]fake.Calls{n.devices[0].Calls(), n.devices[1].Calls()}
	for i := range rounds {
		for side, l := range n.links {
			if _, err := l.Send(transport.Endpoint(1-side), 3, make([]byte, 8),
				&transport.Op{}); err != nil {
				t.Fatal(err)
			}
			for got[1-side] <= i { // a turn asks the adapter once
				polls := n.devices[1-side].Calls().Polls
				n.links[1-side].Progress(16)
				if d := n.devices[1-side].Calls().Polls - polls; d != 1 {
					t.Fatalf("a turn asks %d times", d)
				}
			}
		}
	}
	for i, d := range n.devices {
		c := d.Calls()
		posts, receives := c.Posts-before[i].Posts, c.Receives-before[i].Receives
		if signals := c.Signals - before[i].Signals; posts != rounds ||
			receives > rounds/pool.Each+1 || signals > rounds/layout.VerbsSignal+1 {
			t.Errorf("task %d: %d messages, %d requests, %d of them with a completion, "+
				"%d calls for receive buffers", i, rounds, posts, signals, receives)
		}
	}
	n.close(t)
}
