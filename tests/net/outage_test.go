package net

import (
	"testing"
	"time"

	"lapi/tests/net/world"
)

const outage = 700 * time.Millisecond

// The only link of a node fails and comes back: the job goes on where it was, with nothing lost,
// damaged or done twice.
func TestOutage(t *testing.T) {
	for _, fault := range world.Faults {
		t.Run(name(fault.Name), func(t *testing.T) {
			counted(t)
			t.Parallel() // they mostly wait
			w := newWorld(t, world.Shape{Nodes: 2, Links: 1})
			j := steady(t, w, []int{2, 2})
			if err := fault.Begin(w, 1, 0); err != nil {
				t.Skipf("skipped: %v", err)
			}
			time.Sleep(outage)
			if err := fault.End(w, 1, 0); err != nil {
				t.Fatal(err)
			}
			for _, pause := range j.pauses(2) {
				if pause < outage/2 {
					t.Errorf("the longest pause is %v: the outage of %v was none", pause, outage)
				}
			}
		})
	}
}
