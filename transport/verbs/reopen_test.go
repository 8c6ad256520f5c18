package verbs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/wire"
)

// plugs is where adapters can be pulled out, and are plugged in again when a test wants.
type plugs struct {
	n       *net
	out     map[[2]int]bool         // by task and port
	pulled  map[[2]int]*fake.Device // the latest likewise
	failing string                  // with failures, the abilities that the next adapter lacks
	fails   int
	asked   int
	returns int // looks in vain until all is plugged in again; 0: when a test says so
}

func newPlugs() *plugs {
	return &plugs{out: map[[2]int]bool{}, pulled: map[[2]int]*fake.Device{}}
}

// set has a task's link ask for its adapters.
func (s *plugs) set(_ *fake.Fabric, c *Config) {
	task := c.Task
	c.Clock = fast()
	c.Moved = func() { s.n.moved(task) }
	c.Reopen = func(i int) (ibv.Device, error) {
		if s.asked++; s.out[[2]int{task, i}] {
			if s.returns--; s.returns == 0 {
				clear(s.out)
			}
			return nil, ibv.ErrGone
		}
		d, err := s.n.fabric.Device()
		if err != nil {
			return nil, err
		}
		if s.fails > 0 {
			s.fails--
			d.FailNext(s.failing, 1)
			return d, nil
		}
		if s.n.ports[task][i] = d; i == 0 {
			s.n.devices[task] = d
		}
		return d, nil
	}
}

func (s *plugs) pull(task, i int) {
	at := [2]int{task, i}
	s.out[at], s.pulled[at] = true, s.n.ports[task][i]
	s.pulled[at].Vanish()
}

func (s *plugs) plug(task, i int) { delete(s.out, [2]int{task, i}) }

// isBack says whether a port works that was pulled out.
func (s *plugs) isBack(task, i int) bool {
	return s.n.links[task].ports.Ports()[i].State() == PortUp &&
		s.n.ports[task][i] != s.pulled[[2]int{task, i}]
}

// back waits until a port is up again, and its peer knows where.
func (s *plugs) back(t *testing.T, task, i int) {
	t.Helper()
	s.plug(task, i)
	s.n.until(t, "a port that is opened again", func() bool {
		var known wire.Address
		known.Decode([]byte(s.n.links[1-task].addresses[task]))
		return s.isBack(task, i) && known.Places[i] == s.n.links[task].ports.Places()[i]
	})
}

// TestReopened: whichever of the two ports of whichever task is pulled out and plugged in, nothing
// that is under way is lost, and the port moves data again.
func TestReopened(t *testing.T) {
	for side := range 2 {
		for which := range 2 {
			t.Run(fmt.Sprintf("%d/%d", side, which), func(t *testing.T) {
				s := newPlugs()
				s.n = newNetOfPorts(t, []int{1, 1}, 1, s.set)
				for range 3 {
					testReopened(t, s, side, which)
				}
				s.n.close(t)
			})
		}
	}
}

func testReopened(t *testing.T, s *plugs, side, which int) {
	n := s.n
	n.sendNumbers(t, 100, func(i int) {
		if i == 50 {
			s.pull(side, which)
		}
	})
	n.transfer(t, false, 1<<20, func() {})
	old := n.ports[side][which]
	s.back(t, side, which)
	if n.ports[side][which] == old || old.Regions()+old.Pairs() > 0 {
		t.Errorf("of the old adapter there are %d regions, %d queue pairs", old.Regions(),
			old.Pairs())
	}
	for _, get := range []bool{false, true} {
		n.until(t, "it moves data", func() bool {
			before := n.ports[0][0].Moved() + n.ports[0][1].Moved()
			first := n.ports[0][0].Moved()
			n.transfer(t, get, 4<<20, func() {})
			one := n.ports[0][0].Moved() - first
			both := n.ports[0][0].Moved() + n.ports[0][1].Moved() - before
			return both == 4<<20 && one > both/4 && one < both-both/4
		})
	}
	at := 0 // while data moves
	n.transfer(t, side == 1, 16<<20, func() {
		if at++; at == 5 {
			s.pull(side, which)
			s.plug(side, which)
		}
	})
	s.back(t, side, which)
}

