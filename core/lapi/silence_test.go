package lapi

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lapi/core/lapi/codes"
	"lapi/transport/simnet"
)

// quietJob is n tasks over a simulated network that does nothing to packets.
func quietJob(t *testing.T, n int) *simJob {
	t.Helper()
	return plainJob(t, n, 1, simnet.Way{DelayMin: 20 * time.Microsecond,
		DelayMax: 20 * time.Microsecond})
}

// plainJob is n tasks over a simulated network all of whose ways are that one.
func plainJob(t *testing.T, n int, seed uint64, way simnet.Way) *simJob {
	t.Helper()
	sc := simnet.NewScenario(seed)
	sc.Tasks, sc.Addresses, sc.Full, sc.Deaf, sc.Discover = n, nil, 0, 0, false
	for range n {
		sc.Addresses = append(sc.Addresses, 1)
	}
	for i := range sc.Ways {
		sc.Ways[i] = way
	}
	j := newSimJob(&plainJobs)
	*j = simJob{sc: sc, net: simnet.New(sc, nil), random: rand.New(rand.NewPCG(seed, 4)),
		arena: j.arena}
	if err := j.start(); err != nil {
		t.Fatal(err)
	}
	for i, k := range j.tasks {
		j.net.Node(i).Attach(func() { k.Dispatch(0) }, k.nextTimeout)
	}
	t.Cleanup(func() {
		for _, k := range j.tasks {
			k.link.Abandon()
			k.TermEnd()
		}
		j.net.Close()
		plainJobs = append(plainJobs, j)
	})
	return j
}

// plainJobs are those that are over: their memory serves later ones.
var plainJobs []*simJob

// pass lets d go by, or less if nothing happens any more.
func (j *simJob) pass(d time.Duration) {
	for end := j.net.Now() + int64(d); j.net.Now() < end && j.net.Step(); {
	}
}

// A task that is gone without a word is missed within TIMEOUT and a little, also by a task that has
// nothing in flight to it: it acknowledged all before, or was never sent anything. A task that
// waits for nothing gets no error.
func TestSilenceOfWhoIsWaitedFor(t *testing.T) {
	const timeout = defaultTimeout * time.Second
	for _, tasks := range []int{2, 3} {
		for _, met := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d tasks, met %v", tasks, met), func(t *testing.T) {
				j := quietJob(t, tasks)
				k, gone := j.tasks[0], j.tasks[1]
				var waits uint64
				begin := func() {
					var code codes.Code
					waits, code = k.GfenceBegin()
					want(t, "begin", code, codes.Success)
					j.net.Node(0).Touch()
				}
				if met {
					begin()
					j.pass(time.Second)
				}
				gone.link.Abandon()
				j.pass(3 * timeout)
				if e, ok := k.NextError(); ok != met {
					t.Fatalf("error event %+v, %v", e, ok)
				} else if !met {
					begin()
					j.pass(3 * timeout)
					e, ok = k.NextError()
					if !ok || e.Code != codes.ErrTimeout || e.Of != 1 {
						t.Fatalf("error event %+v, %v", e, ok)
					}
				}
				if !k.tickets.Done(waits) {
					t.Fatal("LAPI_Gfence has not ended")
				}
				want(t, "gfence", k.TicketResult(waits), codes.ErrNoConnectivity)
			})
		}
	}
}
