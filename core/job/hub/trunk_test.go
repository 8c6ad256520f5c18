package hub

import (
	"bytes"
	"errors"
	"testing"

	"lapi/core/job/wire"
)

// Tasks on several nodes have the job key before there is a hub, so no hub sends it.
func TestSpannedWelcome(t *testing.T) {
	s := newSpanned(t, 2)
	g := wire.Greeting{Purpose: wire.Join, Task: 0, NumTasks: 4}
	if m := s.expect(s.sayHello(0, g.Encode()), wire.Welcome); len(m.Data) != 0 {
		t.Errorf("the hub sends %d bytes with its welcome", len(m.Data))
	}
}

// Whoever lacks the key is no hub of the job, nor is one of a job of another size.
func TestTrunkProof(t *testing.T) {
	wrong := bytes.Repeat([]byte{8}, wire.KeySize)
	for name, c := range map[string]struct {
		keys [2][]byte
		size [2]int
	}{"calling": {[2][]byte{wrong, testKey}, [2]int{4, 4}},
		"hearing": {[2][]byte{testKey, wrong}, [2]int{4, 4}},
		"size":    {[2][]byte{testKey, testKey}, [2]int{4, 5}}} {
		a, b := tcpPair(t)
		heard := make(chan error, 1)
		go func() {
			_, err := Hear(b, c.keys[1], c.size[1])
			heard <- err
		}()
		_, err := Call(a, c.keys[0], 2, c.size[0], guard)
		if other := <-heard; err == nil || other == nil {
			t.Errorf("%s is wrong: %v, %v", name, err, other)
		}
	}
}

// call lets the hub in task's process call h, and returns the way if h takes it.
func (s *spanned) call(h *Hub, task int) (*Way, error) {
	s.t.Helper()
	a, b := tcpPair(s.t)
	go func() {
		if w, err := Hear(b, testKey, len(s.control)); err == nil {
			_ = h.Attach(w)
		}
	}()
	return Call(a, testKey, task, len(s.control), guard)
}

// A node that has a trunk gets no second one, but for that of a later hub; and a call from a node
// that does not exist, or from this one, is refused.
func TestTrunkOnce(t *testing.T) {
	s := newSpanned(t, 2)
	for _, task := range []int{2, 0, 1} {
		if _, err := s.call(s.hubs[0], task); !errors.Is(err, ErrNotTaken) {
			t.Errorf("a call of task %d: %v", task, err)
		}
	}
	s.joinAll()
	if _, err := s.call(s.hubs[0], 3); err != nil {
		t.Error(err)
	}
	if _, err := s.call(s.hubs[0], 2); !errors.Is(err, ErrNotTaken) {
		t.Errorf("a call of who was followed: %v", err)
	}
	s.disconnect()
	if _, err := s.call(s.hubs[0], 2); !errors.Is(err, ErrNotTaken) {
		t.Errorf("a call of who was followed, without a trunk: %v", err)
	}
}

// Two hubs that call each other at once agree on one way.
func TestTrunkCrossed(t *testing.T) {
	for _, highFirst := range []bool{true, false} {
		s := newSpanned(t, 2)
		s.disconnect()
		var calls [2]func()
		for me, task := range []int{0, 2} {
			w, err := s.call(s.hubs[1-me], task)
			calls[me] = func() {
				if err == nil {
					err = s.hubs[me].Attach(w)
				}
			}
		}
		if highFirst {
			calls[0], calls[1] = calls[1], calls[0]
		}
		calls[0]()
		calls[1]()
		for me, h := range s.hubs {
			h.mu.Lock()
			if w := h.span.trunks[1-me].way; w == nil || w.called != (me == 1) {
				t.Errorf("node %d: the way is %+v", me, w)
			}
			h.mu.Unlock()
		}
		s.joinAll()
	}
}

// A hub that has proved itself cannot fill another's memory with exchanges.
func TestManyRounds(t *testing.T) {
	h := New(4, testKey)
	h.Span([]int{0, 0, 1, 1}, 0, nil)
	data, _ := wire.EncodeParts([]wire.Contribution{{Task: 2}, {Task: 3}})
	h.span.trunks[1].way = &Way{queue: newQueue[[]byte]()}
	var err error
	for number := range uint32(2 * maxAhead) {
		n := note{kind: noteParts, number: number, task: 2, data: data}
		if err = h.heard(h.span.trunks[1].way, 1, n.encode()); err != nil {
			break
		}
	}
	if got := len(h.groups[groupID{}].rounds); err == nil || got != maxAhead {
		t.Errorf("%d rounds, %v", got, err)
	}
}

// FuzzNote: no note of a node that has proved itself does more than end its trunk.
func FuzzNote(f *testing.F) {
	for kind := noteParts; kind < lastNote; kind++ {
		n := note{kind: kind, number: 1, task: 3, data: make([]byte, 80)}
		f.Add(n.encode())
	}
	data, _ := wire.EncodeParts([]wire.Contribution{{Task: 2}, {Task: 3, Data: []byte("x")}})
	n := note{kind: noteParts, task: 2, data: data}
	f.Add(n.encode())
	all := table{flags: tableKnown, opened: map[int]int{0: 2}, how: "has ended",
		stays: map[groupID]stay{{0, 1}: stayDied, {0, 0}: stayEnding}}
	n = note{kind: noteTask, task: 2, data: all.encode()}
	f.Add(n.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h := New(4, testKey)
		h.Span([]int{0, 0, 1, 1}, 0, nil)
		h.span.trunks[1].way = &Way{queue: newQueue[[]byte]()}
		for range 2 {
			_ = h.heard(h.span.trunks[1].way, 1, b)
		}
		if len(h.groups) > 1 {
			t.Fatalf("%d groups of one note", len(h.groups))
		}
	})
}
