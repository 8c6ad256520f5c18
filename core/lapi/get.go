package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/send"
	"lapi/core/lapi/token"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// answerOp is a get or a read-modify-write under way: the origin waits for its answer.
type answerOp struct {
	token.Item
	op   transport.Op // if the link makes it by itself
	key  [transport.KeyMax]byte
	c    *Context
	p    *peer.Peer
	kind codes.ErrType

	local    transport.Addr // where the data (get) or the previous value (rmw) goes
	n        uint64
	received uint64
	failed   bool
	orgCntr  transport.Addr
	// of a get the completion handler, of a read-modify-write the send completion handler
	done     handlers.Callback
	compares bool // COMPARE_AND_SWAP: store TRUE or FALSE
	vectored bool // the data goes to org
	org      vector.Vector
}

// newAnswer is an operation of n bytes of data, or a word of n bytes, for local.
func (c *Context) newAnswer(p *peer.Peer, kind codes.ErrType, x *Transfer, local transport.Addr,
	n uint64) *answerOp {
	o := c.answers.New(c.out.Issue(1))
	if o.c == nil {
		o.c, o.op.Owner = c, o
	}
	o.p, o.kind, o.local, o.n, o.orgCntr, o.done = p, kind, local, n, x.OrgCntr, x.done()
	o.received, o.failed, o.compares, o.vectored = 0, false, false, false
	return o
}

func (c *Context) endAnswer(o *answerOp) {
	if o.vectored {
		o.org.Reset()
	}
	o.p = nil
	c.answers.Free(o)
}

// answerOf finds the operation that an answer of p belongs to, nil if it is over.
func (c *Context) answerOf(p *peer.Peer, token uint64) *answerOp {
	if o := c.answers.Find(token); o != nil && o.p == p {
		return o
	}
	return nil
}

// get is LAPI_Get (guide, Chapter 18). The origin counter says that the data is here, the target
// counter that the target may change it; the completion handler is queued for the handler threads
// when the data is here.
func (c *Context) get(p *peer.Peer, x *Transfer) codes.Code {
	if code := checkMove(x); code != codes.Success {
		return code
	}
	c.counters.Issued(p.ID, codes.GetErr, 0)
	if route := c.copier.Route(p, x.N, x.hint()); x.N > 0 && p.Transfers(x.N, route) &&
		c.getByLink(p, x, route) {
		return codes.Success
	}
	if c.copier.Get(p, x.N, x.hint()) &&
		c.singleCopied(p, x, codes.GetErr, x.N, c.copier.Copy(p, true, x.OrgAddr, x.TgtAddr, x.N)) {
		return codes.Success
	}
	o := c.newAnswer(p, codes.GetErr, x, x.OrgAddr, x.N)
	h := wire.Get{TgtAddr: x.TgtAddr, Length: x.N, TgtCntr: x.TgtCntr, Token: o.Token(),
		Single: c.out.Single}
	c.out.Control(p, wire.MsgGet, codes.GetErr, h.Encode)
	return codes.Success
}

// getv is LAPI_Getv (guide, Chapters 6 and 18). The descriptions are read before it returns.
func (c *Context) getv(p *peer.Peer, x *Transfer) codes.Code {
	m, org, tgt := c.out.NewVector(p, wire.MsgGetv, codes.GetErr)
	n, code := c.loadPair(m, org, tgt, x)
	if code != codes.Success {
		return code
	}
	c.counters.Issued(p.ID, codes.GetErr, 0)
	direct := c.copier.GetVector(p, org, tgt, n, x.hint())
	if direct && p.OverAdapter() {
		c.moveGet(p, m, org, tgt, n, x, c.newAnswer(p, codes.GetErr, x, 0, n))
		return codes.Success
	}
	if direct && c.singleCopied(p, x, codes.GetErr, n,
		c.copier.CopyVector(p, true, org, tgt, n)) {
		c.out.Drop(m)
		return codes.Success
	}
	o := c.newAnswer(p, codes.GetErr, x, 0, n)
	o.keep(m)
	c.out.StartVector(m, &wire.Vector{TgtCntr: x.TgtCntr, Reply: o.Token(),
		Single: c.out.Single}, n)
	return codes.Success
}

// keep makes o wait for the answers to m, a request for a vector: it outlives its request.
func (o *answerOp) keep(m *send.Message) {
	org := m.Origin()
	o.vectored = true
	o.org, *org = *org, o.org
}

// onGet is the target's side: it answers with the data, in parts.
func (c *Context) onGet(m *transport.Msg) transport.Verdict {
	var h wire.Get
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	c.out.Answer(p, h.Token, h.TgtAddr, h.Length, h.Single, send.After{OrgCntr: h.TgtCntr,
		User: true})
	return transport.Accept
}

