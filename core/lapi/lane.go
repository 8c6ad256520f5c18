package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/shm"
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
	Node() *layout.NodeLink
	NodePeer(ep transport.Endpoint) (*layout.NodePeer, int)
	Busy() bool
	Take(ring uint32, h transport.MsgHandler)
	TakeLater(ring uint32) bool
	ContinuePut(ep transport.Endpoint, op *transport.Op, at uint64) (transport.Status, error)
	GiveUpOwners(ep transport.Endpoint)
}

const (
	laneTurns    = 1 << 20 // turns of the lane after which core gets one in any case; by the clock it is sooner
	laneUDPTurns = 16      // the same while there is a socket to look at
)

// openLane is a step of LAPI_Init: it makes the memory that C and core share. Failing to is no reason to fail.
func (s *setup) openLane() codes.Code {
	link, ok := s.net.Shm.(laneLink)
	if !ok || s.cfg.FastLane == job.FastLaneOff || s.trace != nil || !shm.CanBeFast() {
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
	if t.node == nil {
		return
	}
	if t.dead || t.pending.head != nil {
		t.node.Closed |= layout.ClosedOwner
	} else {
		t.node.Closed &^= layout.ClosedOwner
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
		if t.node == nil {
			continue
		}
		o := &t.node.Owner
		if o[layout.PeerKind] != 0 {
			t.lastKind = ErrType(o[layout.PeerKind] - 1)
		}
		if o[layout.PeerUsed] != 0 {
			c.use(t, t.lastKind)
		}
		t.expected = max(0, t.expected+int(int32(o[layout.PeerExpected])))
		*o = [len(o)]uint32{}
	}
}

// laneOps are the operations of the lane that are in flight.
func (c *Context) laneOps(yield func(o *layout.NodeOp) bool) {
	if c.lane == nil || c.lane.link.Node().Ops == 0 {
		return
	}
	ops := &c.lane.link.Node().Op
	for i := range ops {
		if o := &ops[i]; o.Kind != layout.NodeOpFree && o.By == layout.NodeByOwner && !yield(o) {
			return
		}
	}
}

// laneQuiet says whether the lane waits for no answer to what was issued at seq or before.
func (c *Context) laneQuiet(seq uint64) bool {
	for o := range c.laneOps {
		if o.Tag[layout.TagSeq] <= seq {
			return false
		}
	}
	return true
}

// laneKind is the kind of an operation of the lane that waits for an answer of t.
func (c *Context) laneKind(t *task) (ErrType, bool) {
	for o := range c.laneOps {
		if int(o.Task) == t.id {
			if o.Kind == layout.NodeOpGet {
				return GetErr, true
			}
			return RmwErr, true
		}
	}
	return 0, false
}

// dropLaneOps ends what the lane waits for from t, without changing a counter.
func (c *Context) dropLaneOps(t *task) {
	if c.lane != nil && t.node != nil {
		c.lane.link.GiveUpOwners(t.ep)
	}
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

// LaneFault reports an address of an operation between this task and peer that could not be accessed; result says whose:
// layout.NodeFault, NodeFailed or NodeStranded.
func (c *Context) LaneFault(peer int, result int32, a transport.Addr, kind ErrType) {
	memory.Guard()
	switch t := &c.tasks[peer]; result {
	case layout.NodeFault:
		of := map[ErrType]transport.NoticeKind{PutErr: transport.NoticePut, GetErr: transport.NoticeGet, RmwErr: transport.NoticeRmw}
		c.onBadAddress(of[kind], t.ep, a)
	case layout.NodeFailed:
		c.remoteFault(t, a, codes.ErrTgtAddrNull, kind)
	default:
		c.fault(&transport.FaultError{Addr: a}, codes.ErrOrgAddrNull, kind, c.me)
	}
	c.publish()
}

// LaneLater leaves a request at the head of a ring to the link, which answers when there is room.
func (c *Context) LaneLater(ring uint32) bool {
	memory.Guard()
	took := c.lane.link.TakeLater(ring)
	c.publish()
	return took
}

// onAmSmall is the target's side of the lane's active messages.
func (c *Context) onAmSmall(m *transport.Msg) transport.Verdict {
	h, uhdr, ok := wire.DecodeSmall(m)
	if !ok {
		return c.malformed(m)
	}
	return c.wholeAm(&c.tasks[m.From], &h, uhdr, m.Data)
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
