package lapi

import (
	"fmt"
	"slices"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/wireup"
)

const (
	// maxLastTurns bounds how long the last messages of a task that has ended are taken in, in
	// progress calls of its link.
	maxLastTurns = 1000
	// latePatience is how long messages of a task that the node's memory does not reach may be on
	// their way after the notice of its end, which takes another path.
	latePatience = 1e9
	// endPatience is how long a collective may still take after the end of a task that has sent
	// this one its part: far longer than the messages of others that are on their way.
	endPatience = 10e9
)

// unsettled is a task that has ended on purpose while this one was in a collective: whether it has
// ended too soon is not known yet. Or, with left, a task that has left, and whose last messages may
// still come.
type unsettled struct {
	p     *peer.Peer
	why   string
	since int64
	left  bool
}

// ended: p's process has ended on purpose, with status 0, but without LAPI_Term. That it is gone is
// an error only if this task waits for it; later calls towards it return LAPI_ERR_NO_CONNECTIVITY.
func (c *Context) ended(p *peer.Peer, why string) {
	c.rejoins.of(p.ID).died = true
	c.ends = append(c.ends, unsettled{p: p, why: why, since: c.clock()})
}

// settleEnds looks at the tasks that have ended, again at each look at the job session until it is
// known what their end means.
func (c *Context) settleEnds() {
	if len(c.ends) > 0 {
		c.ends = slices.DeleteFunc(c.ends, c.settled)
	}
}

// settleBefore ends the wait for a task that has ended: another process takes its place.
func (c *Context) settleBefore(task uint32) {
	c.ends = slices.DeleteFunc(c.ends, func(e unsettled) bool {
		return e.left && uint32(e.p.ID) == task
	})
	for i := range c.ends {
		if e := &c.ends[i]; uint32(e.p.ID) == task {
			e.since = c.clock() - endPatience
		}
	}
	c.settleEnds()
}

// settled says whether it is known what the end of a task means, and handles it. Messages that the
// task had sent are taken in first. In a collective others may only be behind: a task that has come
// out of the collective and ends has sent all that others need. A task that misses something from
// it gets the error at once, or over UDP when nothing can be on its way any more. A task that waits
// for such a task gets the error after a while.
func (c *Context) settled(e unsettled) bool {
	p := e.p
	c.lastMessages(p)
	if p.Dead() {
		return true
	}
	if e.left {
		return c.settledLeft(e)
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

// noteDepartures takes in which tasks have left, as the job session reports. On a node the closed
// ring shows it.
func (c *Context) noteDepartures() {
	session, ok := c.net.Session.(job.Departures)
	if !ok {
		return
	}
	for _, task := range session.Departed() {
		if p, code := c.other(uint32(task)); code == codes.Success && !p.Shared {
			c.ends = append(c.ends, unsettled{p: p, since: c.clock(), left: true})
		}
	}
}

// settledLeft: a task that leaves closes its connections, and the link reports that. A task without
// a connection to this one, or whose last messages are lost, counts as left after a while: else what
// this task sends there is sent again until TIMEOUT.
func (c *Context) settledLeft(e unsettled) bool {
	if c.clock()-e.since >= latePatience {
		e.p.SetLeft(true)
	}
	return c.hasLeft(e.p)
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

// lastMessages takes in the messages that a task which is gone had sent.
func (c *Context) lastMessages(p *peer.Peer) {
	socket, _ := p.Link.(interface{ Drained() bool })
	for turn := 0; turn < maxLastTurns && !p.Dead(); turn++ {
		if p.Link.Progress(progressBatch) == 0 && (socket == nil || socket.Drained()) {
			return
		}
	}
}
