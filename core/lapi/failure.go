package lapi

import (
	"fmt"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/fence"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/layout"
)

// NextError takes the oldest error that no handler got yet.
func (c *Context) NextError() (e faults.Event, ok bool) { return c.faults.Next() }

// tellFault reports a bad address to a peer.
func (c *Context) tellFault(p *peer.Peer, h wire.Fault) {
	c.out.Control(p, wire.MsgFault, codes.IntErr, h.Encode)
}

// onFault is the origin's side of an address that was bad at the target.
func (c *Context) onFault(m *transport.Msg) transport.Verdict {
	var h wire.Fault
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	if h.Token != 0 {
		if o := c.answerOf(p, h.Token); o != nil {
			o.failed = true
			c.answered(o)
		}
	}
	if kind := codes.ErrType(h.Kind); kind == codes.PutErr || kind == codes.AmErr {
		c.hearLane()
		c.counters.Cancelled(int(m.From))
	}
	if codes.Code(h.Code) == codes.ErrHdrHndlrNull {
		c.dropped(p, codes.ErrHdrHndlrNull)
	}
	c.faults.Heard(p, &h)
	return transport.Accept
}

// dropped: p has dropped a message of this task's. The fences under way return code; if there are
// none the next fence does.
func (c *Context) dropped(p *peer.Peer, code codes.Code) { c.fences.Lose(p.ID, code, 0, 0) }

// peerFailed is what links call when a peer does not answer or breaks the protocol. A time-out
// always hits an operation: links wait for an answer only when they have sent something.
func (c *Context) peerFailed(ep transport.Endpoint, err error) {
	p := &c.peers[ep]
	if c.leaves || p.Dead() {
		return
	}
	code := codes.ErrNoConnectivity
	switch err {
	case transport.ErrTimeout:
		code = codes.ErrTimeout
	case transport.ErrAdaptersDown:
		code = codes.ErrAdaptersDown
	}
	silent := err == transport.ErrTimeout || err == transport.ErrAdaptersDown ||
		err == transport.ErrUnreachable
	c.hearLane()
	kind := c.concerned(p)
	if silent {
		c.faults.Attention(wireup.LevelFailure, codes.AttCommTimeout, "(task %d, %d seconds)", ep,
			c.attributes.timeout)
		if last, used := c.out.LastUsed(p); kind == codes.IntErr && used {
			kind = last
		}
	}
	why := err.Error()
	if silence := c.net.Silence(ep); silent && silence != "" {
		why += "; " + silence
	}
	c.failWith(p, code, kind, why)
}

// pollSession takes events from the job session.
func (c *Context) pollSession() {
	c.pace.session, c.pace.sessionAt = 0, c.clock()
	defer c.settleEnds()
	for {
		e, ok := c.net.Session.Poll()
		c.noteDepartures()
		if !ok {
			return
		}
		switch e.Kind {
		case job.TaskDied:
			if p, code := c.other(uint32(e.Task)); code == codes.Success {
				c.rejoins.lost(p.ID)
				c.fail(p, codes.ErrNoConnectivity, fmt.Sprintf("task %d %s", e.Task, e.Text))
			}
		case job.TaskEnded:
			if p, code := c.other(uint32(e.Task)); code == codes.Success {
				c.ended(p, e.Text+" without LAPI_Term")
			}
		case job.TaskMoved:
			if c.net.Verbs != nil {
				c.net.Verbs.Moved(transport.Endpoint(e.Task), e.Part.Data)
			}
		case job.TaskRejoined:
			c.settleBefore(uint32(e.Task))
			c.taskReturned(e)
		case job.LauncherGone:
			c.host.Exit(fmt.Sprintf("task %d: the launcher has ended (%s); this task ends too",
				c.me, e.Text))
		}
	}
}

// dependsOn says whether something of this task depends on p: then p's end is an error, and its
// silence must be noticed.
func (c *Context) dependsOn(p *peer.Peer) bool {
	return c.in.Busy(p) || c.parts.Busy(p) || c.collectives.UnderWay() > 0 ||
		c.barrier.underWay() || c.concerned(p) != codes.IntErr
}