// TestLastReopened: the only adapter of one task, or of both, is pulled out; packets go over the
// carrier until it is plugged in, and over it from then on.
func TestLastReopened(t *testing.T) {
	for _, sides := range [][]int{{0}, {1}, {0, 1}} {
		t.Run(fmt.Sprint(sides), func(t *testing.T) {
			s := newPlugs()
			s.n = newSpareNet(t, []int{0, 0}, 1, 1, s.set)
			n := s.n
			for range 3 {
				n.sendNumbers(t, 100, func(i int) {
					if i == 50 {
						for _, side := range sides {
							s.pull(side, 0)
						}
					}
				})
				n.transfer(t, true, 1<<20, func() {})
				if !n.links[0].UsesSpare() {
					t.Error("the carrier is not used")
				}
				for _, side := range sides {
					s.back(t, side, 0)
				}
				n.until(t, "the carrier is left", func() bool {
					return !n.links[0].UsesSpare() && !n.links[1].UsesSpare()
				})
				before := n.devices[0].Moved()
				n.transfer(t, false, 1<<20, func() {})
				if n.devices[0].Moved() != before+1<<20 {
					t.Error("no RDMA")
				}
			}
			n.close(t)
		})
	}
}

// TestReopenedAtRandom: ports are pulled out and plugged in all the time, queue pairs fail,
// datagrams are lost; one way at least is always left. The link does not grow.
func TestReopenedAtRandom(t *testing.T) {
	for seed := range uint64(4) {
		s := newPlugs()
		s.n = newNetOfPorts(t, []int{2, 1}, seed, func(f *fake.Fabric, c *Config) {
			s.set(f, c)
			f.Break, f.Lose, c.BulkMin = 0.002, 0.1, 10_000
			c.PeerFailed = func(ep transport.Endpoint, err error) {
				t.Errorf("seed %d: task %d is lost: %v", seed, ep, err)
			}
		})
		n, random := s.n, rand.New(rand.NewPCG(seed, 3))
		here, there := userMemory(t, 1<<20), userMemory(t, 1<<20)
		out, pulled := [2]int{-1, -1}, 0
		upset := func() {
			switch {
			case out[0] < 0 && random.IntN(60) == 0:
				out = [2]int{random.IntN(2), 0}
				out[1] = random.IntN(len(n.ports[out[0]]))
				s.pull(out[0], out[1])
				pulled++
			case out[0] >= 0 && s.isBack(out[0], out[1]):
				out[0] = -1
			case out[0] >= 0 && random.IntN(20) == 0:
				s.plug(out[0], out[1])
			}
		}
		slots := 0
		for round := 0; round < 2 || pulled < 8; round++ {
			n.sendNumbers(t, 200, func(i int) {
				upset()
				if i%10 == 0 {
					length := 1 + random.IntN(1<<20)
					n.transferOf(t, i%20 == 0, here[:length], there[:length], upset)
				}
			})
			now := n.links[0].ports.Slots() + n.links[1].ports.Slots()
			if round > 0 && now > slots+4*64 {
				t.Errorf("there are %d slots, and %d before", now, slots)
			}
			slots = now
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		n.close(t)
	}
}

// TestReopenGivesSlotsBack: the buffers that an adapter had when it went down are used again.
func TestReopenGivesSlotsBack(t *testing.T) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{1, 1}, 1, s.set)
	s.n.sendNumbers(t, 100, func(int) {})
	before := s.n.links[1].ports.Slots()
	for range 20 {
		for i := range 2 {
			s.pull(1, i)
			s.n.sendNumbers(t, 10, func(int) {})
			s.back(t, 1, i)
		}
	}
	for side, l := range s.n.links {
		found := int(l.shared.NumFree + l.shared.Sending)
		for _, pt := range l.ports.Ports() {
			found += int(pt.Receives)
		}
		if all := l.ports.Slots(); found != all {
			t.Errorf("task %d: of %d slots %d are free or used", side, all, found)
		}
	}
	if now := s.n.links[1].ports.Slots(); now > before+2*64 {
		t.Errorf("there are %d slots, and %d before", now, before)
	}
	s.n.close(t)
}

