package dat

import (
	"encoding/binary"
	"testing"
	"time"

	"lapi/core/dat/coll"
	"lapi/transport/memory"
)

// randomOps are the operations of a random sequence, as all members call them.
type randomOps struct {
	w      *world
	list   []*simMember
	kinds  []coll.Kind
	counts []int // of numbers
	roots  []int
	posted []int // by each member
	failed []bool
}

// randomSlot is where an operation has its numbers in a process's memory: to send, and behind these
// to receive.
const (
	randomSlot  = simMemory / randomCalls &^ 63
	randomCalls = 12
	randomMost  = 400
)

func (r *randomOps) value(k, rank, i int) uint64 { return uint64(k*1000003 + rank*7919 + i) }

func (r *randomOps) buffers(k, rank int) (send, recv []byte) {
	b := r.list[rank].p.memory[k*randomSlot:]
	return b[:8*r.counts[k]], b[8*randomMost : 8*randomMost+8*r.counts[k]*len(r.list)]
}

func randomSpan(b []byte) coll.Parts {
	return coll.Parts{One: coll.Span{Addr: memory.AddrOf(b), N: uint64(len(b))}}
}

// post has a member call its next operation.
func (r *randomOps) post(rank int) {
	k := r.posted[rank]
	send, recv := r.buffers(k, rank)
	for i := range r.counts[k] {
		binary.LittleEndian.PutUint64(send[8*i:], r.value(k, rank, i))
	}
	a := &coll.Args{Kind: r.kinds[k], Root: r.roots[k], Context: uint64(k), Op: 2, Type: 7,
		Send: randomSpan(send), Recv: randomSpan(recv)}
	if a.Kind == coll.Allgather {
		a.Recv.One.N = a.Send.One.N
	}
	r.w.must("post", r.list[rank].g.Post(a))
	r.posted[rank]++
}

// may says whether a member has another operation to post.
func (r *randomOps) may(rank, victim, until int) bool {
	if rank == victim {
		return r.posted[rank] < until
	}
	return r.posted[rank] < randomCalls
}

func (r *randomOps) some(victim, until int) bool {
	for rank := range r.list {
		if r.may(rank, victim, until) {
			return true
		}
	}
	return false
}

// want is number i of what a member has in the end.
func (r *randomOps) want(k, i int) (sum uint64) {
	switch r.kinds[k] {
	case coll.Broadcast:
		return r.value(k, r.roots[k], i)
	case coll.Allgather:
		return r.value(k, i/r.counts[k], i%r.counts[k])
	}
	for rank := range r.list {
		sum += r.value(k, rank, i)
	}
	return sum
}

// take takes a member's next event, and looks at what it has.
func (r *randomOps) take(rank, k int) {
	t, le := r.w.t, binary.LittleEndian
	if !r.w.until(func() bool { return r.list[rank].evd.Len() > 0 }) {
		t.Fatalf("member %d: operation %d, of kind %d, never ends (%v)", rank, k, r.kinds[k], r.kinds)
	}
	ev := r.w.expect(r.list[rank].evd, EventCollective)
	if kind, context := le.Uint32(ev.Extension[0:]), le.Uint64(ev.Extension[24:]); coll.Kind(kind) !=
		r.kinds[k] || context != uint64(k) {
		t.Fatalf("member %d: event %d is of kind %d and operation %d", rank, k, kind, context)
	}
	if le.Uint32(ev.Extension[4:]) != 0 {
		r.failed[rank] = true
		return
	}
	if r.failed[rank] {
		t.Fatalf("member %d: operation %d succeeds after one that has failed", rank, k)
	}
	send, b := r.buffers(k, rank)
	n := r.counts[k]
	switch r.kinds[k] {
	case coll.Barrier:
		return
	case coll.Broadcast:
		b = send
	case coll.Allgather:
		n *= len(r.list)
	}
	for i := range n {
		if got := le.Uint64(b[8*i:]); got != r.want(k, i) {
			t.Fatalf("member %d: number %d of operation %d, of kind %d, is %d", rank, i, k,
				r.kinds[k], got)
		}
	}
}

// TestGroupRandom: random sequences over a network that loses; in every second one a member dies in
// the middle. Operations that succeed have the right results, the rest fails, and nobody waits for
// ever.
func TestGroupRandom(t *testing.T) {
	for seed := range uint64(16) {
		n := 2 + int(seed)%4
		w := newWorld(t, seed, n, lossy)
		r := &randomOps{w: w, list: w.members(n), posted: make([]int, n),
			failed: make([]bool, n)}
		w.group(r.list, 5)
		for range randomCalls {
			kinds := []coll.Kind{coll.Barrier, coll.Broadcast, coll.Allreduce, coll.Allgather}
			r.kinds = append(r.kinds, kinds[w.random.IntN(len(kinds))])
			r.counts = append(r.counts, 1+w.random.IntN(randomMost))
			r.roots = append(r.roots, w.random.IntN(n))
		}
		victim, until := -1, 0
		if seed%2 == 1 {
			victim, until = w.random.IntN(n), w.random.IntN(randomCalls-1)
			r.kinds[randomCalls-1] = coll.Barrier // which needs all
		}
		for r.some(victim, until) {
			rank := w.random.IntN(n)
			if !r.may(rank, victim, until) {
				continue
			}
			if r.post(rank); w.random.IntN(3) == 0 {
				w.run(time.Duration(1+w.random.IntN(5)) * time.Millisecond)
			}
			if victim >= 0 && r.list[victim].p.open && r.posted[victim] == until &&
				w.random.IntN(4) == 0 {
				r.list[victim].p.kill()
			}
		}
		if victim >= 0 && r.list[victim].p.open {
			r.list[victim].p.kill()
		}
		for rank := range r.list {
			for k := 0; rank != victim && k < randomCalls; k++ {
				r.take(rank, k)
			}
			if rank != victim && r.failed[rank] != (victim >= 0) {
				t.Fatalf("seed %d, member %d: that some have failed is %v", seed, rank,
					r.failed[rank])
			}
		}
	}
}
