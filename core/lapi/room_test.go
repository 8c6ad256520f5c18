package lapi

import (
	"testing"

	"lapi/core/lapi/codes"
)

// TestRoom: a task that does not take what it is sent costs LAPI_SEND_QUEUE: from then on calls get
// a ticket, which is done when there is room again, or the task is gone.
func TestRoom(t *testing.T) {
	for path, env := range paths {
		t.Run(path, func(t *testing.T) {
			env := map[string]string{"LAPI_USE_SHM": env["LAPI_USE_SHM"], "LAPI_SEND_QUEUE": "64"}
			j := newJob(t, 2, env)
			k := j.tasks[0]
			word, other := new(uint64), new(uint64)
			fill := func() (ticket uint64) {
				for range 100_000 {
					x := &Transfer{Tgt: 1, N: 8, TgtAddr: at(word), OrgAddr: at(other)}
					if j.ok(k.Xfer(XferPut, x)); x.Room != 0 {
						return x.Room
					}
				}
				t.Fatal("there is always room")
				return 0
			}
			first, second := fill(), fill()
			k.Dispatch(0)
			if k.tickets.Done(first) || k.tickets.Done(second) {
				t.Error("there is room although nothing was taken")
			}
			k.TicketResult(second) // a handler does not wait
			j.until("room", func() bool { return k.tickets.Done(first) })
			j.ok(k.TicketResult(first))
			j.fence(0)
			if len(k.rooms) != 0 {
				t.Errorf("%d tickets are left", len(k.rooms))
			}
			last := fill()
			k.fail(&k.peers[1], codes.ErrNoConnectivity, "test")
			k.Dispatch(0)
			if !k.tickets.Done(last) {
				t.Error("a call still waits for a task that is gone")
			}
		})
	}
}
