package lapi

import (
	"fmt"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/counter"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
)

// leave is LAPI_Term.
func (k *testTask) leave() {
	k.ended = true
	k.TermEnd()
}

// lastWord is a session that does something after the links have ended.
type lastWord struct {
	job.Session
	do func()
}

func (s lastWord) Close() error {
	s.do()
	return s.Session.Close()
}

// TestCallsBackWhileLeaving: the link to other nodes ends after that of the node, and may take its
// time: it asks meanwhile whether it is to look after a peer, and reports a peer that is lost.
func TestCallsBackWhileLeaving(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k, told := j.tasks[0], false
	if k.lane == nil {
		t.Fatal("no lane")
	}
	k.net.Session = lastWord{k.net.Session, func() {
		told = true
		if k.looksAfter(1) {
			t.Error("a task that leaves looks after another")
		}
		k.peerFailed(1, transport.ErrTimeout)
	}}
	k.leave()
	if _, ok := k.NextError(); ok || !told {
		t.Errorf("an error of a task that leaves, or no last word (%v)", told)
	}
}

// leftOperations are operations of task 0's towards task 1.
var leftOperations = map[string]func(k *testTask, word, other *uint64, cntr *int32) codes.Code{
	"put": func(k *testTask, word, other *uint64, cntr *int32) codes.Code {
		return k.Put(1, 8, at(word), at(other), 0, 0, at(cntr))
	},
	"get": func(k *testTask, word, other *uint64, cntr *int32) codes.Code {
		return k.Xfer(XferGet, &Transfer{Tgt: 1, N: 8, TgtAddr: at(word), OrgAddr: at(other),
			OrgCntr: at(cntr), Flags: singlecopy.NotUseBulkXfer}) // else it reads at once
	},
	"am": func(k *testTask, word, other *uint64, cntr *int32) codes.Code {
		return k.Amsend(1, 0x1000, 0, 0, at(other), 8, 0, 0, at(cntr))
	},
	"rmw": func(k *testTask, word, other *uint64, cntr *int32) codes.Code {
		return k.Rmw(8, wire.FetchAndAdd, 1, at(word), at(other), 0, at(cntr))
	},
}

// lost checks that task 0 got the error once that task 1 is gone, and that the next fence says so,
// but not the one after it.
func (j *testJob) lost(t *testing.T, cntr int32) {
	t.Helper()
	k := j.tasks[0]
	for i, want := range []codes.Code{codes.ErrNoConnectivity, codes.Success} {
		id, code := k.FenceBegin()
		j.ok(code)
		for !k.tickets.Done(id) {
			k.Dispatch(0)
		}
		if code := k.TicketResult(id); code != want {
			t.Errorf("fence %d: %s, want %s", i, codes.Name(code), codes.Name(want))
		}
	}
	if all := k.events(); len(all) != 1 || all[0].Code != codes.ErrNoConnectivity ||
		all[0].Of != 1 {
		t.Errorf("errors %+v", all)
	}
	if cntr != 0 {
		t.Error("a counter has changed")
	}
}

// leftJob is a job of two tasks, of which task 1 leaves; begin begins one of leftOperations.
type leftJob struct {
	*testJob
	k     *testTask
	name  string
	begin func() codes.Code
	cntr  int32
}

// eachLeaving runs a test with each operation over each path.
func eachLeaving(t *testing.T, test func(t *testing.T, l *leftJob)) {
	for path, env := range paths {
		for name, begin := range leftOperations {
			t.Run(path+" "+name, func(t *testing.T) {
				var word, other uint64
				l := &leftJob{testJob: newJob(t, 2, env), name: name}
				l.k = l.tasks[0]
				l.begin = func() codes.Code { return begin(l.k, &word, &other, &l.cntr) }
				test(t, l)
			})
		}
	}
}

// connect makes a session.
func (j *testJob) connect() {
	j.t.Helper()
	var word, other uint64
	j.ok(j.tasks[0].Put(1, 8, at(&word), at(&other), 0, 0, 0))
	j.fence(0)
}

// TestLostWhenTaskLeaves: operations that a task which leaves has not taken are lost: the error
// handler is called, the fence that covers them returns the loss, and no counter changes.
func TestLostWhenTaskLeaves(t *testing.T) {
	eachLeaving(t, func(t *testing.T, l *leftJob) {
		l.connect()
		l.ok(l.begin())
		l.tasks[1].leave()
		l.lost(t, l.cntr)
	})
}

