package bulk

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// Take takes in a packet of p's with a control. False: no peer that keeps to the protocol sends it.
func (p *Peer) Take(k wire.Kind, header, data []byte) bool {
	var c wire.Control
	c.Decode(header)
	switch k {
	case wire.KindPut:
		p.onPut(&c, data)
	case wire.KindAsk:
		return p.onAsk(&c)
	case wire.KindWant:
		p.onWant(wire.KindGrant, &c, append(p.set.asked[:0],
			transport.Range{Addr: transport.Addr(c.Addr), N: c.N}))
	case wire.KindWants:
		p.onWant(wire.KindGrants, &c, rangesOf(p.set.asked[:0], data))
	case wire.KindFinish:
		p.onFinish(&c)
	default:
		p.onAnswer(k, &c, data)
	}
	return true
}

// onPut writes a part of a copied put to memory.
func (p *Peer) onPut(c *wire.Control, data []byte) {
	if c.Status == wire.StatusNoticed || c.Status == wire.StatusNoticedLast {
		p.onNoticedPut(c, data)
		return
	}
	r := reply{kind: wire.KindPutDone, Control: wire.Control{Token: c.Token}}
	if err := memory.CopyIn(transport.Addr(c.Addr), data); err != nil {
		r.Status, r.Addr = wire.StatusFault, uint64(faultAt(err, c.Addr))
	} else if p.set.cfg.Stats.DataReceived += uint64(len(data)); c.Status != wire.StatusLast {
		return
	}
	p.answer(r)
}

func faultAt(err error, otherwise uint64) transport.Addr {
	if f, ok := err.(*transport.FaultError); ok {
		return f.Addr
	}
	return transport.Addr(otherwise)
}

// onAsk answers with a part of memory.
func (p *Peer) onAsk(c *wire.Control) bool {
	if c.N > wire.ChunkMax || len(p.owed)-p.first >= owedMax {
		return false
	}
	p.answer(reply{kind: wire.KindGot, data: c.N > 0, asked: c.Status,
		Control: wire.Control{Token: c.Token, Addr: c.Addr, N: c.N, Offset: c.Offset,
			Notice: c.Notice}})
	return true
}

// reply is an answer that there was no room for.
type reply struct {
	kind wire.Kind
	wire.Control
	data  bool        // of KindGot: the data lies at Addr
	asked wire.Status // of KindGot: that of the question
}

// Answer sends a control, at once or later.
func (p *Peer) Answer(k wire.Kind, c wire.Control) { p.answer(reply{kind: k, Control: c}) }

// Owes says whether answers wait for room: they go before messages.
func (p *Peer) Owes() bool { return p.first < len(p.owed) }

// answer sends r, at once or later. How many wait is bounded by what peers may ask for.
func (p *Peer) answer(r reply) {
	p.owed = append(p.owed, r)
	p.Pay()
}

// Pay sends answers while there is room.
func (p *Peer) Pay() {
	for p.first < len(p.owed) {
		r := &p.owed[p.first]
		if err := p.send(r); err == transport.ErrBusy {
			p.owed = append(p.owed[:0], p.owed[p.first:]...)
			p.first = 0
			return
		}
		p.first++
	}
	p.owed, p.first = p.owed[:0], 0
}

// send sends an answer. Data that cannot be read makes it report the fault.
func (p *Peer) send(r *reply) error {
	if r.kind == wire.KindGrants {
		return p.sendKeys(r)
	}
	if !r.data {
		return p.task.Control(r.kind, &r.Control, 0, 0)
	}
	err := p.task.Control(r.kind, &r.Control, transport.Addr(r.Addr), r.N)
	if f, ok := err.(*transport.FaultError); ok {
		r.data, r.Status, r.Addr = false, wire.StatusFault, uint64(f.Addr)
		if r.asked == wire.StatusNoticed || r.asked == wire.StatusNoticedLast {
			p.badAddress(transport.NoticeGet, r.Token, f.Addr, r.asked == wire.StatusNoticedLast)
		}
		return p.task.Control(r.kind, &r.Control, 0, 0)
	}
	if err == nil {
		p.set.cfg.Stats.DataSent += r.N
		if r.asked == wire.StatusNoticedLast && !p.forget(r.Token) && r.Notice != (transport.Notice{}) {
			p.notice(transport.NoticeGet, r.Offset+r.N, r.Notice)
		}
	}
	return err
}
