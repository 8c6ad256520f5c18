package coll

import (
	"lapi/transport"
)

// Owner gets completions, and moves messages. It may post, and must not call Pump.
type Owner interface {
	// Send sends a message to a member, as transport.Link's Send.
	Send(to int, header []byte, op *transport.Op) (transport.Status, error)
	// SendMax is how many bytes a message to a member may have, header included.
	SendMax(to int) int
	// Completed: an operation is over.
	Completed(o *Operation)
	// Woken: a member has woken this process, which has said that it sleeps.
	Woken(from int)
	// Touched: Pump has something to do.
	Touched()
}

// Config is the configuration of a group.
type Config struct {
	Self, Size int
	Owner      Owner
	Kernel     Kernel
	Memory     Memory
	Clock      transport.Clock
	// Conn and Tag are how each member knows its group. They are set by Join.
	Window uint64 // bytes of a member's early messages; 0: Window
}

// Window is how many bytes one member may send another beyond what that one has consumed.
const Window = 256 << 10

// fragmentCost is the cost in the window of a fragment beside its data.
const fragmentCost = 64

// Operation is an operation of a group, from Post until Completed.
type Operation struct {
	Args
	Failed bool // not all of it was done

	plan    *Plan
	at      int  // round
	begun   bool // round 0 has begun
	over    bool
	pending int // messages of the round, or answers, that are still to come
	held    int // fragments whose memory links need
}

// Group is this member's view of a group.
type Group struct {
	Self, Size int
	Dropped    uint64 // messages that no operation waits for

	cfg         Config
	members     []member
	ops         []*Operation // that are not complete, oldest first
	seq         uint64       // number of the oldest one, or of the next
	broken      bool
	lost        bool   // the process of some member is gone, which has not ended before
	ended       bool   // some member takes part in no operation from until on
	until       uint64 // the lowest of those
	endedAt     uint64 // of a broken group: the operation that has failed here
	all         []int
	nodes       *nodes
	places      []byte // while the members exchange theirs
	flagsOfAll  uint8  // flags of all, and of some
	flagsOfSome uint8
	competing   int
	longDouble  bool // of C has one format at all members
	clock       clock
	touched     bool
	due         []int // members to which something may be sent
	marked      []int // unused
	linkOps     transport.Ops
	rails       Rails // nil: there are none
	railStates  []railState
	meeting     *meeting
	held        uint64 // operations of the owner beside ops
	header      [HeaderSize]byte
}

// New makes a group. Members are to Join before anything is posted.
func New(c Config) *Group {
	if c.Window == 0 {
		c.Window = Window
	}
	g := &Group{Self: c.Self, Size: c.Size, cfg: c, members: make([]member, c.Size)}
	g.linkOps.Done = g.opDone
	g.clock.begin(c.Clock())
	return g
}

// Join says how a member knows its group.
func (g *Group) Join(rank int, conn, tag uint32) {
	g.members[rank].conn, g.members[rank].tag = conn, tag
	g.members[rank].joined = true
}

// Joined says whether messages to a member can be sent, and taken from it.
func (g *Group) Joined(rank int) bool { return g.members[rank].joined }

// Post adds an operation. It completes by Owner.Completed, never from
// inside.
func (g *Group) Post(a *Args) {
	g.ops = append(g.ops, &Operation{Args: *a})
	g.touch()
}

// Pending is how many operations are not complete.
func (g *Group) Pending() int { return len(g.ops) }

// Numbered is how many operations are not complete that have numbers.
func (g *Group) Numbered() (n int) {
	for _, o := range g.ops {
		if o.Kind != SetClock {
			n++
		}
	}
	return n
}

// IsIn says whether a member has neither ended nor gone, as far as is known.
func (g *Group) IsIn(rank int) bool { return !g.members[rank].ended && !g.members[rank].gone }

// Seq is the number of the oldest operation, or of the next one.
func (g *Group) Seq() uint64 { return g.seq }

// Broken says whether the group has failed, or has ended, here.
func (g *Group) Broken() bool { return g.broken }

// Fail ends the group, as a failed operation does.
func (g *Group) Fail() { g.fail() }