// departed is a session that knows which tasks have left.
type departed struct {
	job.Session
	tasks []int
}

func (s *departed) Departed() (tasks []int) {
	tasks, s.tasks = s.tasks, nil
	return tasks
}

// TestLostWithoutConnection: a task leaves with which this one has no connection yet. The job
// session reports that, so operations with it do not last until TIMEOUT.
func TestLostWithoutConnection(t *testing.T) {
	eachLeaving(t, func(t *testing.T, l *leftJob) {
		l.tasks[1].leave()
		l.k.net.Session = &departed{l.k.net.Session, []int{1}}
		if l.begin() != codes.Success {
			return // the link knows
		}
		l.until1(l.k, "the error", func() bool { return l.k.faults.Pending() > 0 })
		l.lost(t, l.cntr)
		if code := l.begin(); code != codes.ErrNoConnectivity {
			t.Errorf("a later operation returns %s", codes.Name(code))
		}
	})
}

// TestNoSleepAfterLastWord: a task that has taken in the notice of another task's end since it last
// looked for such notices does not sleep for ever with an operation on its way to the other.
func TestNoSleepAfterLastWord(t *testing.T) {
	for path, env := range paths {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, env)
			k := j.tasks[0]
			var word, other uint64
			var cntr int32
			j.connect()
			j.ok(leftOperations["rmw"](k, &word, &other, &cntr))
			j.tasks[1].leave()
			j.until1(k, "word of it", func() bool {
				k.pace.session, k.pace.sessionAt = 0, k.clock() // no look yet
				return k.hasLeft(&k.peers[1])
			})
			timeout, ok := k.Arm()
			if ok {
				k.Disarm()
			}
			if ok && (timeout < 0 || timeout > sessionPause) {
				t.Errorf("it sleeps %d ns", timeout)
			}
			j.lost(t, cntr)
		})
	}
}

// TestOperationOnTaskThatLeft: it fails, in the same way whatever it is.
func TestOperationOnTaskThatLeft(t *testing.T) {
	kinds := map[string]codes.ErrType{"put": codes.PutErr, "get": codes.GetErr, "am": codes.AmErr,
		"rmw": codes.RmwErr}
	eachLeaving(t, func(t *testing.T, l *leftJob) {
		l.connect()
		l.tasks[1].leave()
		l.until1(l.k, "its end", func() bool { return l.k.hasLeft(&l.k.peers[1]) })
		for range 2 {
			if code := l.begin(); code != codes.ErrNoConnectivity {
				t.Errorf("it returns %s", codes.Name(code))
			}
		}
		all := l.k.events()
		if len(all) != 1 || all[0].Code != codes.ErrNoConnectivity || all[0].Of != 1 ||
			all[0].Type != kinds[l.name] {
			t.Errorf("errors %+v", all)
		}
		id, _ := l.k.FenceBegin()
		l.until1(l.k, "the fence", func() bool { return l.k.tickets.Done(id) })
		if code := l.k.TicketResult(id); code != codes.Success {
			t.Errorf("fence: %s, although nothing is lost", codes.Name(code))
		}
	})
}

// TestNothingLostWhenTaskLeaves: messages that were taken before are not lost, whether a fence has
// asked or not, and no error is reported.
func TestNothingLostWhenTaskLeaves(t *testing.T) {
	for path, env := range paths {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, env)
			k := j.tasks[0]
			var word uint64
			var arrived int32
			other := uint64(7)
			j.ok(k.Put(1, 8, at(&word), at(&other), at(&arrived), 0, 0))
			j.until("the put", func() bool { return arrived == 1 })
			j.tasks[1].leave()
			j.until1(k, "word of it", func() bool { return k.hasLeft(&k.peers[1]) })
			k.checkLeft()
			id, _ := k.FenceBegin()
			j.until1(k, "the fence", func() bool { return k.tickets.Done(id) })
			if code := k.TicketResult(id); code != codes.Success || len(k.events()) != 0 {
				t.Errorf("fence: %s", codes.Name(code))
			}
		})
	}
}

// TestPurgeLosesNothing: a user who purges a task knows what happens to operations on it.
func TestPurgeLosesNothing(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	var word, other uint64
	j.ok(k.Put(1, 8, at(&word), at(&other), 0, 0, 0))
	j.ok(k.Purge(1))
	j.fence(0)
	if all := k.events(); len(all) != 0 {
		t.Errorf("errors %+v", all)
	}
}

