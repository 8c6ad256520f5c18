package counter

import (
	"slices"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// told is what a test's Counters have sent.
type told struct {
	origin int
	h      wire.Completion
}

func newCounters(t *testing.T) (c *Counters, sent *[]told) {
	memory.Guard()
	block := progress.NewBlock(new(layout.Progress), new(uint32))
	sent = new([]told)
	return New(Config{Wake: &block, Tasks: 3,
		Fault: func(err error, _ codes.Code, _ codes.ErrType, _ int) { t.Error(err) },
		Tell:  func(origin int, h wire.Completion) { *sent = append(*sent, told{origin, h}) }}), sent
}

// TestCoalesced: acknowledgements to one counter of one origin go in one message while a link
// delivers, each in one of its own otherwise.
func TestCoalesced(t *testing.T) {
	c, sent := newCounters(t)
	c.Acknowledge(1, 8)
	c.Acknowledge(1, 0) // no counter
	c.Hold(true)
	for range 3 {
		c.Acknowledge(1, 8)
	}
	c.Acknowledge(1, 16)
	c.Acknowledge(2, 16)
	c.Hold(false)
	want := []told{{1, wire.Completion{Cntr: 8}}, {1, wire.Completion{Cntr: 8, More: 2}},
		{1, wire.Completion{Cntr: 16}}, {2, wire.Completion{Cntr: 16}}}
	if !slices.Equal(*sent, want) {
		t.Errorf("sent %v, want %v", *sent, want)
	}
	*sent = nil
	c.Hold(true)
	for range layout.RingSlots + 1 { // more than one message may say
		c.Acknowledge(1, 8)
	}
	c.Forget(2)
	c.Hold(false)
	if len(*sent) != 2 || (*sent)[0].h.More+(*sent)[1].h.More+2 != layout.RingSlots+1 {
		t.Errorf("sent %v", *sent)
	}
	c.Hold(true)
	c.Acknowledge(1, 8)
	c.Forget(1)
	*sent = nil
	if c.Hold(false); len(*sent) != 0 {
		t.Errorf("a task that is gone is sent %v", *sent)
	}
}

// TestOutstanding: an operation with a completion counter is outstanding until its completion
// arrives.
func TestOutstanding(t *testing.T) {
	c, _ := newCounters(t)
	b, err := arena.Map(8)
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Unmap(b)
	at := memory.AddrOf(b)
	c.Issued(1, codes.PutErr, at)
	c.Issued(1, codes.AmErr, 0)
	c.IssuedMany(1, codes.PutErr, 3)
	if n, last := c.Outstanding(1), c.Last(1); n != 4 || last != codes.PutErr {
		t.Errorf("%d outstanding, the last %v", n, last)
	}
	c.Completed(1, &wire.Completion{Cntr: at, More: 2})
	c.Completed(1, &wire.Completion{Cntr: at, More: 5}) // a peer that lies
	if n := c.Outstanding(1); n != 0 || value(at) != 9 {
		t.Errorf("%d outstanding, the counter is %d", n, value(at))
	}
}

func value(at transport.Addr) uint32 { return wire.Order.Uint32(memory.Bytes(at, 4)) }
