package lapi

import (
	"strings"
	"time"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// This file has the blocking calls: each begins, and its ticket is what a thread waits for in C.

// TicketResult is the result of a ticket that is done; it is forgotten.
func (c *Context) TicketResult(id uint64) codes.Code { return c.tickets.Result(id) }

// FenceBegin is LAPI_Fence: its ticket is done when all operations issued before are complete at
// their targets. ErrNoConnectivity: some are lost, as their target is gone. Without a ticket (0)
// all is complete: so the call costs no progress call, in which acknowledgements would go that the
// next message can carry.
func (c *Context) FenceBegin() (uint64, codes.Code) {
	id := c.tickets.New()
	over, code := c.fences.Begin(func(code codes.Code) { c.tickets.End(id, code) })
	c.publish() // what the lane sent is core's to fence now
	if over && code == codes.Success {
		c.tickets.Drop(id)
		return 0, code
	}
	if over { // its error handler runs in a progress call
		c.tickets.End(id, code)
	}
	return id, codes.Success
}

// settle is the beginning of each fence: it takes in the operations that the lane issued, and sends
// reports that were put off.
func (c *Context) settle() {
	c.hearLane()
	c.tellAllReads()
}

// quiet says whether nothing that was issued at seq or before waits for an answer.
func (c *Context) quiet(seq uint64) bool {
	return !c.answers.Before(seq) && !c.offers.Before(seq) && !c.moves.Before(seq) &&
		c.laneQuiet(seq)
}

// GfenceBegin is LAPI_Gfence.
func (c *Context) GfenceBegin() (uint64, codes.Code) {
	return c.beginCollective(c.collectives.Gfence)
}

// AddressInitBegin is LAPI_Address_init (width: bytes of a pointer) and LAPI_Address_init64 (8):
// before the ticket is done, table gets value of every task.
func (c *Context) AddressInitBegin(value uint64, table transport.Addr, width uint32) (
	ticket uint64, code codes.Code) {
	if table == 0 {
		return 0, codes.ErrRetPtrNull
	}
	return c.beginCollective(func() uint64 {
		return c.collectives.AddressInit(value, table, width)
	})
}

func (c *Context) beginCollective(begin func() uint64) (uint64, codes.Code) {
	memory.Guard()
	switch {
	case c.attributes.persistent:
		return 0, codes.ErrCollectivePSS
	case c.collectives.GivenUp():
		return 0, codes.ErrTgtPurged
	}
	c.checkCollectives()
	for i := range c.peers {
		if c.peers[i].Dead() {
			c.collectives.Notify(i)
			c.publish()
			return 0, codes.ErrNoConnectivity
		}
	}
	if code := c.barrier.failure(); code != codes.Success {
		return 0, code // it was a peer that has given up
	}
	id := begin()
	c.publish()
	return id, codes.Success
}

// leaving is LAPI_Term under way: all that this task sent is to be acknowledged, queued completion
// handlers are to run.
type leaving struct {
	ticket   uint64
	fenced   bool
	deadline int64
	over     bool
}

// TermBegin is the first part of LAPI_Term: its ticket is done when all that this task sent is
// acknowledged and no completion handler is queued, or after TIMEOUT.
func (c *Context) TermBegin() (uint64, codes.Code) {
	memory.Guard()
	c.wake.Verify()
	if c.term != nil {
		return 0, codes.ErrHndlInvalid
	}
	c.term = &leaving{ticket: c.tickets.New(), deadline: c.clock() +
		c.attributes.timeout*int64(time.Second)}
	c.term.fenced, _ = c.fences.Begin(func(codes.Code) { c.term.fenced = true })
	c.advanceTerm()
	c.publish()
	return c.term.ticket, codes.Success
}

func (c *Context) advanceTerm() {
	k := c.term
	if k.over || !(k.fenced && c.due.Queued() == 0) && c.clock() < k.deadline {
		return
	}
	k.over = true
	c.tickets.End(k.ticket, codes.Success)
}

// termDeadline is when advanceTerm must run; 0: never.
func (c *Context) termDeadline() int64 {
	if c.term == nil || c.term.over {
		return 0
	}
	return c.term.deadline
}

// TermEnd releases everything. It runs without the lock, after every thread of the context has left
// it.
func (c *Context) TermEnd() {
	memory.Guard()
	c.leaves = true
	c.showRoutes()
	c.announceStatistics()
	lane := c.lane
	c.lane = nil // it goes with the node's link, and the others end later
	c.net.Close()
	c.rejoins.close()
	c.release()
	lane.close()
}

// showRoutes is LAPI_ROUTE=show.
func (c *Context) showRoutes() {
	l, ok := c.net.Shm.(interface{ Routes() string })
	if !ok || !c.cfg.ShowRoutes {
		return
	}
	for line := range strings.Lines(l.Routes()) {
		c.faults.Message(0, "%s", strings.TrimSuffix(line, "\n"))
	}
}

// release releases everything but the links.
func (c *Context) release() {
	c.cfg.ForgetKey()
	c.trace.close()
	c.shared.Lane, c.shared.Barrier, c.shared.Outboxes = 0, 0, 0
	c.wake.Close()
	c.in.Close()
	c.lane.close()
	arena.Unmap(c.outboxes.memory)
}

// ListCounter is LAPI_Setcntr_wstatus; see counter.Counters.List.
func (c *Context) ListCounter(cntr transport.Addr, n int32, dest, status,
	member transport.Addr) codes.Code {
	memory.Guard()
	code := c.counters.List(cntr, n, dest, status, member,
		func(task uint32) bool { return c.peers[task].Purged() })
	c.tellLane() // while there are lists no message may pass core by
	return code
}

// UnlistCounter takes a counter's list off it.
func (c *Context) UnlistCounter(cntr transport.Addr) {
	memory.Guard()
	c.counters.Unlist(cntr)
	c.tellLane()
}

// TakeLoss says, once for each loss, whether threads in LAPI_Nopoll_wait are to look whether it
// concerns them.
func (c *Context) TakeLoss() bool { return c.counters.TakeLoss() }

// CounterPurged says what a purge means to a thread that waits for the counter: counter.Quiet,
// Purged or Unlisted.
func (c *Context) CounterPurged(cntr transport.Addr) int {
	memory.Guard()
	return c.counters.Purged(cntr)
}