// TestReopenWaits: while a handler looks at a buffer of the adapter that is gone, nothing of it may
// be taken.
func TestReopenWaits(t *testing.T) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{1, 1}, 1, s.set)
	s.n.sendNumbers(t, 10, func(int) {})
	l := s.n.links[1]
	pt := l.ports.Ports()[l.peers[0].Own()]
	s.pull(1, pt.Number())
	s.n.until(t, "no queue pair", func() bool { return pt.State() == PortGone && pt.Queues() == 0 })
	pt.Receives-- // as when C has taken a message out
	s.plug(1, pt.Number())
	asked, due := s.asked, l.ports.NextLook(0)
	if l.ports.Look(due); pt.State() != PortGone || s.asked != asked {
		t.Error("the port was opened again")
	}
	l.probeAt = due + probeEach // as after a look in vain
	if at := l.NextTimeout(); at != l.probeAt && at != l.timers.Due() {
		t.Errorf("it sleeps until %d, and looks again at %d", at, l.probeAt)
	}
	pt.Receives++
	if l.ports.Look(due); pt.State() != PortUp {
		t.Error("the port was not opened again")
	}
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.close(t)
}

// TestRemovedIsClosed: an adapter that the kernel takes away is closed while it is not there, since the
// kernel may wait for that, with data under way over the other port; nothing of it is left.
func TestRemovedIsClosed(t *testing.T) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{2, 2}, 1, s.set)
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.transfer(t, false, 1<<20, func() {})
	s.pull(0, 0)
	removed := s.pulled[[2]int{0, 0}]
	s.n.until(t, "the removed adapter to be closed", func() bool { return removed.Closed() })
	if left := removed.Left(); left > 0 {
		t.Errorf("%d objects of it are left", left)
	}
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.transfer(t, true, 1<<20, func() {})
	s.back(t, 0, 0)
	s.n.transfer(t, false, 1<<20, func() {})
	s.n.close(t)
}

// TestReopenFails: an adapter that is there and cannot be used is closed, and looked for again.
func TestReopenFails(t *testing.T) {
	for _, call := range []string{fake.Open, fake.Register} {
		s := newPlugs()
		s.n = newNetOfPorts(t, []int{1, 1}, 1, s.set)
		s.n.sendNumbers(t, 10, func(int) {})
		s.pull(0, 1)
		s.failing, s.fails = call, 2
		s.back(t, 0, 1)
		if s.fails > 0 || s.asked < 3 {
			t.Errorf("asked %d times", s.asked)
		}
		s.n.transfer(t, false, 1<<20, func() {})
		s.n.close(t)
	}
}

// TestReopenRefused: an adapter that is there again and moves less at once than pieces were cut for
// is not used, and that is said once; nor is it said when it only has not come back.
func TestReopenRefused(t *testing.T) {
	s, reported := newPlugs(), []PortChange(nil)
	s.n = newNetOfPorts(t, []int{1, 1}, 1, func(f *fake.Fabric, c *Config) {
		if s.set(f, c); c.Task == 0 {
			c.Changed = func(change PortChange) { reported = append(reported, change) }
		}
	})
	s.n.sendNumbers(t, 10, func(int) {})
	s.pull(0, 1)
	s.n.until(t, "a port that has not come back", func() bool { return s.asked >= 2 })
	if len(reported) != 1 || reported[0].State != PortGone || reported[0].Refused != nil {
		t.Fatalf("reported: %+v", reported)
	}
	most := s.n.fabric.Info.MaxMessage
	for range 2 { // it reports anew the ports that were used meanwhile
		reported, s.asked = nil, 0
		s.n.fabric.Info.MaxMessage = most / 2
		s.plug(0, 1)
		s.n.until(t, "a port that is refused", func() bool { return s.asked >= 3 })
		if len(reported) != 1 || reported[0].Index != 1 || reported[0].State != PortGone ||
			reported[0].Refused == nil || s.isBack(0, 1) {
			t.Errorf("reported: %+v", reported)
		}
		s.n.fabric.Info.MaxMessage = most
		s.back(t, 0, 1)
		s.pull(0, 1)
		s.n.until(t, "a port that is gone again", func() bool {
			return s.n.links[0].ports.Ports()[1].State() == PortGone
		})
	}
	s.n.close(t)
}

