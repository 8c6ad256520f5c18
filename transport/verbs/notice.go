package verbs

import (
	"lapi/transport"
	"lapi/transport/memory"
)

// Puts and gets whose target's owner is told (transport.Noticing). They are calls like others: the
// notice comes with the packet that ends them, Finish or the last part that is copied. So it needs
// no packet of its own, and cannot come before the data, nor twice.

// HandleNotices implements transport.Noticing.
func (l *Link) HandleNotices(n transport.NoticeHandler, f transport.FaultHandler) {
	l.noticed, l.faulted = n, f
}

// PutNotice implements transport.Noticing. RouteSingleCopy is RDMA whatever the length, RouteAny
// from Config.BulkMin on. Done, and Op.Done, mean that the data is in place.
func (l *Link) PutNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.startNoticed(ep, op, false)
}

// GetNotice implements transport.Noticing; the routes are those of PutNotice.
func (l *Link) GetNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if op.N == 0 {
		return transport.Done, transport.ErrBadParam
	}
	return l.startNoticed(ep, op, true)
}

func (l *Link) startNoticed(ep transport.Endpoint, op *transport.Op, get bool) (transport.Status,
	error) {
	p, err := l.usable(ep)
	switch {
	case err != nil:
		return transport.Done, err
	case op.N > oneSidedMax:
		return transport.Done, transport.ErrBadParam
	case len(p.calls) == callsMax:
		return transport.Done, transport.ErrBusy
	}
	c := l.newCall(p, op, get)
	c.tells = true
	return l.launch(c, op.N > 0 && (op.Route == transport.RouteSingleCopy ||
		op.Route == transport.RouteAny && op.N >= l.cfg.BulkMin))
}

// BulkMin is from how many bytes on RouteAny is RDMA.
func (l *Link) BulkMin() uint64 { return l.cfg.BulkMin }

// part is the status of c's next copied part, of n bytes.
func (c *call) part(n uint64) status {
	last := c.sent+n == c.op.N
	switch {
	case c.tells && last:
		return statusNoticedLast
	case c.tells:
		return statusNoticed
	case last && !c.get:
		return statusLast
	}
	return statusOK
}

// notice tells the owner.
func (l *Link) notice(kind transport.NoticeKind, p *peer, n uint64, notice transport.Notice) {
	if l.noticed != nil && !p.gone {
		l.noticed(kind, p.ep, n, notice)
	}
}

// onNoticedPut is onPut for a put with a notice: of a bad address this owner hears, once, and not
// the origin.
func (l *Link) onNoticedPut(p *peer, c *control, data []byte) {
	last := c.status == statusNoticedLast
	bad := p.faulty[c.token]
	if !bad {
		if err := memory.CopyIn(transport.Addr(c.addr), data); err != nil {
			l.badAddress(transport.NoticePut, p, c.token, faultAt(err, c.addr), last)
			bad = true
		} else {
			l.stats.DataReceived += uint64(len(data))
		}
	}
	if !last || p.gone {
		return
	}
	p.forget(c.token)
	l.answer(p, reply{kind: kindPutDone, control: control{token: c.token}})
	if !bad {
		l.notice(transport.NoticePut, p, c.n, c.notice)
	}
}

// badAddress tells the owner that a transfer of p's names a bad address, once for each, which
// token names.
func (l *Link) badAddress(kind transport.NoticeKind, p *peer, token uint64, at transport.Addr,
	last bool) {
	told := p.faulty[token]
	switch {
	case last:
		delete(p.faulty, token)
	case p.faulty == nil:
		p.faulty = map[uint64]bool{token: true}
	default:
		if len(p.faulty) >= 2*callsMax { // a peer that keeps to the protocol has fewer
			clear(p.faulty)
		}
		p.faulty[token] = true
	}
	if !told && l.faulted != nil && !p.gone {
		l.faulted(kind, p.ep, at)
	}
}

// forget says whether a bad address of that transfer was told, and forgets it.
func (p *peer) forget(token uint64) bool {
	bad := p.faulty[token]
	delete(p.faulty, token)
	return bad
}

var _ transport.Noticing = (*Link)(nil)
