package lapi

import (
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/progress"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// leaving is LAPI_Term under way: all that this task sent is to be acknowledged, queued completion handlers are to run.
type leaving struct {
	ticket   uint64
	fenced   bool
	deadline int64
	over     bool
}

// TermBegin is the first part of LAPI_Term: its ticket is done when all that this task sent is acknowledged and no completion
// handler is queued, or after TIMEOUT.
func (c *Context) TermBegin() (uint64, codes.Code) {
	memory.Guard()
	if c.term != nil {
		return 0, codes.ErrHndlInvalid
	}
	c.term = &leaving{ticket: c.newTicket(), deadline: c.clock() + c.timeout*int64(time.Second)}
	c.beginFence(&fence{done: func(c *Context, _ *fence) { c.term.fenced = true }})
	c.advanceTerm()
	c.publish()
	return c.term.ticket, codes.Success
}

func (c *Context) advanceTerm() {
	k := c.term
	if k.over || !(k.fenced && c.completions.n == 0) && c.clock() < k.deadline {
		return
	}
	k.over = true
	c.endTicket(k.ticket, codes.Success)
}

// nextDeadline is when the dispatcher must run for this package's own sake; 0: never.
func (c *Context) nextDeadline() (at int64) {
	if c.term != nil && !c.term.over {
		at = c.term.deadline
	}
	at = progress.Earlier(at, c.absentDeadline())
	for i := range c.unknown {
		if u := &c.unknown[i]; !u.given && !c.cfg.NoTimeout {
			at = progress.Earlier(at, u.since+c.timeout*int64(time.Second))
		}
	}
	return at
}

// TermEnd releases everything. It runs without the lock, after every thread of the context has left it.
func (c *Context) TermEnd() {
	memory.Guard()
	c.terminating = true
	c.net.Close()
	for i := range c.tasks {
		c.tasks[i].turnAway()
	}
	c.release()
}

// release gives back everything but the links.
func (c *Context) release() {
	c.cfg.ForgetKey()
	c.trace.close()
	c.shared.Lane, c.shared.Barrier, c.shared.Outboxes = 0, 0, 0
	c.wake.Close()
	arena.Unmap(c.scratch)
	c.lane.close()
	c.outboxes.close()
	arena.Unmap(c.lengths)
}
