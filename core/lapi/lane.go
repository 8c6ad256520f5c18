package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/send"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// lane is core's side of the fast lane (docs/fastlane.md): what C does by itself for tasks of this
// node, and what the two tell each other. Without a lane all of this does nothing.
type lane struct {
	*layout.Lane
	link   laneLink
	paths  []*layout.Path // by task; nil: there is no lane to it
	memory []byte         // where Lane lies: not on the Go heap
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
	// turns of the lane after which core gets one in any case; by the clock it is sooner
	laneTurns    = 1 << 20
	laneUDPTurns = 16 // the same while there is a socket to look at
)

// openLane is a step of LAPI_Init: it makes the memory that C and core share. Failing to is no
// reason to fail.
func (s *setup) openLane() codes.Code {
	link, ok := s.net.Shm.(laneLink)
	if !ok || s.cfg.FastLane == job.FastLaneOff || s.trace != nil || !canLane() {
		return codes.Success
	}
	l, err := newLane(s.peers, link)
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
	s.out.CountIn(&l.Issued)
	s.in.SetIndices(&l.Handlers)
	s.shared.Lane = l.address()
	return codes.Success
}

// path is the lane's path to a task; nil: there is none.
func (l *lane) path(task int) *layout.Path {
	if l == nil {
		return nil
	}
	return l.paths[task]
}

// mayRun tells the lane whether it may send to p: nothing may overtake what waits here for room.
func (c *Context) mayRun(p *peer.Peer) {
	path := c.lane.path(p.ID)
	if path == nil {
		return
	}
	if _, waits := c.out.Waits(p); waits || p.Dead() {
		path.Closed |= layout.ClosedCore
	} else {
		path.Closed &^= layout.ClosedCore
	}
}

