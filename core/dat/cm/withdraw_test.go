package cm

import (
	"fmt"
	"slices"
	"testing"
)

// TestUnlistenKeepsRequests: a listener that ends as soon as its owner has decided, or before, loses
// no connection, whatever the network loses.
func TestUnlistenKeepsRequests(t *testing.T) {
	for seed := range uint64(60) {
		n := newNetwork(t, seed)
		n.lose, n.delay = 0.5*n.random.Float64(), 1+n.random.Int64N(100e6)
		a, b := n.host("k"), n.host("k")
		l := b.listen(7)
		first := seed%2 == 0
		b.decide = func(c *Conn, _ []byte) {
			if first {
				b.m.Unlisten(l)
			}
			_ = c.Accept(n.now, nil)
			b.m.Unlisten(l)
		}
		c := a.connect(b, 7, "", 60)
		n.run(100)
		if a.heard[c] != "established" || b.heard[b.other()] != "established" {
			t.Fatalf("seed %d: active %q, passive %q", seed, a.heard[c], b.heard[b.other()])
		}
		if held := b.held[Port(portOf(b.own, 7).Port())]; held != 0 {
			t.Fatalf("seed %d: the port is held %d times", seed, held)
		}
	}
}

// TestCloseAfterAccept: the active side is notified of a connection that the passive side closes at
// any time after it has accepted, and nothing is left.
func TestCloseAfterAccept(t *testing.T) {
	early, late := 0, 0
	for seed := range uint64(200) {
		n := newNetwork(t, seed)
		n.lose, n.double = 0.4*n.random.Float64(), 0.3*n.random.Float64()
		n.delay = 1 + n.random.Int64N(100e6)
		a, b := n.host("k"), n.host("k")
		a.slow = int64(seed%3) * 5e7
		l := b.listen(7)
		var taken *Conn
		b.decide = func(c *Conn, _ []byte) {
			taken = c
			_ = c.Accept(n.now, nil)
			b.m.Unlisten(l)
		}
		c := a.connect(b, 7, "", 60)
		for taken == nil && n.step(n.now+60e9) {
		}
		n.run(0.2 * n.random.Float64())
		if b.heard[taken] != "" { // it stands: its owner notifies the peer
			continue
		}
		if a.heard[c] == "" {
			early++
		} else {
			late++
		}
		taken.Close(n.now)
		n.run(100)
		if a.heard[c] != fmt.Sprintf("failed %d", Rejected) || b.heard[taken] != "" {
			t.Fatalf("seed %d: active %q, passive %q", seed, a.heard[c], b.heard[taken])
		}
		if a.m.Conns()+b.m.Conns()+b.m.Withdrawn()+b.held[taken.port] != 0 {
			t.Fatalf("seed %d: %d and %d connections, %d withdrawn, port held %d times", seed,
				a.m.Conns(), b.m.Conns(), b.m.Withdrawn(), b.held[taken.port])
		}
	}
	if early < 10 || late < 10 {
		t.Errorf("%d were closed before the active side had heard, %d after", early, late)
	}
}

// TestUselessConnection: an active side that cannot use what was accepted cancels it, and nothing
// is left on either side.
func TestUselessConnection(t *testing.T) {
	n := newNetwork(t, 4)
	a, b := n.host("k"), n.host("k")
	a.useless = true
	b.listen(7)
	a.connect(b, 7, "", 60)
	n.run(1)
	if got := b.heard[b.other()]; got != fmt.Sprintf("failed %d", Cancelled) {
		t.Errorf("the passive side ends with %q", got)
	}
	if a.m.Conns()+b.m.Conns() != 0 {
		t.Errorf("%d and %d connections are left", a.m.Conns(), b.m.Conns())
	}
}

// TestAcceptTimesOut: an active side whose every Ready is lost is notified that the passive side
// has given the connection up.
func TestAcceptTimesOut(t *testing.T) {
	n := newNetwork(t, 3)
	a, b := n.host(""), n.host("")
	b.listen(7)
	c := a.connect(b, 7, "", 60)
	for end := n.now + 19e9; n.step(end); {
		n.drop(Ready)
	}
	if a.heard[c] != "established" || len(b.heard) != 0 {
		t.Fatalf("active %q before the time is over", a.heard[c])
	}
	for end := n.now + 30e9; n.step(end); {
		n.drop(Ready)
	}
	if a.heard[c] != fmt.Sprintf("failed %d", Rejected) ||
		b.heard[b.other()] != fmt.Sprintf("failed %d", TimedOut) {
		t.Errorf("active %q, passive %q", a.heard[c], b.heard[b.other()])
	}
}

// drop takes the datagrams of a kind out of the network.
func (n *network) drop(kind Kind) {
	n.flying = slices.DeleteFunc(n.flying, func(d datagram) bool { return Kind(d.b[8]) == kind })
}
