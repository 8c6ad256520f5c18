package coll

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// over: every living member has count completions. With failed, the last one of each has failed.
func (n *net) over(t *testing.T, count int, failed bool, what string) {
	t.Helper()
	for _, e := range n.members {
		if e.dead {
			continue
		}
		if len(e.done) != count {
			t.Fatalf("%s: member %d has %d completions of %d", what, e.rank, len(e.done), count)
		}
		if last := e.done[count-1]; last.Failed != failed {
			t.Fatalf("%s: the last operation of member %d: failed is %v", what, e.rank, last.Failed)
		}
	}
}

// TestDeath: a member dies at any time; everything that is posted, or will be, ends at the others.
func TestDeath(t *testing.T) {
	for seed := range uint64(200) {
		size := 2 + int(seed)%7
		n := newNet(t, seed, size, [][]int{nil, nodesOf(size, 3), uneven(size)}[seed%3], 2048)
		victim := n.random.IntN(size)
		for k := range 6 {
			c := newCall(n, kinds[n.random.IntN(len(kinds))], sizes[1+n.random.IntN(4)])
			for i, e := range n.members {
				if i != victim || k < 3 {
					e.g.Post(&c.args[i])
				}
			}
		}
		for i, e := range n.members { // cannot complete without the victim
			if i != victim {
				e.g.Post(&Args{Kind: Barrier})
			}
		}
		for range n.random.IntN(100) {
			for _, e := range n.members {
				e.g.Pump()
			}
			if len(n.flying) > 0 {
				n.deliver()
			}
		}
		n.kill(victim)
		n.run()
		n.over(t, 7, true, fmt.Sprint("seed ", seed))
	}
}

// TestFree: a member that frees its group has its events at once, and holds nobody up: operations
// it has completed complete at the others, the rest fails there.
func TestFree(t *testing.T) {
	for seed := range uint64(100) {
		size := 2 + int(seed)%6
		n := newNet(t, seed, size, nil, 2048)
		c := newCall(n, Allreduce, 70<<10)
		for i, e := range n.members {
			e.g.Post(&c.args[i])
		}
		n.run()
		n.over(t, 1, false, "the first one")
		c.check(n, "the first one")
		leaver := n.members[n.random.IntN(size)]
		for i, e := range n.members { // the last one of which the leaver takes part in
			c.args[i] = Args{Kind: Broadcast, Root: leaver.rank, Send: Parts{One: spanOf(n.buffer(900))}}
			e.g.Post(&c.args[i])
		}
		for leaver.g.Pending() > 0 {
			leaver.g.Pump()
			if len(n.flying) > 0 {
				n.deliver()
			}
		}
		leaver.g.Free()
		if len(leaver.done) != 2 || leaver.done[1].Failed {
			t.Fatalf("seed %d: the leaver's operation has failed", seed)
		}
		n.run()
		n.over(t, 2, false, fmt.Sprint("seed ", seed))
		if !leaver.g.Quiet() {
			t.Fatalf("seed %d: the leaver still has a notice to send", seed)
		}
		for i, e := range n.members {
			if e != leaver {
				e.g.Post(&Args{Kind: Barrier, Context: uint64(i)})
			}
		}
		n.run()
		leaver.dead = true
		n.over(t, 3, true, "without the leaver")
		leaver.dead = false
	}
}

// TestLeave: a member's process ends when its last operation has completed there. The operations
// that the other members have not completed yet succeed without it; those they post later fail.
func TestLeave(t *testing.T) {
	for seed := range uint64(120) {
		size := 2 + int(seed)%7
		n := newNet(t, seed, size, [][]int{nil, nodesOf(size, 3), uneven(size)}[seed%3], 2048)
		var calls []*call
		for range 1 + n.random.IntN(4) {
			c := newCall(n, kinds[n.random.IntN(len(kinds))], sizes[n.random.IntN(4)])
			for i, e := range n.members {
				e.g.Post(&c.args[i])
			}
			calls = append(calls, c)
		}
		leaver := n.members[n.random.IntN(size)]
		for leaver.g.Pending() > 0 {
			leaver.g.Pump()
			for _, e := range n.members { // some are slow
				if n.random.IntN(3) == 0 {
					e.g.Pump()
				}
			}
			if len(n.flying) > 0 {
				n.deliver()
			}
		}
		n.leave(leaver.rank)
		n.run()
		what := fmt.Sprint("seed ", seed)
		n.over(t, len(calls), false, what)
		for _, c := range calls {
			c.check(n, what)
		}
		for i, e := range n.members {
			if e != leaver {
				e.g.Post(&Args{Kind: []Kind{Broadcast, SetClock}[seed%2], Context: uint64(i),
					Root: (leaver.rank + 1) % size})
			}
		}
		n.run()
		n.over(t, len(calls)+1, true, what+", later")
	}
}

