package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// outgoing is a message of this package on its way to a task, until all its data has been copied out of the origin's memory:
//
//	started ──> on the target's pending list while the link is busy ──> all fragments given to the link ──> finished
//
// finished means: inflight == 0, the origin's memory may be overwritten, the origin counter has changed.
type outgoing struct {
	next     *outgoing
	t        *task
	seq      uint64
	kind     ErrType
	id       transport.MsgID // of the first or only fragment
	part     transport.MsgID // of the other fragments; 0: the message is sent whole
	hdr      [wire.AmSize + wire.AmvSize + wire.MaxUhdrSize + wire.PartSize]byte
	hdrLen   int
	first    uint64 // user data bytes that travel with the first header
	data     transport.Addr
	n        uint64          // bytes of stream: split user header and lengths of blocks (if any), then data
	uhdrLen  uint64          // bytes of split user header at the head of the stream, kept in hdr
	uhdrAt   int             // where in hdr
	offset   uint64          // of the stream, what the link already has
	started  bool            // the first fragment went
	single   bool            // keeps to one of several addresses
	route    transport.Route // of a put that the link makes by itself
	allSent  bool            // the link has got every fragment, or gets no more
	step     uint64          // bytes of data in a fragment
	inflight int             // fragments that the link holds
	message  uint64          // what partHeader names
	skipped  uint64          // of an answer: where in the get's stream this message's begins

	vectored  bool          // the fields down to held are used
	org       vector.Vector // where the data is, or (wire.MsgGetv) where it is to go
	tgt       vector.Vector // of wire.MsgPutv and wire.MsgGetv: the target's blocks
	lengths   uint64        // bytes of lengths of org's blocks in the stream, before the data
	held      *fragmentOp   // the next fragment, when the link had no room for it
	isCopied  bool          // the data is in copied
	placement *placement    // nil, or how the data lies instead of org

	orgCntr  transport.Addr
	done     Callback // send completion handler
	user     bool     // counts for Msgpoll
	copied   []byte   // this package's copy of small data
	failed   bool
	finished func(m *outgoing) // nil, or what follows
	state    *exchange         // of wire.MsgExchange: keeps its values alive
	asked    request           // of wire.MsgGetData: the part of a vector that it answers
}

// vectorPartMin is the least part in which a vector's data goes, where a link says that smaller ones were better: each costs some work.
const vectorPartMin = 16 << 10

type outgoingList struct{ head, tail *outgoing }

func (l *outgoingList) push(m *outgoing) {
	m.next = nil
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.next = m
	}
	l.tail = m
}

func (l *outgoingList) pushFront(m *outgoing) {
	m.next = l.head
	l.head = m
	if l.tail == nil {
		l.tail = m
	}
}

func (l *outgoingList) pop() *outgoing {
	m := l.head
	l.head = m.next
	if l.head == nil {
		l.tail = nil
	}
	m.next = nil
	return m
}

// fragmentOp is a link operation for one fragment.
type fragmentOp struct {
	op   transport.Op
	next *fragmentOp
	m    *outgoing
	c    *Context
	id   transport.MsgID
	hdr  []byte
	step uint64 // bytes of m's stream that it stands for

	lead    int                 // of a vector's: bytes of entries or lengths in front of the data
	by      transport.Gathering // the link, if it is to gather all of it
	staging []byte              // else it is gathered here; goes back to Context.stagings
}

func (c *Context) newOutgoing(t *task, id transport.MsgID, kind ErrType) *outgoing {
	m := c.freeOut
	if m == nil {
		m = new(outgoing)
	} else {
		c.freeOut = m.next
	}
	m.next, m.t, m.id, m.kind = nil, t, id, kind
	m.seq = c.nextSeq()
	m.part, m.hdrLen, m.first, m.data, m.n, m.uhdrLen, m.uhdrAt, m.offset = 0, 0, 0, 0, 0, 0, wire.AmSize, 0
	m.started, m.allSent, m.inflight, m.message, m.skipped, m.step = false, false, 0, 0, 0, uint64(t.sendMax)
	m.single, m.route = c.single, transport.RouteAny
	m.orgCntr, m.done, m.user, m.failed, m.finished, m.state = 0, Callback{}, false, false, nil, nil
	return m
}

// newVectored is newOutgoing for a message whose data lies in m.org.
func (c *Context) newVectored(t *task, id transport.MsgID, kind ErrType) *outgoing {
	m := c.newOutgoing(t, id, kind)
	m.vectored, m.isCopied = true, false
	return m
}

func (c *Context) freeOutgoing(m *outgoing) {
	if m.vectored {
		c.freePlacement(m.placement)
		m.placement = nil
		m.vectored, m.lengths, m.asked = false, 0, request{}
		m.org.Reset()
		m.tgt.Reset()
		if m.held != nil {
			c.freeFragmentOp(m.held)
			m.held = nil
		}
	}
	m.t = nil
	m.next = c.freeOut
	c.freeOut = m
}

