package verbs

import (
	"testing"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/wire"
)

// TestQueuePairStays: one over which nothing has gone stays when the peer's is replaced; the peer
// may be joined to it already.
func TestQueuePairStays(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	l := n.links[1]
	l.onDatagram(n.from(wire.Hello{QPN: 7, PSN: 1, Life: 1, Round: 1}))
	p := l.peers[0]
	if p == nil || p.Hello(false).Echo != 7 {
		t.Fatal("not joined")
	}
	first, round := p.Handle(), p.Round()
	l.onDatagram(n.from(wire.Hello{QPN: 8, PSN: 1, Life: 1, Round: 2}))
	if h := p.Hello(false); p.Handle() != first || h.Echo != 8 || h.Round != round+1 {
		t.Errorf("queue pair %d becomes %d, %+v after round %d", first, p.Handle(), h, round)
	}
	n.close(t)
}

// TestCreditIsGrantedAgain: a peer gets its credit once more over the next queue pair, as that of
// Hello may be older.
func TestCreditIsGrantedAgain(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	sender, receiver := n.links[0], n.links[1]
	refuse := true
	receiver.Handle(2, func(*transport.Msg) transport.Verdict {
		if refuse {
			return transport.Refuse
		}
		return transport.Accept
	})
	room := func() bool {
		_, err := sender.Send(1, 2, nil, &transport.Op{})
		return err == nil
	}
	for idle := 0; idle < 3000; idle++ { // until there is no credit left
		for room() {
			idle = 0
		}
		n.turn()
	}
	p := receiver.peers[0]
	p.queue.fail()
	receiver.Progress(1) // says Hello, with as little credit as before
	n.fabric.Lose = 1    // those with more are lost
	refuse = false
	for end := 0; p.held.Len() > 0; end++ { // the sender receives nothing meanwhile
		if receiver.Progress(16); end > 10_000_000 {
			t.Fatal("what was refused is never taken")
		}
	}
	n.fabric.Lose = 0
	n.until(t, "room again", room)
	n.close(t)
}

// TestHelloOfBefore: one of the connection that both have ended joins nothing to the next.
func TestHelloOfBefore(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 5, func(int) {})
	l := n.links[1]
	h := wire.Hello{QPN: 7, PSN: 1, Round: 100}
	n.links[0].peers[1].life.Say(&h)
	h.PeerLife = 0
	before := n.from(h)
	l.Disconnect(0, transport.ErrUnreachable)
	n.again(t, 1)
	ghosts := l.stats.GhostPackets
	l.onDatagram(before)
	if p := l.peers[0]; p.Exists() || p.life.Known() || l.stats.GhostPackets != ghosts+1 {
		t.Error("it is taken")
	}
	n.close(t)
}

// TestKeysOfOnePort: a transfer has a key for the port that packets go over. When that is down, so
// that they go over another, it gives the key back and asks for one of that. The key for the port
// over which requests were lost ends before the transfer does.
func TestKeysOfOnePort(t *testing.T) {
	for _, get := range []bool{false, true} {
		n := newNetOfPorts(t, []int{1, 1}, 1, func(f *fake.Fabric, c *Config) {
			c.Clock, f.Info.MaxMessage = fast(), 1<<10
		})
		n.sendNumbers(t, 1, func(int) {})
		p := n.links[0].peers[1]
		first := p.Far()
		n.transfer(t, get, bulk.LanesMin-1, func() {
			if s := n.links[0].Stats(); p.Far() == first && s.DataSent+s.DataReceived > 1<<10 {
				n.ports[1][first].Down(true)
			}
		})
		if p.Far() == first {
			t.Error("packets go over the port that is down")
		}
		if keys := n.ports[1][first].Keys(); keys != 0 {
			t.Errorf("%d keys are left for the port that is down", keys)
		}
		n.close(t)
	}
}

// TestCutOffPort: packets whose way leads nowhere, which no event reports, go over another.
func TestCutOffPort(t *testing.T) {
	n := newNetOfPorts(t, []int{1, 1}, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 5, func(int) {})
	first := n.links[0].peers[1].Way
	for _, d := range n.ports[1] {
		n.ports[0][first.Own()].Cut(d, true)
	}
	n.sendNumbers(t, 50, func(int) {})
	if n.links[0].peers[1].Way == first {
		t.Error("they go over the same")
	}
	n.close(t)
}