// fence is LAPI_Fence of a task.
func (j *testJob) fence(task int) {
	j.t.Helper()
	k := j.tasks[task]
	id, code := k.FenceBegin()
	j.ok(code)
	j.until("a fence", func() bool { return k.tickets.Done(id) })
	j.ok(k.TicketResult(id))
}

// until1 is until where only k is left to make progress.
func (j *testJob) until1(k *testTask, what string, done func() bool) {
	j.t.Helper()
	(&testJob{t: j.t, tasks: []*testTask{k}}).until(what, done)
}

// TestReportsWhatLaneHadUnderWay: C counts the completions that a task owes, and core learns of them
// when it asks. A completion that does not come is an error when that task has left.
func TestReportsWhatLaneHadUnderWay(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	if k.lane == nil {
		t.Skip("skipped: no lane")
	}
	owner := &k.lane.nodes[1].Owner
	owner[layout.PeerUsed], owner[layout.PeerKind] = 1, uint32(codes.PutErr)+1
	owner[layout.PeerExpected], k.lane.Dirty = 1, 1
	j.tasks[1].leave()
	j.until1(k, "the error", func() bool { return k.faults.Pending() > 0 })
	if all := k.events(); len(all) != 1 || all[0].Code != codes.ErrNoConnectivity ||
		all[0].Type != codes.PutErr || all[0].Of != 1 {
		t.Errorf("errors %+v", all)
	}
	for _, want := range []codes.Code{codes.ErrNoConnectivity, codes.Success} {
		id, _ := k.FenceBegin()
		j.until1(k, "the fence", func() bool { return k.tickets.Done(id) })
		if code := k.TicketResult(id); code != want {
			t.Errorf("fence: %s, want %s", codes.Name(code), codes.Name(want))
		}
	}
}

// TestReportsOnceHoweverMuchIsUnderWay: read-modify-writes, fewer or more than the link keeps in
// flight, to a task that leaves: they all end, with one error.
func TestReportsOnceHoweverMuchIsUnderWay(t *testing.T) {
	for _, n := range []int{layout.NodeOps / 2, 3 * layout.NodeOps} {
		for path, env := range paths {
			t.Run(fmt.Sprint(path, n), func(t *testing.T) { leaveWith(t, env, n) })
		}
	}
}

func leaveWith(t *testing.T, env map[string]string, n int) {
	j := newJob(t, 2, env)
	k := j.tasks[0]
	var word, one uint64
	var cntr int32
	j.ok(k.Put(1, 8, at(&word), at(&one), 0, 0, 0)) // a session
	j.fence(0)
	for range n {
		j.ok(k.Rmw(8, wire.FetchAndAdd, 1, at(&word), at(&one), 0, at(&cntr)))
	}
	j.tasks[1].leave()
	j.until1(k, "the error", func() bool { return k.faults.Pending() > 0 })
	if k.answers.Oldest() != nil {
		t.Error("an operation waits for a task that has left")
	}
	j.lost(t, cntr)
}

// TestFenceUnderWayReportsLoss: a fence that has begun returns the loss of what it covers, though
// messages of the library itself were sent since; the next one returns success.
func TestFenceUnderWayReportsLoss(t *testing.T) {
	for path, env := range paths {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, env)
			k := j.tasks[0]
			var word, one uint64
			j.ok(k.Put(1, 8, at(&word), at(&one), 0, 0, 0))
			j.fence(0)
			j.ok(k.Rmw(8, wire.FetchAndAdd, 1, at(&word), at(&one), 0, 0))
			id, _ := k.FenceBegin()
			k.out.Control(&k.peers[1], wire.MsgCounter, codes.IntErr,
				(&wire.Completion{Cntr: at(new(int32))}).Encode)
			k.fail(&k.peers[1], codes.ErrNoConnectivity, "it is gone")
			j.until1(k, "the fence", func() bool { return k.tickets.Done(id) })
			if code := k.TicketResult(id); code != codes.ErrNoConnectivity {
				t.Errorf("fence: %s", codes.Name(code))
			}
			id, _ = k.FenceBegin()
			j.until1(k, "the fence", func() bool { return k.tickets.Done(id) })
			if code := k.TicketResult(id); code != codes.Success {
				t.Errorf("the next fence: %s", codes.Name(code))
			}
		})
	}
}

