package cm

import "testing"

// TestStaleMessages: many connections between two processes, one after the other. All messages of
// those before come again for as long as a network may delay one, which is less than answerTimeout,
// those of ended connections too. Each connection is requested and established once; nothing is left.
func TestStaleMessages(t *testing.T) {
	for seed := range uint64(20) {
		n := newNetwork(t, seed)
		a, b := n.host("k"), n.host("k")
		b.listen(7)
		requested, latest := 0, (*Conn)(nil)
		b.decide = func(c *Conn, private []byte) {
			requested, latest = requested+1, c
			_ = c.Accept(n.now, private)
		}
		stale := func() {
			for range n.random.IntN(6) {
				if len(n.kept) == 0 {
					return
				}
				d := n.kept[n.random.IntN(len(n.kept))]
				if n.now-d.at < answerTimeout-2*n.delay {
					n.flying = append(n.flying, datagram{n.now + 1 + n.random.Int64N(n.delay), d.from, d.to, d.b})
				}
			}
		}
		for i := 1; i <= 30; i++ {
			stale()
			c := a.connect(b, 7, "x", 10)
			for range 4 {
				n.run(0.0005)
				stale()
			}
			n.run(0.1)
			if a.heard[c] != "established" || b.heard[latest] != "established" || requested != i {
				t.Fatalf("seed %d, connection %d: %q and %q, %d requests", seed, i, a.heard[c],
					b.heard[latest], requested)
			}
			c.Linger(n.now)
			latest.Linger(n.now)
			if n.random.IntN(3) == 0 {
				n.run(float64(answerTimeout) / 1e9 * 1.5)
			}
		}
		n.run(60)
		if a.m.Conns()+b.m.Conns() != 0 {
			t.Errorf("seed %d: %d and %d connections are left", seed, a.m.Conns(), b.m.Conns())
		}
	}
}

// TestReplayedRequest: a request that comes again when its connection is over, however late, is
// no other. Only the newest are remembered. A request that was dropped comes again.
func TestReplayedRequest(t *testing.T) {
	n := newNetwork(t, 1)
	a, b := n.host("k"), n.host("k")
	b.listen(7)
	requested, drop := 0, false
	b.decide = func(c *Conn, private []byte) {
		if requested++; drop {
			drop = false
			c.Drop()
			return
		}
		_ = c.Accept(n.now, private)
	}
	for i := range uint64(EndedMax) { // of others
		b.m.end(requestKey{number: i})
	}
	const made = 20
	for range made {
		c := a.connect(b, 7, "x", 10)
		n.run(0.1)
		c.Close(n.now)
		for c := range b.m.All() {
			c.Close(n.now)
		}
	}
	n.run(2 * float64(answerTimeout) / 1e9)
	for _, d := range n.kept {
		n.flying = append(n.flying, datagram{n.now + 1, d.from, d.to, d.b})
	}
	n.run(1)
	if requested != made || a.m.Conns()+b.m.Conns() != 0 || len(b.m.ended) != EndedMax {
		t.Errorf("%d requests for %d connections; %d are left, %d remembered", requested, made,
			a.m.Conns()+b.m.Conns(), len(b.m.ended))
	}
	drop = true
	a.connect(b, 7, "x", 10)
	if n.run(3); requested != made+2 {
		t.Errorf("%d requests after a dropped one, not %d", requested, made+2)
	}
}
