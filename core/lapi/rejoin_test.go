package lapi

import (
	"fmt"
	"os"
	"testing"
	"time"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/layout"
)

// reunion is the session of a job started by hand, as far as tasks come back into it. One mutex
// guards all: the meeting's.
type reunion struct {
	*seat
	all      []*reunion // by task: of its latest process
	here     bool       // it takes part: else its task has not come back
	answers  []job.Part // by task: what it has got on coming back
	answered []bool
	expected []int
}

func (r *reunion) Answer(task int, part job.Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := r.all[task]
	to.answers[r.me] = job.Part{Data: part.Data, Files: dup(part.Files)}
	to.answered[r.me] = true
	r.cond.Broadcast()
}

func (r *reunion) Expect(task int) { r.expected = append(r.expected, task) }

func (r *reunion) Settle(int) {} // all events are delivered at once

func (r *reunion) tell(e job.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[r.me] = append(r.events[r.me], e)
}

// returning is the session of a task that comes back: its exchange is with those that are there.
type returning struct{ *reunion }

func (r *returning) Exchange(p job.Part) ([]job.Part, error) {
	for i, other := range r.all {
		if i != r.me && other.here {
			other.tell(job.Event{Kind: job.TaskRejoined, Task: r.me,
				Part: job.Part{Data: p.Data, Files: dup(p.Files)}})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.all {
		for i != r.me && other.here && !r.answered[i] {
			r.cond.Wait()
		}
	}
	return r.answers, nil
}

// handJob is a job over shared memory whose tasks can be killed and come back.
type handJob struct {
	*testJob
	sessions []*reunion
}

func newHandJob(t *testing.T, n int) *handJob {
	h := &handJob{testJob: newJob(t, n, paths["shm"]), sessions: make([]*reunion, n)}
	for i, k := range h.tasks {
		h.sessions[i] = h.session(k.net.Session.(*seat))
		h.sessions[i].here = true
		k.net.Session = h.sessions[i]
	}
	return h
}

func (h *handJob) session(s *seat) *reunion {
	return &reunion{seat: s, all: h.sessions, answers: make([]job.Part, s.n),
		answered: make([]bool, s.n)}
}

// die ends a task as a kill does: it does nothing any more, and the others are notified.
func (h *handJob) die(task int) {
	h.t.Helper()
	old := h.tasks[task]
	h.t.Cleanup(old.TermEnd)
	h.sessions[task].here = false
	h.tasks[task] = &testTask{ended: true}
	for i, k := range h.tasks {
		if !h.sessions[i].here {
			continue
		}
		h.sessions[i].tell(job.Event{Kind: job.TaskDied, Task: task, Text: "was killed"})
		k.pollSession()
		if e, ok := k.NextError(); !ok || e.Code != codes.ErrNoConnectivity || e.Of != task {
			h.t.Fatalf("task %d hears %+v of the death", i, e)
		}
	}
}

// rejoin starts a task again, to its LAPI_Init's return. change may alter its environment.
func (h *handJob) rejoin(task int, change ...map[string]string) codes.Code {
	h.t.Helper()
	k := &testTask{headers: map[transport.Addr]func(*headerCall, *HeaderResult){},
		handlers: map[transport.Addr]func(transport.Addr){},
		sends:    map[transport.Addr]func(transport.Addr, int32, codes.Code){}, ended: true}
	vars := map[string]string{
		"MP_MSG_API": "lapi", "MP_CHILD": fmt.Sprint(task), "MP_PROCS": fmt.Sprint(len(h.tasks)),
		"MP_PARTITION": "test", "MP_LAPI_INET_ADDR": "@1:127.0.0.1,lo", "LAPI_USE_SHM": "only",
		"MP_COMMON_TASKS": commonTasks(task, len(h.tasks))}
	for _, c := range change {
		for name, value := range c {
			vars[name] = value
		}
	}
	h.sessions[task] =
		h.session(&seat{meeting: h.sessions[task].meeting, me: task, n: len(h.tasks)})
	copy(h.sessions[task].all, h.sessions)
	result := make(chan codes.Code)
	go func() {
		var code codes.Code
		k.Context, code = New(&Options{
			Shared: new(layout.Context), Host: k, Instance: 1, ErrHandler: 1,
			Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
			Hooks: wireup.Hooks{
				Key: func(*job.Config) ([]byte, bool, error) {
					return []byte("a key that all tasks of this job have"), true, nil
				},
				OpenSession: func(c *job.Config, _ int) (job.Session, error) {
					c.Launched = true
					return &returning{h.sessions[task]}, nil
				},
			},
		})
		result <- code
	}()
	for limit := time.After(time.Minute); ; {
		select {
		case code := <-result:
			if code == codes.Success {
				k.ended = false
				h.tasks[task] = k
				h.sessions[task].here = true
			}
			return code
		case <-limit:
			h.t.Fatal("LAPI_Init hangs")
		default:
			for i, other := range h.tasks {
				if h.sessions[i].here {
					other.pollSession()
				}
			}
		}
	}
}

func (h *handJob) until(what string, done func() bool) {
	h.t.Helper()
	living := &testJob{t: h.t}
	for i, k := range h.tasks {
		if h.sessions[i].here {
			living.tasks = append(living.tasks, k)
		}
	}
	living.until(what, done)
}

// works lets two tasks use each other in every way; a fence would wait for a task that is to come,
// too.
func (h *handJob) works(one, other int) {
	h.t.Helper()
	h.use(one, other)
	fence, _ := h.tasks[one].FenceBegin()
	h.until("a fence", func() bool { return h.tasks[one].tickets.Done(fence) })
	want(h.t, "fence", h.tasks[one].TicketResult(fence), codes.Success)
}

func (h *handJob) use(one, other int) {
	h.t.Helper()
	var done int32
	src, dst, word := make([]byte, 1<<17), make([]byte, 1<<17), new(uint64)
	src[99] = 7
	for _, pair := range [][2]int{{one, other}, {other, one}} {
		a, to := h.tasks[pair[0]], uint32(pair[1])
		for _, n := range []uint64{8, 3000, 1 << 17} {
			h.ok(a.Put(to, n, addrOf(dst), addrOf(src), 0, 0, at(&done)))
			h.ok(a.Get(to, n, addrOf(src), addrOf(dst), 0, at(&done)))
		}
		h.ok(a.Rmw(8, wire.FetchAndAdd, to, at(word), at(word), 0, at(&done)))
	}
	h.until("all operations", func() bool { return done == 14 })
	if dst[99] != 7 || !h.tasks[one].peers[other].SingleCopy {
		h.t.Error("the data did not arrive, or not straight")
	}
}

// TestRejoin: a task dies and comes back several times, resumed before it is there and after;
// what was under way changes no counter, and what is sent before it is there arrives.
func TestRejoin(t *testing.T) {
	h := newHandJob(t, 3)
	var lost, waited, word int32
	src, dst := make([]byte, 1<<17), make([]byte, 1<<17)
	for round := range 6 {
		victim := round % 2
		k := h.tasks[2]
		other := h.tasks[1-victim]
		for range 30 {
			h.ok(k.Put(uint32(victim), uint64(len(src)), addrOf(dst), addrOf(src), 0, 0, at(&lost)))
			h.ok(k.Rmw(4, wire.FetchAndAdd, uint32(victim), at(&word), at(&word), 0, at(&lost)))
		}
		// is in the survivor's ring when its sender dies
		h.ok(h.tasks[victim].Put(2, 8, addrOf(dst), addrOf(src), at(&lost), 0, 0))
		fence, _ := k.FenceBegin()
		h.die(victim)
		lost = 0
		h.until("the fence", func() bool { return k.tickets.Done(fence) })
		want(t, "put", k.Put(uint32(victim), 8, addrOf(dst), addrOf(src), 0, 0, 0),
			codes.ErrNoConnectivity)
		if round%3 == 0 { // a purge is not necessary
			want(t, "purge", k.Purge(uint32(victim)), codes.Success)
		}
		waited = 0
		if round%2 == 0 {
			want(t, "resume", k.Resume(uint32(victim)), codes.Success)
			h.ok(k.Put(uint32(victim), 100, addrOf(dst), addrOf(src), 0, 0, at(&waited)))
			h.ok(k.Rmw(4, wire.FetchAndAdd, uint32(victim), at(&word), at(&word), 0, at(&waited)))
			h.use(2, 1-victim) // meanwhile others are not kept waiting
		}
		want(t, "init", h.rejoin(victim), codes.Success)
		if round%2 == 1 {
			h.ok(h.tasks[victim].Put(2, 100, addrOf(dst), addrOf(src), 0, 0, at(&waited)))
			h.ok(h.tasks[victim].Rmw(4, wire.FetchAndAdd, 2, at(&word), at(&word), 0, at(&waited)))
			want(t, "resume", k.Resume(uint32(victim)), codes.Success)
		}
		want(t, "resume", other.Resume(uint32(victim)), codes.Success)
		h.until("what had to wait", func() bool { return waited == 2 })
		h.works(2, victim)
		h.works(victim, 1-victim)
		if lost != 0 {
			t.Errorf("round %d: %d operations with the dead ended well", round, lost)
		}
	}
}

// TestRejoinOfOneOfTwo: a task that comes back where another one is still dead reaches that one
// when it comes.
func TestRejoinOfOneOfTwo(t *testing.T) {
	h := newHandJob(t, 3)
	h.die(1)
	h.die(2)
	want(t, "init of task 1", h.rejoin(1), codes.Success)
	want(t, "resume", h.tasks[0].Resume(1), codes.Success)
	h.works(0, 1)
	var done int32
	word := new(uint64)
	h.ok(h.tasks[1].Put(2, 8, at(word), at(word), 0, 0, at(&done)))
	want(t, "resume", h.tasks[0].Resume(2), codes.Success)
	want(t, "init of task 2", h.rejoin(2), codes.Success)
	h.until("the put that waits", func() bool { return done == 1 })
	h.works(1, 2)
	h.works(0, 2)
}

// TestAbsentTimeout: a task that does not come within TIMEOUT is given up, with an error if
// something waits for it; then it may be resumed again.
func TestAbsentTimeout(t *testing.T) {
	h := newHandJob(t, 2)
	h.die(1)
	k := h.tasks[0]
	var done int32
	word := new(uint64)
	for _, begin := range []func() codes.Code{
		func() codes.Code { return k.Put(1, 8, at(word), at(word), 0, 0, at(&done)) },
		func() codes.Code {
			return k.Rmw(8, wire.FetchAndAdd, 1, at(word), at(word), 0, at(&done))
		},
	} {
		want(t, "resume", k.Resume(1), codes.Success)
		k.attributes.timeout = 0
		k.Dispatch(0)
		if k.absentDeadline() != 0 {
			t.Error("a deadline although nothing waits")
		}
		h.ok(begin())
		k.cfg.NoTimeout = true
		for range 10 {
			k.Dispatch(0)
		}
		if _, ok := k.NextError(); ok || k.absentDeadline() != 0 {
			t.Fatal("MP_DEBUG_NOTIMEOUT does not hold")
		}
		k.cfg.NoTimeout = false
		if k.absentDeadline() == 0 {
			t.Error("no deadline")
		}
		h.until("the time-out", func() bool { return k.peers[1].Dead() })
		if e, ok := k.NextError(); !ok || e.Code != codes.ErrTimeout || e.Of != 1 {
			t.Errorf("error %+v", e)
		}
		want(t, "put", k.Put(1, 8, at(word), at(word), 0, 0, 0), codes.ErrNoConnectivity)
	}
	k.attributes.timeout = 900
	want(t, "resume", k.Resume(1), codes.Success)
	want(t, "init", h.rejoin(1), codes.Success)
	h.works(0, 1)
	if done != 0 || k.rejoins.awaited != 0 {
		t.Errorf("%d given up operations counted; %d tasks absent", done, k.rejoins.awaited)
	}
}

// TestArrivedAndGone: processes that come and die before they are resumed leave nothing, and the
// next one works.
func TestArrivedAndGone(t *testing.T) {
	h := newHandJob(t, 2)
	h.die(1)
	k := h.tasks[0]
	before := 0
	for round := range 5 {
		want(t, "init", h.rejoin(1), codes.Success)
		word := new(uint64)
		h.ok(h.tasks[1].Put(0, 8, at(word), at(word), 0, 0, 0))
		h.tasks[1].TermEnd()
		h.sessions[1].here = false
		h.sessions[0].tell(job.Event{Kind: job.TaskDied, Task: 1, Text: "was killed"})
		k.pollSession()
		if _, ok := k.NextError(); ok {
			t.Error("the error handler hears of the death of a task that is dead to it")
		}
		if round == 0 {
			before = openFiles(t)
		}
	}
	if now := openFiles(t); now != before {
		t.Errorf("%d files open, %d before", now, before)
	}
	want(t, "init", h.rejoin(1), codes.Success)
	want(t, "resume", k.Resume(1), codes.Success)
	h.works(0, 1)
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestRejoinOfTaskThatLeft: LAPI_Term is no death, but a resumed task may come back after it too.
func TestRejoinOfTaskThatLeft(t *testing.T) {
	h := newHandJob(t, 2)
	k := h.tasks[0]
	h.tasks[1].TermEnd()
	h.tasks[1].ended = true
	h.sessions[1].here = false
	want(t, "resume of a task that is not dead", k.Resume(1), codes.Success)
	if len(h.sessions[0].expected) != 0 {
		t.Error("that one is not expected back")
	}
	want(t, "purge", k.Purge(1), codes.Success)
	want(t, "resume", k.Resume(1), codes.Success)
	if e := h.sessions[0].expected; len(e) != 1 || e[0] != 1 {
		t.Errorf("expected back: %v", e)
	}
	before := k.exitNotices
	want(t, "init", h.rejoin(1), codes.Success)
	h.works(0, 1)
	if k.exitNotices != before+1 {
		t.Error("an exit of this task would be a death to the one that came back")
	}
}

// TestRejoinWithoutSharedMemory: a task that was reached by shared memory and now has none cannot
// be taken back.
func TestRejoinWithoutSharedMemory(t *testing.T) {
	h := newHandJob(t, 2)
	h.die(1)
	// UDP is what is left, and in this job task 0 has none.
	want(t, "init", h.rejoin(1, map[string]string{"LAPI_USE_SHM": "no"}), codes.ErrUDPPortInfo)
	k := h.tasks[0]
	word := new(uint64)
	want(t, "put", k.Put(1, 8, at(word), at(word), 0, 0, 0), codes.ErrNoConnectivity)
	found := false
	for _, m := range k.messages {
		found = found || m == "task 0: task 1 has rejoined and cannot be reached: it has no shared memory any more"
	}
	if !found {
		t.Errorf("messages: %q", k.messages)
	}
}

// TestNoRejoinUnderLauncher: no process could come.
func TestNoRejoinUnderLauncher(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	k.rejoins.lost(1)
	k.fail(&k.peers[1], codes.ErrNoConnectivity, "a test")
	want(t, "resume", k.Resume(1), codes.ErrNoConnectivity)
}

// TestOldMessagesTellNothing: a completion handler of a dead task's message that returns after
// another process has taken its place does not count there, and a message that waits for a handler
// index is forgotten.
func TestOldMessagesTellNothing(t *testing.T) {
	h := newHandJob(t, 2)
	a, b := h.tasks[0], h.tasks[1]
	var cmpl, tgt int32
	a.headers[1000] = func(_ *headerCall, r *HeaderResult) { r.Completion = 1001 }
	a.handlers[1001] = func(transport.Addr) {}
	h.ok(b.Amsend(0, 1000, 0, 0, 0, 0, at(&tgt), 0, at(&cmpl)))
	var id uint64
	for ok := false; !ok; {
		a.Dispatch(0)
		b.Dispatch(0)
		_, _, id, ok = a.NextCompletion()
	}
	h.ok(b.Amsend(0, 5, 0, 0, 0, 0, 0, 0, at(&cmpl)))
	for a.in.Unknown() == 0 {
		a.Dispatch(0)
	}
	h.die(1)
	if a.in.Unknown() != 0 {
		t.Error("a dead task's message still waits for its handler")
	}
	want(t, "resume", a.Resume(1), codes.Success)
	want(t, "init", h.rejoin(1), codes.Success)
	a.CompletionDone(id)
	h.works(0, 1)
	if cmpl != 0 || tgt != 1 {
		t.Errorf("completion counter %d, want 0; target counter %d, want 1", cmpl, tgt)
	}
}
