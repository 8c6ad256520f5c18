package hold

import (
	"testing"

	"lapi/transport"
)

// harness is a queue whose handler refuses what its refuse map says, on a clock that the test
// moves.
type harness struct {
	Queue
	pool   Pool
	now    int64
	seen   []uint64
	refuse map[uint64]int // mark: how often still
	hook   func(m *Message)
}

func newHarness(t *testing.T) *harness {
	h := &harness{now: 1_000_000, refuse: map[uint64]int{}}
	h.Init(&h.pool, func(m *Message) transport.Verdict {
		h.seen = append(h.seen, m.Mark)
		if h.hook != nil {
			h.hook(m)
		}
		if h.refuse[m.Mark] > 0 {
			h.refuse[m.Mark]--
			return transport.Refuse
		}
		return transport.Accept
	})
	t.Cleanup(h.pool.Release)
	return h
}

func (h *harness) clock() int64 { return h.now }

func (h *harness) add(t *testing.T, mark uint64) {
	t.Helper()
	m, err := h.New(3, 5, []byte("12345678"), 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Data {
		m.Data[i] = byte(mark)
	}
	h.Append(m, mark)
}

func (h *harness) offer(t *testing.T, max int, want ...uint64) {
	t.Helper()
	h.seen = h.seen[:0]
	h.Offer(max, h.clock)
	if len(h.seen) != len(want) {
		t.Fatalf("offered %v, want %v", h.seen, want)
	}
	for i := range want {
		if h.seen[i] != want[i] {
			t.Fatalf("offered %v, want %v", h.seen, want)
		}
	}
}

func TestOrderAndContent(t *testing.T) {
	h := newHarness(t)
	h.hook = func(m *Message) {
		if m.From != 3 || m.ID != 5 || string(m.Hdr) != "12345678" || len(m.Data) != 10 ||
			m.Data[9] != byte(m.Mark) {
			t.Errorf("message %d arrived as %+v", m.Mark, m)
		}
	}
	for mark := range uint64(5) {
		h.add(t, mark)
	}
	h.offer(t, 2, 0, 1)
	h.offer(t, 10, 2, 3, 4)
	h.offer(t, 10)
	if h.Len() != 0 || h.Bytes() != 0 {
		t.Errorf("%d messages, %d bytes left", h.Len(), h.Bytes())
	}
}

// TestRefusedPause: the second offer comes in the next pass, later ones after growing pauses;
// others pass.
func TestRefusedPause(t *testing.T) {
	h := newHarness(t)
	h.refuse[1] = 3
	for mark := range uint64(3) {
		h.add(t, mark)
	}
	h.offer(t, 10, 0, 1, 2)
	if oldest, ok := h.Oldest(); !ok || oldest != 1 {
		t.Errorf("oldest %d %v, want 1", oldest, ok)
	}
	h.offer(t, 10, 1)
	h.offer(t, 10) // its pause has begun
	if h.Due() != h.now+firstPause {
		t.Errorf("due %d, want %d", h.Due(), h.now+firstPause)
	}
	h.now += firstPause
	h.offer(t, 10, 1)
	h.now += firstPause
	h.offer(t, 10)
	h.add(t, 9)
	h.offer(t, 10, 9)
	h.now += firstPause
	h.offer(t, 10, 1)
	if h.Len() != 0 {
		t.Errorf("%d messages left", h.Len())
	}
}

// TestPauseIsBounded: a message refused for ever is still offered at least once a lastPause.
func TestPauseIsBounded(t *testing.T) {
	h := newHarness(t)
	h.refuse[0] = 1 << 30
	h.add(t, 0)
	for range 40 {
		h.offer(t, 1, 0)
		h.now += lastPause
	}
}

func TestAppendDuringOffer(t *testing.T) {
	h := newHarness(t)
	h.hook = func(m *Message) {
		if m.Mark < 5 {
			h.add(t, m.Mark+5)
		}
		if n := h.Offer(10, h.clock); n != 0 {
			t.Error("Offer nested in a handler did something")
		}
	}
	h.add(t, 0)
	h.add(t, 1)
	h.offer(t, 10, 0, 1)
	h.offer(t, 10, 5, 6)
}

func TestClear(t *testing.T) {
	h := newHarness(t)
	for mark := range uint64(4) {
		h.add(t, mark)
	}
	h.hook = func(m *Message) {
		if m.Mark == 1 {
			h.Clear()
			if m.Data[0] != 1 {
				t.Error("the message under its handler was lost by Clear")
			}
		}
	}
	h.offer(t, 10, 0, 1)
	if h.Len() != 0 {
		t.Errorf("%d messages after Clear", h.Len())
	}
	h.add(t, 7)
	h.offer(t, 10, 7)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var pool Pool
	defer pool.Release()
	var q Queue
	turn := 0
	q.Init(&pool, func(*Message) transport.Verdict {
		if turn++; turn%3 == 0 {
			return transport.Refuse
		}
		return transport.Accept
	})
	now := int64(1)
	clock := func() int64 { now += lastPause; return now }
	hdr := make([]byte, 16)
	if n := testing.AllocsPerRun(200, func() {
		m, err := q.New(0, 1, hdr, 100)
		if err != nil {
			t.Fatal(err)
		}
		q.Append(m, 0)
		q.Offer(8, clock)
	}); n != 0 {
		t.Errorf("%v allocations for each message", n)
	}
}