// TestReopenedUnknown: a peer without a connection does not know where a reopened port is now. It
// finds the other port, and learns of the first; and a task of which all ports have moved says
// Hello.
func TestReopenedUnknown(t *testing.T) {
	for _, c := range []struct{ side, ports int }{{0, 1}, {0, 2}, {1, 1}} {
		s := newPlugs()
		s.n = newNetOfPorts(t, []int{1, 1}, 1, s.set)
		for i := range c.ports {
			s.pull(c.side, i)
		}
		s.n.until(t, "they are gone", func() bool {
			return s.n.links[c.side].ports.Ports()[c.ports-1].State() == PortGone
		})
		for i := range c.ports {
			s.back(t, c.side, i)
		}
		s.n.sendNumbers(t, 10, func(int) {})
		s.n.transfer(t, true, 1<<20, func() {})
		l, there := s.n.links[c.side], s.n.links[1-c.side].peers[transport.Endpoint(c.side)]
		s.n.until(t, "the peer knows all", func() bool {
			return fmt.Sprint(there.to.Places) == fmt.Sprint(l.ports.Places())
		})
		s.n.close(t)
	}
}

// TestLaneOfBefore: the lane that led to where a port was is not used any more.
func TestLaneOfBefore(t *testing.T) {
	n := newNetOfPorts(t, []int{1, 1}, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	l, p, reported := n.links[0], n.links[0].peers[1], false
	n.transfer(t, false, 16<<20, func() {
		i := 1 - p.Far() // not where the packets go
		if reported || l.transfers.Moving() == 0 || !p.lanes[i].Works() {
			return
		}
		reported = true
		at := p.to.Places[i]
		at.Opened++
		p.movedTo(i, &at)
		if p.lanes[i].Exists() {
			t.Errorf("queue pair %d", p.lanes[i].Handle())
		}
	})
	if !reported {
		t.Error("no lane was there")
	}
	n.close(t)
}

// TestReopenIsReported: the owner gets a report of a port that goes and comes; its descriptors stay
// what they are, and are readable when the new adapter has something.
func TestReopenIsReported(t *testing.T) {
	var reported []PortState
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{1, 0}, 1, func(f *fake.Fabric, c *Config) {
		if s.set(f, c); c.Task == 0 {
			c.Changed = func(p PortChange) { reported = append(reported, p.State) }
		}
	})
	l := s.n.links[0]
	files := l.Descriptors()
	s.pull(0, 0)
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.until(t, "the event", func() bool { return len(reported) > 0 })
	if at := l.NextTimeout(); at == 0 || at > max(l.ports.NextLook(0), l.probeAt) {
		t.Errorf("it sleeps until %d, and is to look at %d", at, l.ports.NextLook(0))
	}
	s.back(t, 0, 0)
	if fmt.Sprint(reported) != fmt.Sprint([]PortState{PortGone, PortUp}) {
		t.Errorf("reported %v", reported)
	}
	if fmt.Sprint(l.Descriptors()) != fmt.Sprint(files) || len(files) != 1 {
		t.Errorf("descriptors %v, and before %v", l.Descriptors(), files)
	}
	l.Disarm()
	s.n.ports[0][0].Raise(ibv.Event{Kind: ibv.PortDown})
	fds := []unix.PollFd{{Fd: int32(files[0]), Events: unix.POLLIN}}
	if ready, err := unix.Poll(fds, 0); err != nil || ready != 1 {
		t.Errorf("the descriptor is ready: %d, %v", ready, err)
	}
	if l.Disarm(); l.ports.Ports()[0].State() != PortDown {
		t.Error("the event was not taken")
	}
	s.n.close(t)
}

