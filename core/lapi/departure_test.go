package lapi

import (
	"fmt"
	"testing"
	"time"

	"lapi/core/lapi/codes"
	"lapi/transport/simnet"
)

// A task that has returned from a collective call, and computes from then on without a call, is not
// needed by those that are still in it, though the network loses every fifth packet.
func TestCollectiveNeedsNobodyWhoHasReturned(t *testing.T) {
	for _, tasks := range []int{2, 3, 5} {
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%d tasks, seed %d", tasks, seed), func(t *testing.T) {
				j := departureJob(t, tasks, seed, 0.2)
				for round := range 4 {
					j.collective(t, round)
				}
			})
		}
	}
}

// departures is a job whose tasks compute once they are through a collective call.
type departures struct {
	*simJob
	computes []bool
	tables   [][]uint64
}

func departureJob(t *testing.T, n int, seed uint64, loss float64) *departures {
	t.Helper()
	j := &departures{computes: make([]bool, n), simJob: plainJob(t, n, seed, simnet.Way{
		DelayMin: 20 * time.Microsecond, DelayMax: 50 * time.Microsecond, Loss: loss})}
	for range n {
		j.tables = append(j.tables, make([]uint64, n))
	}
	return j
}

// collective runs LAPI_Gfence or LAPI_Address_init64 in all tasks. Each computes as soon as it is
// through, until all are.
func (j *departures) collective(t *testing.T, round int) {
	t.Helper()
	tickets := make([]uint64, len(j.tasks))
	for i, k := range j.tasks {
		j.computes[i] = false
		j.net.Node(i).Compute(false)
		var code codes.Code
		if round%2 == 0 {
			tickets[i], code = k.GfenceBegin()
		} else {
			tickets[i], code = k.AddressInitBegin(uint64(100*round+i),
				at(&j.tables[i][0]), 8)
		}
		want(t, "begin", code, codes.Success)
		j.net.Node(i).Touch()
	}
	for through, end := 0, j.net.Now()+int64(time.Minute); through < len(j.tasks); {
		if !j.net.Step() || j.net.Now() > end {
			t.Fatalf("round %d: %d of %d tasks are through, and the others wait for them", round,
				through, len(j.tasks))
		}
		for i, k := range j.tasks {
			if !j.computes[i] && k.tickets.Done(tickets[i]) {
				want(t, "collective call", k.TicketResult(tickets[i]), codes.Success)
				j.computes[i] = true
				j.net.Node(i).Compute(true)
				through++
			}
		}
	}
}
