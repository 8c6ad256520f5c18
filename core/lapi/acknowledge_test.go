package lapi

import (
	"testing"

	"lapi/core/lapi/wire"
	"lapi/transport"
)

// Small puts that come together are completed together: few messages for many counts, each counter
// gets its own, of every origin.
func TestCompletionsTogether(t *testing.T) {
	// A run that a packet's end cuts is two, and a round has two runs. An adapter brings few puts
	// at a time, each a packet.
	for path, each := range map[string]int{"udp": 6, "us": 12} {
		t.Run(path, func(t *testing.T) { testCompletionsTogether(t, path, each) })
	}
}

func testCompletionsTogether(t *testing.T, path string, each int) {
	const target, rounds, first, second = 2, 40, 20, 3
	j := newJob(t, 3, paths[path])
	told := 0
	for _, k := range j.tasks[:target] {
		untraced(k.Context.peers[target].Link).Handle(wire.MsgCounter, func(m *transport.Msg) transport.Verdict {
			told++
			return k.Context.onCounter(m)
		})
	}
	var cmpl, tgt [target][2]int32
	src, dst := pattern(8, 1), make([]byte, 8)
	put := func(n, origin, counter int) {
		for range n {
			j.ok(j.tasks[origin].Put(target, 8, at(&dst[0]), at(&src[0]), at(&tgt[origin][counter]),
				0, at(&cmpl[origin][counter])))
		}
	}
	put(1, 0, 0)
	put(1, 1, 0)
	j.until("the links to meet", func() bool { return cmpl[0][0] == 1 && cmpl[1][0] == 1 })
	told = 0
	for range rounds {
		for origin := range target {
			put(first, origin, 0)
			put(second, origin, 1)
		}
	}
	full := [2]int32{1 + rounds*first, rounds * second}
	j.until("all completions", func() bool { return cmpl == [target][2]int32{full, full} })
	if tgt != cmpl {
		t.Errorf("target counters are %v", tgt)
	}
	if most := target * rounds * each; told > most {
		t.Errorf("%d completions came in %d messages, more than %d",
			target*rounds*(first+second), told, most)
	}
	for _, k := range j.tasks {
		for i := range k.peers {
			if n := k.counters.Outstanding(i); n != 0 {
				t.Errorf("%d completions are still expected of task %d", n, i)
			}
		}
	}
}

// Completions that are owed are counted and sent once; those owed to a purged task are not sent.
func TestOwed(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	c := j.tasks[1].Context
	var cmpl int32
	c.counters.Hold(true)
	for range 5 {
		c.counters.Acknowledge(0, at(&cmpl))
	}
	c.counters.Acknowledge(0, 0)
	if c.counters.Held() != 5 {
		t.Fatalf("%d are owed, not 5", c.counters.Held())
	}
	c.counters.Hold(false)
	j.until("the counts", func() bool { return cmpl == 5 })
	c.counters.Hold(true)
	c.counters.Acknowledge(0, at(&cmpl))
	j.ok(c.Purge(0))
	if c.counters.Held() != 0 {
		t.Error("a purged task is told of completions")
	}
}

// A task that fails while the link delivers is owed nothing any more, at once: a handler that runs
// next, or a task that comes back in its place, is not to see it. Completions owed to another task
// stay.
func TestOwedToTheDead(t *testing.T) {
	j := newJob(t, 3, paths["udp"])
	c := j.tasks[1].Context
	var cmpl int32
	c.counters.Hold(true)
	c.counters.Acknowledge(0, at(&cmpl))
	c.cutOff(&c.peers[2])
	if c.counters.Held() != 1 {
		t.Errorf("%d are owed to task 0 when task 2 has failed", c.counters.Held())
	}
	c.cutOff(&c.peers[0])
	if c.counters.Held() != 0 {
		t.Errorf("%d are owed to a task that has failed", c.counters.Held())
	}
	c.counters.Hold(false)
}
