package lapi

import (
	"fmt"
	"strings"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
)

// drainErrors counts the error handler calls that are due in k, which all must be code about task
// of.
func drainErrors(t *testing.T, k *testTask, code codes.Code, of int) (n int) {
	t.Helper()
	for {
		e, ok := k.NextError()
		if !ok {
			return n
		}
		n++
		if e.Code != code || e.Of != of || e.Task != k.me || e.Handler == 0 {
			t.Errorf("error handler of task %d: %s about task %d: %s",
				k.me, codes.Name(e.Code), e.Of, e.Text)
		}
	}
}

// TestBadTargetAddressHints: programs from AIX hand out addresses of their own static variables.
// The message about an address that is invalid at the target names the remedy, in both tasks.
func TestBadTargetAddressHints(t *testing.T) {
	for path, env := range paths {
		for n, size := range []uint64{8, 200_000} {
			j := newJob(t, 2, env)
			from := make([]byte, size)
			j.ok(j.tasks[0].Put(1, size, 0x1000, at(&from[0]), 0, 0, 0))
			j.until("both error handlers", func() bool {
				return j.tasks[0].faults.Pending() > 0 && j.tasks[1].faults.Pending() > 0
			})
			for i, k := range j.tasks {
				if e := k.events()[0]; e.Code != codes.ErrTgtAddrNull ||
					!strings.Contains(e.Text, "-no-pie") {
					t.Errorf("%s, size %d, task %d: %q", path, n, i, e.Text)
				}
			}
		}
	}
}

// TestPeerDies: the error handler is called once for each peer and failure; operations under way
// end, counters stay, other tasks are unaffected, collectives end.
func TestPeerDies(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3, env)
			k := j.tasks[0]
			var org, other int32
			src, dst := make([]byte, 1<<20), make([]byte, 1<<20)
			j.ok(k.Get(1, 0, 0, 0, 0, at(&org)))
			id, code := k.GfenceBegin()
			j.ok(code)
			seat := k.net.Session.(*seat)
			seat.mu.Lock()
			seat.events[0] = append(seat.events[0],
				job.Event{Kind: job.TaskDied, Task: 1, Text: "was killed in a test"})
			seat.events[0] = append(seat.events[0],
				job.Event{Kind: job.TaskDied, Task: 1, Text: "again"})
			seat.mu.Unlock()
			k.pollSession()
			if n := drainErrors(t, k, codes.ErrNoConnectivity, 1); n != 1 {
				t.Errorf("%d calls of the error handler, want 1", n)
			}
			if !k.tickets.Done(id) || k.TicketResult(id) != codes.ErrNoConnectivity {
				t.Error("the collective goes on without a task")
			}
			if code := k.Put(1, 8, addrOf(dst), addrOf(src), 0, 0,
				0); code != codes.ErrNoConnectivity {
				t.Errorf("put to a dead task: %s", codes.Name(code))
			}
			j.ok(k.Put(2, uint64(len(src)), addrOf(dst), addrOf(src), 0, 0, at(&other)))
			j.until("a put to a living task", func() bool { return other == 1 })
			fence, _ := k.FenceBegin()
			j.until("a fence", func() bool { return k.tickets.Done(fence) })
			if org != 0 {
				t.Error("a get from a dead task counted")
			}
		})
	}
}

// TestPeerEnds: a task that ends with status 0 without LAPI_Term is an error only to a task that
// waits for it.
func TestPeerEnds(t *testing.T) {
	var word, there uint64
	var counter int32
	var ticket uint64
	begin := map[string]func(j *testJob, k *testTask){
		"nothing is under way": func(*testJob, *testTask) {},
		"a put without counters": func(j *testJob, k *testTask) {
			j.ok(k.Put(1, 8, at(&there), at(&word), 0, 0, 0))
		},
		"a get": func(j *testJob, k *testTask) {
			j.ok(k.Get(1, 8, at(&there), at(&word), 0, at(&counter)))
		},
		"a completion counter": func(j *testJob, k *testTask) {
			j.ok(k.Amsend(1, 9, 0, 0, at(&word), 8, 0, 0, at(&counter)))
		},
		"a collective": func(j *testJob, k *testTask) { ticket, _ = k.GfenceBegin() },
	}
	quiet := map[string]bool{"nothing is under way": true, "a put without counters": true}
	for name, env := range paths {
		for what, f := range begin {
			t.Run(name+", "+what, func(t *testing.T) {
				j := newJob(t, 3, env)
				k := j.tasks[0]
				counter = 0
				f(j, k)
				tellEnd(k, 1)
				if !k.peers[1].Shared && !quiet[what] {
					if k.faults.Pending() != 0 {
						t.Error("what may be on its way is not waited for")
					}
					now := k.clock() + latePatience
					k.clock = func() int64 { return now }
					k.pollSession()
				}
				want := 1
				if quiet[what] || counter != 0 { // read straight from the other's memory: over
					want = 0
				}
				if n := drainErrors(t, k, codes.ErrNoConnectivity, 1); n != want {
					t.Errorf("%d calls of the error handler, want %d", n, want)
				}
				if code := k.Put(1, 8, at(&there), at(&word), 0, 0,
					0); code != codes.ErrNoConnectivity {
					t.Errorf("a later put: %s", codes.Name(code))
				}
				fence, _ := k.FenceBegin()
				j.until("a fence", func() bool { return k.tickets.Done(fence) })
				if what == "a collective" && k.TicketResult(ticket) != codes.ErrNoConnectivity {
					t.Error("the collective does not fail")
				}
			})
		}
	}
}