// Ended is from which operation on some member takes part in none; false: all do.
func (g *Group) Ended() (until uint64, ended bool) { return g.until, g.ended }

// Sync says which number the next operation of Post has, where some are done elsewhere, and how many
// others the owner has.
func (g *Group) Sync(number, others uint64) {
	if len(g.ops) == 0 {
		g.seq = number
	}
	g.held = others
}

// Spoilt says whether some member takes no part in the creation, the first operation.
func (g *Group) Spoilt() bool { return g.ended && g.until == 0 }

// Nodes is the number of the members' nodes, once that is known.
func (g *Group) Nodes() int {
	if g.nodes == nil {
		return 0
	}
	return len(g.nodes.list)
}

// touch makes the owner call Pump.
func (g *Group) touch() {
	if !g.touched {
		g.touched = true
		g.cfg.Owner.Touched()
	}
}

// Pump goes on with everything that can go on. It returns how much that was, and whether something
// waits for room in a link.
func (g *Group) Pump() (done int, waiting bool) {
	g.touched = false
	for {
		if g.pollRails() {
			done++
		}
		for g.step() {
			done++
		}
		if waiting = !g.flush(); waiting || !g.ready() {
			return done, waiting
		}
	}
}

// ready says whether step has something to do.
func (g *Group) ready() bool {
	return len(g.ops) > 0 && (g.broken || !g.ops[0].begun || g.ops[0].pending == 0)
}

// Lost: a member's process is gone, and everything it sent has arrived. Posted operations go on as
// long as they need nothing more of it: it may have completed them before. Operations posted later
// fail.
func (g *Group) Lost(rank int) {
	m := &g.members[rank]
	m.gone, m.unsent = true, 0
	if !m.ended {
		g.lost = true
		g.memberEnded(rank, g.nextSeq())
	}
	if len(m.expects) > 0 && g.byRail(rank) {
		g.receiveRail(rank) // everything it sent has arrived
	}
	if len(m.expects) > 0 || m.clockDue || g.lost && len(g.ops) > 0 && g.ops[0].Kind == SetClock {
		g.fail()
	}
	queue := m.queue
	m.queue = nil
	if g.rails != nil {
		g.railStates[rank].out = railOut{}
	}
	for _, x := range queue { // no member takes these any more
		x.all = true
		g.sentAll(x)
	}
	g.touch()
}

// nextSeq is the number of the operation that is posted next.
func (g *Group) nextSeq() uint64 {
	return g.seq + g.held + uint64(g.Numbered())
}

// memberEnded: a member takes part in no operation from seq on.
func (g *Group) memberEnded(rank int, seq uint64) {
	m := &g.members[rank]
	if m.ended && m.until <= seq {
		return
	}
	m.ended, m.until = true, seq
	if !g.ended || seq < g.until {
		g.ended, g.until = true, seq
	}
	if len(g.ops) > 0 && g.seq >= g.until && (g.lost || g.ops[0].Kind != SetClock) {
		g.fail()
	} else if m.clockDue && !m.gone { // it needs no clock any more
		m.clockDue = false
		g.ops[0].pending--
	}
	g.touch()
}

// fail ends the group: everything that is posted, and whatever will be, fails.
func (g *Group) fail() {
	if g.broken {
		return
	}
	g.broken, g.endedAt = true, g.seq
	g.cutRails()
	for i := range g.members {
		m := &g.members[i]
		m.expects, m.early, m.queue, m.clockDue = nil, nil, nil, false
		m.unsent &= noticeClockSet
		if i != g.Self && m.joined && !m.gone {
			g.notify(i, noticeEnd)
		}
	}
	g.touch()
}

// Free ends the group: everything that is posted fails before it returns. The owner calls Pump
// until Quiet.
func (g *Group) Free() {
	g.fail()
	for g.step() {
	}
	g.forgetPlaces()
}

// Quiet says whether a freed group has no notice to send any more.
func (g *Group) Quiet() bool {
	for i := range g.members {
		if g.members[i].unsent != 0 {
			return false
		}
	}
	return true
}
