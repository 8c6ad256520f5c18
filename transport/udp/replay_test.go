package udp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/wire"
)

// jump moves the session from 0 to 1, which is idle, on as if n packets had gone and arrived.
func (p *pair) jump(n uint32) {
	p.t.Helper()
	o, i := p.ms[0].connected(1), p.ms[1].connected(0)
	w := &o.sender.window
	if w.Outstanding() || i.receiver.received.Expect() != w.End() {
		p.t.Fatal("the session is not idle")
	}
	next := w.End() + wire.Seq(n)
	w.Init(&o.sender, next, int64(p.ms[0].cfg.PollingInterval))
	w.SetPaths(o.paths.Recovery(), int64(paths.TurnTimeout))
	i.receiver.received.Init(next)
}

// TestReplays: an on-path observer replays packets of the session after the numbers have wrapped
// around, from any part of the past and in any order. No message is offered twice, and no current
// one is lost.
func TestReplays(t *testing.T) {
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) { testReplays(t, level) })
	}
}

func testReplays(t *testing.T, level wire.Level) {
	p := newPair(t, 2, atLevel(level))
	p.meet()
	var kept [2][]datagram // by sender
	p.lose = func(from int, b []byte) bool {
		kept[from] = append(kept[from], datagram{pairAddr(1 - from), slices.Clone(b)})
		return false
	}
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	r := rand.New(rand.NewPCG(uint64(level), 6))
	replay := func(from, i int) { p.hand(pairAddr(from), kept[from][i]) }
	for n := 1; n <= 200; n++ {
		if n%2 == 0 { // quarters of the way round, back to where a message was
			p.jump(1<<30 - 1)
		} else {
			p.jump(1 << r.Uint32N(31))
		}
		s := p.send(0, 1, 1, 8)
		p.pass(20 * time.Millisecond)
		if got != n || !s.over() || p.ms[0].connected(1).sender.window.Outstanding() {
			t.Fatalf("after %d messages and replays of theirs %d were offered", n, got)
		}
		for i := len(kept[0]) - 1; n%20 == 0 && i >= 0; i-- { // backwards, step by step
			replay(0, i)
		}
		for range 20 {
			from := r.IntN(2)
			replay(from, r.IntN(len(kept[from])))
		}
		p.settle()
	}
	if len(p.failed) > 0 {
		t.Error(p.failed)
	}
}