// tellEnd delivers to a task the event that another has ended on purpose, and makes it look.
func tellEnd(k *testTask, task int) {
	tell(k, job.Event{Kind: job.TaskEnded, Task: task, Text: "exited with status 0"})
}

func tell(k *testTask, e job.Event) {
	s := k.net.Session.(*seat)
	s.mu.Lock()
	s.events[k.me] = append(s.events[k.me], e)
	s.mu.Unlock()
	k.pollSession()
}

// TestPeerEndsBehindCollective: a task that comes out of a collective and ends is no error to those
// that are behind in it, if they have what it sent; unless the collective never ends.
func TestPeerEndsBehindCollective(t *testing.T) {
	var word, there uint64
	for name, env := range paths {
		for _, completes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, it ends: %v", name, completes), func(t *testing.T) {
				j := newJob(t, 3, env)
				k := j.tasks[0]
				ticket, _ := k.GfenceBegin()
				_, _ = j.tasks[1].GfenceBegin() // sends task 0 all that it needs of it
				j.until("task 1's part", func() bool { return !k.collectives.Needs(1) })
				tellEnd(k, 1)
				if n := k.faults.Pending(); n != 0 || len(k.ends) != 1 || k.endsDeadline() == 0 {
					t.Fatalf("%d errors, %d ends that are not settled", n, len(k.ends))
				}
				want, result := 0, codes.Success
				if completes {
					_, _ = j.tasks[2].GfenceBegin()
					j.until("the collective", func() bool { return k.tickets.Done(ticket) })
				} else {
					want, result = 1, codes.ErrNoConnectivity
					now := k.clock() + endPatience
					k.clock = func() int64 { return now }
				}
				k.pollSession()
				if code := k.TicketResult(ticket); code != result {
					t.Errorf("the collective: %s", codes.Name(code))
				}
				if n := drainErrors(t, k, codes.ErrNoConnectivity, 1); n != want {
					t.Errorf("%d calls of the error handler, want %d", n, want)
				}
				if code := k.Put(1, 8, at(&there), at(&word), 0, 0,
					0); code != codes.ErrNoConnectivity {
					t.Errorf("a later put: %s", codes.Name(code))
				}
			})
		}
	}
}

// TestPeerEndsAndReturns: a task that has ended is out of the job before another process takes its
// place, also where it is not known yet what its end means.
func TestPeerEndsAndReturns(t *testing.T) {
	j := newJob(t, 3, paths["shm"])
	k := j.tasks[0]
	_, _ = k.GfenceBegin()
	_, _ = j.tasks[1].GfenceBegin()
	j.until("task 1's part", func() bool { return !k.collectives.Needs(1) })
	tellEnd(k, 1)
	if len(k.ends) != 1 || k.peers[1].Dead() {
		t.Fatal("the end is settled too soon")
	}
	tell(k, job.Event{Kind: job.TaskRejoined, Task: 2})
	if len(k.ends) != 1 {
		t.Fatal("another task's return settles it")
	}
	tell(k, job.Event{Kind: job.TaskRejoined, Task: 1})
	if len(k.ends) != 0 || !k.peers[1].Dead() {
		t.Error("the end is not settled before the return")
	}
	drainErrors(t, k, codes.ErrNoConnectivity, 1)
}

// TestPeerLeaves: a put to a task that has ended its context is an error, not a silent loss.
func TestPeerLeaves(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 2, env)
			var word, there uint64
			var done int32
			j.ok(j.tasks[0].Put(1, 8, at(&there), at(&word), 0, 0, at(&done)))
			j.until("a first put", func() bool { return done == 1 })
			gone := j.tasks[1]
			gone.ended = true
			j.tasks = j.tasks[:1]
			gone.TermEnd()
			j.until("the error handler", func() bool {
				j.tasks[0].Put(1, 8, at(&there), at(&word), 0, 0, 0)
				return j.tasks[0].faults.Pending() > 0
			})
			if n := drainErrors(t, j.tasks[0], codes.ErrNoConnectivity, 1); n != 1 {
				t.Errorf("%d calls of the error handler, want 1", n)
			}
		})
	}
}

// TestDeathIsHeardInSlowTurns: a death is known within a second, also to a task whose turns of the
// dispatcher are few or long.
func TestDeathIsHeardInSlowTurns(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	now := k.clock()
	k.clock = func() int64 { return now }
	k.pollSession()
	s := k.net.Session.(*seat)
	s.mu.Lock()
	s.events[0] = append(s.events[0],
		job.Event{Kind: job.TaskDied, Task: 1, Text: "was killed by the test"})
	s.mu.Unlock()
	for died := now; k.faults.Pending() == 0; now += 14e6 {
		if now > died+1e9 {
			t.Fatal("nothing is heard for a second")
		}
		k.Dispatch(0)
	}
	drainErrors(t, k, codes.ErrNoConnectivity, 1)
}
