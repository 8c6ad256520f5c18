package lapi

import (
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// want compares codes.
func want(t testing.TB, what string, got, expected codes.Code) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: %s, want %s", what, codes.Name(got), codes.Name(expected))
	}
}

// TestPurgeGivesUp: what is under way to a purged task ends and changes no counter, operations on
// it fail, others go on.
func TestPurgeGivesUp(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3, env)
			k := j.tasks[0]
			var org, cmpl, other, word int32
			src, dst := make([]byte, 1<<18), make([]byte, 1<<18)
			j.ok(k.Put(1, 8, addrOf(dst), addrOf(src), 0, 0, at(&other)))
			j.until("a first put", func() bool { return other == 1 })
			j.ok(k.Get(1, 0, 0, 0, 0, at(&org)))
			j.ok(k.Put(1, 64, addrOf(dst), addrOf(src), 0, 0, at(&cmpl)))
			j.ok(k.Rmw(4, wire.FetchAndAdd, 1, at(&word), at(&word), 0, at(&org)))
			fence, _ := k.FenceBegin()
			want(t, "purge", k.Purge(1), codes.Success)
			want(t, "purge again", k.Purge(1), codes.Success)
			want(t, "put", k.Put(1, 8, addrOf(dst), addrOf(src), 0, 0, 0), codes.ErrTgtPurged)
			want(t, "get", k.Get(1, 8, addrOf(dst), addrOf(src), 0, 0), codes.ErrTgtPurged)
			want(t, "am", k.Amsend(1, 1, 0, 0, 0, 0, 0, 0, 0), codes.ErrTgtPurged)
			want(t, "rmw", k.Rmw(4, wire.FetchAndAdd, 1, at(&word), at(&word), 0, 0),
				codes.ErrTgtPurged)
			j.ok(k.Put(2, uint64(len(src)), addrOf(dst), addrOf(src), 0, 0, at(&other)))
			j.until("a put to another task", func() bool { return other == 2 })
			j.until("the fence", func() bool { return k.tickets.Done(fence) })
			want(t, "fence", k.TicketResult(fence), codes.Success)
			for range 1000 { // what the purged task answers comes now
				for _, task := range j.tasks {
					task.Dispatch(0)
				}
			}
			if org != 0 || cmpl != 0 {
				t.Errorf("counters of purged messages: %d, %d", org, cmpl)
			}
			if _, ok := k.NextError(); ok {
				t.Error("the error handler hears of a purge")
			}
		})
	}
}

func TestPurgeArguments(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	for _, dest := range []uint32{0, 2, 1 << 31, 1<<32 - 1} {
		want(t, "purge", j.tasks[0].Purge(dest), codes.ErrTgt)
		want(t, "resume", j.tasks[0].Resume(dest), codes.ErrTgt)
	}
	want(t, "resume of a task that was not purged", j.tasks[0].Resume(1), codes.Success)
	want(t, "address under lapirun", j.tasks[0].AddUDPDest(1, 0, j.tasks[0].addrOfUDP(t)),
		codes.ErrUtilCmd)
}

// TestCollectivesAfterPurge: they end and fail, also in a task that has purged no other, and stay
// so.
func TestCollectivesAfterPurge(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3, env)
			waits, code := j.tasks[0].GfenceBegin()
			j.ok(code)
			want(t, "purge", j.tasks[0].Purge(1), codes.Success)
			if !j.tasks[0].tickets.Done(waits) {
				t.Fatal("a collective goes on after a purge")
			}
			want(t, "gfence under way", j.tasks[0].TicketResult(waits), codes.ErrTgtPurged)
			_, code = j.tasks[0].GfenceBegin()
			want(t, "gfence", code, codes.ErrTgtPurged)
			waits, code = j.tasks[2].GfenceBegin()
			j.ok(code)
			j.until("the refusal", func() bool { return j.tasks[2].tickets.Done(waits) })
			want(t, "gfence elsewhere", j.tasks[2].TicketResult(waits), codes.ErrTgtPurged)
			_, code = j.tasks[2].AddressInitBegin(1, at(new([24]byte)), 8)
			want(t, "address_init elsewhere", code, codes.ErrTgtPurged)
		})
	}
}

