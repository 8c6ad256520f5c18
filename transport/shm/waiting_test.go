package shm

import (
	"sync/atomic"
	"testing"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// ended is an operation, and how it ended.
type ended struct {
	op    transport.Op
	times int
	err   error
}

func newEnded(local []byte, remote transport.Addr) *ended {
	e := &ended{}
	e.op = transport.Op{Local: memory.AddrOf(local), Remote: remote, N: uint64(len(local)),
		Width: 8, Route: transport.RouteMessages,
		Done: func(_ *transport.Op, err error) { e.times++; e.err = err }}
	return e
}

// TestAwaitedOperations: a get and an operation on a word of a task that is to come wait for it,
// and then go on, or end when it is given up.
func TestAwaitedOperations(t *testing.T) {
	memory.Guard()
	l, err := New(Config{Task: 0, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	mine, theirs := userMemory(t, 4096), userMemory(t, 4096)
	begin := func() (all [2]*ended) {
		all[0] = newEnded(mine[:100], memory.AddrOf(theirs))
		all[1] = newEnded(mine[:8], memory.AddrOf(theirs[1024:]))
		for i, f := range []func() (transport.Status, error){
			func() (transport.Status, error) { return l.GetNotice(1, &all[0].op) },
			func() (transport.Status, error) {
				all[1].op.Operand = 5
				return l.Atomic(1, transport.AtomicAdd, &all[1].op)
			},
		} {
			if status, err := f(); status != transport.Queued || err != nil {
				t.Errorf("operation %d: %v, %v", i, status, err)
			}
		}
		return all
	}
	if err := l.Await(1); err != nil {
		t.Fatal(err)
	}
	given := begin()
	l.Disconnect(1, transport.ErrTimeout)
	for i, e := range given {
		if e.times != 1 || e.err != transport.ErrTimeout {
			t.Errorf("operation %d, given up, ends %d times with %v", i, e.times, e.err)
		}
	}
	if err := l.Await(1); err != nil {
		t.Fatal(err)
	}
	theirs[0] = 77
	waiting := begin()
	fresh := comeAgain(t, l)
	drain(l, fresh)
	for i, e := range waiting {
		if e.times != 1 || e.err != nil {
			t.Errorf("operation %d ends %d times with %v", i, e.times, e.err)
		}
	}
	if mine[0] != 77 || theirs[1024] != 5 {
		t.Errorf("got %d, added up to %d", mine[0], theirs[1024])
	}
}

// TestDisconnectEndsAll: operations in flight to a peer, and those that wait for room in its ring,
// end once when it is disconnected, whatever it answers later.
func TestDisconnectEndsAll(t *testing.T) {
	links := newLinks(t, 2)
	l, other := links[0], links[1]
	mine, theirs := userMemory(t, 4096), userMemory(t, 4096)
	var all []*ended
	for range 2 * ringSlots { // more than places, and than slots
		e := newEnded(mine[:8], memory.AddrOf(theirs))
		if status, err := l.Atomic(1, transport.AtomicAdd, &e.op); status != transport.Queued ||
			err != nil {
			t.Fatalf("%v, %v", status, err)
		}
		all = append(all, e)
	}
	if l.queued == 0 {
		t.Fatal("nothing waits for room")
	}
	l.Disconnect(1, transport.ErrUnreachable)
	drain(other, l)
	for i, e := range all {
		if e.times != 1 || e.err != transport.ErrUnreachable {
			t.Fatalf("operation %d ends %d times with %v", i, e.times, e.err)
		}
	}
	if l.queued != 0 || l.node.Ops != 0 {
		t.Errorf("%d wait, %d are in flight", l.queued, l.node.Ops)
	}
}

// TestAnswersAreBounded: a peer that asks and asks, and takes no answer, is left waiting.
func TestAnswersAreBounded(t *testing.T) {
	links := newLinks(t, 2)
	l, peer := links[1], links[1].peers[0]
	word := userMemory(t, 4096)
	for i := range answersMax + 10 {
		l.node.Event = layout.NodeEvent{Token: uint32(i), Op: layout.NodeOpRmw, Width: 8,
			Addr: uint64(memory.AddrOf(word)), Operand: 1}
		if took := l.TakeLater(uint32(peer.ring)); took != (i < answersMax) {
			t.Fatalf("request %d is taken: %v", i, took)
		}
	}
	if len(peer.answers) != answersMax || word[0] != answersMax%256 {
		t.Errorf("%d answers, %d operations were done", len(peer.answers), word[0])
	}
}

// TestFlushWaitsForTheQueue: a flush is not over while a part of a put waits for room, although all
// that is in the ring was taken.
func TestFlushWaitsForTheQueue(t *testing.T) {
	links := newLinks(t, 2)
	l, other := links[0], links[1]
	const n = 4 << 20 // more than the chunk area holds
	mine, theirs := userMemory(t, n), userMemory(t, n)
	mine[n-1] = 9
	put := newEnded(mine, memory.AddrOf(theirs))
	if status, err := l.PutNotice(1, &put.op); status != transport.Queued || err != nil {
		t.Fatalf("PutNotice: %v, %v", status, err)
	}
	other.Progress(1000) // all that is in the ring
	flush := newEnded(nil, 0)
	if status, err := l.Flush(1, &flush.op); status != transport.Queued || err != nil {
		t.Fatalf("Flush: %v, %v", status, err)
	}
	until(t, "the flush", func() bool { return flush.times > 0 }, func() { drain(l, other) })
	if theirs[n-1] != 9 || put.times != 1 {
		t.Errorf("the flush is over before the put")
	}
}

// TestConsumedIsChecked: a peer that says it has taken more than was sent gets nothing more, and
// nothing that it has not taken is written over.
func TestConsumedIsChecked(t *testing.T) {
	v := newVictim(t)
	for range ringSlots {
		mustSend(t, v.Link, 0, 1, nil, nil)
	}
	tail := v.peers[0].node.Sender.Tail
	atomic.StoreUint64(&controlOf(v.peers[0]).Consumed, ringSlots+1)
	op := transport.Op{}
	if _, err := v.Send(0, 1, nil, &op); err == nil || v.peers[0].node.Sender.Tail != tail {
		t.Errorf("a send to it: %v; the tail goes from %d to %d", err, tail,
			v.peers[0].node.Sender.Tail)
	}
	v.Progress(10)
	if v.failed == nil {
		t.Error("it has not failed")
	}
}

// TestColdRingIsLookedAt: a ring in which a message comes while it is given up is looked at again.
func TestColdRingIsLookedAt(t *testing.T) {
	const tasks = node.HotRings + 2
	links := newLinks(t, tasks)
	l, sender := links[1], links[0]
	got := listen(l)
	p := l.peers[0]
	// As if the ring had been silent for long, and the message came when that was seen.
	mustSend(t, sender, 1, 1, word(3), nil)
	p.node.Receiver.Turn = l.node.Turn - 1<<20
	l.node.Cooled = l.node.Turn - 1<<20
	l.node.Turn++
	node.LookAround(l.node)
	if p.node.Active == 0 || atomic.LoadUint32(&p.inControl.Cold) != 0 {
		t.Error("a ring with a message is given up")
	}
	drain(l)
	if len(*got) != 1 {
		t.Errorf("got %v", *got)
	}
}

// TestGiveUpOwners: the operations of the owner's fast path that wait for one peer have no place
// any more, and those of another peer, and of this link, have theirs.
func TestGiveUpOwners(t *testing.T) {
	l := newLinks(t, 3)[0]
	mine := userMemory(t, 4096)
	e := newEnded(mine[:8], memory.AddrOf(mine))
	if status, err := l.Atomic(1, transport.AtomicAdd, &e.op); status != transport.Queued ||
		err != nil {
		t.Fatalf("%v, %v", status, err)
	}
	take := func(task int32) *layout.NodeOp {
		o := &l.node.Op[l.node.FreeOp]
		l.node.FreeOp = o.Next
		l.node.Ops++
		o.Kind, o.By, o.Task = layout.NodeOpGet, layout.NodeByOwner, task
		return o
	}
	one, other := take(1), take(2)
	l.GiveUpOwners(1)
	if one.Kind != layout.NodeOpFree || other.Kind == layout.NodeOpFree || l.node.Ops != 2 ||
		e.times != 0 {
		t.Errorf("kinds %d and %d, %d in flight", one.Kind, other.Kind, l.node.Ops)
	}
}
