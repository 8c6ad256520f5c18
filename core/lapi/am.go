package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/token"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// This file is the origin's side of active messages; package receive is the target's.

// amsend is LAPI_Amsend (guide, Chapters 7, 11, 18): runs the header handler at HdrHdl (an address
// there, or an index set by LAPI_Addr_set) in the target and moves the data to the buffer it names.
func (c *Context) amsend(p *peer.Peer, x *Transfer) codes.Code {
	if code := c.checkAm(x); code != codes.Success {
		return code
	}
	return c.sendAm(p, x, x.OrgAddr, x.after())
}

// checkAm checks what amsend got, in the order of the guide's list of errors.
func (c *Context) checkAm(x *Transfer) codes.Code {
	if code := c.checkUhdr(x); code != codes.Success {
		return code
	}
	switch {
	case x.N > wire.MaxMessageSize:
		return codes.ErrDataLen
	case x.OrgAddr == 0 && x.N > 0:
		return codes.ErrOrgAddrNull
	}
	return codes.Success
}

// checkUhdr checks what all active messages have.
func (c *Context) checkUhdr(x *Transfer) codes.Code {
	switch {
	case x.HdrHdl == 0:
		return codes.ErrHdrHndlrNull
	case x.UhdrLen > wire.MaxUhdrSize:
		return codes.ErrUhdrLen
	case c.attributes.errorCheck && x.UhdrLen%4 != 0:
		return codes.ErrHdrLen
	case x.Uhdr == 0 && x.UhdrLen > 0:
		return codes.ErrUhdrNull
	}
	return codes.Success
}

// newAm is an active message of that kind, with n bytes of data and the user header in place.
// ErrUhdrNull: that cannot be read, there is no message.
func (c *Context) newAm(p *peer.Peer, x *Transfer, id transport.MsgID, n uint64) (m *send.Message,
	h wire.Am, code codes.Code) {
	m, uhdr := c.out.NewAm(p, id, x.UhdrLen)
	if err := memory.CopyOut(uhdr, x.Uhdr); err != nil {
		c.out.Drop(m)
		c.faults.Here(err, codes.ErrOrgAddrNull, codes.AmErr)
		return nil, h, codes.ErrUhdrNull
	}
	c.counters.Issued(p.ID, codes.AmErr, x.CmplCntr)
	h = wire.Am{Handler: x.HdrHdl, Length: n, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr,
		ID: m.Number(), UhdrLen: uint16(x.UhdrLen)}
	return m, h, codes.Success
}

// sendAm sends an active message with the data at udata.
func (c *Context) sendAm(p *peer.Peer, x *Transfer, udata transport.Addr,
	after send.After) codes.Code {
	m, h, code := c.newAm(p, x, wire.MsgAm, x.N)
	if code != codes.Success {
		return code
	}
	fits := m.HeaderFits()
	if fits && c.copier.Am(p, x.N, x.hint()) {
		o := c.offer(m, &h, after)
		o.data, o.n, h.Direct = udata, x.N, udata
	} else {
		m.After = after
		m.Data(udata, x.N)
		if !fits {
			m.Split(&h)
		}
	}
	c.out.StartAm(m, &h, nil)
	return codes.Success
}

// amsendv is LAPI_Amsendv (guide, Chapters 6 and 18): an active message whose data is a vector. The
// header handler at the target names another one. The description is read before amsendv returns.
func (c *Context) amsendv(p *peer.Peer, x *Transfer) codes.Code {
	if code := c.checkUhdr(x); code != codes.Success {
		return code
	}
	org, loader := &c.loaded, vector.Loader{Check: c.attributes.errorCheck}
	if err := loader.One(org, x.OrgAddr); err != nil {
		return c.badVector(err)
	}
	m, h, code := c.newAm(p, x, wire.MsgAmv, org.Total())
	if code != codes.Success {
		return code
	}
	a := org.DescribeOrigin()
	fits := m.HeaderFits()
	if fits && c.copier.AmVector(p, org, x.hint()) {
		c.offerVector(m, &h, &a, org, x.after())
	} else {
		m.After = x.after()
		c.out.Vector(m, org, a.Lengths())
		if !fits {
			m.Split(&h)
		}
	}
	c.out.StartAm(m, &h, &a)
	return codes.Success
}

