package lapi

import (
	"fmt"
	"slices"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/wireup"
)

const (
	// maxLastTurns bounds how long the last messages of a task that has ended are taken in, in
	// progress calls of its link.
	maxLastTurns = 1000
	// latePatience is how long messages of a task on another node may be on their way after the
	// word of its end, which comes by TCP.
	latePatience = 1e9
	// endPatience is how long a collective may still take after the end of a task that has sent
	// this one its part: far longer than the messages of others that are on their way.
	endPatience = 10e9
)

// unsettled is a task that has ended on purpose while this one was in a collective: whether it has
// ended too soon is not known yet.
type unsettled struct {
	p     *peer.Peer
	why   string
	since int64
}

// ended: p's process has ended on purpose, with status 0, but without LAPI_Term. That it is gone is
// an error only if somebody waits for it; later calls towards it return LAPI_ERR_NO_CONNECTIVITY.
func (c *Context) ended(p *peer.Peer, why string) {
	c.rejoins.of(p.ID).died = true
	c.ends = append(c.ends, unsettled{p, why, c.clock()})
}

// settleEnds looks at the tasks that have ended, again at each look at the job session until it is
// known what their end means.
func (c *Context) settleEnds() {
	if len(c.ends) > 0 {
		c.ends = slices.DeleteFunc(c.ends, c.settled)
	}
}

// settleBefore ends the patience with a task that has ended: another process takes its place.
func (c *Context) settleBefore(task uint32) {
	for i := range c.ends {
		if e := &c.ends[i]; uint32(e.p.ID) == task {
			e.since = c.clock() - endPatience
		}
	}
	c.settleEnds()
}

// settled says whether it is known what the end of a task means, and sees to it. What the task had
// sent is taken in first. In a collective others may only be behind: who has come out of it and
// ends has sent all that others need. A task that misses something is told at once, or over UDP
// when nothing can be on its way any more. One that waits for such a task is told after a while.
func (c *Context) settled(e unsettled) bool {
	p := e.p
	c.lastMessages(p)
	if p.Dead() {
		return true
	}
	c.hearLane()
	c.noticePurge(p)
	c.collectives.Advance()
	since := c.clock() - e.since
	switch short := c.isShortOf(p); {
	case c.holds(p) && since < latePatience:
		return false
	case short && !p.Shared && since < latePatience:
		return false
	case !short && c.isTogether() && since < endPatience:
		return false
	}
	if c.dependsOn(p) {
		c.fail(p, codes.ErrNoConnectivity, fmt.Sprintf("task %d %s", p.ID, e.why))
		return true
	}
	if !c.leaves {
		c.faults.Message(wireup.LevelFailure, "task %d %s", p.ID, e.why)
	}
	c.cutOff(p)
	c.collectives.Fail(codes.ErrNoConnectivity, p.ID)
	c.wake.Changed()
	return true
}

// isTogether says whether this task is in a collective.
func (c *Context) isTogether() bool { return c.collectives.UnderWay() > 0 || c.barrier.underWay() }

// isShortOf says whether something of this task cannot end, as p is gone.
func (c *Context) isShortOf(p *peer.Peer) bool {
	return c.in.Busy(p) || c.parts.Busy(p) || c.concerned(p) != codes.IntErr ||
		c.collectives.Needs(int(p.ID)) || c.barrier.awaits(p)
}

// endsDeadline is when settleEnds must run; 0: never.
func (c *Context) endsDeadline() int64 {
	if len(c.ends) == 0 {
		return 0
	}
	return c.clock() + sessionPause
}

// lastMessages takes in what a task had sent that is gone.
func (c *Context) lastMessages(p *peer.Peer) {
	socket, _ := p.Link.(interface{ Drained() bool })
	for turn := 0; turn < maxLastTurns && !p.Dead(); turn++ {
		if p.Link.Progress(progressBatch) == 0 && (socket == nil || socket.Drained()) {
			return
		}
	}
}