// tellLane is the end of each entry into this package: what the lane must know to leave core alone.
func (c *Context) tellLane() {
	if c.lane == nil {
		return
	}
	under := c.out.Waiting() > 0 || c.fences.UnderWay() > 0 || c.term != nil
	busy := under || c.answers.Oldest() != nil || c.offers.Oldest() != nil ||
		c.collectives.UnderWay() > 0 || c.out.Unflushed()
	work := under || c.in.Unknown() > 0 || c.faults.Pending() > 0 ||
		c.lane.link.Busy() || c.net.Self.(transport.Waiter).NextTimeout() != 0 ||
		c.net.UDP != nil && c.pace.udpIdle < udpIdleTurns
	for _, e := range c.emuls {
		work = work || e.Waiting()
	}
	c.lane.GoBusy, c.lane.GoWork = flag(busy), flag(work)
	off := uint32(0)
	if c.counters.Listed() {
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
	for i, path := range c.lane.paths {
		if path == nil || path.Kind == 0 && path.Used == 0 && path.Expected == 0 {
			continue
		}
		kind := c.counters.Last(i)
		if path.Kind != 0 {
			kind = codes.ErrType(path.Kind - 1)
		}
		if path.Used != 0 {
			c.out.Used(&c.peers[i], kind)
		}
		c.counters.IssuedMany(i, kind, int(path.Expected))
		path.Used, path.Kind, path.Expected = 0, 0, 0
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

// laneKind is the kind of an operation of the lane that waits for an answer of p.
func (c *Context) laneKind(p *peer.Peer) (codes.ErrType, bool) {
	if c.lane != nil && c.lane.Ops > 0 {
		for i := range c.lane.Op {
			if o := &c.lane.Op[i]; o.Kind != layout.OpFree && int(o.Task) == p.ID {
				if o.Kind == layout.OpGet {
					return codes.GetErr, true
				}
				return codes.RmwErr, true
			}
		}
	}
	return 0, false
}

// dropLaneOps ends what the lane waits for from p, without changing a counter.
func (c *Context) dropLaneOps(p *peer.Peer) {
	if c.lane == nil || c.lane.Ops == 0 {
		return
	}
	for i := range c.lane.Op {
		if o := &c.lane.Op[i]; o.Kind != layout.OpFree && int(o.Task) == p.ID {
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

// LaneCount adds 1 to a counter for the lane, which could not: its address is bad or unaligned, or
// it has a list. src named the counter in a message that went between this task and peer.
func (c *Context) LaneCount(a transport.Addr, kind codes.ErrType, src, peer int) {
	memory.Guard()
	c.counters.AddFor(a, kind, src, peer)
	c.publish()
}

// LaneTell tells an origin of a completion for the lane, which found no room; it stands for more
// messages than one if more is not 0.
func (c *Context) LaneTell(origin int, cmplCntr transport.Addr, more uint64) {
	memory.Guard()
	c.tellCompletion(origin, wire.Completion{Cntr: cmplCntr, More: more})
	c.publish()
}

// LaneFault reports that the answer to a get or read-modify-write of the lane could not be stored
// at a.
func (c *Context) LaneFault(a transport.Addr, kind codes.ErrType) {
	memory.Guard()
	c.faults.Here(&transport.FaultError{Addr: a}, codes.ErrOrgAddrNull, kind)
	c.publish()
}

// LaneHandled goes on with the small active message at the head of a ring: its header handler has
// run, and said r, which is more than the lane can do.
func (c *Context) LaneHandled(ring uint32, r *HeaderResult) {
	memory.Guard()
	c.lane.link.Take(ring, func(m *transport.Msg) transport.Verdict { return c.in.Handled(m, r) })
	c.publish()
}

// LanePutRest goes on with a put whose first parts the lane has sent; all arguments are about the
// rest.
func (c *Context) LanePutRest(tgt int, n uint64, tgtAddr, orgAddr, tgtCntr, orgCntr,
	cmplCntr transport.Addr) {
	memory.Guard()
	if cmplCntr != 0 {
		c.counters.IssuedMany(tgt, c.counters.Last(tgt), 1)
	}
	c.out.PutRest(&c.peers[tgt], &wire.Put{TgtAddr: tgtAddr, TgtCntr: tgtCntr, CmplCntr: cmplCntr},
		orgAddr, n,
		send.After{OrgCntr: orgCntr, User: true})
	c.publish()
}

// LaneGetRest goes on with an answer whose first parts, up to offset, the lane has sent.
func (c *Context) LaneGetRest(origin int, token uint32, n uint64, data transport.Addr,
	offset uint64, tgtCntr transport.Addr) {
	memory.Guard()
	c.out.LaneAnswer(&c.peers[origin], token, data, n, offset, send.After{OrgCntr: tgtCntr,
		User: true})
	c.publish()
}

// onLaneGet is the target's side of the lane's get.
func (c *Context) onLaneGet(m *transport.Msg) transport.Verdict {
	var h wire.LaneGet
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return p.Malformed()
	}
	c.out.LaneAnswer(p, h.Token, h.TgtAddr, h.Length, 0, send.After{OrgCntr: h.TgtCntr, User: true})
	return transport.Accept
}

// onLaneRmw is the target's side of the lane's read-modify-write.
func (c *Context) onLaneRmw(m *transport.Msg) transport.Verdict {
	var h wire.LaneRmw
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) || len(m.Data) != 0 {
		return p.Malformed()
	}
	old, err := memory.Atomic(atomicKinds[h.Op], h.Variable, h.Width, h.Operand, h.Compare)
	if err != nil {
		c.faults.Target(err, codes.RmwErr, p, 0)
		c.laneFailed(p, h.Token, codes.RmwErr)
		return transport.Accept
	}
	r := wire.Reply{Token: h.Token, Value: old}
	c.out.Control(p, wire.MsgLaneReply, codes.RmwErr, r.Encode)
	return transport.Accept
}

// laneFailed answers a get or read-modify-write whose address was bad; the fault itself was told
// already.
func (c *Context) laneFailed(p *peer.Peer, token uint32, kind codes.ErrType) {
	h := wire.Reply{Token: token, State: layout.ReplyFailed}
	c.out.Control(p, wire.MsgLaneReply, kind, h.Encode)
}