// TestMovedThatCannotBe: an address with another number of ports, of another process, of a task
// that is not connected, or of an earlier place changes nothing; an MTU that no adapter has ends the
// connection.
func TestMovedThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		task        transport.Endpoint
		ports       int
		other       uint64 // changes the address's number of its start
		mtu, opened uint16
		ends        bool
	}{{ports: 2, mtu: 1024, opened: 1}, {ports: 1, other: 2, mtu: 1024, opened: 1},
		{task: 7, ports: 1, mtu: 1024, opened: 1}, {task: -1, ports: 1, mtu: 1024, opened: 1},
		{ports: 1, mtu: wire.MTUMin - 1, opened: 1, ends: true},
		{ports: 1, mtu: wire.MTUMax + 1, opened: 1, ends: true},
		{ports: 1, mtu: 512, opened: 0}, {ports: 1, mtu: 512, opened: 1<<16 - 1}} {
		n := newNet(t, 2, 1, nil)
		n.sendNumbers(t, 1, func(int) {})
		a := wire.Address{Generation: n.links[0].own.Generation ^ c.other,
			Places: make([]wire.Place, c.ports)}
		a.Places[0] = wire.Place{QPN: 1, MTU: c.mtu, Opened: c.opened}
		n.links[1].Moved(c.task, a.Encode())
		n.links[1].Moved(c.task, a.Encode()[:20])
		if p := n.links[1].peers[0]; p.gone != c.ends || p.to.Places[0].QPN == 1 {
			t.Errorf("%+v: gone %v, place %+v", c, p.gone, p.to.Places[0])
		}
		n.close(t)
	}
}

// TestBothReopened: the only adapters of both tasks are opened again at the same moment, after their
// completion queues have failed or they were gone for a while, and no other link leads there; also
// where the tasks have not talked to each other yet. Nothing is lost, and no task.
func TestBothReopened(t *testing.T) {
	for _, kind := range []string{"queue", "adapter", "first"} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(kind, seed), func(t *testing.T) { testBothReopened(t, kind, seed) })
		}
	}
}

func testBothReopened(t *testing.T, kind string, seed uint64) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{0, 0}, seed, func(f *fake.Fabric, c *Config) {
		s.set(f, c)
		f.Lose = 0.1
		c.PeerFailed = func(ep transport.Endpoint, err error) { t.Errorf("task %d is lost: %v", ep, err) }
	})
	n := s.n
	both := func() {
		for side := range 2 {
			if kind == "queue" {
				n.devices[side].FailCQs()
				n.devices[side].OverrunCQs()
			} else {
				s.pull(side, 0)
			}
		}
		s.returns = 1 + int(seed%4)
	}
	if kind == "first" {
		both()
		n.until(t, "they are back", func() bool { return s.isBack(0, 0) && s.isBack(1, 0) })
	}
	n.sendNumbers(t, 300, func(i int) {
		if i%100 == 50 && kind != "first" {
			both()
		}
	})
	n.transfer(t, seed%2 == 0, 1<<20, func() {})
	for _, l := range n.links {
		if l.ports.Places()[0].Opened == 0 {
			t.Error("no port was opened again")
		}
	}
	n.close(t)
}

// TestGraceEnds: where the last adapter does not come back, the other tasks are lost, and not before
// it was looked for several times.
func TestGraceEnds(t *testing.T) {
	s, ended := newPlugs(), error(nil)
	s.n = newNetOfPorts(t, []int{0, 0}, 1, func(f *fake.Fabric, c *Config) {
		s.set(f, c)
		if c.Task == 0 {
			c.PeerFailed = func(_ transport.Endpoint, err error) { ended = err }
		}
	})
	s.n.sendNumbers(t, 10, func(int) {})
	s.pull(0, 0)
	s.n.until(t, "the other task to be lost", func() bool { return ended != nil })
	if ended != transport.ErrAdaptersDown || s.asked < 5 {
		t.Errorf("%v, after %d looks", ended, s.asked)
	}
	s.n.close(t)
}

// TestPlaceInBytes: a place, in an address and in a Hello, goes through bytes as it is.
func TestPlaceInBytes(t *testing.T) {
	at := wire.Place{QPN: 1<<32 - 2, QKey: 1<<32 - 3, MTU: 4096, Reads: 1<<16 - 4, LID: 1<<16 - 5,
		Opened: 1<<16 - 6}
	for i := range at.GID {
		at.GID[i] = byte(200 + i)
	}
	var a wire.Address
	if !a.Decode((&wire.Address{Generation: 1, Places: []wire.Place{{}, at}}).Encode()) ||
		a.Places[1] != at {
		t.Errorf("%+v became %+v", at, a.Places)
	}
	var h wire.Hello
	if !h.Decode((&wire.Hello{At: at}).Encode(nil, 1, 2)) || h.At != at {
		t.Errorf("%+v became %+v", at, h.At)
	}
}