func (c *Context) newFragmentOp(m *outgoing) *fragmentOp {
	f := c.freeOp
	if f == nil {
		f = &fragmentOp{c: c}
		f.op.Owner = f
		f.op.Done = fragmentDone
	} else {
		c.freeOp = f.next
	}
	f.m = m
	f.op.Single = m != nil && m.single
	return f
}

func (c *Context) freeFragmentOp(f *fragmentOp) {
	if f.staging != nil {
		c.stagings = append(c.stagings, f.staging)
		f.staging = nil
	}
	f.m, f.hdr = nil, nil
	f.next = c.freeOp
	c.freeOp = f
}

// start gives m to its link, or queues it. Small user data is copied if it must wait, so that the user may overwrite it
// (BUF_CP_SIZE).
func (c *Context) start(m *outgoing) {
	t := m.t
	if m.vectored {
		m.step = max(t.partSize(m.n), vectorPartMin)
	}
	if t.dead {
		m.failed = true
	}
	if t.pending.head == nil && c.advance(m) {
		return
	}
	if m.vectored {
		c.copyVector(m)
	} else if m.n-m.uhdrLen <= uint64(c.bufCopy) && m.state == nil {
		c.copyData(m)
	}
	t.pending.push(m)
	c.mayRun(t)
	c.waiting++
}

// sendNow sends a message of the user's that fits one fragment, without the bookkeeping of outgoing. False: nothing happened, use
// start: others wait for room, or the link does not copy the data at once.
func (c *Context) sendNow(t *task, id transport.MsgID, kind ErrType, hdr []byte, data transport.Addr, n uint64, orgCntr transport.Addr) bool {
	if n > uint64(t.atOnce) || t.pending.head != nil && !c.drained(t) {
		return false
	}
	f := c.newFragmentOp(nil)
	f.op.Local, f.op.N = data, n
	status, err := t.link.Send(t.ep, id, hdr, &f.op)
	if err != nil || status != transport.Done {
		if err == nil {
			panic("lapi: a link queued data that it copies at once")
		}
		c.freeFragmentOp(f)
		return false
	}
	c.freeFragmentOp(f)
	c.nextSeq()
	c.use(t, kind)
	c.countFor(orgCntr, kind, c.me, t.id)
	c.completed(sendComplete)
	return true
}

// copyData makes m independent of the user's memory. If that cannot be read, m fails as if it had been sent at once.
func (c *Context) copyData(m *outgoing) {
	n := int(m.n - m.uhdrLen)
	if cap(m.copied) < n {
		m.copied = make([]byte, max(n, 128))
	}
	m.copied = m.copied[:n]
	if err := memory.CopyOut(m.copied, m.data); err != nil {
		c.sendFailed(m, err)
		return
	}
	m.data = memory.AddrOf(m.copied)
}

// advance sends as many fragments of m as the link takes. True: it gets no more of them, m may be gone. m is on no list.
func (c *Context) advance(m *outgoing) bool {
	t := m.t
	for !m.failed {
		f, err := c.prepare(m)
		if err != nil {
			c.sendFailed(m, err)
			break
		}
		step := f.step
		m.inflight++
		status, err := f.send(t)
		if err == transport.ErrBusy {
			m.inflight--
			c.putOff(m, f)
			return false
		}
		if err != nil || status == transport.Done {
			m.inflight--
			c.freeFragmentOp(f)
		}
		if err != nil {
			c.sendFailed(m, err)
			break
		}
		c.use(t, m.kind)
		m.started = true
		m.offset += step
		if m.offset >= m.n {
			break
		}
	}
	m.allSent = true
	if m.inflight == 0 {
		c.finish(m)
	}
	return true
}

// send gives f to the link.
func (f *fragmentOp) send(t *task) (transport.Status, error) {
	if f.id == wire.MsgPut && t.noticing != nil {
		return f.put(t)
	}
	if f.by != nil {
		return transport.Done, f.by.SendGathered(t.ep, f.id, f.hdr, f.op.N, f)
	}
	return t.link.Send(t.ep, f.id, f.hdr, &f.op)
}

// prepare makes m's next fragment. An error is a fault in the user's memory.
func (c *Context) prepare(m *outgoing) (*fragmentOp, error) {
	if m.vectored {
		return c.prepareVector(m)
	}
	f := c.newFragmentOp(m)
	most := uint64(m.t.sendMax)
	if m.started && m.n-m.offset > most && m.offset >= m.uhdrLen {
		most = max(most, m.t.gatherRoom())
	}
	f.id, f.hdr, f.op.Local, f.op.N = m.nextFragment(most)
	f.step, f.by, f.lead = f.op.N, nil, 0
	if f.op.N > uint64(m.t.sendMax) {
		f.by, _ = m.t.link.(transport.Gathering) // else it was cut when the way there took more
	}
	return f, nil
}

