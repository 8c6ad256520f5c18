package dat

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	"lapi/transport/layout"
)

// The part of groups whose members are processes of one node that C does by itself
// (cshim/dat/group_*.c): here is what both have in memory of their own, and what C leaves to core.
// All operations of such a group are in C's queue, in the order of posting, those of core too: when
// it is the turn of one of these the engine may begin it.

// nodeGroup is C's view of a group.
type nodeGroup struct {
	*layout.DatGroup
	memory, ops, lists, scratch []byte
	ways                        []byte // nil: members do not read each other's memory
	area                        []byte // what all members map
}

const (
	groupRoom = 64 // operations that there is memory for at first
	roomLimit = 1 << 16
	// unitsLeast is how many units a stage has at least: members of large groups go on by turns.
	unitsLeast = 8
	spanSize   = int(unsafe.Sizeof(layout.DatSpan{}))
	opSize     = int(unsafe.Sizeof(layout.DatGroupOp{}))
	seatSize   = int(unsafe.Sizeof(layout.DatSeat{}))
	waysSize   = layout.DatGroupKinds * layout.DatGroupClasses * int(unsafe.Sizeof(layout.RouteClass{}))
)

// groupUnits is how many units a member's stage has in a group of so many, and how large they are.
// A small group has as many as the memory lets: what a member writes next is then long gone from its
// own cache to the one that all share, from where others have it sooner.
func groupUnits(size int) (units, unit int) {
	each := layout.DatGroupAll / size
	units = min(max(floorPower(each/layout.DatGroupUnit), unitsLeast), layout.DatGroupUnits)
	return units, min(layout.DatGroupUnit, floorPower(each/units))
}

// floorPower is the largest power of two that is at most n, at least 1.
func floorPower(n int) int { return 1 << max(bits.Len(uint(n))-1, 0) }

// groupSeats is how much of the area seats take, groupSize all of it.
func groupSeats(size int) int {
	return (size*seatSize + layout.Page - 1) &^ (layout.Page - 1)
}

func groupSize(size int) int {
	units, unit := groupUnits(size)
	return groupSeats(size) + size*units*unit
}

// isCrowded says whether members share processors.
func isCrowded(size int) bool { return size > runtime.NumCPU() }

// nodePeer is what C has of the link to a member; nil: it is none of another process of this node.
func (f *fellow) nodePeer() (*layout.NodeLink, *layout.NodePeer) {
	if f.peer == nil {
		return nil, nil
	}
	link, ep := f.peer.link(f.c.ia.library)
	lane, ok := link.(laneLink)
	if !ok {
		return nil, nil
	}
	peer, _ := lane.NodePeer(ep)
	return lane.Node(), peer
}

// readsAll says whether this process can read the memory of all other members.
func (c *Collective) readsAll() bool {
	for _, f := range c.fellows {
		if f.rank == c.group.Self {
			continue
		}
		if _, peer := f.nodePeer(); peer == nil || peer.Direct == 0 {
			return false
		}
	}
	return true
}

// openNode makes C's view; reads: members read each other's memory. false: there is no memory.
func (c *Collective) openNode(area []byte, random, reads bool) bool {
	r, size := &c.ia.library.rings, c.group.Size
	n := &nodeGroup{area: area, memory: r.get(int(unsafe.Sizeof(layout.DatGroup{}))),
		scratch: r.get(layout.DatGroupScratch)}
	if n.memory != nil {
		n.DatGroup = (*layout.DatGroup)(unsafe.Pointer(unsafe.SliceData(n.memory)))
	}
	if reads {
		n.ways = r.get(waysSize)
	}
	if n.memory == nil || n.scratch == nil || reads && n.ways == nil || !n.grow(r, size) {
		n.release(r)
		return false
	}
	units, unit := groupUnits(size)
	n.Config = layout.DatGroupConfig{Handle: uint64(c.handle), Evd: uint64(c.EVD.handle),
		Seats: addressOf(area), Stages: addressOf(area) + uint64(groupSeats(size)),
		Scratch: addressOf(n.scratch), Size: uint32(size), Rank: uint32(c.group.Self),
		Units: uint32(units), Unit: uint32(unit), Crowded: uint32(flag(c.crowded))}
	if random {
		n.Config.Random = c.seed | 1
	}
	if reads {
		n.Config.Ways = addressOf(n.ways)
	}
	for _, f := range c.fellows {
		link, peer := f.nodePeer()
		n.Config.Links[f.rank], n.Config.Peers[f.rank] = uint64At(link), uint64At(peer)
	}
	c.node = n
	c.group.Held = true
	c.slot.Lane = addressOf(n.memory)
	c.ia.library.tellGroups()
	return true
}

