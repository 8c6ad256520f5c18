package lapi

import (
	"slices"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
)

// longTransfer is how many bytes the long operations move: by RDMA, in more than one request.
const longTransfer = 3 << 20

// adapterOperations are operations of task 0's towards task 1 over adapters; cntr changes at their
// end.
var adapterOperations = map[string]func(k *testTask, there, here []byte, cntr *int32) codes.Code{
	"put 8": func(k *testTask, there, here []byte, cntr *int32) codes.Code {
		return k.Put(1, 8, at(&there[0]), at(&here[0]), 0, 0, at(cntr))
	},
	"put by RDMA": func(k *testTask, there, here []byte, cntr *int32) codes.Code {
		return k.Put(1, longTransfer, at(&there[0]), at(&here[0]), 0, 0, at(cntr))
	},
	"get 8": func(k *testTask, there, here []byte, cntr *int32) codes.Code {
		return k.Get(1, 8, at(&there[0]), at(&here[0]), 0, at(cntr))
	},
	"get by RDMA": func(k *testTask, there, here []byte, cntr *int32) codes.Code {
		return k.Get(1, longTransfer, at(&there[0]), at(&here[0]), 0, at(cntr))
	},
	"am 8": func(k *testTask, _, here []byte, cntr *int32) codes.Code {
		return k.Amsend(1, 0x1000, 0, 0, at(&here[0]), 8, 0, 0, at(cntr))
	},
	"am of many packets": func(k *testTask, _, here []byte, cntr *int32) codes.Code {
		return k.Amsend(1, 0x1000, 0, 0, at(&here[0]), longTransfer, 0, 0, at(cntr))
	},
	"rmw": func(k *testTask, there, here []byte, cntr *int32) codes.Code {
		return k.Rmw(8, wire.FetchAndAdd, 1, at(&there[0]), at(&here[0]), 0, at(cntr))
	},
}

// endings are how task 1 ends.
var endings = map[string]func(j *testJob){
	"leaves": func(j *testJob) { j.tasks[1].leave() },
	"is killed": func(j *testJob) {
		j.tasks[1].ended = true
		for _, d := range j.devices[1] {
			d.Kill()
		}
		j.tasks[0].net.Session.(*seat).tell(0, job.Event{Kind: job.TaskDied, Task: 1,
			Text: "was killed"})
	},
}

// tell delivers an event to a task.
func (m *meeting) tell(task int, e job.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events[task] = append(m.events[task], e)
}

// TestEndsOverAdapters: a task leaves or is killed after each number of turns that an operation has
// made: the operation completes, or its error is reported, once; the fence that covers it returns
// the same, the next one success; a collective that includes the task returns 434.
func TestEndsOverAdapters(t *testing.T) {
	for how, end := range endings {
		for name, begin := range adapterOperations {
			t.Run(how+" "+name, func(t *testing.T) {
				completed, lost := 0, 0
				for _, turns := range []int{0, 1, 2, 3, 4, 6, 9, 14, 22, 1000} {
					if endOverAdapters(t, end, begin, turns) {
						lost++
					} else {
						completed++
					}
				}
				if completed == 0 || lost == 0 {
					t.Errorf("completed %d times, lost %d times: nothing tested", completed, lost)
				}
			})
		}
	}
}

func endOverAdapters(t *testing.T, end func(*testJob),
	begin func(k *testTask, there, here []byte, cntr *int32) codes.Code, turns int) (lost bool) {
	j := newJob(t, 2, paths["us"])
	k := j.tasks[0]
	there, here := make([]byte, longTransfer), make([]byte, longTransfer)
	var cntr int32
	j.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = at(&there[0]) }
	j.ok(k.Put(1, 8, at(&there[0]), at(&here[0]), 0, 0, 0)) // a connection
	j.fence(0)
	j.ok(begin(k, there, here, &cntr))
	for range turns {
		k.Dispatch(0)
		j.tasks[1].Dispatch(0)
	}
	done := cntr == 1
	end(j)
	j.until1(k, "its end", func() bool { return cntr == 1 || k.faults.Pending() > 0 })
	if lost = cntr == 0; done && lost {
		t.Errorf("%d turns: a counter has changed back", turns)
	}
	var got []codes.Code
	for range 2 {
		id, code := k.FenceBegin()
		j.ok(code)
		j.until1(k, "a fence", func() bool { return k.tickets.Done(id) })
		got = append(got, k.TicketResult(id))
	}
	want := []codes.Code{codes.Success, codes.Success}
	if lost {
		want[0] = codes.ErrNoConnectivity
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d turns, lost %v: fences return %v", turns, lost, got)
	}
	id, code := k.GfenceBegin()
	if code == codes.Success {
		j.until1(k, "a collective", func() bool { return k.tickets.Done(id) })
		code = k.TicketResult(id)
	}
	if code != codes.ErrNoConnectivity {
		t.Errorf("%d turns: LAPI_Gfence returns %s", turns, codes.Name(code))
	}
	if all := k.events(); len(all) != 1 || all[0].Code != codes.ErrNoConnectivity || all[0].Of != 1 {
		t.Errorf("%d turns, lost %v: errors %+v", turns, lost, all)
	}
	if k.answers.Oldest() != nil || lost != (cntr == 0) {
		t.Errorf("%d turns: something is left", turns)
	}
	return lost
}
