package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// Amsend is LAPI_Amsend (guide, Chapters 7, 11, 18): runs the header handler at hdrHdl (an address there, or an index set by
// LAPI_Addr_set) in the target and moves n bytes at udata to the buffer it names.
func (c *Context) Amsend(tgt uint32, hdrHdl, uhdr transport.Addr, uhdrLen uint32, udata transport.Addr, n uint64,
	tgtCntr, orgCntr, cmplCntr transport.Addr) codes.Code {
	memory.Guard()
	t, code := c.target(tgt)
	if code == codes.Success {
		code = c.checkAm(hdrHdl, uhdr, uhdrLen, udata, n)
	}
	if code != codes.Success {
		return code
	}
	m := c.newOutgoing(t, msgAm, AmErr)
	if err := memory.CopyOut(m.hdr[amHeaderSize:amHeaderSize+uhdrLen], uhdr); err != nil {
		c.freeOutgoing(m)
		c.fault(err, codes.ErrOrgAddrNull, AmErr, c.me)
		return codes.ErrUhdrNull
	}
	t.lastKind = AmErr
	if cmplCntr != 0 {
		t.expected++
	}
	t.nextID++
	h := amHeader{handler: hdrHdl, length: n, tgtCntr: tgtCntr, cmplCntr: cmplCntr, id: t.nextID, uhdrLen: uint16(uhdrLen)}
	m.user, m.orgCntr = true, orgCntr
	m.message, m.part = uint64(h.id), msgAmFragment
	m.data, m.n = udata, n
	padded := pad8(int(uhdrLen))
	clear(m.hdr[amHeaderSize+int(uhdrLen) : amHeaderSize+padded])
	switch whole := amHeaderSize + padded; {
	case whole > t.headers:
		h.split = true
		m.hdrLen = amHeaderSize
		m.uhdrLen = uint64(uhdrLen)
		m.n += m.uhdrLen
	case n >= directAmMin && n > uint64(c.bufCopy) && t.direct: // the target reads later: not what the user may overwrite on return
		h.isDirect, h.direct = true, udata
		m.hdrLen = whole
		m.n, m.user, m.orgCntr = 0, false, 0 // they wait for msgFetched
		h.token = c.readers.put(reader{t: t, data: udata, n: n, orgCntr: orgCntr, id: h.id, seq: m.seq})
	default:
		m.hdrLen = whole
		m.first = min(n, uint64(t.link.Limits().SendMax-whole))
	}
	h.encode(m.hdr[:])
	c.start(m)
	c.publish()
	return codes.Success
}

// checkAm checks what Amsend got, in the order of the guide's list of errors.
func (c *Context) checkAm(hdrHdl, uhdr transport.Addr, uhdrLen uint32, udata transport.Addr, n uint64) codes.Code {
	switch {
	case hdrHdl == 0:
		return codes.ErrHdrHndlrNull
	case uhdrLen > MaxUhdrSize:
		return codes.ErrUhdrLen
	case c.errorCheck && uhdrLen%4 != 0:
		return codes.ErrHdrLen
	case uhdr == 0 && uhdrLen > 0:
		return codes.ErrUhdrNull
	case n > MaxMessageSize:
		return codes.ErrDataLen
	case udata == 0 && n > 0:
		return codes.ErrOrgAddrNull
	}
	return codes.Success
}

