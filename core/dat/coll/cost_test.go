package coll

import "testing"

// The time a message takes to its receiver, and the time until its sender can send the next.
const (
	latency  = 10
	overhead = 1
)

// walker is a member in a simulation of what plans cost.
type walker struct {
	rounds []round
	at     int
	clock  int           // when its round began
	come   map[int][]int // by sender: when messages come that it has not received
	sent   bool          // in this round
}

// advance does what a member can do; false: it waits, or is at its end.
func (w *walker) advance(rank int, all []walker) bool {
	if w.at == len(w.rounds) {
		return false
	}
	r := &w.rounds[w.at]
	if !w.sent {
		for _, t := range r.sends {
			w.clock += overhead
			to := &all[t.rank]
			to.come[rank] = append(to.come[rank], w.clock+latency)
		}
		w.sent = true
	}
	want := map[int]int{}
	for _, t := range r.recvs {
		if want[t.rank]++; len(w.come[t.rank]) < want[t.rank] {
			return false
		}
	}
	for from, n := range want {
		w.clock = max(w.clock, w.come[from][n-1])
		w.come[from] = w.come[from][n:]
	}
	w.at++
	w.sent = false
	return true
}

// cost is when the last of all members is at the end of an operation that all begin at 0.
func cost(t *testing.T, a Args, size int) (last int) {
	g := New(Config{Size: size, Kernel: goKernel{}, Memory: &end{},
		Clock: func() int64 { return 0 }})
	all := make([]walker, size)
	for i := range all {
		g.Self = i
		p := g.plan(&a)
		for _, b := range p.scratch {
			g.cfg.Memory.Put(b)
		}
		all[i] = walker{rounds: p.rounds, come: map[int][]int{}}
	}
	for moved := true; moved; {
		moved = false
		for i := range all {
			for all[i].advance(i, all) {
				moved = true
			}
		}
	}
	for i := range all {
		if all[i].at < len(all[i].rounds) {
			t.Fatalf("kind %d of %d members: member %d waits for ever", a.Kind, size, i)
		}
		last = max(last, all[i].clock)
	}
	return last
}

// TestLogarithm: what barrier and allreduce cost grows as the logarithm of the group's size, in a
// simulation of all members.
func TestLogarithm(t *testing.T) {
	for _, kind := range []Kind{Barrier, Allreduce} {
		a := Args{Kind: kind, Op: 2, Type: 9, Send: Parts{One: Span{8, 8}}}
		first := cost(t, a, 16)
		for _, step := range []struct{ size, log int }{{64, 6}, {256, 8}, {1024, 10}, {4096, 12}} {
			// 16 members are four steps
			if took := cost(t, a, step.size); took*4 > first*step.log {
				t.Fatalf("kind %d: %d members take %d, and 16 take %d", kind, step.size, took, first)
			}
		}
		// between powers of two it is that of the next one, and a step before and after at most
		if took := cost(t, a, 3000); took*4 > first*(12+2) {
			t.Errorf("kind %d: 3000 members take %d, and 16 take %d", kind, took, first)
		}
	}
}
