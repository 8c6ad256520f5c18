package lapi

import (
	"testing"

	"lapi/core/lapi/codes"
)

// A message whose header handler index is never registered calls both tasks' error handlers and
// ends the origin's fence with that code, once; no counter changes but the origin's.
func TestUnregisteredIndexReportsToBothTasks(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, n := range []int{0, 3000, 200_000} {
			data := pattern(n+1, 1)
			var target, complete int32
			j.tasks[tgt].attributes.timeout = 0
			j.ok(j.tasks[0].Amsend(tgt, 7, 0, 0, addrOf(data), uint64(n), at(&target), 0,
				at(&complete)))
			fence, code := j.tasks[0].FenceBegin()
			j.ok(code)
			for i, of := range map[uint32]int{tgt: 0, 0: int(tgt)} {
				k := j.tasks[i]
				j.until("an error", func() bool { return k.faults.Pending() > 0 })
				if all := k.events(); len(all) != 1 || all[0].Code != codes.ErrHdrHndlrNull ||
					all[0].Type != codes.AmErr || all[0].Of != of {
					t.Errorf("%d bytes: task %d: errors %+v", n, i, all)
				}
			}
			j.until("the fence", func() bool { return j.tasks[0].tickets.Done(fence) })
			want(t, "fence", j.tasks[0].TicketResult(fence), codes.ErrHdrHndlrNull)
			j.fence(0)
			if target != 0 || complete != 0 {
				t.Errorf("%d bytes: target counter %d, completion counter %d", n, target, complete)
			}
		}
	})
}