// amdgsp is LAPI_DGSP_XFER (guide, Chapter 6 and LAPI_Xfer): an active message of N bytes that the
// DGSP gathers at OrgAddr, whose offsets are addresses where OrgAddr is 0; and LAPI_AMX_XFER, the
// same from byte Skip of the DGSP's stream on. At the target it arrives as any active message: in
// one piece, or as the DGSP says that the header handler names.
func (c *Context) amdgsp(p *peer.Peer, x *Transfer) codes.Code {
	if code := c.checkUhdr(x); code != codes.Success {
		return code
	}
	if x.N > wire.MaxMessageSize {
		return codes.ErrDataLen
	}
	l, err := c.placements.Gather(x.TgtAddr, x.OrgAddr, x.Skip, x.N)
	if err != nil {
		return explain(c.host, "LAPI_Xfer", err)
	}
	offset, ok := l.Contiguous()
	if !ok {
		return c.sendPlaced(p, x, l)
	}
	c.placements.Free(l) // one block: as any other message, a single copy if that is worth it
	udata := dgsm.Place(x.OrgAddr, offset)
	if udata == 0 && x.N > 0 {
		return codes.ErrOrgAddrNull
	}
	return c.sendAm(p, x, udata, x.after())
}

// sendPlaced sends data that lies as l says. Its blocks are listed for a single copy where they are
// as long as those of vectors that are copied so; else the data is gathered into fragments. Atoms
// are for data that comes in packets.
func (c *Context) sendPlaced(p *peer.Peer, x *Transfer, l *placed.Placement) codes.Code {
	const listed = wire.AmSize + wire.AmvSize
	n, hint, org := x.N, x.hint(), &c.loaded
	if c.copier.Am(p, n, hint) && listed+wire.Pad8(int(x.UhdrLen)) <= p.Headers() &&
		l.AtomSize() == 0 &&
		l.List(org, c.copier.AmBlocks(p, n, hint)) {
		c.placements.Free(l)
		m, h, code := c.newAm(p, x, wire.MsgAmPieces, n)
		if code != codes.Success {
			return code
		}
		a := org.DescribeOrigin()
		c.offerVector(m, &h, &a, org, x.after())
		c.out.StartAm(m, &h, &a)
		return codes.Success
	}
	m, h, code := c.newAm(p, x, wire.MsgAm, n)
	if code != codes.Success {
		c.placements.Free(l)
		return code
	}
	h.Atom = l.AtomSize()
	m.After = x.after()
	fits := m.HeaderFits()
	c.out.Placed(m, l)
	if !fits {
		m.Split(&h)
	}
	c.out.StartAm(m, &h, nil)
	return codes.Success
}

// offer is the data of a rendezvous, which its target has not fetched yet: the origin's memory must
// stay.
type offer struct {
	token.Item
	p        *peer.Peer
	data     transport.Addr
	n        uint64
	vectored bool
	org      vector.Vector // where the data is, if vectored; the target reads its list
	after    send.After
	id       uint32 // of the active message
}

// offer makes m a rendezvous: only its header goes, and the target fetches the data that the offer
// is to describe. The actions of after wait for MsgFetched.
func (c *Context) offer(m *send.Message, h *wire.Am, after send.After) *offer {
	o := c.offers.New(m.Seq())
	*o = offer{Item: o.Item, p: m.Peer(), after: after, id: h.ID, org: o.org}
	m.Counted, h.Rendezvous, h.Token = after.Counted, true, o.Token()
	return o
}

// offerVector is offer where the data lies in org, which the offer takes over: the target reads its
// list.
func (c *Context) offerVector(m *send.Message, h *wire.Am, a *wire.Amv, org *vector.Vector,
	after send.After) {
	o := c.offer(m, h, after)
	o.vectored, o.n = true, org.Total()
	o.org, *org = *org, o.org
	switch list, n := o.org.List(); {
	case o.org.Strided():
	case o.p.OverAdapter(): // to read it would take as long as to send it
		h.Listed = true
		m.Ours(list, n)
	default:
		a.Base = list
	}
}

