package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// lane is core's side of the fast lane (docs/fastlane.md): what C does by itself for tasks of this node, and what the two tell each other.
// Without a lane all of this does nothing.
type lane struct {
	*layout.Lane
	link   laneLink
	memory []byte // where Lane lies: not on the Go heap
}

// laneLink is what the lane needs of the link of this node's tasks.
type laneLink interface {
	transport.Link
	Paths() *layout.Paths
	PathOf(ep transport.Endpoint) *layout.Path
	Busy() bool
	Take(ring uint32, h transport.MsgHandler)
}

const (
	laneTurns    = 1 << 20 // turns of the lane after which core gets one in any case; by the clock it is sooner
	laneUDPTurns = 16      // the same while there is a socket to look at
)

// openLane is a step of LAPI_Init: it makes the memory that C and core share. Failing to is no reason to fail.
func (s *setup) openLane() codes.Code {
	link, ok := s.net.Shm.(laneLink)
	if !ok || s.cfg.FastLane == job.FastLaneOff || s.trace != nil || !canLane() {
		return codes.Success
	}
	l, err := newLane(s.tasks, link)
	if err != nil {
		return codes.Success
	}
	l.link = link
	l.TurnsMax = laneTurns
	l.BulkMin = 1<<64 - 1
	if s.cfg.UseBulk {
		l.BulkMin = uint64(s.cfg.BulkMin)
	}
	if s.net.UDP != nil {
		l.TurnsMax = laneUDPTurns
	}
	if s.cfg.FastLane == job.FastLaneRandom {
		l.Random = uint32(s.me)*2654435761 | 1
	}
	s.lane = l
	s.issued = &l.Issued
	s.shared.Lane = l.address()
	return codes.Success
}

// mayRun tells the lane whether it may send to t: nothing may overtake what waits here for room.
func (c *Context) mayRun(t *task) {
	if t.path == nil {
		return
	}
	if t.dead || t.pending.head != nil {
		t.path.Closed |= layout.ClosedCore
	} else {
		t.path.Closed &^= layout.ClosedCore
	}
}

// tellLane is the end of each entry into this package: what the lane must know to leave core alone.
func (c *Context) tellLane() {
	if c.lane == nil {
		return
	}
	busy := c.waiting > 0 || c.getRmw.head != nil || c.readers.count > 0 || len(c.fences) > 0 || len(c.collectives) > 0 || c.term != nil ||
		len(c.usedTasks) > 0
	work := c.waiting > 0 || len(c.fences) > 0 || c.term != nil || len(c.unknown) > 0 || len(c.errors) > 0 ||
		c.lane.link.Busy() || c.net.Self.(transport.Waiter).NextTimeout() != 0 || c.net.UDP != nil && c.udpIdle < udpIdleTurns
	for _, e := range c.emuls {
		work = work || e.Waiting()
	}
	c.lane.GoBusy, c.lane.GoWork = flag(busy), flag(work)
	off := uint32(0)
	if len(c.lists) > 0 {
		off |= layout.OffLists
	}
	if c.term != nil {
		off |= layout.OffTerm
	}
	c.lane.Off = off
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// hearLane takes in what the lane did since the last time.
func (c *Context) hearLane() {
	if c.lane == nil || c.lane.Dirty == 0 {
		return
	}
	c.lane.Dirty = 0
	for i := range c.tasks {
		t := &c.tasks[i]
		p := t.path
		if p == nil || p.Kind == 0 && p.Used == 0 && p.Expected == 0 {
			continue
		}
		if p.Kind != 0 {
			t.lastKind = ErrType(p.Kind - 1)
		}
		if p.Used != 0 {
			c.use(t, t.lastKind)
		}
		t.expected = max(0, t.expected+int(p.Expected))
		p.Used, p.Kind, p.Expected = 0, 0, 0
	}
}

// laneQuiet says whether the lane waits for no answer to what was issued at seq or before.
func (c *Context) laneQuiet(seq uint64) bool {
	if c.lane == nil || c.lane.Ops == 0 {
		return true
	}
	for i := range c.lane.Op {
		if o := &c.lane.Op[i]; o.Kind != layout.OpFree && o.Seq <= seq {
			return false
		}
	}
	return true
}

// laneKind is the kind of an operation of the lane that waits for an answer of t.
func (c *Context) laneKind(t *task) (ErrType, bool) {
	if c.lane != nil && c.lane.Ops > 0 {
		for i := range c.lane.Op {
			if o := &c.lane.Op[i]; o.Kind != layout.OpFree && int(o.Task) == t.id {
				if o.Kind == layout.OpGet {
					return GetErr, true
				}
				return RmwErr, true
			}
		}
	}
	return 0, false
}

// dropLaneOps ends what the lane waits for from t, without changing a counter.
func (c *Context) dropLaneOps(t *task) {
	if c.lane == nil || c.lane.Ops == 0 {
		return
	}
	for i := range c.lane.Op {
		if o := &c.lane.Op[i]; o.Kind != layout.OpFree && int(o.Task) == t.id {
			c.freeLaneOp(uint32(i))
		}
	}
}

// freeLaneOp is free_op in cshim/lane_get.c.
func (c *Context) freeLaneOp(i uint32) {
	o := &c.lane.Op[i]
	o.Kind = layout.OpFree
	o.Token += layout.LaneOps
	o.NextFree = c.lane.FreeOp
	c.lane.FreeOp = i
	c.lane.Ops--
}

// LaneCount adds 1 to a counter for the lane, which could not: its address is bad or unaligned, or it has a list. src named the counter in a
// message that went between this task and peer.
func (c *Context) LaneCount(a transport.Addr, kind ErrType, src, peer int) {
	memory.Guard()
	c.countFor(a, kind, src, peer)
	c.publish()
}

// LaneTell is tellComplete for the lane, which found no room; it stands for more messages than one if more is not 0.
func (c *Context) LaneTell(origin int, cmplCntr transport.Addr, more uint64) {
	memory.Guard()
	h := wire.Completion{Cntr: cmplCntr, More: more}
	c.sendControl(&c.tasks[origin], wire.MsgCounter, IntErr, h.Encode)
	c.publish()
}

// LaneFault reports that the answer to a get or read-modify-write of the lane could not be stored at a.
func (c *Context) LaneFault(a transport.Addr, kind ErrType) {
	memory.Guard()
	c.fault(&transport.FaultError{Addr: a}, codes.ErrOrgAddrNull, kind, c.me)
	c.publish()
}

// LaneHandled goes on with the small active message at the head of a ring: its header handler has run, and said r, which is more
// than the lane can do.
func (c *Context) LaneHandled(ring uint32, r *HeaderResult) {
	memory.Guard()
	c.lane.link.Take(ring, func(m *transport.Msg) transport.Verdict {
		h, _, ok := wire.DecodeSmall(m)
		if !ok {
			return c.malformed(m)
		}
		in := incoming{am: h, whole: true}
		t := &c.tasks[m.From]
		if v := c.heedHeader(t, &in, r, nil); v == transport.Refuse {
			return v
		}
		return c.placeWhole(t, &in, m.Data)
	})
	c.publish()
}
