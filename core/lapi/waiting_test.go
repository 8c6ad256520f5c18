package lapi

import (
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/wire"
)

// TestBadAddressWaits: messages that wait for room in their link are copied if they are small. One
// whose data cannot be read fails then as if it had gone at once: nothing arrives, no counter
// changes, and the task that named the address gets the error.
func TestBadAddressWaits(t *testing.T) {
	for _, path := range []string{"shm", "udp"} {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, paths[path])
			bad := addrOf(targetWithHole(t, 4096, 0))
			much, good := make([]byte, 60_000), pattern(100, 3)
			var org, target, cmpl, got, gotv, last int32
			back, backv := pattern(100, 4), pattern(100, 5)

			j.ok(j.tasks[1].Get(0, 100, bad, addrOf(back), 0, at(&got)))
			from := describe(wire.VectorIO, 2, []uint64{uint64(bad), uint64(bad) + 50},
				[]uint64{40, 60})
			to := describe(wire.VectorIO, 2,
				[]uint64{uint64(addrOf(backv)), uint64(addrOf(backv)) + 40}, []uint64{40, 60})
			j.ok(j.tasks[1].Getv(0, from.longAt(), to.at(), true, 0, at(&gotv),
				handlers.Callback{}))
			for i := 0; j.tasks[0].out.Waiting() == 0; i++ { // until nothing goes at once
				if i == 10_000 {
					t.Skip("the link takes everything")
				}
				j.ok(j.tasks[0].Put(1, uint64(len(much)), addrOf(much), addrOf(much), 0, 0, 0))
			}
			j.ok(j.tasks[0].Put(1, 100, addrOf(good), bad, at(&target), at(&org), at(&cmpl)))
			j.tasks[0].Dispatch(0) // answers both gets
			j.ok(j.tasks[0].Put(1, 0, 0, 0, at(&last), 0, 0))
			j.until("the last put, and both gets' failures", func() bool {
				return last == 1 && j.tasks[1].faults.Pending() >= 2
			})

			if n := drainErrors(t, j.tasks[1], codes.ErrTgtAddrNull, 0); n != 2 {
				t.Errorf("who got hears %d times of it", n)
			}
			reports := map[codes.Code]int{}
			for _, e := range j.tasks[0].events() {
				reports[e.Code]++
			}
			if reports[codes.ErrOrgAddrNull] != 1 || reports[codes.ErrTgtAddrNull] != 2 {
				t.Errorf("whose memory it is: %v", reports)
			}
			if org != 0 || target != 0 || cmpl != 0 || got != 0 || gotv != 0 {
				t.Errorf("counters %d %d %d %d %d", org, target, cmpl, got, gotv)
			}
			if string(good) != string(pattern(100, 3)) || string(back) != string(pattern(100, 4)) ||
				string(backv) != string(pattern(100, 5)) {
				t.Error("something was written where nothing came from")
			}
		})
	}
}
