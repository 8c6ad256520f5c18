package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/transport"
)

// A put or get between tasks of a node is the link's own, whatever its length, so is a long one over
// an adapter; and the target's core gets a notice with its counters (transport.Noticing). This file is what core does with
// notices, and a get's origin.

// getByLink is a get that the link makes. False: messages are to ask for the data.
func (c *Context) getByLink(p *peer.Peer, x *Transfer, route transport.Route) bool {
	o := c.newAnswer(p, codes.GetErr, x, x.OrgAddr, x.N)
	o.op.Local, o.op.Remote, o.op.N, o.op.Done = x.OrgAddr, x.TgtAddr, x.N, getDone
	o.op.Notice, o.op.Route, o.op.Key = transport.Notice{uint64(x.TgtCntr), 0}, route, nil
	start := p.Noticing.GetNotice
	if key := c.keyOf(p, x); key != nil {
		o.op.Key, start = append(o.key[:0], key...), p.Link.Get
	}
	status, err := start(p.Ep, &o.op)
	if err == transport.ErrNotSupported { // the kernel forbids single copies now
		p.SingleCopy = false
		o.op.Route = transport.RouteMessages
		status, err = p.Noticing.GetNotice(p.Ep, &o.op)
	}
	if err == transport.ErrBusy {
		c.endAnswer(o)
		return false
	}
	c.out.Used(p, codes.GetErr, false)
	if err != nil || status == transport.Done {
		getDone(&o.op, err)
	}
	return true
}

// getDone ends a get of the link's.
func getDone(op *transport.Op, err error) {
	o := op.Owner.(*answerOp)
	c := o.c
	if c.unanswered(o, err) {
		return
	}
	if fault, ok := err.(*transport.FaultError); ok {
		if fault.Remote && fault.Told {
			c.faults.Remote(o.p, fault.Addr, codes.GetErr)
		} else {
			c.faults.SingleCopy(o.p, fault, codes.GetErr)
		}
	}
	o.failed = err != nil
	c.answered(o)
}

// onNotice is the target's side: data of this task is in place, or was read.
func (c *Context) onNotice(kind transport.NoticeKind, from transport.Endpoint, n uint64,
	notice transport.Notice) {
	c.trace.noticed(kind, from, n, notice)
	if kind == transport.NoticePut {
		c.putComplete(transport.Addr(notice[0]), transport.Addr(notice[1]), &c.peers[from])
		return
	}
	c.completed(sendComplete)
	c.counters.Add(transport.Addr(notice[0]), codes.GetErr, int(from))
}

// onBadAddress: an operation of from named an address of this task that cannot be accessed. The
// link notifies the origin of a get or read-modify-write, core notifies that of a put.
func (c *Context) onBadAddress(kind transport.NoticeKind, from transport.Endpoint,
	at transport.Addr) {
	fault := &transport.FaultError{Addr: at}
	switch kind {
	case transport.NoticePut:
		c.faults.Target(fault, codes.PutErr, &c.peers[from], 0)
	case transport.NoticeGet:
		c.faults.Local(fault, codes.ErrTgtAddrNull, codes.GetErr, int(from))
	default:
		c.faults.Local(fault, codes.ErrTgtAddrNull, codes.RmwErr, int(from))
	}
}