// putOff keeps a fragment that the link had no room for, if making it again would cost.
func (c *Context) putOff(m *outgoing, f *fragmentOp) {
	if m.vectored && f.by == nil {
		m.held = f
	} else {
		c.freeFragmentOp(f)
	}
}

// nextFragment is what to send next: header and a piece of the stream, at most most bytes unless it is the first.
func (m *outgoing) nextFragment(most uint64) (id transport.MsgID, hdr []byte, data transport.Addr, n uint64) {
	switch {
	case !m.started:
		return m.id, m.hdr[:m.hdrLen], m.data, m.first
	}
	hdr = m.partHeader()
	if m.offset < m.uhdrLen { // a split user header: it lies behind the first header
		n = min(m.uhdrLen-m.offset, most)
		return m.part, hdr, memory.AddrOf(m.hdr[m.uhdrAt:]) + transport.Addr(m.offset), n
	}
	at := m.offset - m.uhdrLen
	n = m.cut(min(m.n-m.offset, m.step, most), m.n-m.offset)
	return m.part, hdr, m.data + transport.Addr(at), n
}

// partHeader writes the header of the next fragment behind everything else in hdr.
func (m *outgoing) partHeader() []byte {
	if m.id == wire.MsgPutFragment {
		(*wire.PutFragment)(nil).EncodeOffset(m.hdr[:], m.offset)
		return m.hdr[:m.hdrLen]
	}
	at := len(m.hdr) - wire.PartSize
	return (&wire.Part{Message: m.message, Offset: m.skipped + m.offset}).Encode(m.hdr[at:])
}

// fragmentDone is Op.Done of every fragment that a link had queued.
func fragmentDone(op *transport.Op, err error) {
	f := op.Owner.(*fragmentOp)
	c, m := f.c, f.m
	c.freeFragmentOp(f)
	m.inflight--
	if err != nil {
		c.sendFailed(m, err)
	}
	if m.allSent && m.inflight == 0 {
		c.finish(m)
	}
}

// sendFailed marks m as failed: its address was bad, its peer is gone, or the link closes. No more of it is sent.
func (c *Context) sendFailed(m *outgoing, err error) {
	if m.failed {
		return
	}
	m.failed = true
	if fault, ok := err.(*transport.FaultError); ok {
		if fault.Remote {
			c.directFault(m.t, fault, m.kind)
		} else {
			c.originFault(m, fault)
		}
		return
	}
	if broken, ok := err.(*dgsm.Error); ok {
		c.raise(broken.Code, m.kind, m.t.id, broken.Text)
		return
	}
	if err == transport.ErrUnreachable && m.user && c.term == nil {
		c.fail(m.t, codes.ErrNoConnectivity, "it has ended its LAPI context; a LAPI_Gfence before LAPI_Term keeps tasks together")
	}
}

// finish is the end of m: the origin's memory is free.
func (c *Context) finish(m *outgoing) {
	if m.finished != nil {
		m.finished(m)
	}
	code := codes.Success
	if !m.failed {
		c.countFor(m.orgCntr, m.kind, c.me, m.t.id)
		if m.user {
			c.completed(sendComplete)
		}
	} else if m.t.dead {
		code = m.t.gone()
	} else {
		code = codes.ErrOrgAddrNull
	}
	c.sendDone(m.done, m.t, code)
	c.freeOutgoing(m)
}

// sendWaiting tries again for messages that found their link busy.
func (c *Context) sendWaiting() (n int) {
	for i := range c.tasks {
		n += c.drain(&c.tasks[i])
		if c.waiting == 0 {
			break
		}
	}
	return n
}

// drain tries again for the messages that wait for room in t's link. It returns how many that has taken.
func (c *Context) drain(t *task) (n int) {
	for t.pending.head != nil {
		m := t.pending.pop()
		if !c.advance(m) {
			t.pending.pushFront(m)
			break
		}
		c.waiting--
		n++
	}
	c.mayRun(t)
	return n
}

// drained is drain for one who wants to send to t now: whether nothing waits in front any more.
func (c *Context) drained(t *task) bool {
	c.drain(t)
	return t.pending.head == nil
}

// dropPending ends every message that waits for t, which is gone. What the link holds of them comes back through
// fragmentDone.
func (c *Context) dropPending(t *task) {
	for t.pending.head != nil {
		m := t.pending.pop()
		c.waiting--
		m.failed = true
		c.advance(m)
	}
	c.mayRun(t)
}

// sendControl sends a message of the library itself, without data.
func (c *Context) sendControl(t *task, id transport.MsgID, kind ErrType, encode func(b []byte) []byte) {
	m := c.newOutgoing(t, id, kind)
	m.hdrLen = len(encode(m.hdr[:]))
	c.start(m)
}