// expect makes p's link notice p's silence while this task waits for p, to which it may have sent
// nothing. On a node the job's session, or the closed connection, shows p's end.
func (c *Context) expect(p *peer.Peer) {
	if !p.Shared && !p.IsSelf {
		remote(p).Expect(p.Ep)
	}
}

// looksAfter says whether p's silence must be noticed. A task that leaves need not: the node's
// memory is gone before its last packets are out.
func (c *Context) looksAfter(ep transport.Endpoint) bool {
	return !c.leaves && c.dependsOn(&c.peers[ep])
}

// hasLeft says whether p has called LAPI_Term.
func (c *Context) hasLeft(p *peer.Peer) bool {
	switch {
	case p.Shared:
		return c.net.Shm.HasLeft(p.Ep)
	case p.IsSelf:
		return false
	}
	return p.HasLeft() || remote(p).HasLeft(p.Ep)
}

// left: p has left, and something of this task's that was on its way to it is lost.
func (c *Context) left(p *peer.Peer) { c.leftBefore(p, c.concerned(p)) }

// leftBefore is left, where an operation of that kind was about to begin.
func (c *Context) leftBefore(p *peer.Peer, kind codes.ErrType) {
	if c.term == nil && !p.Dead() {
		c.failWith(p, codes.ErrNoConnectivity, kind,
			"it has ended its LAPI context; a LAPI_Gfence before LAPI_Term keeps tasks together")
	}
}

// checkLeft reports tasks that have left while this one waits for them. Messages that they had sent
// are taken in first. A task that is in LAPI_Term ends what it waits for without a report.
func (c *Context) checkLeft() {
	c.hearLane()
	for i := range c.peers {
		p := &c.peers[i]
		if p.Dead() || !c.awaits(p) || !c.hasLeft(p) {
			continue
		}
		c.lastMessages(p)
		if p.Dead() || c.holds(p) {
			continue // the lane takes the rest in its next turn
		}
		c.hearLane()
		c.noticePurge(p)
		switch {
		case !c.isShortOf(p):
			c.out.Confirm(p)
		case c.term != nil:
			c.cutOff(p)
			c.wake.Changed()
		default:
			c.left(p)
		}
	}
}

// reportLeft is checkLeft for a fence that is about to end: operations that it covers may be lost
// with a task that left in the message which brought the acknowledgement. A task in LAPI_Term needs
// no report.
func (c *Context) reportLeft() {
	if c.term == nil && c.awaitsLeft() {
		c.checkLeft()
	}
}

// awaitsLeft says whether this task waits for a task that has left, which checkLeft will report.
func (c *Context) awaitsLeft() bool {
	for i := range c.peers {
		if p := &c.peers[i]; !p.Dead() && c.hasLeft(p) && c.awaits(p) {
			return true
		}
	}
	return false
}

// awaits says whether this task has an operation with p that is not over.
func (c *Context) awaits(p *peer.Peer) bool {
	_, owes := c.out.Owes(p)
	return owes || c.isShortOf(p)
}

// holds says whether messages of p have come and are not taken in yet.
func (c *Context) holds(p *peer.Peer) bool { return p.Shared && c.net.Shm.Holds(p.Ep) }

// checkCollectives takes in another task's report that a task which collectives need is lost: the
// collective under way, or about to begin, cannot end. It must not be called in a link's call.
func (c *Context) checkCollectives() {
	task := c.collectives.Lost()
	if task == fence.Unknown {
		return
	}
	if p := &c.peers[task]; !p.Dead() {
		c.lastMessages(p)
		c.fail(p, codes.ErrNoConnectivity, "it has ended or left, as another task in a collective "+
			"call reports")
	}
}

// fail takes p out of the job; the error handler is called once for each peer and failure.
// Everything under way to and from p ends without changing a counter; collectives end with
// LAPI_ERR_NO_CONNECTIVITY.
func (c *Context) fail(p *peer.Peer, code codes.Code, why string) {
	if p.Dead() {
		return
	}
	c.hearLane()
	c.failWith(p, code, c.concerned(p), why)
}