// TestFreePending: posted operations fail at the call.
func TestFreePending(t *testing.T) {
	n := newNet(t, 1, 3, nil, 2048)
	for range 3 {
		n.members[0].g.Post(&Args{Kind: Barrier})
	}
	n.members[0].g.Pump()
	n.members[0].g.Free()
	if done := n.members[0].done; len(done) != 3 || !done[0].Failed {
		t.Fatalf("%d completions", len(done))
	}
	n.members[1].g.Post(&Args{Kind: Barrier})
	n.run()
	if done := n.members[1].done; len(done) != 1 || !done[0].Failed {
		t.Fatalf("another member has %d completions", len(done))
	}
}

// TestMisuse: members that call different things get an error.
func TestMisuse(t *testing.T) {
	for name, post := range map[string]func(n *net, i int) Args{
		"other operations": func(n *net, i int) Args {
			return Args{Kind: []Kind{Barrier, Broadcast}[i%2]}
		},
		"other sizes": func(n *net, i int) Args {
			return Args{Kind: Broadcast, Send: Parts{One: spanOf(n.buffer(uint64(8 + i)))}}
		},
		"other roots": func(n *net, i int) Args { return Args{Kind: Broadcast, Root: i} },
	} {
		n := newNet(t, 3, 3, nil, 2048)
		for i, e := range n.members {
			a := post(n, i)
			e.g.Post(a.judge())
			e.g.Post(&Args{Kind: Barrier})
		}
		n.run()
		n.over(t, 2, true, name)
	}
}

// TestTooLong: what does not fit fails where it does not, and nowhere else.
func TestTooLong(t *testing.T) {
	n := newNet(t, 4, 3, nil, 2048)
	for i, e := range n.members {
		a := Args{Kind: Gather, Send: Parts{One: spanOf(n.buffer(100))},
			Recv: Parts{One: Span{spanOf(n.buffer(300)).Addr, 100}}}
		if i == 1 {
			a.Send.One = spanOf(n.buffer(5000))
		}
		e.g.Post(&a)
		e.g.Post(&Args{Kind: Barrier})
	}
	n.run()
	n.over(t, 2, false, "after it")
	for i, e := range n.members {
		if e.done[0].Failed != (i == 0) {
			t.Errorf("member %d: failed is %v", i, e.done[0].Failed)
		}
	}
}

// TestBadMemory: memory of the program's that is not there fails the group, at all members.
func TestBadMemory(t *testing.T) {
	for _, kind := range []Kind{Broadcast, Allgather, Alltoall, Allreduce, Scan, Gather} {
		for bad := range 3 {
			n := newNet(t, 5, 3, nil, 2048)
			for i, e := range n.members {
				a := Args{Kind: kind, Op: 2, Type: 9, Send: Parts{One: spanOf(n.buffer(8000))},
					Recv: Parts{One: Span{spanOf(n.buffer(24000)).Addr, 8000}}}
				if i == bad {
					a.Send.One.Addr = 4096
				}
				e.g.Post(&a)
				e.g.Post(&Args{Kind: Barrier})
			}
			n.run()
			n.over(t, 2, true, fmt.Sprint("kind ", kind))
		}
	}
}

