package verbs

import (
	"fmt"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/wire"
)

// TestOverrunLosesNothing: the completion queues of the sender's or receiver's adapter fail, and
// lose completions before the event is there. Each message arrives once and in order, no task is
// lost, although neither has another adapter, and the link's memory does not grow.
func TestOverrunLosesNothing(t *testing.T) {
	for seed := range uint64(8) {
		for side := range 2 {
			t.Run(fmt.Sprintf("%d/%d", side, seed), func(t *testing.T) { testOverrun(t, side, seed) })
		}
	}
}

func testOverrun(t *testing.T, side int, seed uint64) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{0, 0}, seed, func(f *fake.Fabric, c *Config) {
		s.set(f, c)
		c.PeerFailed = func(ep transport.Endpoint, err error) { t.Errorf("task %d is lost: %v", ep, err) }
	})
	n := s.n
	overrun := func() { // the event comes later
		d := n.devices[side]
		d.FailCQs()
		time.AfterFunc(time.Duration(seed)*time.Millisecond/2, d.OverrunCQs)
	}
	n.sendNumbers(t, 400, func(i int) {
		if i%100 == 40 {
			overrun()
		}
	})
	here, there := userMemory(t, 1<<20), userMemory(t, 1<<20)
	at := 0
	for _, get := range []bool{false, true} {
		n.transferOf(t, get, here, there, func() {
			if at++; at == 5 {
				overrun()
			}
		})
	}
	for i, l := range n.links {
		p := l.peers[transport.Endpoint(1-i)]
		if len(p.buffers) > 0 || l.ports.Slots() > 10*wire.Window {
			t.Errorf("task %d: %d buffers are kept, there are %d slots", i, len(p.buffers), l.ports.Slots())
		}
	}
	n.close(t)
}

// TestOverrunReopensAtOnce: an adapter of which only a queue has failed is not waited for.
func TestOverrunReopensAtOnce(t *testing.T) {
	now := int64(1)
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{0, 0}, 1, func(f *fake.Fabric, c *Config) {
		s.set(f, c)
		c.Clock = func() int64 { now += 1000; return now }
	})
	s.n.sendNumbers(t, 10, func(int) {})
	before, failed := s.n.devices[1], now
	s.n.devices[1].OverrunCQs()
	s.n.links[1].Disarm() // looks for events
	s.n.until(t, "the port is opened again", func() bool { return s.n.devices[1] != before })
	if took := time.Duration(now - failed); took > time.Second/2 {
		t.Errorf("it took %v", took)
	}
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.close(t)
}

// TestOverrunAnotherPort: a receiver whose completion queue has failed takes in what lies in its
// buffers when the next queue pair, over another port, is joined.
func TestOverrunAnotherPort(t *testing.T) {
	for seed := range uint64(8) {
		s := newPlugs()
		s.n = newNetOfPorts(t, []int{1, 1}, seed, func(f *fake.Fabric, c *Config) {
			s.set(f, c)
			c.PeerFailed = func(ep transport.Endpoint, err error) { t.Errorf("task %d is lost: %v", ep, err) }
		})
		n := s.n
		n.sendNumbers(t, 200, func(i int) {
			if i == 40 {
				which := n.links[1].peers[0].Own()
				d := n.ports[1][which]
				s.out[[2]int{1, which}] = true
				d.FailCQs()
				time.AfterFunc(3*time.Millisecond, d.OverrunCQs)
			}
		})
		n.close(t)
	}
}