// onGetData is the origin's side of a part of the answer.
func (c *Context) onGetData(m *transport.Msg) transport.Verdict {
	var h wire.Part
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	o := c.answerOf(p, h.Message)
	if o == nil || o.kind != codes.GetErr || !wire.Inside(h.Offset, uint64(len(m.Data)), o.n) {
		return p.Malformed()
	}
	var err error
	switch {
	case o.failed: // the rest is only counted
	case o.vectored:
		err = o.org.Scatter(h.Offset, m.Data)
	default:
		err = memory.CopyIn(o.local+transport.Addr(h.Offset), m.Data)
	}
	if err != nil {
		o.failed = true
		c.faults.Origin(p, err, codes.GetErr)
	}
	if o.received += uint64(len(m.Data)); o.received >= o.n {
		c.answered(o)
	}
	return transport.Accept
}

// unanswered says whether o, which ends with err, is over already: its peer has left, and all
// operations that wait for the peer are given up.
func (c *Context) unanswered(o *answerOp, err error) bool {
	if err != transport.ErrUnreachable || o.p.Dead() || c.term != nil {
		return false
	}
	c.left(o.p)
	return true
}

// answered ends a get or a read-modify-write.
func (c *Context) answered(o *answerOp) {
	if !o.failed {
		c.counters.AddFor(o.orgCntr, o.kind, c.me, o.p.ID)
		c.completed(recvComplete)
		if o.kind == codes.GetErr {
			c.received(o.done)
		}
	}
	if o.kind == codes.RmwErr {
		c.due.Sent(o.done, o.p, o.outcome())
	}
	c.endAnswer(o)
}

// outcome is the code that a read-modify-write's send completion handler gets.
func (o *answerOp) outcome() codes.Code {
	switch {
	case o.p.Dead():
		return o.p.Gone()
	case o.failed:
		return codes.ErrTgtAddrNull
	}
	return codes.Success
}

// received queues a get's completion handler: the data is here.
func (c *Context) received(done handlers.Callback) {
	if done.Handler != 0 {
		c.due.Queue(handlers.Completion{Handler: done.Handler, Info: done.Info, Origin: c.me})
	}
}

// giveUpAnswers ends the operations that wait for p, without changing a counter.
func (c *Context) giveUpAnswers(p *peer.Peer) {
	for o := c.answers.Oldest(); o != nil; {
		next := c.answers.Next(o)
		if o.p == p {
			if o.kind == codes.RmwErr {
				c.due.Sent(o.done, p, p.Gone())
			}
			c.endAnswer(o)
		}
		o = next
	}
}

// waitsForAnswer is the kind of the oldest operation that waits for p.
func (c *Context) waitsForAnswer(p *peer.Peer) (codes.ErrType, bool) {
	for o := c.answers.Oldest(); o != nil; o = c.answers.Next(o) {
		if o.p == p {
			return o.kind, true
		}
	}
	return 0, false
}

// askedPart is a part of a vector get that a message of data answers, at the target.
type askedPart struct {
	c       *Context
	next    *askedPart // in Context.asked
	id      uint32     // under which the parts are counted
	total   uint64
	tgtCntr transport.Addr
}

// onGetv is the target's side of a part of a request: it answers with the data, in fragments.
func (c *Context) onGetv(m *transport.Msg) transport.Verdict {
	var h wire.Vector
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr, len(m.Data)) || int(h.Entries)*wire.EntrySize != len(m.Data) {
		return p.Malformed()
	}
	a, org, _ := c.out.NewVector(p, wire.MsgGetData, codes.GetErr)
	if !org.Asked(&h, m.Data) {
		c.out.Drop(a)
		return p.Malformed()
	}
	if org.Total() == h.Total {
		a.After = send.After{OrgCntr: h.TgtCntr, User: true}
	} else {
		a.Follow = c.newAskedPart(&h)
	}
	c.out.StartAnswer(a, h.Reply, h.Offset, h.Single)
	return transport.Accept
}

func (c *Context) newAskedPart(h *wire.Vector) *askedPart {
	k := c.asked
	if k == nil {
		k = new(askedPart)
	} else {
		c.asked = k.next
	}
	*k = askedPart{c: c, id: h.ID, total: h.Total, tgtCntr: h.TgtCntr}
	return k
}

// MessageDone implements send.Follower: the data of one part has left. After the last the user may
// change the target's blocks.
func (k *askedPart) MessageDone(m *send.Message) {
	c, p := k.c, m.Peer()
	if !p.Dead() {
		parts := c.parts.Of(p, k.id)
		parts.Failed = parts.Failed || m.Failed()
		if c.parts.Add(p, parts, m.Len(), k.total) && !parts.Failed {
			c.counters.Add(k.tgtCntr, codes.GetErr, p.ID)
			c.completed(sendComplete)
		}
	}
	k.next = c.asked
	c.asked = k
}