// onFetched is the origin's side of a rendezvous: its memory is free, or the data must go in
// fragments.
func (c *Context) onFetched(m *transport.Msg) transport.Verdict {
	var h wire.Fetched
	p := &c.peers[m.From]
	if !h.Decode(m.Hdr) {
		return p.Malformed()
	}
	o := c.offers.Find(h.Token)
	if o == nil || o.p != p {
		return p.Malformed()
	}
	switch h.Outcome {
	case wire.FetchDone, wire.FetchUnread:
		if h.Outcome == wire.FetchDone {
			p.CountSent(o.n, singlecopy.Copies(o.n))
		}
		c.counters.AddFor(o.after.OrgCntr, codes.AmErr, c.me, p.ID)
		c.completed(sendComplete)
		c.due.Sent(o.after.Done, p, codes.Success)
		c.endOffer(o)
		return transport.Accept
	case wire.FetchPlaced:
	default:
		p.SingleCopy = false
	}
	if o.vectored {
		lengths := uint64(0)
		if h.Outcome == wire.FetchNothing && !o.org.Strided() {
			lengths = 8 * o.org.Pieces()
		}
		c.out.RefetchedVector(p, o.id, o.Seq(), &o.org, lengths, o.after)
	} else {
		c.out.Refetched(p, o.id, o.Seq(), o.data, o.n, o.after)
	}
	c.endOffer(o)
	return transport.Accept
}

func (c *Context) endOffer(o *offer) {
	o.org.Reset()
	o.p, o.after = nil, send.After{}
	c.offers.Free(o)
}

// offersTo says whether p has not fetched something yet.
func (c *Context) offersTo(p *peer.Peer) bool {
	for o := c.offers.Oldest(); o != nil; o = c.offers.Next(o) {
		if o.p == p {
			return true
		}
	}
	return false
}

// giveUpOffers drops the data that p was to fetch.
func (c *Context) giveUpOffers(p *peer.Peer) {
	for o := c.offers.Oldest(); o != nil; {
		next := c.offers.Next(o)
		if o.p == p {
			c.due.Sent(o.after.Done, p, p.Gone())
			c.endOffer(o)
		}
		o = next
	}
}

// amCompleted: all data of an active message of p's is in place (or dropped). The completion
// handler runs now, or is queued; target and completion counter follow it.
func (c *Context) amCompleted(_ *peer.Peer, done handlers.Completion, inline bool) {
	c.completed(recvComplete)
	switch {
	case done.Handler == 0:
	case inline:
		c.host.CompletionHandler(done.Handler, done.Info)
	default:
		c.due.Queue(done)
		return
	}
	c.handlerReturned(&done)
}

func (c *Context) handlerReturned(d *handlers.Completion) {
	c.counters.Add(d.TgtCntr, codes.AmErr, d.Origin)
	if d.Epoch == c.peers[d.Origin].Epoch() {
		c.counters.Acknowledge(d.Origin, d.CmplCntr)
	}
}

// NextCompletion takes the oldest queued completion handler; its thread calls it without the lock
// and then CompletionDone.
func (c *Context) NextCompletion() (handler, info transport.Addr, id uint64, ok bool) {
	return c.due.Take()
}

// CompletionDone follows a completion handler's return: the target counter, then the completion
// counter at the origin.
func (c *Context) CompletionDone(id uint64) {
	d, ok := c.due.End(id)
	if !ok {
		return
	}
	c.handlerReturned(&d)
	c.wake.Changed() // LAPI_Term waits for the queue
	c.publish()
}

// multicast is LAPI_MC_XFER: an active message to each task of the group Tgt, this one included if
// it is a member. Every member's message is one of its own for fences, flow control and failures,
// and reads the user's data by itself. It has no counters. Nothing is sent if a member cannot be
// sent to.
func (c *Context) multicast(x *Transfer) codes.Code {
	members, ok := c.groups[x.Tgt]
	if !ok {
		return codes.ErrTgt
	}
	for _, id := range members {
		if _, code := c.target(id, codes.AmErr); code != codes.Success {
			return code
		}
	}
	if code := c.checkAm(x); code != codes.Success {
		return code
	}
	uhdr := c.uhdr[:x.UhdrLen]
	// now, not when some members have got theirs
	if err := memory.CopyOut(uhdr, x.Uhdr); err != nil {
		c.faults.Here(err, codes.ErrOrgAddrNull, codes.AmErr)
		return codes.ErrUhdrNull
	}
	one := Transfer{HdrHdl: x.HdrHdl, Uhdr: memory.AddrOf(uhdr), UhdrLen: x.UhdrLen, N: x.N,
		Flags: x.Flags}
	after := send.After{Done: c.due.Many(x.done(), x.Tgt, len(members)), User: true}
	for _, id := range members {
		c.sendAm(&c.peers[id], &one, x.OrgAddr, after)
	}
	return codes.Success
}
