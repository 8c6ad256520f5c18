package verbs

import (
	"testing"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// TestPoolFollows: of many peers, the shared receive queue has the least number of buffers until
// more packets come at once; it grows then, and shrinks when few come, with the memory given back.
// Later messages arrive.
func TestPoolFollows(t *testing.T) {
	const peers = 40
	now := int64(1)
	n := newNet(t, 1+peers, 1, func(_ *fake.Fabric, c *Config) {
		c.Clock = func() int64 { now += 10_000; return now }
	})
	hub, pt := n.links[0], n.links[0].ports.Ports()[0]
	came, sent := 0, 0
	hub.Handle(2, func(*transport.Msg) transport.Verdict { came++; return transport.Accept })
	round := func(each, of int) {
		for k := range each {
			for i := range of {
				if _, err := n.links[1+i].Send(0, 2, nil, &transport.Op{}); err != nil {
					t.Fatal(k, i, err)
				}
			}
		}
		sent += each * of
		for _, l := range n.links[1:] { // the hub looks at nothing meanwhile
			for range 20 {
				l.Progress(100)
			}
		}
		n.until(t, "all messages", func() bool { return came == sent })
	}
	round(1, peers)
	if pt.Target != pool.Floor || pt.Receives < pool.Floor-pool.Each {
		t.Fatalf("%d of %d buffers with %d peers", pt.Receives, pt.Target, peers)
	}
	for range 4 {
		round(wire.Window/2, peers)
	}
	most, slots := pt.Target, hub.ports.Slots()
	if most < peers*wire.Window/2 {
		t.Errorf("%d buffers where %d packets come at once", most, peers*wire.Window/2)
	}
	for range 10 {
		now += probeEach
		hub.turns = eventsEach
		round(wire.Window/2, 2)
		for range int(most) / (wire.Window / 2) / 10 { // so that the queue's buffers come round
			round(wire.Window/2, 1)
		}
	}
	if pt.Target != pool.Floor {
		t.Errorf("%d buffers when few packets come, there were %d", pt.Target, most)
	}
	if left := hub.ports.Slots(); left > slots/2 {
		t.Errorf("%d of %d slots are left", left, slots)
	}
	round(wire.Window/2, peers)
	n.close(t)
}
