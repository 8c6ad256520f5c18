package dat

import (
	"math/bits"
	"runtime"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	view "lapi/cshim/dat/coll"
	"lapi/transport"
	"lapi/transport/layout"
)

// A group's operations are done by one of two engines, from its making to its end: C's, where all
// members are processes of one node that have mapped the group's memory (cshim/dat/coll), or the
// plan's (coll), over links and rails. Where each member is alone on its node and has rails, C does
// short operations by these, and the plan the others, in one queue of C's. C has a view of each group, as it reads the arguments of its calls; an
// operation of the plan's comes back from there (PostJudged).

// chunksLeast is how many chunks a staging buffer has at least: members of large groups go on by
// turns.
const chunksLeast = 8

// groupChunks is how many chunks a member's staging buffer has in a group of size members, and how
// large they are. A small group has as many as the memory allows: the chunk that a member writes
// next has then long moved from its own cache to the shared one, from where other members get it
// sooner.
func groupChunks(size int) (chunks, chunk int) {
	each := layout.DatGroupAll / size
	chunks = min(max(floorPower(each/layout.DatGroupChunk), chunksLeast), layout.DatGroupChunks)
	return chunks, min(layout.DatGroupChunk, floorPower(each/chunks))
}

// floorPower is the largest power of two that is at most n, at least 1.
func floorPower(n int) int { return 1 << max(bits.Len(uint(n))-1, 0) }

// groupSlots is how much of the area rank slots take, groupSize all of it.
func groupSlots(size int) int {
	return int(layout.Paged(uint64(size * layout.DatRankSlotSize)))
}

func groupSize(size int) int {
	chunks, chunk := groupChunks(size)
	return groupSlots(size) + size*chunks*chunk
}

// processors is the number of this process's processors, see Config.
func (g *groupTable) processors() uint16 {
	if g.cfg.Processors == nil {
		return 0
	}
	return g.cfg.Processors()
}

// isCrowded says whether that number of members on this process's processors share them.
func isCrowded(members int) bool { return members > runtime.NumCPU() }

// nodePeer is C's record of the link to a member; nil: the member is no other process of this node.
func (f *groupMember) nodePeer() (*layout.NodeLink, *layout.NodePeer) {
	if f.peer == nil {
		return nil, nil
	}
	link, ep := f.peer.link()
	lane, ok := link.(laneLink)
	if !ok {
		return nil, nil
	}
	peer, _ := lane.NodePeer(ep)
	return lane.Node(), peer
}

// readsAll says whether this process can read the memory of all other members.
func (c *Collective) readsAll() bool {
	for _, f := range c.members {
		if f.rank == c.group.Self {
			continue
		}
		if _, peer := f.nodePeer(); peer == nil || peer.Direct == 0 {
			return false
		}
	}
	return true
}

// openView makes C's view of a group whose members are all connected; false: there is no memory.
// Where there is none for the node's engine, the group goes without that.
func (c *Collective) openView() bool {
	size := c.group.Size
	config := layout.DatGroupConfig{Handle: uint64(c.handle), Evd: uint64(c.EVD.handle),
		Size: uint32(size), Rank: uint32(c.group.Self)}
	if c.area != nil {
		chunks, chunk := groupChunks(size)
		config.Slots = addressOf(c.area)
		config.Staging = config.Slots + uint64(groupSlots(size))
		config.Chunks, config.Chunk = uint32(chunks), uint32(chunk)
		if c.isRandom() {
			config.Random = c.seed | 1
		}
		for _, f := range c.members {
			link, peer := f.nodePeer()
			config.Links[f.rank], config.Peers[f.rank] = uint64At(link), uint64At(peer)
		}
		if c.view = view.Open(&config); c.view == nil {
			c.closeArea()
			config.Slots = 0
		}
	}
	if c.view == nil {
		c.view = view.Open(&config)
	}
	return c.view != nil
}

// settle chooses the engine, as all other members do: by the flags of the exchange of places
// and, where LAPI_FASTLANE is random at some, by the first member's coin.
func (c *Collective) settle() {
	all, some := c.group.Flags()
	coin := some&areaRandom == 0 || c.seed>>16&1 == 0
	switch {
	case all&areaMapped != 0 && coin:
		c.engine = layout.DatEngineNode
	case c.rails != nil && c.group.Alone() && all&areaShort != 0 &&
		(some&areaRandom == 0 || c.id&1 == 0): // members on several nodes have no seed in common
		c.engine = layout.DatEngineRails
	default:
		c.engine = layout.DatEnginePlan
	}
	if c.engine != layout.DatEngineNode { // members on several nodes may run on one host
		c.crowded = isCrowded(c.group.Competing())
	}
	c.view.Settle(c.engine, view.Agreed{Reads: all&areaReads != 0, Crowded: c.crowded,
		LongDouble: c.group.OneLongDouble()})
	if c.short() {
		c.view.Begin(c.group.Seq())
	}
	if c.engine != layout.DatEngineNode {
		c.closeArea()
	}
	if c.engine != layout.DatEnginePlan {
		c.EVD.useByCore(-1)
	}
	c.ia.library.groups.countCrowded()
}

// closeView ends C's view: posted operations fail, and the members of the node are woken.
func (c *Collective) closeView() {
	if c.view != nil {
		c.view.Close()
		c.view = nil
	}
	c.closeArea()
	c.ia.library.groups.countCrowded()
}

func (c *Collective) closeArea() {
	if c.area != nil {
		c.ia.library.network.(AreaMaker).CloseTable(c.area, -1)
		c.area = nil
	}
}

// Crowded says whether there is a group whose members share processors.
func (l *Library) Crowded() bool { return l.groups.crowded }

func (g *groupTable) countCrowded() {
	g.crowded = false
	for _, c := range g.list {
		g.crowded = g.crowded || c != nil && c.made && c.view != nil && c.crowded
	}
}

// ReadClock is dat_collective_read_clock.
func (c *Collective) ReadClock() uint64 {
	if c.engine == layout.DatEngineNode {
		return c.view.Clock()
	}
	return c.group.ReadClock()
}

// PostJudged posts an operation that C has read. Where its flags say so, parts has one for each rank
// to send, and then one for each to receive.
func (c *Collective) PostJudged(o *layout.DatGroupOp, parts []layout.DatSpan) codes.Return {
	n := c.group.Size
	a := &coll.Args{Kind: coll.Kind(o.Kind), Check: o.Check, Root: int(o.Root), Op: int(int32(o.Op)),
		Type: int(int32(o.Type)), Context: o.Context, Clock: o.N,
		Suppress: o.Flags&layout.DatGroupQuiet != 0,
		Send:     coll.Parts{One: spanOf(o.Send), Stride: o.SendStride},
		Recv:     coll.Parts{One: spanOf(o.Recv), Stride: o.RecvStride}}
	if o.Flags&layout.DatGroupSendList != 0 {
		a.Send.List = spansOf(parts[:n])
	}
	if o.Flags&layout.DatGroupRecvList != 0 {
		a.Recv.List = spansOf(parts[n:])
	}
	return c.Post(a)
}

func spanOf(s layout.DatSpan) coll.Span { return coll.Span{Addr: transport.Addr(s.Addr), N: s.N} }

func spansOf(list []layout.DatSpan) (spans []coll.Span) {
	for _, s := range list {
		spans = append(spans, spanOf(s))
	}
	return spans
}
