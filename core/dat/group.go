package dat

import (
	"slices"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	"lapi/core/progress"
	view "lapi/cshim/dat/coll"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Collective is a group of collective operations, as this member has it:
//
//	dat_collective_create_group ─> making ─ all members are connected ─> places ──> made
//	                                  └──── too late, or one is gone ───────┴────> over
//
// Higher ranks connect to lower ones. A request that comes before this member's call waits.
type Collective struct {
	base
	EVD *EVD
	PZ  *PZ

	group      *coll.Group
	id         uint32
	qualifier  uint64 // at which other members reach this one
	members    []*groupMember
	missing    int // members that are not connected
	made       bool
	over       bool // the consumer gets no event any more
	until      int64
	askAt      int64 // time to ask members that have not connected whether they live
	askPause   int64
	info       *GroupInfo
	user       uint64 // the consumer's context
	index      uint32
	tag        uint32
	touched    bool
	view       *view.Group // C's; nil: not all members are connected yet
	engine     uint32      // layout.DatEngine, of a group that is made
	rails      *rails      // nil: there are none
	processors uint16      // see Config
	longDouble uint8       // likewise
	// of members of one node (group_area.go):
	area    []byte // memory that all members map; nil: there is none
	word    bool   // the first member has published it
	crowded bool   // members share processors
	seed    uint32 // of coins, of LAPI_FASTLANE=random
}

// GroupArgs are the arguments of dat_collective_create_group.
type GroupArgs struct {
	Members []MemberAddress
	Self    int
	ID      uint32
	Info    *GroupInfo // nil: not known
	PZ      Handle
	Context uint64
}

// GroupMax is how many members a group can have.
const GroupMax = peersMax

// groupTable has the groups of a library, and the memory of their operations. Its state lasts from
// the first adapter to the last, but for cfg and memory.
type groupTable struct {
	cfg      *Config
	memory   *arena.Arena
	list     []*Collective // by index; nil: free
	making   []*Collective // groups that are neither made nor over
	touched  []*Collective // groups that have something to do
	spare    []*Collective
	requests []*joinRequest // requests that no group waits for yet, oldest first
	blocks   [][]byte       // large memory that operations have had
	ports    map[*IA]*railPort
	meetings map[uint64]*meetingPoint // by qualifier
	short    bool                     // of tests: C may do short operations without a lane
	railed   []*rails                 // of groups that have rails, or are about to
	crowded  bool                     // members of some of these share processors
}

// NewGroup is dat_collective_create_group. The outcome is an event.
func (e *EVD) NewGroup(a GroupArgs) codes.Return {
	ia := e.ia
	l := ia.library
	pz, r := findIn[*PZ](ia, a.PZ, codes.InvalidHandlePZ, false)
	switch n := len(a.Members); {
	case r != codes.Success:
		return r
	case n < 1 || n > GroupMax:
		return codes.Arg(2)
	case a.Self < 0 || a.Self >= n:
		return codes.Arg(3)
	case a.Info != nil && !a.Info.legal(n, a.Self):
		return codes.Arg(5)
	}
	if r = ia.openGroups(); r != codes.Success {
		return r
	}
	own := &a.Members[a.Self]
	if own.Blob == nil {
		l.openMeeting(own.Qualifier)
	}
	if l.machine.Listener(own.Qualifier) == nil || own.Blob != nil && own.Blob.Key != l.machine.PublicKey() {
		return codes.Arg(1) // this process does not listen there
	}
	for _, o := range l.groups.list {
		if o != nil && !o.over && o.id == a.ID && o.qualifier == own.Qualifier {
			return codes.Arg(4)
		}
	}
	c := &Collective{EVD: e, PZ: pz, id: a.ID, qualifier: own.Qualifier, user: a.Context,
		info: a.Info, until: l.cfg.Clock() + l.cfg.Timeout, askAt: l.cfg.Clock() + firstAsk,
		askPause: firstAsk, missing: len(a.Members) - 1,
		tag: uint32(l.cfg.Random())}
	if !ia.add(KindCollective, c) {
		return codes.InsufficientResources.With(codes.ResourceMemory)
	}
	e.users++
	pz.users++
	e.useByCore(1)
	c.begin(&a)
	return codes.Success
}

// begin connects to the other members.
func (c *Collective) begin(a *GroupArgs) {
	l := c.ia.library
	c.index, c.processors = l.groups.add(c), l.groups.processors()
	c.longDouble = l.cfg.LongDouble
	c.group = coll.New(coll.Config{Self: a.Self, Size: len(a.Members), Owner: c,
		Kernel: l.cfg.Kernel, Memory: &l.groups, Clock: l.cfg.Clock})
	for rank, m := range a.Members {
		c.members = append(c.members, &groupMember{c: c, rank: rank, address: m})
	}
	for _, f := range c.members[:a.Self] {
		if f.dial(); c.over {
			return
		}
	}
	c.admitAll()
	c.connected()
}

// settled: a creation has ended.
func (g *groupTable) settled(c *Collective) {
	g.making = slices.DeleteFunc(g.making, func(o *Collective) bool { return o == c })
}

func (g *groupTable) add(c *Collective) uint32 {
	g.making = append(g.making, c)
	for i, o := range g.list {
		if o == nil {
			g.list[i] = c
			return uint32(i)
		}
	}
	g.list = append(g.list, c)
	return uint32(len(g.list) - 1)
}

// connected goes on when all members are connected: they exchange their places.
func (c *Collective) connected() {
	if c.missing > 0 || c.over || !c.share() {
		return
	}
	if !c.openView() {
		c.fail()
		return
	}
	node := c.group.Self
	local := []int{}
	for _, f := range c.members {
		if f.rank == c.group.Self || f.peer.data == nil || f.peer.data.node != nil {
			node = min(node, f.rank)
			local = append(local, f.rank)
		}
	}
	own := coll.Place{Node: node, Lead: c.info != nil && c.info.leads(local), Flags: c.areaFlags(),
		Processors: c.processors, LongDouble: c.longDouble}
	if !c.group.ExchangePlaces(own, c.user) {
		c.fail()
	}
}

// fail: the group cannot be made.
func (c *Collective) fail() {
	if c.over || c.made {
		return
	}
	ev := collectiveEvent(extGroupFailed, true, 0, c.user)
	c.EVD.post(&ev)
	c.end()
}

// spoilt ends a creation of which some member has already failed, or is gone.
func (c *Collective) spoilt() {
	if !c.made && c.group.Spoilt() {
		c.fail()
	}
}

// end frees the group. Posted operations fail at once.
func (c *Collective) end() {
	if c.over {
		return
	}
	if !c.made {
		c.over = true
		c.ia.library.groups.settled(c)
	}
	if c.short() {
		c.failShort()
	}
	if c.rails != nil {
		c.rails.leave()
	}
	if c.engine == layout.DatEngineNone || c.engine == layout.DatEnginePlan {
		c.EVD.useByCore(-1)
	}
	c.closeView()
	c.group.Free()
	c.over = true
	for _, f := range c.members {
		f.stop()
	}
	c.EVD.users--
	c.PZ.users--
	c.ia.remove(c)
	c.Touched()
}

// Free is dat_collective_free_group.
func (c *Collective) Free() codes.Return {
	c.end()
	return codes.Success
}

// discard implements Object.
func (c *Collective) discard() { c.end() }

// LeaveGroups is for a process that ends: its groups end, and the members have received everything
// sent to them before it returns, if they live.
func (l *Library) LeaveGroups() {
	some := false
	for _, c := range l.groups.list {
		if c != nil {
			some = true
			c.end()
		}
	}
	if some {
		memory.Guard()
		l.drain()
	}
}

// Touched implements coll.Owner.
func (c *Collective) Touched() {
	if !c.touched {
		c.touched = true
		g := &c.ia.library.groups
		g.touched = append(g.touched, c)
	}
}

// Completed implements coll.Owner.
func (c *Collective) Completed(o *coll.Operation) {
	switch {
	case c.over:
	case o.Kind == coll.Create && o.Failed:
		c.fail()
	case o.Kind == coll.Create:
		if !c.meetByRails() {
			c.stands()
		}
	case o.Kind == coll.Connect && o.Failed:
		c.fail()
	case o.Kind == coll.Connect:
		c.railsMet()
		c.stands()
	default:
		if o.Failed || !o.Suppress {
			ev := collectiveEvent(uint32(o.Kind), o.Failed, c.handle, o.Context)
			c.EVD.post(&ev)
		}
		c.passed()
	}
}

// stands: the group is made.
func (c *Collective) stands() {
	c.made = true
	c.ia.library.groups.settled(c)
	c.settle()
	ev := collectiveEvent(uint32(coll.Create), false, c.handle, c.user)
	ev.setPlace(c.group.Self, c.group.Size)
	c.EVD.post(&ev)
}

// Send implements coll.Owner.
func (c *Collective) Send(to int, header []byte, op *transport.Op) (transport.Status, error) {
	f := c.members[to]
	if f.peer == nil {
		return transport.Done, transport.ErrUnreachable
	}
	link, ep := f.peer.link()
	return link.Send(ep, msgCollective, header, op)
}

// SendMax implements coll.Owner.
func (c *Collective) SendMax(to int) int {
	link, _ := c.members[to].peer.link()
	return link.Limits().SendMax
}

// msgCollective is a message of a group.
const msgCollective transport.MsgID = 22

// attach makes the groups take messages of a link.
func (g *groupTable) attach(link transport.Link) {
	link.Handle(msgCollective, func(m *transport.Msg) transport.Verdict {
		return g.onMessage(link, m)
	})
}

// onMessage finds the group of a message. One of a member that this side does not know as
// connected yet comes again later.
func (g *groupTable) onMessage(link transport.Link, m *transport.Msg) transport.Verdict {
	var h coll.Header
	if !h.Decode(m.Hdr) || int(h.Conn) >= len(g.list) {
		return transport.Accept
	}
	c := g.list[h.Conn]
	if c == nil || c.tag != h.Tag || c.over && !h.IsEnd() || int(h.From) >= len(c.members) {
		return transport.Accept
	}
	f := c.members[h.From]
	if f.peer == nil {
		if int(h.From) == c.group.Self || f.gone {
			return transport.Accept
		}
		return transport.Refuse
	}
	if of, ep := f.peer.link(); of == link && ep == m.From {
		c.sync()
		c.group.OnMessage(f.rank, &h, m.Data)
		c.learnEnds()
		c.spoilt()
	}
	return transport.Accept
}

// processGone implements processUser.
func (f *groupMember) processGone(p *peer) {
	if f.peer != p {
		return // its group has ended meanwhile
	}
	f.part()
	f.gone = true
	if f.c.view != nil {
		f.c.view.Lose(f.rank)
	}
	f.c.sync()
	f.c.group.Lost(f.rank)
	if f.c.view != nil && f.c.rails != nil && f.c.rails.Has(f.rank) {
		f.c.view.RailGone(f.rank)
	}
	f.c.learnEnds()
	f.c.spoilt()
}

// pump goes on with groups that can. waiting: some wait for room in a link.
func (g *groupTable) pump() (done int, waiting bool) {
	done = g.turnRails()
	list := g.touched
	g.touched = g.spare[:0]
	for i, c := range list {
		list[i] = nil
		c.touched = false
		n, busy := c.group.Pump()
		done += n
		switch {
		case busy:
			waiting = true
			c.Touched()
		case c.over && c.group.Quiet() && (c.rails == nil || c.rails.left()):
			c.forget()
		}
	}
	g.spare = list[:0]
	return done, waiting
}

// forget drops a group whose end all members know.
func (c *Collective) forget() {
	g := &c.ia.library.groups
	if g.list[c.index] != c {
		return
	}
	g.list[c.index] = nil
	for _, f := range c.members {
		if f.peer != nil {
			f.part()
		}
	}
}

// onTimeout ends creations that have taken too long, and requests that nobody wants.
func (g *groupTable) onTimeout(now int64) {
	for _, c := range slices.Clone(g.making) {
		if now >= c.askAt {
			c.ask(now)
		}
		if now >= c.until {
			c.fail()
		}
	}
	for len(g.requests) > 0 && now >= g.requests[0].until {
		q := g.requests[0]
		g.requests = slices.Delete(g.requests, 0, 1)
		_ = q.attempt.Reject(now, nil)
	}
}

// nextTimeout is when onTimeout or pump has something to do; 0: never. waiting: links have no room.
func (g *groupTable) nextTimeout(waiting bool) (next int64) {
	for _, c := range g.making {
		next = progress.Earlier(next, min(c.until, c.askAt))
	}
	if len(g.requests) > 0 {
		next = progress.Earlier(next, g.requests[0].until)
	}
	if len(g.touched) > 0 && !waiting {
		next = 1
	}
	return progress.Earlier(next, g.nextRails())
}

// close releases the rest with the last adapter.
func (g *groupTable) close() {
	g.closePorts()
	for _, b := range g.blocks {
		arena.Unmap(b)
	}
	*g = groupTable{cfg: g.cfg, memory: g.memory}
}

// blocksMax is how many blocks of large memory are kept for the next operation.
const blocksMax = 4

// Get implements coll.Memory.
func (g *groupTable) Get(n uint64) ([]byte, transport.Addr, error) {
	if n <= arena.Largest {
		b, err := g.memory.Get(int(n))
		return b, memory.AddrOf(b), err
	}
	for i, b := range g.blocks {
		if uint64(cap(b)) >= n {
			g.blocks = slices.Delete(g.blocks, i, i+1)
			return b[:n], memory.AddrOf(b), nil
		}
	}
	b, err := arena.Map(int(n))
	return b, memory.AddrOf(b), err
}

// Put implements coll.Memory.
func (g *groupTable) Put(b []byte) {
	switch {
	case cap(b) <= arena.Largest:
		g.memory.Put(b)
	case len(g.blocks) < blocksMax:
		g.blocks = append(g.blocks, b[:cap(b)])
	default:
		arena.Unmap(b)
	}
}
