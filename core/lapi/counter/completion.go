package counter

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
)

// peer is the state of the operations towards one task.
type peer struct {
	outstanding int32         // completions that it still has to send
	last        codes.ErrType // of the latest operation to it
}

// Issued notes an operation of that kind to a task, with its completion counter, or 0.
func (c *Counters) Issued(task int, kind codes.ErrType, cmplCntr transport.Addr) {
	p := &c.peers[task]
	p.last = kind
	if cmplCntr != 0 {
		p.outstanding++
	}
}

// IssuedMany notes operations of that kind, with how many completions more there are to expect;
// fewer, if that is negative.
func (c *Counters) IssuedMany(task int, kind codes.ErrType, completions int) {
	p := &c.peers[task]
	p.last = kind
	p.outstanding = max(0, p.outstanding+int32(completions))
}

// Outstanding is how many completions a task still has to send.
func (c *Counters) Outstanding(task int) int { return int(c.peers[task].outstanding) }

// Last is the kind of the latest operation to a task.
func (c *Counters) Last(task int) codes.ErrType { return c.peers[task].last }

// Completed takes in an acknowledgement of a task.
func (c *Counters) Completed(task int, h *wire.Completion) {
	p, n := &c.peers[task], int32(h.More+1)
	p.outstanding = max(0, p.outstanding-n)
	c.AddMany(h.Cntr, p.last, task, n)
}

// Cancelled: one of the completions that a task owes does not come, as an address was bad. Where
// the operation has no completion counter another's is counted off in its place: then the end of
// that task may go unreported, but none is reported that nothing waits for.
func (c *Counters) Cancelled(task int) {
	c.peers[task].outstanding = max(0, c.peers[task].outstanding-1)
}

// Forget: no completion of a task is outstanding any more, and none is sent to it.
func (c *Counters) Forget(task int) {
	c.peers[task].outstanding = 0
	if c.coalesced.origin == task {
		c.coalesced.count = 0
	}
}

// coalesced is the completions of a progress call for one counter of one origin that are yet to be
// sent: many small messages come in one packet, and one message acknowledges them all.
type coalesced struct {
	holding  bool // the link delivers: more may follow
	origin   int
	cmplCntr transport.Addr
	count    uint64
}

// Acknowledge adds 1 to the completion counter at the origin, if there is one; while
// acknowledgements are held, later.
func (c *Counters) Acknowledge(origin int, cmplCntr transport.Addr) {
	o := &c.coalesced
	switch {
	case cmplCntr == 0:
	case !o.holding:
		c.cfg.Tell(origin, wire.Completion{Cntr: cmplCntr})
	case o.count > 0 && o.count < layout.RingSlots && o.origin == origin && o.cmplCntr == cmplCntr:
		o.count++
	default:
		c.Tell()
		o.origin, o.cmplCntr, o.count = origin, cmplCntr, 1
	}
}

// Hold says whether acknowledgements are held from now on: a link delivers. Those that were, are
// sent at the end.
func (c *Counters) Hold(holding bool) {
	c.coalesced.holding = holding
	if !holding {
		c.Tell()
	}
}

// Tell sends the held acknowledgements.
func (c *Counters) Tell() {
	if o := &c.coalesced; o.count > 0 {
		n := o.count
		o.count = 0
		c.cfg.Tell(o.origin, wire.Completion{Cntr: o.cmplCntr, More: n - 1})
	}
}

// Held is how many acknowledgements are held.
func (c *Counters) Held() int { return int(c.coalesced.count) }
