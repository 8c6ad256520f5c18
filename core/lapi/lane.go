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
	"lapi/transport/shm"
)

// lane is core's side of the fast lane (docs/dev/fastlane.md): what C does by itself for tasks of
// this node, and in packets over adapters, and how C and core inform each other. Without a lane all
// of this does nothing.
type lane struct {
	*layout.Lane
	link    laneLink           // nil: no task is reached by shared memory
	nodes   []*layout.NodePeer // by task: the link's end to it; nil: there is no ring to it
	packets packetLink         // whose packets C sends and takes; nil: it does not
	memory  []byte             // where Lane lies: not on the Go heap
}

// laneLink is what the lane needs of the link of this node's tasks.
type laneLink interface {
	transport.Link
	send.Continuer
	Node() *layout.NodeLink
	NodePeer(ep transport.Endpoint) (*layout.NodePeer, int)
	Busy() bool
	Take(ring uint32, h transport.MsgHandler)
	TakeLater(ring uint32) bool
	GiveUpOwners(ep transport.Endpoint)
}

// packetLink is what the lane needs of a link over adapters.
type packetLink interface {
	transport.Link
	// Tasks gives C the peers; false: C cannot use this link.
	Tasks(n int) bool
	Shared() uint64
	Busy() bool
	Hold(ep transport.Endpoint, held bool)
	CollectOwners(tell func(ep transport.Endpoint, noted *[3]uint32))
	TakeHandled(ep transport.Endpoint, slot int32, n uint32, h transport.MsgHandler)
}

const (
	// turns of the lane after which core gets a turn in any case; by the clock it is sooner
	laneTurns    = 1 << 20
	laneUDPTurns = 16 // the same while there is a socket, or a queue that C cannot look at
)