// TestClock: set anywhere, it is at least that everywhere, and grows with each reading.
func TestClock(t *testing.T) {
	n := newNet(t, 7, 4, nil, 0)
	n.members[2].g.Post(&Args{Kind: SetClock, Clock: 1 << 40})
	n.run()
	n.members[1].g.Post(&Args{Kind: SetClock, Clock: 5}) // in the past
	n.run()
	if len(n.members[2].done) != 1 || len(n.members[1].done) != 1 || n.members[1].done[0].Failed {
		t.Fatal("the clock was not set")
	}
	low, high := ^uint64(0), uint64(0)
	for _, e := range n.members {
		v := e.g.ReadClock()
		low, high = min(low, v), max(high, v)
		if again := e.g.ReadClock(); v < 1<<40 || again <= v {
			t.Errorf("member %d reads %d, then %d", e.rank, v, again)
		}
	}
	if high-low > 1000*100 {
		t.Errorf("the clocks are %d ns apart, and messages take less", high-low)
	}
	for _, e := range n.members { // the first one to be done frees the group
		e.g.Post(&Args{Kind: SetClock, Clock: 1 << 41})
	}
	for len(n.members[1].done) == 1 {
		n.members[1].g.Pump()
		n.members[0].g.Pump()
		n.members[2].g.Pump()
		n.members[3].g.Pump()
		n.deliver()
	}
	n.members[1].g.Free()
	n.run()
	for _, e := range n.members {
		if o := e.done[len(e.done)-1]; o.Clock != 1<<41 || o.Failed {
			t.Errorf("member %d: a setting fails as a member has left", e.rank)
		}
	}
	n.members[0].g.Post(&Args{Kind: SetClock, Clock: 6})
	n.kill(3)
	n.run()
	if o := n.members[0].done[len(n.members[0].done)-1]; o.Clock != 6 || !o.Failed {
		t.Error("a setting does not fail with a dead member")
	}
}

// TestWindow: a member that is far ahead has little waiting at the others.
func TestWindow(t *testing.T) {
	n := newNet(t, 8, 3, nil, 4096)
	b := n.buffer(100 << 10)
	for range 5 {
		n.members[0].g.Post(&Args{Kind: Broadcast, Send: Parts{One: spanOf(b)}})
	}
	n.run()
	for _, e := range n.members[1:] {
		m := &e.g.members[0]
		if m.earlyN == 0 || m.earlyN > 4096 {
			t.Errorf("%d bytes wait at member %d", m.earlyN, e.rank)
		}
	}
	for _, e := range n.members[1:] {
		for range 5 {
			e.g.Post(&Args{Kind: Broadcast, Send: Parts{One: spanOf(n.buffer(100 << 10))}})
		}
	}
	n.run()
	n.over(t, 5, false, "all")
}

// FuzzMessage: no message makes a group panic, or keep more than the window.
func FuzzMessage(f *testing.F) {
	f.Add(uint64(1), make([]byte, HeaderSize+8))
	f.Fuzz(func(t *testing.T, seed uint64, in []byte) {
		n := newNet(t, 1, 3, nil, 1024)
		random := rand.New(rand.NewPCG(seed, 2))
		kind := kinds[random.IntN(len(kinds))]
		c := newCall(n, kind, 24)
		n.members[0].g.Post(&c.args[0])
		for len(in) >= HeaderSize {
			size := min(len(in), HeaderSize+int(in[15]))
			n.members[0].g.Pump()
			var h Header
			if h.Decode(in[:HeaderSize]) {
				n.members[0].g.OnMessage(1+random.IntN(2), &h, in[HeaderSize:size])
			}
			in = in[size:]
		}
		for i := range n.members[0].g.members {
			if m := &n.members[0].g.members[i]; m.earlyN > 1024+fragmentCost {
				t.Fatalf("%d bytes wait", m.earlyN)
			}
		}
		n.members[0].g.Free()
		for _, p := range n.flying {
			if p.op != nil {
				p.op.Done(p.op, nil)
			}
		}
	})
}

// FuzzBlob: what is read is what was written; nothing else is read.
func FuzzBlob(f *testing.F) {
	f.Add(make([]byte, BlobSize))
	var b Blob
	whole := b.Bytes()
	f.Add(whole[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		if b, ok := ReadBlob(in); ok {
			if out := b.Bytes(); string(out[:80]) != string(in[:80]) {
				t.Fatalf("%x is read from %x", out, in)
			}
		}
	})
}

// TestDamagedBlob: each byte counts.
func TestDamagedBlob(t *testing.T) {
	b := Blob{Qualifier: 77, Key: [32]byte{1, 2}}
	whole := b.Bytes()
	if got, ok := ReadBlob(whole[:]); !ok || got.Qualifier != 77 || got.Key != b.Key {
		t.Fatal("a good one is not read")
	}
	for i := range whole {
		whole[i] ^= 4
		if _, ok := ReadBlob(whole[:]); ok {
			t.Errorf("damage at %d is not noticed", i)
		}
		whole[i] ^= 4
	}
}