// onAm is the target's side of the first fragment.
func (c *Context) onAm(m *transport.Msg) transport.Verdict {
	var h amHeader
	uhdr, ok := h.decode(m.Hdr, len(m.Data))
	if !ok {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	if h.length == uint64(len(m.Data)) && !h.split { // by far the most: nothing else will come
		return c.wholeAm(t, &h, uhdr, m.Data)
	}
	in := c.findIncoming(t, uint64(h.id))
	if in == nil {
		in = c.newIncoming(t, uint64(h.id))
	}
	if in.hasHeader {
		return c.malformed(m)
	}
	in.am = h
	if h.split {
		return c.splitHeader(t, in)
	}
	if v := c.runHeader(t, in, uhdr, 0); v == transport.Refuse {
		return v
	}
	in.hasHeader = true
	switch {
	case h.isDirect:
		c.fetch(t, in)
	default:
		c.place(t, in, 0, m.Data)
	}
	c.placeEarly(t, in)
	c.finishIfComplete(t, in)
	return transport.Accept
}

// wholeAm handles a message that came in one fragment, without bookkeeping.
func (c *Context) wholeAm(t *task, h *amHeader, uhdr, data []byte) transport.Verdict {
	in := incoming{am: *h}
	var onePacket transport.Addr
	if len(data) > 0 {
		onePacket = memory.AddrOf(data)
	}
	if v := c.runHeader(t, &in, uhdr, onePacket); v == transport.Refuse {
		return v
	}
	c.place(t, &in, 0, data)
	c.amComplete(t, &in)
	return transport.Accept
}

// runHeader calls the user's header handler and keeps what it says in in. Refuse: the message must come again.
func (c *Context) runHeader(t *task, in *incoming, uhdr []byte, onePacket transport.Addr) transport.Verdict {
	handler := in.am.handler
	if handler < AddressTableSize {
		if handler = c.addresses[handler]; handler == 0 {
			return c.unknownHandler(t, in)
		}
	}
	place := transport.Addr(0)
	if len(uhdr) > 0 {
		copy(c.scratch, uhdr)
		place = memory.AddrOf(c.scratch)
	}
	r := &c.result
	*r = HeaderResult{}
	c.host.HeaderHandler(handler, place, uint32(len(uhdr)), in.am.length, int32(t.id), onePacket, r)
	if r.CtlFlags == ctlDrop {
		return transport.Refuse
	}
	in.handled = true
	in.buffer = r.Buffer
	in.buried = r.CtlFlags == ctlBury || r.Buffer == 0
	in.handler = completion{handler: r.Completion, info: r.Info}
	in.inline = r.RetFlags&(retLocalState|retSendReply) != 0
	if r.DGSP != 0 && !in.buried {
		in.buried = true
		c.raise(codes.ErrDgsp, AmErr, t.id, "the header handler named a DGSP for a message of LAPI_Amsend")
	}
	return transport.Accept
}

// splitHeader notes a header whose user header comes in fragments; some may be here already. If the header handler then wants
// the message again (LAPI_DROP_PKT), everything is as if the header had not come.
func (c *Context) splitHeader(t *task, in *incoming) transport.Verdict {
	if cap(in.uhdr) < MaxUhdrSize {
		in.uhdr = make([]byte, MaxUhdrSize)
	}
	split := uint64(in.am.uhdrLen)
	in.uhdr = in.uhdr[:split]
	in.uhdrGot = 0
	for i := range in.early {
		if p := &in.early[i]; p.offset < split {
			in.uhdrGot += uint64(copy(in.uhdr[p.offset:], p.data))
		}
	}
	if in.uhdrGot == split {
		if v := c.runHeader(t, in, in.uhdr, 0); v == transport.Refuse {
			return v
		}
	}
	in.hasHeader = true
	kept := in.early[:0]
	for _, p := range in.early {
		if p.offset < split {
			t.earlyBytes -= len(p.data)
		} else {
			kept = append(kept, earlyPart{p.offset - split, p.data})
		}
	}
	clear(in.early[len(kept):])
	in.early = kept
	if in.handled {
		c.placeEarly(t, in)
		c.finishIfComplete(t, in)
	}
	return transport.Accept
}

// onAmFragment is the target's side of the other fragments.
func (c *Context) onAmFragment(m *transport.Msg) transport.Verdict {
	var h partHeader
	if !h.decode(m.Hdr) || h.message >= putIDs {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	in := c.findIncoming(t, h.message)
	if in == nil {
		in = c.newIncoming(t, h.message)
	}
	if !in.hasHeader {
		if !c.keepEarly(t, in, h.offset, m.Data) {
			return transport.Refuse
		}
		return transport.Accept
	}
	return c.amPart(t, in, h.offset, m.Data)
}

// amPart handles a part of the stream of a message whose header is known.
func (c *Context) amPart(t *task, in *incoming, offset uint64, data []byte) transport.Verdict {
	total := in.am.length
	split := uint64(0)
	if in.am.split {
		split = uint64(in.am.uhdrLen)
	}
	if !inside(offset, uint64(len(data)), total+split) {
		return transport.Accept // malformed: dropped
	}
	if offset >= split && in.handled {
		c.place(t, in, offset-split, data)
		c.finishIfComplete(t, in)
		return transport.Accept
	}
	if offset >= split { // user data before the user header is whole
		if !c.keepEarly(t, in, offset-split, data) {
			return transport.Refuse
		}
		return transport.Accept
	}
	n := copy(in.uhdr[offset:], data)
	if in.uhdrGot+uint64(n) == split {
		if v := c.runHeader(t, in, in.uhdr, 0); v == transport.Refuse {
			return v
		}
	}
	in.uhdrGot += uint64(n)
	if in.handled {
		c.placeEarly(t, in)
		c.finishIfComplete(t, in)
	}
	return transport.Accept
}

// finishIfComplete ends in once all its data is in place.
func (c *Context) finishIfComplete(t *task, in *incoming) {
	if in.handled && in.received >= in.am.length {
		c.amComplete(t, in)
		c.freeIncoming(t, in)
	}
}

// amComplete: all data of an active message is in place (or dropped). The completion handler runs now, or is queued; target
// and completion counter follow it.
func (c *Context) amComplete(t *task, in *incoming) {
	if in.failed {
		return
	}
	c.completed(recvComplete)
	done := in.handler
	done.origin, done.session, done.tgtCntr, done.cmplCntr = t.id, t.session, in.am.tgtCntr, in.am.cmplCntr
	switch {
	case done.handler == 0:
	case in.inline:
		c.host.CompletionHandler(done.handler, done.info)
	default:
		c.queueCompletion(done)
		return
	}
	c.handlerReturned(&done)
}