// grow makes room for twice as many operations; false: there is no memory.
func (n *nodeGroup) grow(r *rings, size int) bool {
	room := max(groupRoom, 2*n.Queue.Room)
	if room > roomLimit {
		return false
	}
	ops, lists := r.get(int(room)*opSize), r.get(int(room)*2*size*spanSize)
	if ops == nil || lists == nil {
		r.put(ops)
		r.put(lists)
		return false
	}
	list := 2 * size * spanSize
	q := &n.Queue
	for i := range q.Posted {
		from, to := int((q.Head+i)%q.Room), int((q.Head+i)%room)
		copy(ops[to*opSize:], n.ops[from*opSize:][:opSize])
		copy(lists[to*list:], n.lists[from*list:][:list])
	}
	r.put(n.ops)
	r.put(n.lists)
	n.ops, n.lists, q.Room = ops, lists, room
	q.Ops, q.Lists = addressOf(ops), addressOf(lists)
	return true
}

func (n *nodeGroup) release(r *rings) {
	r.put(n.memory)
	r.put(n.ops)
	r.put(n.lists)
	r.put(n.scratch)
	r.put(n.ways)
}

// Room makes room for another operation.
func (c *Collective) Room() codes.Return {
	if n := c.node; n != nil && n.Queue.Posted == n.Queue.Room &&
		!n.grow(&c.ia.library.rings, c.group.Size) {
		return codes.InsufficientResources.With(codes.ResourceMemory)
	}
	return codes.Success
}

// oldest is the operation whose turn it is, of at least one.
func (n *nodeGroup) oldest() *layout.DatGroupOp {
	return &elements[layout.DatGroupOp](n.ops)[n.Queue.Head%n.Queue.Room]
}

// pop takes it out.
func (n *nodeGroup) pop() {
	n.Queue.Head++
	n.Queue.Posted--
	n.State = layout.DatGroupWaits
}

// queueForCore gives an operation of the engine's its place among those of C.
func (c *Collective) queueForCore(kind coll.Kind) codes.Return {
	n := c.node
	if n == nil {
		return codes.Success
	}
	if n.Failed != 0 {
		c.failNode()
		return codes.Success
	}
	if r := c.Room(); r != codes.Success {
		return r
	}
	q := &n.Queue
	elements[layout.DatGroupOp](n.ops)[(q.Head+q.Posted)%q.Room] = layout.DatGroupOp{
		Kind: uint32(kind), Flags: layout.DatGroupOfCore}
	q.Posted++
	q.Count++
	return codes.Success
}

// doneByCore: the engine's operation is over, unless it never had a turn.
func (c *Collective) doneByCore() {
	if n := c.node; n != nil && n.Queue.Posted > 0 && n.oldest().Flags&layout.DatGroupOfCore != 0 {
		n.pop()
		c.group.Held = n.Failed == 0
	}
}

// hearGroups does what C has left to core.
func (l *Library) hearGroups() {
	if l.cfg.Lane == nil || l.cfg.Lane.GoGroups == 0 {
		return
	}
	l.cfg.Lane.GoGroups = 0
	for _, c := range l.groups.list {
		if c != nil && c.node != nil {
			c.hearNode()
		}
	}
}

