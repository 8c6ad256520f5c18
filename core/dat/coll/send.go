package coll

import (
	"errors"

	"lapi/transport"
)

// Notices to a member, bits of member.unsent.
const (
	noticeCredit = 1 << iota
	noticeEnd
	noticeClock
	noticeClockSet
	noticeWake
)

// member is a group's state of one of its members.
type member struct {
	conn, tag uint32
	joined    bool
	gone      bool   // its process is gone
	ended     bool   // it takes part in no operation from until on
	until     uint64 //
	unsent    uint8
	marked    bool   // it is in Group.due
	clockDue  bool   // it has not answered the setting of the clock
	clockNum  uint32 // of the setting, here and there
	clockEcho uint32

	queue    []*outgoing // to it, oldest first
	numbered uint32      // messages to it in the plans so far
	sent     uint64      // bytes, as the window counts them
	credit   uint64      // how many of these it has consumed

	expects  []*expected // from it
	awaited  uint32      // messages from it in the plans so far
	early    []fragment
	earlyN   uint64
	consumed uint64
	credited uint64 // of these
}

// outgoing is a message to a member.
type outgoing struct {
	o      *Operation
	span   Span
	number uint32
	at     uint64 // bytes that links have taken
	held   int    // fragments whose memory they still need
	all    bool
}

// queue adds a message of an operation's.
func (g *Group) queue(o *Operation, t transfer) {
	m := &g.members[t.rank]
	x := &outgoing{o: o, span: t.span, number: m.numbered}
	m.numbered++
	if m.gone {
		o.pending--
		return
	}
	m.queue = append(m.queue, x)
	g.mark(t.rank)
}

// Wake has a member look at its rails: a thread of its process sleeps.
func (g *Group) Wake(rank int) {
	if m := &g.members[rank]; m.joined && !m.gone {
		g.notify(rank, noticeWake)
	}
}

// mark makes flush look at a member.
func (g *Group) mark(rank int) {
	if m := &g.members[rank]; !m.marked {
		m.marked = true
		g.due = append(g.due, rank)
	}
	g.touch()
}

// notify makes flush send notices to a member.
func (g *Group) notify(rank int, bits uint8) {
	g.members[rank].unsent |= bits
	g.mark(rank)
}

// flush sends what may be sent; false: a link has no room.
func (g *Group) flush() bool {
	ok := true
	list := g.due
	g.due = g.marked[:0]
	for _, rank := range list {
		m := &g.members[rank]
		m.marked = false
		if g.byRail(rank) {
			g.sendRail(rank, m)
		} else if len(m.queue) > 0 && !g.sendQueue(rank, m) {
			ok = false
			g.mark(rank)
		}
		if m.unsent != 0 && !g.sendNotices(rank, m) {
			ok = false
			g.mark(rank)
		}
	}
	g.marked = list[:0]
	return ok
}

// sendQueue sends messages to a member as far as its window allows; false: the link has no room.
func (g *Group) sendQueue(rank int, m *member) bool {
	most := uint64(g.cfg.Owner.SendMax(rank)-HeaderSize) &^ 7
	for len(m.queue) > 0 {
		x := m.queue[0]
		n := min(x.span.N-x.at, most)
		if way := m.sent - m.credit; way > 0 && way+n+fragmentCost > g.cfg.Window {
			return true
		}
		switch err := g.sendFragment(rank, m, x, n); {
		case errors.Is(err, transport.ErrBusy):
			return false
		case err != nil:
			g.fail() // the consumer's memory cannot be read
			return true
		}
		m.sent += n + fragmentCost
		if x.at += n; x.at == x.span.N {
			m.queue[0] = nil
			m.queue = m.queue[1:]
			x.all = true
			g.sentAll(x)
		}
	}
	return true
}

// sentAll takes a message off the pending ones of its round, once links need its memory no more.
func (g *Group) sentAll(x *outgoing) {
	if x.all && x.held == 0 && !x.o.over {
		x.o.pending--
		g.touch()
	}
}

// sendFragment sends n bytes of a message.
func (g *Group) sendFragment(rank int, m *member, x *outgoing, n uint64) error {
	h := Header{What: sayData, Kind: x.o.Kind, Number: x.number, Seq: uint32(g.seq),
		Total: x.span.N, Offset: x.at, Check: x.o.Check}
	op := g.linkOps.Get()
	op.Local, op.N, op.Owner = x.span.Addr+transport.Addr(x.at), n, x
	status, err := g.send(rank, m, &h, op)
	if err == nil && status == transport.Queued {
		x.held++
		x.o.held++
		return nil
	}
	g.linkOps.Put(op)
	return err
}

// send sends a message. The owner reports a member that is gone by Lost.
func (g *Group) send(rank int, m *member, h *Header, op *transport.Op) (transport.Status, error) {
	h.Conn, h.Tag, h.From = m.conn, m.tag, uint32(g.Self)
	h.put(g.header[:])
	status, err := g.cfg.Owner.Send(rank, g.header[:], op)
	if errors.Is(err, transport.ErrUnreachable) || errors.Is(err, transport.ErrClosed) {
		return transport.Done, nil
	}
	return status, err
}

// sendNotices sends a member its notices; false: the link has no room.
func (g *Group) sendNotices(rank int, m *member) bool {
	for _, notice := range []struct {
		bit  uint8
		what what
	}{{noticeCredit, sayCredit}, {noticeClockSet, sayClockSet}, {noticeClock, sayClock},
		{noticeEnd, sayEnd}, {noticeWake, sayWake}} {
		if m.unsent&notice.bit == 0 {
			continue
		}
		h := Header{What: notice.what}
		switch notice.what {
		case sayCredit:
			h.Total = m.consumed
		case sayClock:
			h.Total, h.Number = g.ReadClock(), m.clockNum
		case sayClockSet:
			h.Number = m.clockEcho
		case sayEnd:
			h.Total = g.endedAt
		}
		op := g.linkOps.Get()
		status, err := g.send(rank, m, &h, op)
		if err != nil || status != transport.Queued {
			g.linkOps.Put(op)
		}
		if errors.Is(err, transport.ErrBusy) {
			return false
		}
		m.unsent &^= notice.bit
		if notice.what == sayCredit {
			m.credited = m.consumed
		}
	}
	return true
}

// opDone: a link no longer needs the memory of a fragment.
func (g *Group) opDone(op *transport.Op, err error) {
	x, ok := op.Owner.(*outgoing)
	g.linkOps.Put(op)
	if !ok {
		return
	}
	x.held--
	x.o.held--
	var fault *transport.FaultError
	if errors.As(err, &fault) {
		g.fail()
	}
	g.sentAll(x)
	g.settle(x.o)
}
