package shm

import (
	"testing"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// cshim/ctest tests a kernel that refuses the barrier itself: there a filter of system calls
// refuses it.

// TestUnordered: peers that have no barriers of their own are not notified when the kernel refuses
// this task's. So its sleep must be short, and no ring may be given up.
func TestUnordered(t *testing.T) {
	links := newLinks(t, hotTasks+2)
	if !links[1].fencing {
		t.Skip("no membarrier here")
	}
	if links[1].Arm() || links[1].NextTimeout() != 0 {
		t.Error("with barriers an idle link has nothing to wake up for")
	}
	links[1].Disarm()
	links[1].node.Unordered = 1
	if links[1].Arm() {
		t.Error("an idle link would not sleep")
	}
	if due := links[1].NextTimeout(); due == 0 || due > clock()+layout.LookAgainNs {
		t.Errorf("the sleep is not bounded: %d", due)
	}
	links[1].Disarm()
	if links[0].Arm() || links[0].NextTimeout() != 0 {
		t.Error("the peer has barriers, and does not sleep as long as it may")
	}
	links[0].Disarm()
	got := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	for range 3 * coldTurns {
		links[1].Progress(1)
	}
	if links[1].node.NumActive != uint32(len(links)) {
		t.Errorf("%d rings are active, want all %d", links[1].node.NumActive, len(links))
	}
	for i, p := range links[1].rings {
		if p.inControl.Cold != 0 {
			t.Errorf("ring %d is marked as cold", i)
		}
	}
	mustSend(t, links[0], 1, 1, nil, nil)
	for range len(links) {
		links[1].Progress(1)
	}
	if got != 1 {
		t.Error("the message did not come")
	}
}

// TestPeersWithBarriers: a task that cannot call membarrier from the start says so; then its
// senders have barriers, and its sleep is not bounded.
func TestPeersWithBarriers(t *testing.T) {
	memory.Guard()
	var links [2]*Link
	for i := range links {
		l, err := New(Config{Task: i, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		links[i] = l
	}
	links[0].fencing, links[0].node.Fencing = false, 0
	for i, l := range links {
		if err := l.Connect(transport.Endpoint(1-i), pass(t, links[1-i].Address())); err != nil {
			t.Fatal(err)
		}
	}
	if links[1].peers[0].node.Fenced == 0 ||
		links[1].fencing && links[0].peers[1].node.Fenced != 0 {
		t.Error("who has barriers for whom is wrong")
	}
	if links[0].Arm() || links[0].NextTimeout() != 0 {
		t.Error("a link whose peers have barriers sleeps less for them")
	}
}