func (c *Collective) hearNode() {
	switch n := c.node; {
	case n.Failed != 0:
		c.failNode()
	case n.State == layout.DatGroupOver:
		o := n.oldest()
		failed := o.Flags&layout.DatGroupShort != 0
		if failed || o.Flags&layout.DatGroupQuiet == 0 {
			ev := collectiveEvent(o.Kind, failed, c.handle, o.Context)
			c.EVD.post(&ev)
		}
		n.pop()
	case n.State == layout.DatGroupCore && c.group.Held:
		c.group.Held = false
		c.Touched()
	}
}

// failNode ends the group as C has it: what is posted fails, in order.
func (c *Collective) failNode() {
	n := c.node
	n.Failed = 1
	c.setEnded(c.group.Self)
	c.awaitGiver()
	c.group.Fail()
	for n.Queue.Posted > 0 {
		o := n.oldest()
		if o.Flags&layout.DatGroupOfCore != 0 {
			c.group.FailOldest()
			continue
		}
		if !c.over {
			ev := collectiveEvent(o.Kind, true, c.handle, o.Context)
			c.EVD.post(&ev)
		}
		n.pop()
	}
	c.group.Held = false
}

// nodeLost: the process of a member is gone. An operation that is posted fails if it needs more
// than what that has left, as it may have completed what the others have not; what is posted later
// fails.
func (c *Collective) nodeLost(rank int) {
	if n := c.node; n != nil {
		n.Config.Peers[rank], n.Config.Links[rank], n.Lost = 0, 0, 1
		c.setEnded(rank)
	}
}

// setEnded tells C, here and at the other members, that a member publishes no card any more.
func (c *Collective) setEnded(rank int) {
	seats := elements[layout.DatSeat](c.node.area[:seatSize*c.group.Size])
	atomic.StoreUint64(&seats[rank].Ended, 1)
}

// awaitGiver waits, after this member has said that it has ended, for a copy that the other one is in
// the middle of (cshim/dat/coll/give.c): its program has its memory back when it hears of the
// failure.
func (c *Collective) awaitGiver() {
	n := c.node
	if n.Config.Size != 2 || n.Config.Peers[1-n.Config.Rank] == 0 {
		return // nobody writes it, or its process is gone
	}
	link, ep := c.fellows[1-n.Config.Rank].peer.link(c.ia.library)
	if lane, ok := link.(laneLink); ok {
		_, ring := lane.NodePeer(ep)
		seats := elements[layout.DatSeat](n.area[:2*seatSize])
		lane.AwaitCopy(ring, &seats[1-n.Config.Rank].Giving)
	}
}

// closeNode ends C's view of a group, whose end is told to the others afterwards.
func (c *Collective) closeNode() {
	l := c.ia.library
	if n := c.node; n != nil {
		c.failNode()
		c.node, c.slot.Lane = nil, 0
		l.tellGroups()
		n.release(&l.rings)
		c.area = n.area
	}
	if c.area != nil {
		l.network.(AreaMaker).CloseTable(c.area, -1)
		c.area = nil
	}
}

// Crowded says whether there is a group of one node whose members share processors.
func (l *Library) Crowded() bool { return l.groups.crowded }

// tellGroups tells C which groups it has.
func (l *Library) tellGroups() {
	n := l.cfg.Lane
	var list []uint64
	l.groups.crowded = false
	for _, c := range l.groups.list {
		if c != nil && c.node != nil {
			list = append(list, addressOf(c.node.memory))
			l.groups.crowded = l.groups.crowded || c.crowded
		}
	}
	l.rings.put(l.groups.lane)
	l.groups.lane, n.Groups, n.NumGroups = nil, 0, 0
	if len(list) == 0 {
		return
	}
	if b := l.rings.get(8 * len(list)); b != nil {
		copy(elements[uint64](b), list)
		l.groups.lane, n.Groups, n.NumGroups = b, addressOf(b), uint32(len(list))
	}
}
