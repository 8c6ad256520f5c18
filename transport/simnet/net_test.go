package simnet

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lapi/transport/memory"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// TestSameSeedSameRun compares packet logs.
func TestSameSeedSameRun(t *testing.T) {
	memory.Guard()
	s, err := newRun()
	if err != nil {
		t.Fatal(err)
	}
	log := func(seed uint64) uint64 {
		h := fnv.New64a()
		if err := s.simulate(NewScenario(seed), h); err != nil {
			t.Error(err)
		}
		return h.Sum64()
	}
	seen := map[uint64]uint64{}
	for seed := uint64(1); seed <= 10; seed++ {
		first := log(seed)
		if other := log(seed); other != first {
			t.Errorf("seed %d: two runs differ", seed)
		}
		if other, ok := seen[first]; ok {
			t.Errorf("seeds %d and %d have the same run", seed, other)
		}
		seen[first] = seed
	}
}

func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var q queue
	q.serial = 1<<32 - 500 // it wraps around
	var want []event
	for range 2000 {
		for range r.IntN(4) {
			at := int64(r.IntN(50))
			q.add(at, int32(len(want)))
			want = append(want, event{at, q.serial, int32(len(want))})
		}
		if len(want) > 0 && r.IntN(3) == 0 {
			first := 0
			for i := range want {
				if want[i].before(&want[first]) {
					first = i
				}
			}
			if got := q.take(); got != want[first] {
				t.Fatalf("took %+v, want %+v", got, want[first])
			}
			want = slices.Delete(want, first, first+1)
		}
	}
}

// wires is a network of n tasks with two addresses each, whose nodes note what arrives.
func wires(t *testing.T, n int, way Way) (s *Net, got [][]string) {
	sc := &Scenario{Seed: 1, Tasks: n, Level: wire.LevelCookie, ReceiveBuffer: 10000}
	for range n {
		sc.Addresses = append(sc.Addresses, 2)
	}
	for i := range sc.Ways {
		sc.Ways[i] = way
	}
	s = New(sc, nil)
	t.Cleanup(s.Close)
	memory.Guard()
	got = make([][]string, n)
	for i := range n {
		node := s.Node(i)
		node.Attach(func() {
			for k, ok := node.take(); ok; k, ok = node.take() {
				got[i] = append(got[i], string(s.packets.all[k].b))
				s.packets.drop(k)
			}
		}, func() int64 { return 0 })
	}
	return s, got
}

func (n *Node) post(to *Node, path udp.Path, text string) udp.Outcome {
	return n.Transmit(path, to.addrs[path], []byte(text), 0, 0)
}

func drain(s *Net) {
	for s.Step() {
	}
}

func TestDisturbances(t *testing.T) {
	text := func(from, to, path int) string { return strings.Repeat("x", 10*from+to+100*path+1) }
	for _, c := range []struct {
		d     Disturbance
		stops func(from, to, path int) bool
	}{
		{Disturbance{Kind: CutPair, A: 0, B: 2},
			func(from, to, _ int) bool { return from+to == 2 && from != to }},
		{Disturbance{Kind: CutOneWay, A: 0, B: 2},
			func(from, to, _ int) bool { return from == 0 && to == 2 }},
		{Disturbance{Kind: CutPath, A: 0, B: 2, Path: 1},
			func(from, to, path int) bool { return from+to == 2 && path == 1 }},
		{Disturbance{Kind: CutPathAway, A: 2, B: 0},
			func(from, to, path int) bool { return from == 2 && to == 0 && path == 0 }},
		{Disturbance{Kind: DeadAdapter, A: 1, Path: 1},
			func(from, to, path int) bool { return (from == 1 || to == 1) && path == 1 }},
		{Disturbance{Kind: DeadNetwork, Path: 1}, func(_, _, path int) bool { return path == 1 }},
		{Disturbance{Kind: Alone, A: 2}, func(from, to, _ int) bool {
			return from == 2 ||
				to == 2
		}},
		{Disturbance{Kind: Narrow, Path: 1, MTU: 110},
			func(from, to, path int) bool { return path == 1 && 10*from+to > 9 }},
		{Disturbance{Kind: Stuffed, A: 1}, func(from, _, _ int) bool { return from == 1 }},
		{Disturbance{Kind: Asleep, A: 1}, func(_, to, _ int) bool { return to == 1 }},
	} {
		s, got := wires(t, 3, Way{DelayMin: 1, DelayMax: 1})
		c.d.Time = time.Second
		s.Happen = func(int32) {}
		round := func(what string, stops func(from, to, path int) bool) {
			for i := range got {
				got[i] = nil
			}
			want := [3]int{}
			for from := range 3 {
				for to := range 3 {
					for path := range 2 {
						if from != to {
							s.Node(from).post(s.Node(to), udp.Path(path), text(from, to, path))
							if !stops(from, to, path) {
								want[to]++
							}
						}
					}
				}
			}
			end := s.now + int64(time.Second/2)
			for s.Schedule(time.Second/2, 0); s.now < end; {
				s.Step()
			}
			for i := range got {
				if len(got[i]) != want[i] {
					t.Errorf("%v, %s: task %d got %d packets, want %d", c.d, what, i, len(got[i]),
						want[i])
				}
			}
		}
		s.Disturb(c.d)
		round("while it lasts", c.stops)
		drain(s)
		round("after it", func(int, int, int) bool { return false })
		drain(s)
	}
}

