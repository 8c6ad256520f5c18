package hub

import (
	"reflect"
	"testing"
	"time"

	"lapi/core/job/wire"
)

// newHub is one of task 1 on a node with tasks 0 to 2; task 3 is on another.
func newHub() *Hub {
	h := New(4, testKey)
	h.Span([]int{0, 0, 0, 1}, 1, nil)
	return h
}

// come makes a task come to a hub with a session that goes on, and returns its end of it.
func come(t *testing.T, b *bench, h *Hub, task int, known [numKnown][]int) *wire.Conn {
	t.Helper()
	mine, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	near, far, err := wire.Pair()
	if err == nil {
		err = h.Admit(far)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := standing{goOn: []going{{round: 1, known: known}}}
	s.opened[0] = 1
	g := wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: 4}
	if err := wire.SendTo(near, wire.Message{Kind: wire.Hello, Data: s.encode(g.Encode()),
		Files: []int{theirs}}); err != nil {
		t.Fatal(err)
	}
	closeFiles([]int{theirs})
	c, err := wire.NewConn(mine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); closeFiles([]int{near}) })
	for !h.Came(task) {
		time.Sleep(time.Millisecond)
	}
	return c
}

// A new hub takes over what keepers know of other tasks, though it has said something else before.
func TestStanding(t *testing.T) {
	h := newHub()
	b := &bench{t: t}
	h.TaskEnded(0, "has ended")
	one := come(t, b, h, 1, [numKnown][]int{})
	if m := b.expect(one, wire.Died); m.Number != 0 {
		t.Errorf("%+v", m)
	}
	two := come(t, b, h, 2, [numKnown][]int{knownLeft: {0}, knownEnding: {3}, knownDead: {3}})
	if m := b.expect(two, wire.Ended); m.Number != 3 {
		t.Errorf("%+v", m)
	}
	h.mu.Lock()
	g := h.groups[groupID{}]
	if !g.left[0] || g.dead[0] != "" || !g.ending[3] || g.dead[3] == "" {
		t.Errorf("left %v, ending %v, dead %q", g.left, g.ending, g.dead)
	}
	h.mu.Unlock()
	b.send(two, wire.Message{Kind: wire.Part, Number: 1})
	if m := b.expect(two, wire.Failed); string(m.Data) != "task 0 has left (LAPI_Term)" {
		t.Errorf("%s", m.Data)
	}
}

// A task that comes with another number of tasks, as another's, twice, or with nonsense is refused.
func TestStandingRefused(t *testing.T) {
	h, b := newHub(), &bench{t: t}
	come(t, b, h, 1, [numKnown][]int{})
	empty := new(standing)
	for name, m := range map[string]wire.Message{
		"twice":   {Kind: wire.Hello, Data: empty.encode(greet(1, 4))},
		"number":  {Kind: wire.Hello, Data: empty.encode(greet(0, 5))},
		"node":    {Kind: wire.Hello, Data: empty.encode(greet(3, 4))},
		"nothing": {Kind: wire.Hello},
		"no list": {Kind: wire.Hello, Data: greet(0, 4)},
		"kind":    {Kind: wire.Part, Data: empty.encode(greet(0, 4))},
		"sockets": {Kind: wire.Hello, Data: (&standing{opened: [wire.MaxInstances]int{1},
			goOn: make([]going, 1)}).encode(greet(0, 4))},
	} {
		near, far, err := wire.Pair()
		if err == nil {
			err = h.Admit(far)
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.NewConn(near)
		if err != nil {
			t.Fatal(err)
		}
		b.send(c, m)
		if answer := b.expect(c, wire.Refuse); len(answer.Data) == 0 {
			t.Errorf("%s: no reason", name)
		}
		c.Close()
	}
}

func greet(task, numTasks int) []byte {
	return wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: numTasks}.Encode()
}

