package hub

import (
	"testing"

	"lapi/core/job/wire"
)

// TestHubsProcessIsAnsweredLast: the task in whose process a hub by hand is gets the parts of a
// round when they were written to all others: its process may end at once.
func TestHubsProcessIsAnsweredLast(t *testing.T) {
	for host := range 3 {
		h := New(3, nil)
		h.ByHand([]int{0, 1, 2}, host, func() {})
		g, done := newGroup(h, groupID{}), 0
		for i := range g.members {
			g.members[i] = &session{outlet: newOutlet(nil), hub: h, task: i, group: g}
		}
		g.spreadParts(wire.Message{Kind: wire.Parts}, func() { done++ })
		for i, s := range g.members {
			if i == host {
				continue
			}
			if len(g.members[host].queue.items) != 0 {
				t.Fatalf("host %d has its parts before task %d", host, i)
			}
			for _, sent := range s.queue.end() {
				sent.done()
			}
		}
		for _, sent := range g.members[host].queue.end() {
			sent.done()
		}
		if done != 3 {
			t.Errorf("host %d: %d of 3 are done", host, done)
		}
	}
}
