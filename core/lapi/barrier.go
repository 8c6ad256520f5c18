package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/fence"
	"lapi/core/lapi/peer"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/shm"
)

// barrier is core's side of the barrier that LAPI_Gfence uses, in C, where all tasks of the job are
// on this node (cshim/node/barrier.h): core says whether there is one, and when it cannot go on.
// nil: there is none, and LAPI_Gfence is GfenceBegin.
type barrier struct {
	*layout.Barrier
	link barrierLink
}

// barrierLink is what it needs of the link of this node's tasks.
type barrierLink interface {
	Barrier(crowded bool) *layout.Barrier
	RefuseBarrier(code uint32)
	BarrierAwaits(ep transport.Endpoint) bool
	BarrierRefusal() uint32
}

// canBarrier says whether this task can take part, if all tasks share memory: not where a trace is
// to show the messages of a Gfence. It does not depend on LAPI_FASTLANE, which tasks may have set
// differently.
func (s *setup) canBarrier() bool {
	return !s.attributes.persistent && s.cfg.TraceLevel == 0 && shm.CanBeFast()
}

// openBarrier is a step of LAPI_Init, after the tasks have met.
func (s *setup) openBarrier() codes.Code {
	link, ok := s.net.Shm.(barrierLink)
	if !ok || s.net.UDP != nil || s.net.Verbs != nil {
		return codes.Success
	}
	if b := link.Barrier(s.net.AnyCrowded()); b != nil {
		s.barrier = &barrier{b, link}
		s.shared.Barrier = nodeAddress(s.net.Shm.(laneLink))
	}
	return codes.Success
}

// fail ends the barrier for good, here and in all peers: a task is gone, or collectives have been
// given up.
func (b *barrier) fail(code codes.Code) {
	if b == nil || b.Failed != 0 {
		return
	}
	b.Failed = uint32(code)
	b.link.RefuseBarrier(uint32(code))
}

// underWay says whether this task is in a LAPI_Gfence that can still end.
func (b *barrier) underWay() bool { return b != nil && b.Begun != b.Over && b.Failed == 0 }

// awaits says whether this task is in a LAPI_Gfence at which p has not arrived.
func (b *barrier) awaits(p *peer.Peer) bool { return b.underWay() && b.link.BarrierAwaits(p.Ep) }

// failure is the code that it has failed with.
func (b *barrier) failure() codes.Code {
	if b == nil {
		return codes.Success
	}
	return codes.Code(b.Failed)
}

// noticePurge ends collectives if the barrier waits for p, and a peer has refused it since
// LAPI_Purge_totask. A peer refuses before it leaves: that it has left, too, is then no error of
// its own. For a caller that has seen that p is gone.
func (c *Context) noticePurge(p *peer.Peer) {
	if b := c.barrier; b.awaits(p) && codes.Code(b.link.BarrierRefusal()) == codes.ErrTgtPurged {
		c.BarrierRefused(codes.ErrTgtPurged)
	}
}

// BarrierBroken: task has left without arriving at the barrier, or has written there what no task
// writes; -1: it is not known which.
func (c *Context) BarrierBroken(task int) {
	memory.Guard()
	if p, code := c.other(uint32(task)); code == codes.Success {
		if c.noticePurge(p); c.collectives.GivenUp() {
			return
		}
		c.fail(p, codes.ErrNoConnectivity,
			"it has left the job, or does not keep to the protocol, while this task is in "+
				"LAPI_Gfence")
	}
	c.collectives.Fail(codes.ErrNoConnectivity, fence.Unknown)
	c.wake.Changed()
	c.publish()
}

// BarrierRefused: a peer takes part in no collective any more. ErrTgtPurged: after
// LAPI_Purge_totask.
func (c *Context) BarrierRefused(code codes.Code) {
	memory.Guard()
	if code == codes.ErrTgtPurged {
		c.collectives.GiveUp()
	} else {
		c.collectives.Fail(code, fence.Unknown)
	}
	c.wake.Changed()
	c.publish()
}
