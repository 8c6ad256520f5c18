package simnet

import (
	"io"
	"os"
	"sync"
	"testing"

	"lapi/transport"
)

// simSeeds is how many seeds `go test` runs.
const simSeeds = 200

// TestSimulation runs random traffic over random networks, on the links themselves: every message
// arrives exactly once and intact, memory is free when the link says so and not before, flushes
// keep their word, everything ends, and nothing is left over.
func TestSimulation(t *testing.T) {
	seeds, err := AskedSeeds(simSeeds)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var counts Counts
	var stats transport.Stats
	var free []*run
	closes := 0
	one := func(seed uint64, log io.Writer) error {
		mu.Lock()
		var s *run
		if n := len(free); n > 0 {
			s, free = free[n-1], free[:n-1]
		}
		mu.Unlock()
		if s == nil {
			var err error
			if s, err = newRun(); err != nil {
				return err
			}
		}
		err := s.simulate(NewScenario(seed), log)
		mu.Lock()
		counts.Add(&s.net.Counts)
		addStats(&stats, &s.stats)
		closes += s.closes
		free = append(free, s)
		mu.Unlock()
		return err
	}
	ran, _ := seeds.Run("sim", os.Stderr, one, func(text string) { t.Error(text) })
	t.Logf("%d seeds; network %+v; links %+v", ran, counts, stats)
	if ran >= simSeeds { // the runs must have had the events that they are for
		for what, count := range map[string]int{
			"lost": counts.Lost, "dropped": counts.Dropped, "overflowed": counts.Overflowed,
			"too long": counts.TooLong, "cut": counts.Cut,
			"duplicated": counts.Duplicated, "stray": counts.Strays, "replayed": counts.Replayed,
			"sent to nobody": counts.Nobody, "damaged": counts.Damaged, "full": counts.Full,
			"a part of another":                  counts.Parts,
			"needed to tell of a task that left": closes,
			"retransmitted":                      int(stats.RetransmittedPackets),
			"duplicate":                          int(stats.DuplicatePackets),
			"ghost":                              int(stats.GhostPackets),
		} {
			if count == 0 {
				t.Errorf("no packet was %s in any run: the simulation tests less than it says",
					what)
			}
		}
	}
}
