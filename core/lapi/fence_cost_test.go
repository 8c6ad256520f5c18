package lapi

import (
	"testing"

	"lapi/transport"
)

// sentPackets is how many packets the tasks of j have sent.
func (j *testJob) sentPackets() (n uint64) {
	for _, k := range j.tasks {
		for _, l := range []transport.Link{k.net.UDP, k.net.Verbs} {
			if l != nil {
				n += l.Stats().PacketsSent
			}
		}
	}
	return n
}

// TestFenceCostsNoMoreThanCounter: over UDP a put and a fence take the packets of a put and its
// completion counter: the put, and its acknowledgement. Over an adapter the put asks for that by
// itself once the task has fenced as often before.
func TestFenceCostsNoMoreThanCounter(t *testing.T) {
	const rounds = 300
	const more = rounds / 5
	for _, path := range []string{"udp", "us"} {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, paths[path])
			k := j.tasks[0]
			var cmpl int32
			here, there := uint64(7), uint64(0)
			counted := func() {
				before := cmpl
				j.ok(k.Put(1, 8, at(&there), at(&here), 0, 0, at(&cmpl)))
				j.until("a completion", func() bool { return cmpl == before+1 })
			}
			fenced := func() {
				j.ok(k.Put(1, 8, at(&there), at(&here), 0, 0, 0))
				j.fence(0)
			}
			packets := func(op func()) uint64 {
				before := j.sentPackets()
				for range rounds {
					op()
				}
				return j.sentPackets() - before
			}
			fenced() // the links meet
			withCounter, withFence := packets(counted), packets(fenced)
			t.Logf("%d packets with counters, %d with fences", withCounter, withFence)
			if withFence > withCounter+more {
				t.Errorf("%d puts: %d packets with counters, %d with fences", rounds, withCounter,
					withFence)
			}
		})
	}
}

// TestFenceWithNothingOutstandingSendsNothing: it is over when it begins, without a progress call.
func TestFenceWithNothingOutstandingSendsNothing(t *testing.T) {
	for path := range paths {
		t.Run(path, func(t *testing.T) {
			j := newJob(t, 2, paths[path])
			k := j.tasks[0]
			here, there, cmpl := uint64(7), uint64(0), int32(0)
			j.ok(k.Put(1, 8, at(&there), at(&here), 0, 0, 0))
			j.fence(0)
			j.ok(k.Put(1, 8, at(&there), at(&here), 0, 0, at(&cmpl)))
			j.until("the completion", func() bool { return cmpl == 1 })
			j.fence(0)
			before := j.sentPackets()
			for range 10 {
				if ticket, code := k.FenceBegin(); ticket != 0 {
					j.ok(code)
					t.Fatal("a fence waits, and nothing is outstanding")
				}
			}
			if n := j.sentPackets() - before; n != 0 {
				t.Errorf("10 fences with nothing outstanding send %d packets", n)
			}
		})
	}
}
