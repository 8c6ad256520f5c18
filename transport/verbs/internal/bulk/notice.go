package bulk

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// Puts and gets whose target's owner is notified (transport.Noticing). They are calls like others: the
// notice comes with the packet that ends them, Finish or the last part that is copied. So it needs
// no packet of its own, and cannot come before the data, nor twice.

// part is the status of c's next copied part, of n bytes.
func (c *call) part(n uint64) wire.Status {
	last := c.sent+n == c.op.N
	switch {
	case c.tells && last:
		return wire.StatusNoticedLast
	case c.tells:
		return wire.StatusNoticed
	case last && !c.get:
		return wire.StatusLast
	}
	return wire.StatusOK
}

// notice notifies the owner.
func (p *Peer) notice(kind transport.NoticeKind, n uint64, notice transport.Notice) {
	if p.set.noticed != nil && !p.task.Gone() {
		p.set.noticed(kind, p.task.Endpoint(), n, notice)
	}
}

// onNoticedPut is onPut for a put with a notice: a bad address is reported to this owner, once, and
// not to the origin.
func (p *Peer) onNoticedPut(c *wire.Control, data []byte) {
	last := c.Status == wire.StatusNoticedLast
	bad := p.faulty[c.Token]
	if !bad {
		if err := memory.CopyIn(transport.Addr(c.Addr), data); err != nil {
			p.badAddress(transport.NoticePut, c.Token, faultAt(err, c.Addr), last)
			bad = true
		} else {
			p.set.cfg.Stats.DataReceived += uint64(len(data))
		}
	}
	if !last || p.task.Gone() {
		return
	}
	p.forget(c.Token)
	p.answer(reply{kind: wire.KindPutDone, Control: wire.Control{Token: c.Token}})
	if !bad {
		p.notice(transport.NoticePut, c.N, c.Notice)
	}
}

// badAddress reports to the owner that a transfer of p's names a bad address, once for each, which
// token names.
func (p *Peer) badAddress(kind transport.NoticeKind, token uint64, at transport.Addr, last bool) {
	reported := p.faulty[token]
	switch {
	case last:
		delete(p.faulty, token)
	case p.faulty == nil:
		p.faulty = map[uint64]bool{token: true}
	default:
		if len(p.faulty) >= 2*CallsMax { // a peer that keeps to the protocol has fewer
			clear(p.faulty)
		}
		p.faulty[token] = true
	}
	if !reported && p.set.faulted != nil && !p.task.Gone() {
		p.set.faulted(kind, p.task.Endpoint(), at)
	}
}

// forget says whether a bad address of that transfer was reported, and forgets it.
func (p *Peer) forget(token uint64) bool {
	bad := p.faulty[token]
	delete(p.faulty, token)
	return bad
}