// failWith is fail where the kind of the operation that fails is known.
func (c *Context) failWith(p *peer.Peer, code codes.Code, kind codes.ErrType, why string) {
	c.cutOff(p)
	c.counters.NoteLoss()
	c.collectives.Fail(codes.ErrNoConnectivity, p.ID)
	if !c.leaves {
		c.faults.RaiseLoss(code, kind, p.ID,
			fmt.Sprintf("no connectivity to task %d: %s", p.ID, why))
	}
	c.wake.Changed()
}

// cutOff ends everything under way to and from p without changing a counter, and every later
// attempt.
func (c *Context) cutOff(p *peer.Peer) {
	p.GiveUp()
	c.hearLane()
	c.mayRun(p)
	c.noteLost(p)
	c.dropLaneOps(p)
	c.counters.Forget(p.ID)
	c.counters.NotePurged(p.ID)
	c.rejoins.setAbsent(p.ID, false)
	for _, e := range c.emuls {
		e.Disconnect(p.Ep, transport.ErrUnreachable)
	}
	p.Link.Disconnect(p.Ep, transport.ErrUnreachable)
	c.copier.GiveUp(p)
	c.out.GiveUp(p)
	c.giveUpAnswers(p)
	c.in.GiveUp(p)
	c.parts.GiveUp(p)
	c.giveUpOffers(p)
	c.reads.bytes[p.ID] = 0
}

// noteLost makes a fence report the operations that p, which is gone, has not taken. It does
// nothing if the user purged p, and so knows.
func (c *Context) noteLost(p *peer.Peer) {
	if p.Purged() {
		return
	}
	c.out.Confirm(p)
	if first, last, some := c.underWay(p); some {
		c.fences.Lose(p.ID, p.Gone(), first, last)
	}
}

// underWay says whether operations towards p are not over, and the numbers of the first and the
// last; 0 for the first if that is not known.
func (c *Context) underWay(p *peer.Peer) (first, last uint64, some bool) {
	note := func(from, to uint64) {
		if !some || from < first {
			first = from
		}
		some, last = true, max(last, to)
	}
	for o := c.answers.Oldest(); o != nil; o = c.answers.Next(o) {
		if o.p == p {
			note(o.Seq(), o.Seq())
		}
	}
	for o := c.offers.Oldest(); o != nil; o = c.offers.Next(o) {
		if o.p == p {
			note(o.Seq(), o.Seq())
		}
	}
	for v := c.moves.Oldest(); v != nil; v = c.moves.Next(v) {
		if v.m.Peer() == p {
			note(v.Seq(), v.Seq())
		}
	}
	for o := range c.laneOps {
		if int(o.Task) == p.ID {
			note(o.Tag[layout.TagSeq], o.Tag[layout.TagSeq])
		}
	}
	if seq, owes := c.out.Owes(p); owes || c.counters.Outstanding(p.ID) > 0 {
		note(0, seq)
	}
	return first, last, some
}

// outstanding says whether p owes a completion. The lane's operations count.
func (c *Context) outstanding(p *peer.Peer) bool {
	c.hearLane()
	return c.counters.Outstanding(p.ID) > 0
}

// concerned is the kind of operation that a failure of p hits, IntErr if none is known to be under
// way.
func (c *Context) concerned(p *peer.Peer) codes.ErrType {
	if kind, _, ok := c.out.Holds(p); ok {
		return kind
	}
	if kind, ok := c.waitsFor(p); ok {
		return kind
	}
	return codes.IntErr
}

// waitsFor is the kind of an operation that links have taken, and that waits for p: for an answer,
// for p to fetch its data, or for its completion counter.
func (c *Context) waitsFor(p *peer.Peer) (codes.ErrType, bool) {
	if kind, ok := c.waitsForAnswer(p); ok {
		return kind, ok
	}
	if kind, ok := c.movesTo(p); ok {
		return kind, ok
	}
	if kind, ok := c.laneKind(p); ok {
		return kind, ok
	}
	if c.offersTo(p) {
		return codes.AmErr, true
	}
	return c.counters.Last(p.ID), c.counters.Outstanding(p.ID) > 0
}