// TestToldOfAdapters: a task is notified once that its adapter is down, and once, when the last
// disturbance of it is over, that it is up; no other task is notified.
func TestToldOfAdapters(t *testing.T) {
	s, _ := wires(t, 2, Way{})
	var heard [2]string
	for i := range heard {
		s.Node(i).onPath = func(path udp.Path,
			up bool) {
			heard[i] += fmt.Sprintf("%d %v %v, ", path, up, time.Duration(s.now))
		}
	}
	s.Disturb(Disturbance{Kind: DeadAdapter, A: 1, Path: 1, Told: true, Time: time.Second})
	s.Disturb(Disturbance{Kind: DeadAdapter, A: 1, Path: 1, Told: true, Time: 2 * time.Second})
	s.Disturb(Disturbance{Kind: DeadAdapter, A: 0, Path: 1, Time: 3 * time.Second})
	drain(s)
	if heard[0] != "" || heard[1] != "1 false 1ns, 1 true 2.000000001s, " {
		t.Errorf("heard %q", heard)
	}
}

// TestGatheredMemory: memory that a task writes again before Push is found out.
func TestGatheredMemory(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s, got := wires(t, 2, Way{})
		g := gatherer{s.Node(0)}
		head := []byte("head")
		if g.Gather(0, s.Node(1).addrs[0], head, 0, 0) != udp.Gathered {
			t.Fatal("not gathered")
		}
		if drain(s); len(got[1]) != 0 {
			t.Error("a packet goes before Push")
		}
		if writes {
			head[0] = 'H'
		}
		g.Push()
		drain(s)
		if (s.Err() != nil) != writes || !writes && len(got[1]) != 1 {
			t.Errorf("written %v: %v, %d packets arrive", writes, s.Err(), len(got[1]))
		}
	}
}

// TestBottleneck: a slow adapter lets packets out one after the other, and drops what its queue
// does not hold.
func TestBottleneck(t *testing.T) {
	s, got := wires(t, 2, Way{Rate: 1_000_000, Queue: 2500})
	for range 10 {
		s.Node(0).post(s.Node(1), 0, strings.Repeat("x", 1000))
	}
	s.Node(1).post(s.Node(0), 0, "the other way")
	drain(s)
	// One is on the line, at most 2500 bytes wait behind it.
	if len(got[1]) != 3 || s.Counts.Dropped != 7 || len(got[0]) != 1 {
		t.Errorf("%d packets of 10 pass, %d are dropped, %d come back", len(got[1]),
			s.Counts.Dropped, len(got[0]))
	}
	if s.now < int64(3*time.Millisecond) || s.now > int64(5*time.Millisecond) {
		t.Errorf("3000 bytes at 1 MB/s, through two adapters: %v", time.Duration(s.now))
	}
}

// TestSocketOverflow: packets that a task does not take in time are lost beyond the socket's
// buffer.
func TestSocketOverflow(t *testing.T) {
	s, got := wires(t, 2, Way{})
	s.Happen = func(int32) {}
	s.Disturb(Disturbance{Kind: Asleep, A: 1, Time: time.Second})
	for range 10 {
		s.Node(0).post(s.Node(1), 0, strings.Repeat("x", 2000))
	}
	drain(s)
	if len(got[1]) != 3 || s.Counts.Overflowed != 7 { // 2512 bytes each of 10000
		t.Errorf("%d packets were kept, %d overflowed", len(got[1]), s.Counts.Overflowed)
	}
}

// TestDamageIsGuarded: below level mac only bits flip whose damage the protocol notices.
func TestDamageIsGuarded(t *testing.T) {
	s, got := wires(t, 2, Way{Damage: 1})
	b := make([]byte, 100)
	(&wire.Header{Kind: wire.KindAck}).Put(b)
	damaged := 0
	for range 1000 {
		s.Node(0).post(s.Node(1), 0, string(b))
		drain(s)
		g := []byte(got[1][0])
		first, n := guarded(b)
		if !bytes.Equal(g[:first], b[:first]) || !bytes.Equal(g[first+n:], b[first+n:]) {
			t.Fatalf("% x was made % x", b, g)
		}
		if !bytes.Equal(g, b) {
			damaged++
		}
		got[1] = nil
	}
	if damaged < 800 { // two flips of one bit may undo each other
		t.Errorf("%d of 1000 packets are damaged", damaged)
	}
}

// TestStormIsNoticed: a task whose timer is always due ends the run.
func TestStormIsNoticed(t *testing.T) {
	s, _ := wires(t, 2, Way{})
	s.Node(0).Attach(func() {}, s.Now)
	drain(s)
	if s.Err() == nil {
		t.Error("nobody notices")
	}
}

// TestSeedsReport: a failing seed and a panic are reported with the way to repeat them; other seeds
// still run.
func TestSeedsReport(t *testing.T) {
	var told []string
	ran, failed := Seeds{First: 5, Count: 6}.Run("sim", io.Discard,
		func(seed uint64, _ io.Writer) error {
			switch seed {
			case 7:
				return io.ErrUnexpectedEOF
			case 9:
				panic("seed nine")
			}
			return nil
		}, func(text string) { told = append(told, text) })
	all := strings.Join(told, "")
	if ran != 6 || failed != 2 || !strings.Contains(all, "make sim SEED=7") ||
		!strings.Contains(all, "make sim SEED=9") || !strings.Contains(all, "seed nine") {
		t.Errorf("%d ran, %d failed: %s", ran, failed, all)
	}
}