// A new trunk says how all of a node's tasks stand, and asks what was not answered.
func TestSnapshot(t *testing.T) {
	s := newSpanned(t, 2)
	all := s.joinAll()
	s.send(all[2], wire.Message{Kind: wire.Leave})
	s.expect(all[2], wire.Left)
	s.send(all[3], wire.Message{Kind: wire.Ending})
	s.expect(all[3], wire.Ending)
	s.disconnect()
	answered := make(chan struct{})
	go func() {
		s.hubs[1].Flush(guard)
		close(answered)
	}()
	h := New(4, testKey)
	h.Span([]int{0, 0, 1, 1}, 1, nil)
	s.hubs[0] = h
	come(t, &s.bench, h, 1, [numKnown][]int{})
	s.connect(1, 0)
	<-answered // so it is taken in
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.groups[groupID{}]; !g.left[2] || g.left[3] || !g.ending[3] || g.dead[3] != "" {
		t.Errorf("left %v, ending %v, dead %q", g.left, g.ending, g.dead)
	}
}

// disconnect ends the trunk between two hubs, which does not come back by itself.
func (s *spanned) disconnect() {
	for _, h := range s.hubs {
		h.mu.Lock()
		for _, t := range h.span.trunks {
			if t != nil && t.way != nil {
				t.way.queue.end()
				t.way.Close()
				t.way = nil
			}
		}
		h.mu.Unlock()
	}
}

// An exchange whose parts a broken connection has lost ends on a new one.
func TestSnapshotInExchange(t *testing.T) {
	s := newSpanned(t, 2)
	all := s.joinAll()
	s.disconnect()
	for _, c := range all {
		s.send(c, wire.Message{Kind: wire.Part, Number: 1})
	}
	time.Sleep(10 * time.Millisecond) // the test holds without it too
	s.connect(1, 0)
	for _, c := range all {
		s.expect(c, wire.Parts)
	}
}

// FuzzStanding: what is read of a task's standing is what was written.
func FuzzStanding(f *testing.F) {
	s := standing{lost: []groupID{{0, 1}}, mates: []int{0, 2}, goOn: []going{{
		id: groupID{3, 1}, round: 2, life: wire.Life{1}, lives: map[int]wire.Life{1: {2}},
		known: [numKnown][]int{{1, 2}, nil, {3}}}}}
	s.opened[3], s.opened[0] = 2, 2
	f.Add(s.encode(nil))
	f.Add(new(standing).encode(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeStanding(b, 4)
		if err != nil {
			return
		}
		again, err := decodeStanding(s.encode(nil), 4)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v becomes %+v, %v", s, again, err)
		}
	})
}

// FuzzTable: likewise of how a task stands.
func FuzzTable(f *testing.F) {
	all := table{flags: tableKnown, opened: map[int]int{0: 2}, how: "has ended",
		stays: map[groupID]stay{{0, 1}: stayDied, {0, 0}: stayEnding}}
	f.Add(all.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := decodeTable(b)
		if err != nil {
			return
		}
		again, err := decodeTable(all.encode())
		if err != nil || !reflect.DeepEqual(all, again) {
			t.Fatalf("%+v becomes %+v, %v", all, again, err)
		}
	})
}

// An answer to Leave waits for a keeper that has not come to a new hub yet; when the keeper comes,
// the hub sends it the tasks that have left. Otherwise a task that leaves while one hub after another
// ends would count as dead.
func TestLeaveWaitsForKeepers(t *testing.T) {
	h, b := New(4, testKey), &bench{t: t}
	h.Span([]int{0, 0, 0, 0}, 1, nil)
	for _, ended := range []int{0, 3} {
		h.TaskEnded(ended, "has ended")
	}
	one := come(t, b, h, 1, [numKnown][]int{})
	for range 2 {
		b.expect(one, wire.Died)
	}
	b.send(one, wire.Message{Kind: wire.Leave})
	for until := time.Now().Add(comingLimit / 4); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if m, ok, err := one.Receive(new(wire.Scratch)); ok || err != nil {
			t.Fatalf("%+v, %v before task 2 has come", m, err)
		}
	}
	two := come(t, b, h, 2, [numKnown][]int{})
	for range 2 {
		b.expect(two, wire.Died)
	}
	if m := b.expect(two, wire.Left); len(m.Data) != 4 || m.Data[0] != 1 {
		t.Errorf("%+v", m)
	}
	b.expect(one, wire.Left)
}