// openLane is a step of LAPI_Init: it makes the memory that C and core share. Failing to is no
// reason to fail.
func (s *setup) openLane() codes.Code {
	link, ok := s.net.Shm.(laneLink)
	packets, _ := s.net.Verbs.(packetLink)
	if s.cfg.FastLane == job.FastLaneOff || s.trace != nil || s.net.Shm != nil &&
		(!ok || !shm.CanBeFast()) {
		return codes.Success
	}
	if packets != nil && !packets.Tasks(len(s.peers)) {
		packets = nil
	}
	if !ok && packets == nil {
		return codes.Success
	}
	l, err := newLane(s.peers, link, packets)
	if err != nil {
		return codes.Success
	}
	l.TurnsMax = laneTurns
	l.BulkMin = 1<<64 - 1
	l.CopyMax = uint32(s.attributes.bufCopy)
	if s.cfg.UseBulk {
		l.BulkMin = uint64(s.cfg.BulkMin)
	}
	if s.net.UDP != nil && !s.net.UDPIdles() || s.net.Verbs != nil && packets == nil {
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

// node is the link's end to a task; nil: there is no lane to it.
func (l *lane) node(task int) *layout.NodePeer {
	if l == nil {
		return nil
	}
	return l.nodes[task]
}

// mayRun publishes whether the lane may send to p: nothing may overtake messages that wait here for
// room.
func (c *Context) mayRun(p *peer.Peer) {
	_, waits := c.out.Waits(p)
	waits = waits || p.Dead()
	if c.lane != nil && c.lane.packets != nil && p.Link == c.lane.packets {
		c.lane.packets.Hold(p.Ep, waits)
	}
	node := c.lane.node(p.ID)
	if node == nil {
		return
	}
	if waits {
		node.Closed |= layout.ClosedOwner
	} else {
		node.Closed &^= layout.ClosedOwner
	}
}

// tellLane ends each entry into this package: it publishes what the lane must know to work without
// core.
func (c *Context) tellLane() {
	if c.lane == nil {
		return
	}
	c.hearPackets()
	under := c.out.Waiting() > 0 || c.copier.Waiting() > 0 || c.fences.UnderWay() > 0 || c.term != nil
	busy := under || c.answers.Oldest() != nil || c.offers.Oldest() != nil ||
		c.moves.Oldest() != nil ||
		c.collectives.UnderWay() > 0 || c.out.Unflushed() || c.fences.HasLost()
	work := under || c.in.Unknown() > 0 || c.faults.Pending() > 0 ||
		c.lane.busy() || c.net.Self.(transport.Waiter).NextTimeout() != 0 ||
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

// busy says whether a link wants a turn each time.
func (l *lane) busy() bool {
	return l.link != nil && l.link.Busy() || l.packets != nil && l.packets.Busy()
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// hearLane collects what the lane did since the last time.
func (c *Context) hearLane() {
	if c.lane == nil || c.lane.Dirty == 0 {
		return
	}
	c.lane.Dirty = 0
	for i, node := range c.lane.nodes {
		if node != nil {
			c.hearOf(i, &node.Owner)
		}
	}
	c.hearPackets()
}

// hearPackets collects what the lane did over adapters. Each entry does so: a fence asks the link
// about every task to which something was sent.
func (c *Context) hearPackets() {
	if c.lane.packets != nil {
		c.lane.packets.CollectOwners(func(ep transport.Endpoint, noted *[3]uint32) {
			c.hearOf(int(ep), noted)
		})
	}
}

// hearOf collects what C has noted about a task.
func (c *Context) hearOf(task int, noted *[3]uint32) {
	if *noted == [len(noted)]uint32{} {
		return
	}
	kind := c.counters.Last(task)
	if noted[layout.PeerKind] != 0 {
		kind = codes.ErrType(noted[layout.PeerKind] - 1)
	}
	if noted[layout.PeerUsed]&layout.PeerUsedUncounted != 0 {
		c.out.Used(&c.peers[task], codes.PutErr, false)
	}
	if used := kind; noted[layout.PeerUsed] != 0 {
		if noted[layout.PeerKind] == 0 {
			used = codes.IntErr // answers and completions alone
		}
		c.out.Used(&c.peers[task], used, true)
	}
	c.counters.IssuedMany(task, kind, int(int32(noted[layout.PeerExpected])))
	*noted = [len(noted)]uint32{}
}

// laneOps are the operations of the lane that are in flight.
func (c *Context) laneOps(yield func(o *layout.NodeOp) bool) {
	if c.lane == nil || c.lane.link == nil || c.lane.link.Node().Ops == 0 {
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

// laneKind is the kind of an operation of the lane that waits for an answer of p.
func (c *Context) laneKind(p *peer.Peer) (codes.ErrType, bool) {
	for o := range c.laneOps {
		if int(o.Task) == p.ID {
			switch o.Kind {
			case layout.NodeOpGet:
				return codes.GetErr, true
			case layout.NodeOpPut:
				return codes.PutErr, true
			}
			return codes.RmwErr, true
		}
	}
	return 0, false
}

// dropLaneOps ends the lane's operations that wait for p, without changing a counter.
func (c *Context) dropLaneOps(p *peer.Peer) {
	if c.lane.node(p.ID) != nil {
		c.lane.link.GiveUpOwners(p.Ep)
	}
}

// LaneCount adds 1 to a counter for the lane, which could not: its address is bad or unaligned, or
// it has a list. src named the counter in a message that went between this task and peer.
func (c *Context) LaneCount(a transport.Addr, kind codes.ErrType, src, peer int) {
	memory.Guard()
	c.counters.AddFor(a, kind, src, peer)
	c.publish()
}

// LaneTell sends an origin a completion for the lane, which found no room; it stands for several
// messages if more is not 0.
func (c *Context) LaneTell(origin int, cmplCntr transport.Addr, more uint64) {
	memory.Guard()
	c.tellCompletion(origin, wire.Completion{Cntr: cmplCntr, More: more})
	c.publish()
}

// LaneFault reports an address of an operation between this task and peer that could not be
// accessed; result says whose: layout.NodeFault, NodeFailed or NodeStranded.
func (c *Context) LaneFault(peer int, result int32, a transport.Addr, kind codes.ErrType) {
	memory.Guard()
	switch p := &c.peers[peer]; result {
	case layout.NodeFault:
		of := [...]transport.NoticeKind{codes.PutErr: transport.NoticePut,
			codes.GetErr: transport.NoticeGet, codes.RmwErr: transport.NoticeRmw}
		c.onBadAddress(of[kind], p.Ep, a)
	case layout.NodeFailed:
		c.faults.Remote(p, a, kind)
	default:
		c.faults.Origin(p, &transport.FaultError{Addr: a}, kind)
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

// LaneHandled goes on with the small active message at the head of a ring: its header handler has
// run, and returned r, which the lane cannot handle.
func (c *Context) LaneHandled(ring uint32, r *HeaderResult) {
	memory.Guard()
	c.lane.link.Take(ring, func(m *transport.Msg) transport.Verdict { return c.in.Handled(m, r) })
	c.publish()
}

// LanePacketHandled is LaneHandled for a message from a task, of n bytes in a slot, that C has
// taken.
func (c *Context) LanePacketHandled(task int, slot int32, n uint32, r *HeaderResult) {
	memory.Guard()
	c.lane.packets.TakeHandled(transport.Endpoint(task), slot, n,
		func(m *transport.Msg) transport.Verdict { return c.in.Handled(m, r) })
	c.publish()
}

// LanePutRest goes on with the put to tgt that is in the link's transfer, of which the lane has
// sent the first parts.
func (c *Context) LanePutRest(tgt int, orgCntr transport.Addr) {
	memory.Guard()
	link := c.lane.link
	t := &link.Node().Transfer
	h := wire.Put{TgtAddr: transport.Addr(t[1]), TgtCntr: transport.Addr(t[4]),
		CmplCntr: transport.Addr(t[5])}
	c.counters.Issued(tgt, codes.PutErr, h.CmplCntr)
	c.out.Continue(&c.peers[tgt], link, &h, transport.Addr(t[0]), t[2], t[3],
		send.After{OrgCntr: orgCntr, User: true, Counted: h.CmplCntr != 0})
	c.publish()
}
