package coll

import (
	"bytes"
	"slices"

	"lapi/transport/memory"
)

// expected is a message that an operation waits for.
type expected struct {
	o      *Operation
	span   Span
	number uint32
	atMost bool
	length *uint64
	got    uint64
}

// fragment is a fragment that has arrived before its operation.
type fragment struct {
	h    Header
	data []byte
}

// expect waits for a message, of which fragments may be here.
func (g *Group) expect(o *Operation, t transfer) {
	m := &g.members[t.rank]
	x := &expected{o: o, span: t.span, number: m.awaited, atMost: t.atMost,
		length: t.length}
	m.awaited++
	m.expects = append(m.expects, x)
	for i := 0; i < len(m.early) && !g.broken; {
		if m.early[i].h.Number != x.number {
			i++
			continue
		}
		f := m.early[i]
		m.early = slices.Delete(m.early, i, i+1)
		m.earlyN -= uint64(len(f.data)) + fragmentCost
		g.place(t.rank, x, &f.h, f.data)
	}
	if g.byRail(t.rank) && !g.broken {
		g.receiveRail(t.rank)
	}
	if m.gone && !g.broken && slices.Contains(m.expects, x) {
		g.fail() // it will not arrive any more
	}
}

// OnMessage takes a message that is from a member.
func (g *Group) OnMessage(from int, h *Header, data []byte) {
	m := &g.members[from]
	switch h.What {
	case sayData:
		g.onData(from, h, data)
	case sayCredit:
		if way := h.Total - m.credit; way <= m.sent-m.credit { // else it is an old one, overtaken
			m.credit = h.Total
			g.mark(from)
		}
	case sayEnd:
		g.memberEnded(from, h.Total)
	case sayWake:
		g.cfg.Owner.Woken(from)
	case sayClock:
		g.clock.atLeast(h.Total, g.cfg.Clock())
		m.clockEcho = h.Number
		g.notify(from, noticeClockSet)
	case sayClockSet:
		if m.clockDue && h.Number == m.clockNum && len(g.ops) > 0 {
			m.clockDue = false
			g.ops[0].pending--
			g.touch()
		}
	}
}

// onData takes a fragment.
func (g *Group) onData(from int, h *Header, data []byte) {
	m := &g.members[from]
	cost := uint64(len(data)) + fragmentCost
	switch {
	case g.broken:
		g.Dropped++
		return
	case h.Offset > h.Total || uint64(len(data)) > h.Total-h.Offset:
		g.fail()
		return
	}
	for _, x := range m.expects {
		if x.number == h.Number {
			g.place(from, x, h, data)
			return
		}
	}
	switch {
	case h.Number-m.awaited >= 1<<31: // a link delivers once: this one is forged
		g.Dropped++
	case m.earlyN > 0 && m.earlyN+cost > g.cfg.Window:
		g.fail() // it has exceeded its window
	default:
		m.early = append(m.early, fragment{*h, bytes.Clone(data)})
		m.earlyN += cost
	}
}

// place puts a fragment where it belongs. Of a message that is too long the rest is dropped, and
// the operation has failed at this member only.
func (g *Group) place(from int, x *expected, h *Header, data []byte) {
	m := &g.members[from]
	if h.Kind != x.o.Kind || h.Seq != uint32(g.seq) || h.Check != x.o.Check {
		g.fail() // members have called different operations
		return
	}
	n := uint64(len(data))
	if x.got+n > h.Total {
		g.fail()
		return
	}
	if h.Total > x.span.N || h.Total < x.span.N && !x.atMost {
		x.o.Failed = true
	}
	if room := max(x.span.N, h.Offset) - h.Offset; room > 0 && n > 0 {
		to := x.span.part(h.Offset, min(n, room))
		if memory.CopyIn(to.Addr, data[:to.N]) != nil {
			g.fail()
			return
		}
	}
	m.consumed += n + fragmentCost
	if m.consumed-m.credited >= g.cfg.Window/4 {
		g.notify(from, noticeCredit)
	}
	if x.got += n; x.got == h.Total {
		g.arrived(from, x, h.Total)
	}
}

// arrived: all of a message has arrived.
func (g *Group) arrived(from int, x *expected, total uint64) {
	m := &g.members[from]
	if x.length != nil {
		*x.length = total
	}
	m.expects = slices.DeleteFunc(m.expects, func(o *expected) bool { return o == x })
	x.o.pending--
	g.touch()
}