// TestFenceReportsWhatCameWithTheAcknowledgement: a target takes an active message, and leaves
// before its completion handler has run. The acknowledgement, for which the fence waits, and the
// target's last word come together: the fence returns the loss.
func TestFenceReportsWhatCameWithTheAcknowledgement(t *testing.T) {
	for path, env := range paths {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, env)
			k, to := j.tasks[0], j.tasks[1]
			var word, one uint64
			var cntr int32
			j.ok(k.Put(1, 8, at(&word), at(&one), 0, 0, 0)) // a session
			j.fence(0)
			taken := false
			to.headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				taken, r.Completion = true, 0x2000
			}
			j.ok(k.Amsend(1, 0x1000, 0, 0, at(&one), 8, 0, 0, at(&cntr)))
			id, _ := k.FenceBegin()
			for !taken {
				to.Dispatch(0)
			}
			to.leave()
			j.until1(k, "the fence", func() bool { return k.tickets.Done(id) })
			if code := k.TicketResult(id); code != codes.ErrNoConnectivity {
				t.Errorf("fence: %s", codes.Name(code))
			}
			if all := k.events(); len(all) != 1 || cntr != 0 {
				t.Errorf("errors %+v, the counter is %d", all, cntr)
			}
		})
	}
}

// TestCollectiveEndsInAllTasks: a task leaves while the others are in a collective. Each returns 434
// in all of them, also where the messages that a task waits for are not from the task that has
// left.
func TestCollectiveEndsInAllTasks(t *testing.T) {
	for path, env := range paths {
		if path == "shm" {
			continue // the barrier, in C: tests/c/host
		}
		for _, last := range []int{1, 5} {
			t.Run(fmt.Sprint(path, " left ", last), func(t *testing.T) { collectiveWithout(t, env, last) })
		}
	}
}

func collectiveWithout(t *testing.T, env map[string]string, left int) {
	const n = 6
	j := newJob(t, n, env)
	gfence := func(k *testTask) uint64 {
		id, code := k.GfenceBegin()
		j.ok(code)
		return id
	}
	var ids [n]uint64
	for i, k := range j.tasks {
		ids[i] = gfence(k)
	}
	for i, k := range j.tasks {
		j.until("the first", func() bool { return k.tickets.Done(ids[i]) })
		j.ok(k.TicketResult(ids[i]))
	}
	j.tasks[left].leave()
	rest := &testJob{t: t}
	for i, k := range j.tasks {
		if i != left {
			ids[i] = gfence(k)
			rest.tasks = append(rest.tasks, k)
		}
	}
	for i, k := range j.tasks {
		if i == left {
			continue
		}
		rest.until("the end", func() bool { return k.tickets.Done(ids[i]) })
		if code := k.TicketResult(ids[i]); code != codes.ErrNoConnectivity {
			t.Errorf("task %d: %s", i, codes.Name(code))
		}
		if all := k.events(); len(all) != 1 || all[0].Of != left {
			t.Errorf("task %d: errors %+v", i, all)
		}
	}
}

// TestLossReportedOncePerCounter: a counter without a list learns of each loss once, though it asks
// afterwards; a counter that was set anew does not.
func TestLossReportedOncePerCounter(t *testing.T) {
	j := newJob(t, 3, paths["shm"])
	k := j.tasks[0]
	var a, b int32
	var word, other uint64
	if k.CounterPurged(at(&a)) != counter.Unlisted || k.TakeLoss() {
		t.Error("a loss before there was one")
	}
	for _, task := range []uint32{1, 2} {
		j.ok(k.Put(task, 8, at(&word), at(&other), 0, 0, 0))
		k.fail(&k.peers[task], codes.ErrNoConnectivity, "it is gone")
		if !k.TakeLoss() || k.TakeLoss() {
			t.Error("waiting threads are not woken once")
		}
		k.UnlistCounter(at(&b))
		for i, want := range []int{counter.Purged, counter.Unlisted} {
			if got := k.CounterPurged(at(&a)); got != want {
				t.Errorf("task %d, asked %d times: %d, want %d", task, i+1, got, want)
			}
		}
		if got := k.CounterPurged(at(&b)); got != counter.Unlisted {
			t.Errorf("a counter set anew: %d", got)
		}
	}
	var c int32 // asked after both
	for i, want := range []int{counter.Purged, counter.Purged, counter.Unlisted} {
		if got := k.CounterPurged(at(&c)); got != want {
			t.Errorf("after two losses, asked %d times: %d, want %d", i+1, got, want)
		}
	}
}
