package lapi

import (
	"lapi/core/progress"
	"lapi/transport/memory"
)

// Tunables.
const (
	progressBatch = 64   // messages a link may deliver in one progress call
	udpIdleTurns  = 16   // progress calls between looks at a silent socket, beside shared memory
	udpSpareTurns = 1024 // likewise, where nothing comes by it as long as adapters work
	sessionTurns  = 64   // progress calls between looks at the clock, for the job session
	sessionPause  = 50e6 // ns between looks at the job session, which cost a system call
	roomPause     = 1e6  // ns until a link without room is asked again: it does not report room
)

// Flags of Dispatch, as in cshim/context/context.h.
const (
	DispatchTicket   = 1
	DispatchProgress = 2
	DispatchError    = 4
)

// pace says when to poll things that cost a system call.
type pace struct {
	udpIdle   int   // looks at the socket that found nothing
	session   int   // progress calls since the clock was looked at
	sessionAt int64 // when the job session was
}

// Dispatch is one progress call: it receives, runs handlers, sends what had to wait, and moves
// fences and collectives on. wanted is a ticket to report, or 0.
func (c *Context) Dispatch(wanted uint64) (flags uint32) {
	memory.Guard()
	n := 0
	if c.net.Shm != nil {
		n += c.net.Shm.Progress(progressBatch)
	}
	n += c.net.Self.Progress(progressBatch)
	if c.net.UDP != nil {
		n += c.progressUDP()
	}
	if c.net.Verbs != nil {
		c.counters.Hold(true)
		n += c.net.Verbs.Progress(progressBatch)
		c.counters.Hold(false)
	}
	for _, e := range c.emuls {
		n += e.Progress()
	}
	if c.out.Waiting() > 0 {
		n += c.out.Progress()
	}
	if c.copier.Waiting() > 0 {
		c.copier.Progress()
	}
	if len(c.rooms) > 0 {
		c.checkRooms()
	}
	if c.fences.UnderWay() > 0 {
		c.fences.Advance()
	}
	if c.collectives.UnderWay() > 0 {
		c.collectives.Advance()
		c.checkCollectives()
	}
	if c.term != nil {
		c.advanceTerm()
	}
	if c.in.Unknown() > 0 {
		c.in.CheckUnknown(c.timeout())
	}
	if c.rejoins.awaited > 0 {
		c.checkAbsent()
	}
	// the lane leaves progress calls to core only now and then
	if c.pace.session++; c.pace.session >= sessionTurns || c.lane != nil {
		c.pace.session = 0
		if now := c.clock(); now-c.pace.sessionAt >= sessionPause {
			c.pace.sessionAt = now
			c.wake.Verify()
			c.pollSession()
			c.checkLeft()
		}
	}
	c.publish()
	c.trace.turned(n)
	if n > 0 {
		flags |= DispatchProgress
	}
	if c.faults.Pending() > 0 || c.counters.LossPending() {
		flags |= DispatchError
	}
	if wanted != 0 && c.tickets.Done(wanted) {
		flags |= DispatchTicket
	}
	return flags
}

// progressUDP looks at the socket in every progress call when it is all there is or when it was
// busy lately; a look costs a system call.
func (c *Context) progressUDP() int {
	idle, pause := &c.pace.udpIdle, udpIdleTurns
	switch {
	case c.lane != nil && c.lane.packets != nil && c.lane.GoWork == 0:
		pause = 1 // turns are few: it is CSHIM_LANE_CORE_MS since the last
	case c.net.UDPIdles():
		pause = udpSpareTurns
	}
	if (c.net.Shm != nil && c.lane == nil || c.net.Verbs != nil) && *idle > 0 &&
		*idle%pause != 0 {
		*idle++
		return 0
	}
	c.counters.Hold(true)
	n := c.net.UDP.Progress(progressBatch)
	c.counters.Hold(false)
	if n > 0 {
		*idle = 0
	} else {
		*idle++
	}
	return n
}

// publish sends the packets that the link has gathered, and wakes the threads that wait for a
// counter or a ticket if one changed. Every entry into this package that can send or change one
// ends with it.
func (c *Context) publish() {
	c.counters.Tell() // a handler's call may wait for what follows from it
	if c.net.UDP != nil {
		c.net.UDP.Push() // before user code runs
	}
	c.due.RunSent()
	c.tellLane()
	c.wake.Publish()
	if c.wake.Armed() { // a message to oneself, or a retransmission, makes no descriptor readable
		c.wake.Sooner(c.nextTimeout())
	}
}

// nextTimeout is when the dispatcher must run even if nothing arrives; 0: never.
func (c *Context) nextTimeout() int64 {
	next := progress.Earlier(c.links.NextTimeout(), c.termDeadline())
	next = progress.Earlier(next, c.in.Deadline(c.timeout()))
	next = progress.Earlier(next, c.absentDeadline())
	next = progress.Earlier(next, c.endsDeadline())
	if c.out.Waiting() > 0 || c.copier.Waiting() > 0 {
		next = progress.Earlier(next, c.clock()+roomPause)
	}
	return next
}

// SetAway publishes to the tasks of this node whether this task's user polls.
func (c *Context) SetAway(away bool) {
	if l, ok := c.net.Shm.(interface{ SetAway(bool) }); ok {
		l.SetAway(away)
	}
}

// Arm prepares a thread's sleep. It returns false if there is work now; else for how long to sleep
// at most, -1 without end.
func (c *Context) Arm() (timeout int64, ok bool) {
	memory.Guard()
	c.wake.Verify()
	if c.faults.Pending() > 0 {
		return 0, false
	}
	if !c.links.Arm() {
		c.Disarm()
		return 0, false
	}
	next := c.nextTimeout()
	if c.awaitsLeft() { // its last message was taken in since checkLeft last looked
		next = progress.Earlier(next, c.clock()+sessionPause)
	}
	c.wake.Arm(next)
	c.pace.session, c.pace.sessionAt = sessionTurns, -sessionPause // look at once after waking
	if next == 0 {
		return -1, true
	}
	return max(next-c.clock(), 0), true
}

// Disarm ends what Arm began.
func (c *Context) Disarm() {
	c.wake.Disarm()
	c.links.Disarm()
	c.pace.udpIdle = 0
	c.tellLane() // a link may need a progress call now
}
