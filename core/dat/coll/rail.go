package coll

import (
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Rails are the paths to members by an RDMA adapter. Where there are some, they replace the
// messages of links. Each keeps messages in order.
type Rails interface {
	// Has says whether messages to a member, and from it, go by a rail.
	Has(rank int) bool
	// Send sends a message, whose data are at an address; false: there is no room, or the rail
	// has failed. An error: its data cannot be read.
	Send(rank int, m *RailMessage, at transport.Addr) (sent bool, err error)
	// Next is the oldest message that was not taken, and where its data are until Take; false:
	// there is none.
	Next(rank int, m *RailMessage) (at transport.Addr, ok bool)
	Take(rank int)
	// Register opens memory of an operation to the adapter; written: to the member, too, which
	// is to write there. It may stay registered until Deregister, which ends that of all memory
	// of an operation.
	Register(s Span, written bool) (keys RailKeys, ok bool)
	Deregister()
	// Grant says where the message of the member's ask of that number is to be written; to nowhere:
	// it is to come in parts. Granted is the answer to this member's. Write writes s to there:
	// false, there is no room. Written is how many of these were written.
	Grant(rank int, to Grant) bool
	Granted(rank int, number uint64) (to Grant, ok bool)
	Write(rank int, s Span, keys RailKeys, to Grant, at uint64) (n uint64)
	Written(rank int) uint64
	// Failed says whether a rail that an operation needs has failed.
	Failed(rank int) bool
}

// RailKeys name registered memory.
type RailKeys struct{ Local, Remote uint32 }

// Grant is where a message is to be written. N is 0: nowhere.
type Grant struct {
	Addr, N uint64
	Key     uint32
	Number  uint64
}

// The kinds of a rail's messages.
const (
	RailPart    = layout.DatRailPart    // a part of a message
	RailAsk     = layout.DatRailAsk     // where is the message of Total bytes to be written?
	RailWritten = layout.DatRailWritten // it was
)

// RailMessage is a message of a rail.
type RailMessage struct {
	What  uint8
	Kind  Kind
	Seq   uint32
	Check uint64
	Total uint64 // bytes of the plan's message
	N     int    // of this part
}

// RailPartMax is how many bytes a part has at the most.
const RailPartMax = layout.DatRailData

// askMin is the least length of a message that is written straight to where it belongs.
const askMin = 16 << 10

// The steps of a message that is written straight.
const (
	railParts  = iota // it is sent in parts
	railAsked         // waits until the receiver has granted a place
	railWrites        // waits until the adapter has written it
)

// railOut is the state of a message that a rail is sending.
type railOut struct {
	begun  bool
	state  int
	keys   RailKeys
	to     Grant
	writes uint64 // Written when it is over
}

// railState is a group's state of a rail.
type railState struct {
	asks, asked uint64 // numbers of asks: own, and the member's
	writes      uint64 // posted requests
	out         railOut
	granted     bool // the oldest expected message is being written
	grant       Grant
	due         bool // the grant had no room
	tried       bool // it was made, or cannot be
}

// SetRails gives the group its rails, before the first operation after the creation.
func (g *Group) SetRails(r Rails) {
	g.rails, g.railStates = r, make([]railState, g.Size)
}

// byRail says whether messages of operations to a member, and from it, go by a rail.
func (g *Group) byRail(rank int) bool { return g.rails != nil && g.rails.Has(rank) }

// pollRails goes on with messages from members by rails; true: something happened.
func (g *Group) pollRails() (some bool) {
	if g.rails == nil || g.broken {
		return false
	}
	for rank := range g.members {
		if len(g.members[rank].expects) > 0 && g.rails.Has(rank) && g.receiveRail(rank) {
			some = true
		}
		if m := &g.members[rank]; len(m.queue) > 0 && !g.broken && g.rails.Has(rank) {
			g.sendRail(rank, m)
		}
	}
	return some
}

// receiveRail takes what a member has sent of what is expected. Rails keep order, so all that comes
// is of the oldest expected message.
func (g *Group) receiveRail(rank int) (some bool) {
	m, s := &g.members[rank], &g.railStates[rank]
	if s.due {
		s.due = !g.rails.Grant(rank, s.grant)
	}
	var r RailMessage
	for len(m.expects) > 0 && !g.broken {
		at, ok := g.rails.Next(rank, &r)
		if !ok {
			if m.gone || g.rails.Failed(rank) {
				g.fail()
			}
			return some
		}
		some = true
		g.takeRail(rank, &r, at)
		if !g.broken {
			g.rails.Take(rank)
		}
	}
	return some
}

// takeRail takes one message.
func (g *Group) takeRail(rank int, r *RailMessage, at transport.Addr) {
	m, s := &g.members[rank], &g.railStates[rank]
	x := m.expects[0]
	if r.Kind != x.o.Kind || r.Seq != uint32(g.seq) || r.Check != x.o.Check {
		g.fail() // members have called different operations
		return
	}
	if r.Total > x.span.N || r.Total < x.span.N && !x.atMost {
		x.o.Failed = true
	}
	switch n := uint64(r.N); {
	case r.What == RailPart && !s.granted && x.got+n <= r.Total:
		if room := min(n, max(x.span.N, x.got)-x.got); room > 0 &&
			memory.Copy(x.span.Addr+transport.Addr(x.got), at, room) != nil {
			g.fail()
			return
		}
		x.got += n
	case r.What == RailAsk && !s.granted && x.got == 0 && r.Total > 0:
		g.grantRail(rank, x, r.Total)
		return
	case r.What == RailWritten && s.granted:
		x.got, s.granted = r.Total, false
	default:
		g.fail()
		return
	}
	if x.got == r.Total {
		g.arrived(rank, x, r.Total)
	}
}

// grantRail answers an ask.
func (g *Group) grantRail(rank int, x *expected, total uint64) {
	s := &g.railStates[rank]
	s.asked++
	s.grant = Grant{Number: s.asked}
	if to := x.span.part(0, min(total, x.span.N)); to.N > 0 {
		if keys, ok := g.rails.Register(g.enclosing(x.o, to), true); ok {
			s.granted = true
			s.grant.Addr, s.grant.N, s.grant.Key = uint64(to.Addr), to.N, keys.Remote
		}
	}
	s.due = !g.rails.Grant(rank, s.grant)
}

// enclosing is what of an operation's memory is registered for a part of it: so the parts of one
// buffer are registered at once.
func (g *Group) enclosing(o *Operation, s Span) Span {
	for _, whole := range []Span{o.Send.One, o.Recv.One} {
		if s.Addr >= whole.Addr && s.Addr-whole.Addr <= transport.Addr(whole.N) &&
			s.N <= whole.N-uint64(s.Addr-whole.Addr) {
			return whole
		}
	}
	for _, b := range o.plan.scratch {
		at := memory.AddrOf(b)
		if s.Addr >= at && uint64(s.Addr-at)+s.N <= uint64(len(b)) {
			return Span{at, uint64(len(b))}
		}
	}
	return s
}

// sendRail sends the messages to a member as far as they can go.
func (g *Group) sendRail(rank int, m *member) {
	s := &g.railStates[rank]
	for len(m.queue) > 0 && !g.broken {
		x := m.queue[0]
		if !s.out.begun {
			s.out = railOut{begun: true, state: railParts}
			if x.span.N >= askMin && !g.beginStraight(rank, x, s) {
				s.out.begun = false
				return
			}
		}
		done := false
		switch s.out.state {
		case railParts:
			done = g.sendParts(rank, x)
		default:
			done = g.sendStraight(rank, x, s)
		}
		if !done {
			return
		}
		m.queue[0] = nil
		m.queue = m.queue[1:]
		s.out = railOut{}
		x.all = true
		g.sentAll(x)
	}
}

// railMessage is a message of x.
func (g *Group) railMessage(x *outgoing, what uint8, n uint64) *RailMessage {
	return &RailMessage{What: what, Kind: x.o.Kind, Seq: uint32(g.seq), Check: x.o.Check,
		Total: x.span.N, N: int(n)}
}

// beginStraight asks where a long message is to be written, if its memory can be registered; false:
// there is no room.
func (g *Group) beginStraight(rank int, x *outgoing, s *railState) bool {
	keys, ok := g.rails.Register(g.enclosing(x.o, x.span), false)
	if !ok {
		return true
	}
	if sent, _ := g.rails.Send(rank, g.railMessage(x, RailAsk, 0), 0); !sent {
		g.railLost(rank)
		return false
	}
	s.asks++
	s.out.state, s.out.keys = railAsked, keys
	return true
}

// railLost fails the group if the rail to a member has failed.
func (g *Group) railLost(rank int) {
	if g.rails.Failed(rank) {
		g.fail()
	}
}

// sendParts sends the rest of a message; true: that is all.
func (g *Group) sendParts(rank int, x *outgoing) bool {
	for {
		n := min(x.span.N-x.at, RailPartMax)
		sent, err := g.rails.Send(rank, g.railMessage(x, RailPart, n),
			x.span.Addr+transport.Addr(x.at))
		switch {
		case err != nil:
			g.fail() // the consumer's memory cannot be read
			return false
		case !sent:
			g.railLost(rank)
			return false
		}
		if x.at += n; x.at == x.span.N {
			return true
		}
	}
}

// sendStraight goes on with a message that is written straight; true: it was.
func (g *Group) sendStraight(rank int, x *outgoing, s *railState) bool {
	o := &s.out
	if o.state == railAsked {
		to, ok := g.rails.Granted(rank, s.asks)
		switch {
		case !ok:
			if g.members[rank].gone {
				return true
			}
			g.railLost(rank)
			return false
		case to.N == 0:
			o.state = railParts
			return g.sendParts(rank, x)
		}
		o.to, o.state = to, railWrites
		o.to.N = min(to.N, x.span.N)
	}
	for x.at < o.to.N {
		n := g.rails.Write(rank, x.span, o.keys, o.to, x.at)
		if n == 0 {
			g.railLost(rank)
			return false
		}
		s.writes++
		x.at += n
	}
	if o.writes == 0 {
		if sent, _ := g.rails.Send(rank, g.railMessage(x, RailWritten, 0), 0); !sent {
			g.railLost(rank)
			return false
		}
		o.writes = s.writes
	}
	if g.rails.Written(rank) < o.writes && !g.members[rank].gone {
		g.railLost(rank)
		return false
	}
	return true
}

// CutRails ends the adapter's work on memory of operations.
func (g *Group) cutRails() {
	if g.rails != nil {
		g.rails.Deregister()
	}
}
