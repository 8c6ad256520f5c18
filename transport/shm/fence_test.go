package shm

import (
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// refuseFences makes l's barriers fail from now on, as after a filter of system calls; it returns how often one was asked for.
func refuseFences(l *Link) *int {
	asked := new(int)
	l.fenceAll = func() bool { *asked++; return false }
	return asked
}

// TestFenceRefusedLater: peers that need not fence are told nothing when the kernel stops fencing for them. So the sleep must be short.
func TestFenceRefusedLater(t *testing.T) {
	links := newLinks(t, 2)
	if !links[0].fencing {
		t.Skip("no membarrier here")
	}
	if links[0].Arm() || links[0].NextTimeout() != 0 {
		t.Error("with barriers an idle link has nothing to wake up for")
	}
	links[0].Disarm()
	asked := refuseFences(links[0])
	for range 2 {
		if links[0].Arm() {
			t.Error("an idle link would not sleep")
		}
		if due := links[0].NextTimeout(); due == 0 || due > clock()+lookAgainNs {
			t.Errorf("the sleep is not bounded: %d", due)
		}
		links[0].Disarm()
	}
	if *asked != 1 {
		t.Errorf("asked for %d barriers, want 1: what is refused once stays refused", *asked)
	}
	if links[1].Arm() || links[1].NextTimeout() != 0 {
		t.Error("the peer has barriers, and does not sleep as long as it may")
	}
}

// TestFenceRefusedFromTheStart: the peers fence, so there is nothing to ask for and nothing to bound.
func TestFenceRefusedFromTheStart(t *testing.T) {
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
	links[0].fencing = false
	for i, l := range links {
		if err := l.Connect(transport.Endpoint(1-i), pass(t, links[1-i].Address())); err != nil {
			t.Fatal(err)
		}
	}
	if links[1].peers[0].path.Fenced == 0 || links[1].fencing && links[0].peers[1].path.Fenced != 0 {
		t.Error("who fences for whom is wrong")
	}
	asked := refuseFences(links[0])
	if links[0].Arm() || links[0].NextTimeout() != 0 || *asked != 0 {
		t.Error("a link whose peers fence asks for barriers, or sleeps less for them")
	}
}

// TestFenceRefusedColdRings: without a barrier no ring may be given up, for its sender's look at the flag may be too early.
func TestFenceRefusedColdRings(t *testing.T) {
	links := newLinks(t, hotTasks+2)
	if !links[1].fencing {
		t.Skip("no membarrier here")
	}
	got := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	asked := refuseFences(links[1])
	for range 3 * coldTurns {
		links[1].Progress(1)
	}
	if *asked != 1 || links[1].paths.NumActive != uint32(len(links)) {
		t.Errorf("%d barriers asked for, %d rings active; want 1 and all %d", *asked, links[1].paths.NumActive, len(links))
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
