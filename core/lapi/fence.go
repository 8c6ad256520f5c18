package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// ticket is a blocking call that a thread waits for in C.
type ticket struct {
	id   uint64
	done bool
	code codes.Code
}

func (c *Context) newTicket() uint64 {
	c.lastTicket++
	c.tickets = append(c.tickets, ticket{id: c.lastTicket})
	return c.lastTicket
}

func (c *Context) ticketDone(id uint64) bool {
	for i := range c.tickets {
		if c.tickets[i].id == id {
			return c.tickets[i].done
		}
	}
	return true
}

func (c *Context) endTicket(id uint64, code codes.Code) {
	for i := range c.tickets {
		if c.tickets[i].id == id {
			c.tickets[i].done, c.tickets[i].code = true, code
			c.wake.Changed()
		}
	}
}

// TicketResult is the result of a ticket that is done; it is forgotten.
func (c *Context) TicketResult(id uint64) codes.Code {
	for i, k := range c.tickets {
		if k.id == id {
			c.tickets = append(c.tickets[:i], c.tickets[i+1:]...)
			return k.code
		}
	}
	return codes.ErrUnknown
}

// fence waits for every operation up to seq:
//
//	quiet (core has given all to the links, gets and rmws are over) ──> every used task flushed ──> done
type fence struct {
	seq         uint64
	flushing    bool
	outstanding int
	done        func(c *Context, f *fence)
	ticket      uint64
	collective  *collective
}

type flushOp struct {
	op   transport.Op
	next *flushOp
	c    *Context
	f    *fence
	t    *task
	seq  uint64
}

// FenceBegin is LAPI_Fence: its ticket is done when all operations issued before are complete at their targets.
func (c *Context) FenceBegin() (uint64, codes.Code) {
	id := c.newTicket()
	c.beginFence(&fence{ticket: id, done: func(c *Context, f *fence) { c.endTicket(f.ticket, codes.Success) }})
	c.publish() // what the lane sent is this package's to fence now
	return id, codes.Success
}

func (c *Context) beginFence(f *fence) {
	c.hearLane()
	c.tellAllReads()
	f.seq = *c.issued
	c.fences = append(c.fences, f)
	c.advanceFences()
}

// advanceFences moves every fence on. It may be entered again from a fence's done function.
func (c *Context) advanceFences() {
	for i := 0; i < len(c.fences); {
		f := c.fences[i]
		if !f.flushing && c.quiet(f.seq) {
			c.flush(f)
		}
		if !f.flushing || f.outstanding > 0 {
			i++
			continue
		}
		c.fences = append(c.fences[:i], c.fences[i+1:]...)
		f.done(c, f)
	}
}

// quiet says whether core holds nothing that was issued at seq or before.
func (c *Context) quiet(seq uint64) bool {
	if o := c.getRmw.head; o != nil && o.seq <= seq {
		return false
	}
	if c.readers.before(seq) || !c.laneQuiet(seq) {
		return false
	}
	if c.waiting == 0 {
		return true
	}
	for i := range c.tasks {
		for m := c.tasks[i].pending.head; m != nil; m = m.next {
			if m.seq <= seq {
				return false
			}
		}
	}
	return true
}

// flush asks the link of each task used since its last flush to say when all is delivered.
func (c *Context) flush(f *fence) {
	f.flushing = true
	kept := c.usedTasks[:0]
	for _, id := range c.usedTasks {
		t := &c.tasks[id]
		if t.flushed >= t.usedAt || t.dead {
			t.used = false
			continue
		}
		kept = append(kept, id)
		c.flushTask(f, t)
	}
	c.usedTasks = kept
}

func (c *Context) flushTask(f *fence, t *task) {
	o := c.freeFlush
	if o == nil {
		o = &flushOp{c: c}
		o.op.Owner, o.op.Done = o, flushDone
	} else {
		c.freeFlush = o.next
	}
	o.f, o.t, o.seq = f, t, c.sends
	f.outstanding++
	status, err := t.link.Flush(t.ep, &o.op)
	if err != nil || status == transport.Done {
		flushDone(&o.op, err)
	}
}

// flushDone: all that was sent to a task before the flush began is in its memory, or the task is gone.
func flushDone(op *transport.Op, err error) {
	o := op.Owner.(*flushOp)
	c, f := o.c, o.f
	if err == nil {
		o.t.flushed = max(o.t.flushed, o.seq)
	}
	f.outstanding--
	o.f, o.t = nil, nil
	o.next = c.freeFlush
	c.freeFlush = o
}
