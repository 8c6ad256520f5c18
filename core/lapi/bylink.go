package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// Puts and gets between tasks of a node: the link makes them by itself, whatever their length, and gives the target's core
// a notice with the counters (transport.Noticing). Which way the data goes is the link's choice, unless the user
// has one.

// partsLink is a link that knows whether a peer polls, and the best size of the parts of other messages.
type partsLink interface {
	Polls(ep transport.Endpoint) bool
	PartSize(n uint64) int
}

// polls says whether t looks at its messages now or soon: then both ends copy at once.
func (t *task) polls() bool { return t.parts != nil && t.parts.Polls(t.ep) }

// partSize is in parts of how many bytes n bytes of a vector or active message go to t.
func (t *task) partSize(n uint64) uint64 {
	if t.parts == nil {
		return uint64(t.sendMax)
	}
	return uint64(t.parts.PartSize(n))
}

// routeOf is the way that the user wants of n bytes.
func (c *Context) routeOf(t *task, n uint64, way hint) transport.Route {
	switch {
	case way == byPackets, !t.direct:
		return transport.RouteMessages
	case way == byBulk, way == noHint && c.wantsBulk(n):
		return transport.RouteSingleCopy
	}
	return transport.RouteAny
}

// putByLink is a put whose way is the link's.
func (c *Context) putByLink(t *task, x *Transfer, h *wire.Put) {
	m := c.newOutgoing(t, wire.MsgPut, PutErr)
	m.user, m.orgCntr, m.done = true, x.OrgCntr, x.done()
	m.data, m.n, m.first, m.route = x.OrgAddr, x.N, x.N, c.routeOf(t, x.N, x.way())
	m.hdrLen = len(h.Encode(m.hdr[:]))
	c.start(m)
}

// put gives the put that f is to the link.
func (f *fragmentOp) put(t *task) (transport.Status, error) {
	var h wire.Put
	h.Decode(f.hdr)
	f.op.Remote, f.op.Notice, f.op.Route = h.TgtAddr, transport.Notice{uint64(h.TgtCntr), uint64(h.CmplCntr)}, f.m.route
	status, err := t.noticing.PutNotice(t.ep, &f.op)
	if err == transport.ErrNotSupported { // the kernel has come to forbid single copies
		t.direct, f.op.Route = false, transport.RouteMessages
		status, err = t.noticing.PutNotice(t.ep, &f.op)
	}
	return status, err
}

// getByLink is a get likewise. False: messages are to ask for the data.
func (c *Context) getByLink(t *task, x *Transfer) bool {
	o := c.newOriginOp(t, GetErr)
	o.local, o.n, o.orgCntr, o.done = x.OrgAddr, x.N, x.OrgCntr, x.done()
	o.op.Local, o.op.Remote, o.op.N, o.op.Done = x.OrgAddr, x.TgtAddr, x.N, getDone
	o.op.Notice, o.op.Route = transport.Notice{uint64(x.TgtCntr), 0}, c.routeOf(t, x.N, x.way())
	status, err := t.noticing.GetNotice(t.ep, &o.op)
	if err == transport.ErrNotSupported {
		t.direct, o.op.Route = false, transport.RouteMessages
		status, err = t.noticing.GetNotice(t.ep, &o.op)
	}
	if err == transport.ErrBusy {
		c.freeOriginOp(o)
		return false
	}
	c.use(t, GetErr)
	if err != nil || status == transport.Done {
		getDone(&o.op, err)
	}
	return true
}

// getDone ends a get of the link's.
func getDone(op *transport.Op, err error) {
	o := op.Owner.(*originOp)
	c := o.c
	if fault, ok := err.(*transport.FaultError); ok {
		if fault.Remote && fault.Told {
			c.remoteFault(o.t, fault.Addr, codes.ErrTgtAddrNull, GetErr)
		} else {
			c.directFault(o.t, fault, GetErr)
		}
	}
	o.failed = err != nil
	c.answered(o)
}

// onNotice is the target's side: data of this task is in place, or was read.
func (c *Context) onNotice(kind transport.NoticeKind, from transport.Endpoint, n uint64, notice transport.Notice) {
	c.trace.noticed(kind, from, n, notice)
	if kind == transport.NoticePut {
		c.putComplete(transport.Addr(notice[0]), transport.Addr(notice[1]), int(from))
		return
	}
	c.completed(sendComplete)
	c.count(transport.Addr(notice[0]), GetErr, int(from))
}

// onBadAddress: an operation of from named an address of this task that cannot be accessed. The link tells the origin of a
// get or read-modify-write, core that of a put.
func (c *Context) onBadAddress(kind transport.NoticeKind, from transport.Endpoint, at transport.Addr) {
	fault := &transport.FaultError{Addr: at}
	switch kind {
	case transport.NoticePut:
		c.targetFault(fault, PutErr, int(from), 0)
	case transport.NoticeGet:
		c.fault(fault, codes.ErrTgtAddrNull, GetErr, int(from))
	default:
		c.fault(fault, codes.ErrTgtAddrNull, RmwErr, int(from))
	}
}

// LanePutRest goes on with the put to tgt in the node's transfer, of which the lane has sent the first parts.
func (c *Context) LanePutRest(tgt int, orgCntr transport.Addr) {
	memory.Guard()
	t := &c.tasks[tgt]
	link := c.net.Shm.(laneLink)
	n := link.Node()
	local, remote, size, at := n.Transfer[0], n.Transfer[1], n.Transfer[2], n.Transfer[3]
	m := c.newOutgoing(t, wire.MsgPut, PutErr)
	m.user, m.orgCntr = true, orgCntr
	m.n, m.offset, m.started, m.allSent, m.inflight = size, size, true, true, 1
	f := c.newFragmentOp(m)
	f.op.Local, f.op.Remote, f.op.N = transport.Addr(local), transport.Addr(remote), size
	f.op.Notice, f.op.Route = transport.Notice{n.Transfer[4], n.Transfer[5]}, transport.RouteMessages
	if f.op.Notice[1] != 0 {
		t.expected++
	}
	c.use(t, PutErr)
	if _, err := link.ContinuePut(t.ep, &f.op, at); err != nil {
		fragmentDone(&f.op, err)
	}
	c.publish()
}
