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
