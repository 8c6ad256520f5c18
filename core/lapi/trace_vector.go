package lapi

import (
	"lapi/core/lapi/wire"
	"lapi/core/trace"
	"lapi/transport"
	"lapi/transport/layout"
)

// nodeLink is what the links within a node can do more than others.
type nodeLink interface {
	transport.Vectored
	transport.Gathering
}

// tracedVectored is a tracedLink of such a link.
type tracedVectored struct {
	*tracedLink
	node nodeLink
}

// GatherMax is the link's.
func (l *tracedVectored) GatherMax(ep transport.Endpoint) int { return l.node.GatherMax(ep) }

// SendGathered is the link's, recorded if the link took the message.
func (l *tracedVectored) SendGathered(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	n uint64, from transport.Gatherer) error {
	key, began := messageKey(id, hdr), trace.Now()
	err := l.node.SendGathered(ep, id, hdr, n, from)
	if err == nil {
		l.t.sent(ep, id, key, n, began)
	}
	return err
}

// PutVector is the link's, recorded.
func (l *tracedVectored) PutVector(ep transport.Endpoint, local, remote []transport.Range) error {
	began := trace.Now()
	err := l.node.PutVector(ep, local, remote)
	return l.t.copied(began, "copy list to task", ep, transport.Sum(local), err)
}

// GetVector is the link's, recorded.
func (l *tracedVectored) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	began := trace.Now()
	err := l.node.GetVector(ep, local, remote)
	return l.t.copied(began, "copy list from task", ep, transport.Sum(local), err)
}

// tracedNoticing records the transfers of a link that makes them by itself. Both ends name one by
// its notice.
type tracedNoticing struct {
	transport.Noticing
	t *tracer
}

// PutNotice is the link's, recorded if it took the put.
func (l *tracedNoticing) PutNotice(ep transport.Endpoint,
	op *transport.Op) (transport.Status, error) {
	return l.transfer(wire.MsgPut, ep, op, l.Noticing.PutNotice)
}

// GetNotice is the link's, recorded likewise.
func (l *tracedNoticing) GetNotice(ep transport.Endpoint,
	op *transport.Op) (transport.Status, error) {
	return l.transfer(wire.MsgGet, ep, op, l.Noticing.GetNotice)
}

// transfer records do: the single copy, if it is one and over, and the message that reaches the
// target's core. A get without notice sends it none.
func (l *tracedNoticing) transfer(id transport.MsgID, ep transport.Endpoint, op *transport.Op,
	do func(transport.Endpoint, *transport.Op) (transport.Status, error),
) (transport.Status, error) {
	n, notice, began := op.N, op.Notice, trace.Now()
	status, err := do(ep, op)
	if err != nil {
		return status, err
	}
	switch {
	case status == transport.Done && op.Link.Kind == transport.CopiedTo:
		l.t.copied(began, "copy to task", ep, n, nil)
	case status == transport.Done && op.Link.Kind == transport.CopiedFrom:
		l.t.copied(began, "copy from task", ep, n, nil)
	case id == wire.MsgGet && notice == (transport.Notice{}):
		l.t.copied(began, "get", ep, n, nil)
	}
	if id == wire.MsgPut || notice != (transport.Notice{}) {
		l.t.sent(ep, id, noticeKey(id, notice), n, began)
	}
	return status, err
}

// noticed records a notice.
func (t *tracer) noticed(kind transport.NoticeKind, from transport.Endpoint, n uint64,
	notice transport.Notice) {
	if t == nil || t.level < layout.TraceMessages ||
		kind == transport.NoticeGet && notice == (transport.Notice{}) {
		return
	}
	id := transport.MsgID(wire.MsgPut)
	if kind == transport.NoticeGet {
		id = wire.MsgGet
	}
	t.add(layout.TraceReceived|layout.TraceMessage|t.byLink(int(from)), wire.Name(id), int(from),
		n, noticeKey(id, notice), 0)
	t.add(layout.TraceEnd|layout.TraceMessage, "", int(from), 0, 0, 0)
}

func noticeKey(id transport.MsgID, notice transport.Notice) uint64 {
	var b [16]byte
	wire.Order.PutUint64(b[:], notice[0])
	wire.Order.PutUint64(b[8:], notice[1])
	return messageKey(id, b[:])
}