// TestPurgeAndResume: two living tasks give each other up and begin anew. Nothing of the time
// before arrives.
func TestPurgeAndResume(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 2, env)
			a, b := j.tasks[0], j.tasks[1]
			var before, after, arrived int32
			src, dst := make([]byte, 1<<17), make([]byte, 1<<17)
			j.ok(a.Put(1, 8, addrOf(dst), addrOf(src), 0, 0, at(&after)))
			j.until("a first put", func() bool { return after == 1 })
			for round := range int32(5) {
				for range 40 { // much more than the path holds
					j.ok(a.Put(1, uint64(len(src)), addrOf(dst), addrOf(src), at(&arrived), 0,
						at(&before)))
					j.ok(b.Put(0, 64, addrOf(dst), addrOf(src), at(&arrived), 0, at(&before)))
				}
				first, second := a, b
				if round%2 == 1 {
					first, second = b, a
				}
				want(t, "purge", first.Purge(uint32(second.me)), codes.Success)
				arrivedBefore, countedBefore := arrived, before
				want(t, "resume", first.Resume(uint32(second.me)), codes.Success)
				// some of the new reaches a task that has not purged: it must not harm
				if round < 4 {
					for range 100 {
						first.Dispatch(0)
						second.Dispatch(0)
					}
					arrivedBefore, countedBefore = arrived, before
				}
				want(t, "purge", second.Purge(uint32(first.me)), codes.Success)
				want(t, "resume", second.Resume(uint32(first.me)), codes.Success)
				after = 0
				j.ok(a.Put(1, uint64(len(src)), addrOf(dst), addrOf(src), 0, 0, at(&after)))
				j.ok(b.Put(0, uint64(len(src)), addrOf(dst), addrOf(src), 0, 0, at(&after)))
				j.ok(b.Rmw(4, wire.FetchAndAdd, 0, at(&round), at(&round), 0, at(&after)))
				j.until("operations after the resume", func() bool { return after == 3 })
				if arrived != arrivedBefore || before != countedBefore {
					t.Errorf("purged messages counted: %d arrived, %d complete",
						arrived-arrivedBefore, before-countedBefore)
				}
				fence, _ := a.FenceBegin()
				j.until("a fence", func() bool { return a.tickets.Done(fence) })
				want(t, "fence", a.TicketResult(fence), codes.Success)
			}
			for _, k := range j.tasks {
				if e, ok := k.NextError(); ok {
					t.Errorf("task %d: %s", k.me, e.Text)
				}
			}
		})
	}
}

// TestResumeAfterFailure: a task whose peer has failed may resume without a purge.
func TestResumeAfterFailure(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	a, b := j.tasks[0], j.tasks[1]
	var done int32
	word := new(uint64)
	a.fail(&a.peers[1], codes.ErrTimeout, "a test")
	b.fail(&b.peers[0], codes.ErrTimeout, "a test")
	want(t, "put", a.Put(1, 8, at(word), at(word), 0, 0, 0), codes.ErrNoConnectivity)
	want(t, "resume", a.Resume(1), codes.Success)
	want(t, "resume", b.Resume(0), codes.Success)
	j.ok(a.Put(1, 8, at(word), at(word), 0, 0, at(&done)))
	j.until("a put", func() bool { return done == 1 })
}

// TestCompletionOfPurgedMessage: a completion handler that returns after its message was purged
// sends the origin nothing.
func TestCompletionOfPurgedMessage(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	a, b := j.tasks[0], j.tasks[1]
	var cmpl, tgt, done int32
	b.headers[1000] = func(_ *headerCall, r *HeaderResult) { r.Completion = 1001 }
	b.handlers[1001] = func(transport.Addr) {}
	j.ok(a.Amsend(1, 1000, 0, 0, 0, 0, at(&tgt), 0, at(&cmpl)))
	var id uint64
	for ok := false; !ok; {
		a.Dispatch(0)
		b.Dispatch(0)
		_, _, id, ok = b.NextCompletion()
	}
	for _, k := range j.tasks {
		want(t, "purge", k.Purge(uint32(1-k.me)), codes.Success)
		want(t, "resume", k.Resume(uint32(1-k.me)), codes.Success)
	}
	b.CompletionDone(id)
	j.ok(b.Put(0, 0, 0, 0, 0, 0, at(&done)))
	j.until("a later message", func() bool { return done == 1 })
	if cmpl != 0 || tgt != 1 {
		t.Errorf("completion counter %d, want 0; target counter %d, want 1", cmpl, tgt)
	}
}
