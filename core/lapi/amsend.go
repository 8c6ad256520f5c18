package lapi

import (
	"fmt"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// amsend is LAPI_Amsend (guide, Chapters 7, 11, 18): runs the header handler at HdrHdl (an address there, or an index set by
// LAPI_Addr_set) in the target and moves the data to the buffer it names.
func (c *Context) amsend(t *task, x *Transfer) codes.Code {
	if code := c.checkAm(x); code != codes.Success {
		return code
	}
	return c.sendAm(t, x, x.OrgAddr, x.done())
}

// sendAm sends an active message with the data at udata. ErrUhdrNull: the user header cannot be read, nothing was sent.
func (c *Context) sendAm(t *task, x *Transfer, udata transport.Addr, done Callback) codes.Code {
	m := c.newOutgoing(t, wire.MsgAm, AmErr)
	h, code := c.beginAm(m, x, wire.AmSize, x.N, done)
	if code != codes.Success {
		return code
	}
	m.data = udata
	switch whole := wire.AmSize + wire.Pad8(int(x.UhdrLen)); {
	case whole > t.headers:
		m.splitUhdr(&h)
	case c.amGoesDirect(t, x.N, x.way()):
		h.Direct = udata
		c.offer(m, &h, reader{data: udata, n: x.N}, whole)
	default:
		m.hdrLen = whole
		if m.first = x.N; x.N > t.room(whole) {
			m.step = t.partSize(x.N)
			m.first = min(m.step, t.room(whole))
		}
	}
	h.Encode(m.hdr[:])
	c.start(m)
	return codes.Success
}

// beginAm copies the user header of an active message of n bytes into m, at uhdrAt, and returns its header. ErrUhdrNull: it
// cannot be read; m is gone.
func (c *Context) beginAm(m *outgoing, x *Transfer, uhdrAt int, n uint64, done Callback) (h wire.Am, code codes.Code) {
	t, end := m.t, uhdrAt+int(x.UhdrLen)
	if err := memory.CopyOut(m.hdr[uhdrAt:end], x.Uhdr); err != nil {
		c.freeOutgoing(m)
		c.fault(err, codes.ErrOrgAddrNull, AmErr, c.me)
		return h, codes.ErrUhdrNull
	}
	clear(m.hdr[end : uhdrAt+wire.Pad8(int(x.UhdrLen))])
	t.lastKind = AmErr
	if x.CmplCntr != 0 {
		t.expected++
	}
	t.nextID++
	m.user, m.orgCntr, m.done = true, x.OrgCntr, done
	m.message, m.part, m.uhdrAt, m.n = uint64(t.nextID), wire.MsgAmFragment, uhdrAt, n
	return wire.Am{Handler: x.HdrHdl, Length: n, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr, ID: t.nextID, UhdrLen: uint16(x.UhdrLen)}, codes.Success
}

// splitUhdr makes the user header the head of m's stream: the link's header has no room for it.
func (m *outgoing) splitUhdr(h *wire.Am) {
	h.Split = true
	m.hdrLen = m.uhdrAt
	m.uhdrLen = uint64(h.UhdrLen)
	m.n += m.uhdrLen
}

// offer makes m a rendezvous: nothing but its header goes, of whole bytes, and the target fetches the data, which r describes.
// What follows waits for MsgFetched.
func (c *Context) offer(m *outgoing, h *wire.Am, r reader, whole int) {
	h.Rendezvous = true
	r.t, r.orgCntr, r.done, r.id, r.seq = m.t, m.orgCntr, m.done, h.ID, m.seq
	h.Token = c.readers.put(r)
	m.hdrLen = whole
	m.n, m.user, m.orgCntr, m.done = 0, false, 0, Callback{}
}

// checkAm checks what Amsend got, in the order of the guide's list of errors.
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
	case c.errorCheck && x.UhdrLen%4 != 0:
		return codes.ErrHdrLen
	case x.Uhdr == 0 && x.UhdrLen > 0:
		return codes.ErrUhdrNull
	}
	return codes.Success
}

// onAm is the target's side of the first fragment.
func (c *Context) onAm(m *transport.Msg) transport.Verdict {
	var h wire.Am
	uhdr, ok := h.Decode(m.Hdr, len(m.Data))
	if !ok {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	if h.Length == uint64(len(m.Data)) && !h.Split { // by far the most: nothing else will come
		return c.wholeAm(t, &h, uhdr, m.Data)
	}
	in := c.findIncoming(t, uint64(h.ID))
	if in == nil {
		in = c.newIncoming(t, uint64(h.ID))
	}
	if in.hasHeader {
		return c.malformed(m)
	}
	in.am = h
	if h.Split {
		return c.splitHeader(t, in, nil, nil)
	}
	if v := c.runHeader(t, in, uhdr, 0); v == transport.Refuse {
		return v
	}
	in.hasHeader = true
	switch {
	case h.Rendezvous:
		c.fetch(t, in)
	default:
		c.place(t, in, 0, m.Data)
	}
	c.placeEarly(t, in)
	c.finishIfComplete(t, in)
	return transport.Accept
}

// wholeAm handles a message that came in one fragment, without bookkeeping.
func (c *Context) wholeAm(t *task, h *wire.Am, uhdr, data []byte) transport.Verdict {
	in := incoming{am: *h, whole: true}
	var onePacket transport.Addr
	if len(data) > 0 {
		onePacket = memory.AddrOf(data)
	}
	if v := c.runHeader(t, &in, uhdr, onePacket); v == transport.Refuse {
		return v
	}
	return c.placeWhole(t, &in, data)
}

// placeWhole ends a message that came in one fragment: its header handler has run.
func (c *Context) placeWhole(t *task, in *incoming, data []byte) transport.Verdict {
	c.place(t, in, 0, data)
	c.amComplete(t, in)
	c.freePlacement(in.placement)
	return transport.Accept
}

// runHeader calls the user's header handler and keeps what it says in in. Refuse: the message must come again.
func (c *Context) runHeader(t *task, in *incoming, uhdr []byte, onePacket transport.Addr) transport.Verdict {
	if in.am.Length > wire.MaxMessageSize {
		c.tooLong(t, in)
		return transport.Accept
	}
	handler := in.am.Handler
	if handler < wire.HandlerIndices {
		if handler = transport.Addr(c.handlerTable()[handler]); handler == 0 {
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
	lengths := []byte(nil)
	if in.vectored {
		lengths = c.lengthsOf(in)
		c.host.VectorHeaderHandler(handler, place, uint32(len(uhdr)), c.shownLengths(lengths), int32(t.id), onePacket, r)
	} else {
		c.host.HeaderHandler(handler, place, uint32(len(uhdr)), in.am.Length, int32(t.id), onePacket, r)
	}
	return c.heedHeader(t, in, r, lengths)
}

// tooLong ends a message whose length a header handler here could not even be told: its origin is a 64-bit task, this is none.
func (c *Context) tooLong(t *task, in *incoming) {
	in.handled, in.buried, in.failed = true, true, true
	c.raise(codes.ErrDataLen, AmErr, t.id, fmt.Sprintf("message of %d bytes from task %d, which a 32-bit task cannot take; send it in parts", in.am.Length, t.id))
	h := wire.Fault{Code: uint32(codes.ErrDataLen), Kind: uint32(AmErr)}
	c.sendControl(t, wire.MsgFault, IntErr, h.Encode)
}

// heedHeader takes in what a header handler said. lengths are what that of a vector was shown.
func (c *Context) heedHeader(t *task, in *incoming, r *HeaderResult, lengths []byte) transport.Verdict {
	if r.CtlFlags == ctlDrop {
		return transport.Refuse
	}
	in.handled = true
	in.buffer = r.Buffer
	in.buried = r.CtlFlags == ctlBury || r.Buffer == 0 && r.DGSP == 0
	in.handler = completion{handler: r.Completion, info: r.Info}
	in.inline = r.RetFlags&(retLocalState|retSendReply) != 0
	if r.DGSP != 0 && !in.buried && !in.vectored {
		c.scatterBy(t, in, r)
	}
	if in.vectored && !in.buried {
		c.targetVector(t, in, lengths)
	}
	return transport.Accept
}

// splitHeader notes a header without all of the user header, and (of a vector) of the lengths of blocks: these lead the stream. uhdr
// is what came, data the beginning of the stream; some fragments may be here already. If the header handler then wants
// the message again (LAPI_DROP_PKT), everything is as if the header had not come.
func (c *Context) splitHeader(t *task, in *incoming, uhdr, data []byte) transport.Verdict {
	prefix := in.prefix()
	size := len(uhdr) + int(prefix)
	if cap(in.uhdr) < size {
		in.uhdr = make([]byte, max(size, wire.MaxUhdrSize))
	}
	in.uhdr, in.uhdrFrom = in.uhdr[:size], len(uhdr)
	copy(in.uhdr, uhdr)
	rest := in.uhdr[in.uhdrFrom:]
	lead := copy(rest, data)
	in.uhdrGot = uint64(lead)
	for i := range in.early {
		if p := &in.early[i]; p.offset < prefix {
			in.uhdrGot += uint64(copy(rest[p.offset:], p.data))
		}
	}
	if in.uhdrGot == prefix {
		if v := c.runHeader(t, in, in.uhdr[:in.am.UhdrLen], 0); v == transport.Refuse {
			return v
		}
	}
	in.hasHeader = true
	kept := in.early[:0]
	for _, p := range in.early {
		n := min(max(prefix, p.offset)-p.offset, uint64(len(p.data))) // of the prefix
		t.earlyBytes -= int(n)
		if n < uint64(len(p.data)) {
			kept = append(kept, earlyPart{p.offset + n - prefix, p.data[n:]})
		}
	}
	clear(in.early[len(kept):])
	in.early = kept
	if in.handled {
		c.place(t, in, 0, data[lead:])
		c.placeEarly(t, in)
		c.finishIfComplete(t, in)
	}
	return transport.Accept
}

// onAmFragment is the target's side of the other fragments.
func (c *Context) onAmFragment(m *transport.Msg) transport.Verdict {
	var h wire.Part
	if !h.Decode(m.Hdr) || h.Message >= putIDs {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	in := c.findIncoming(t, h.Message)
	if in == nil {
		in = c.newIncoming(t, h.Message)
	}
	if !in.hasHeader {
		if !c.keepEarly(t, in, h.Offset, m.Data) {
			return transport.Refuse
		}
		return transport.Accept
	}
	return c.amPart(t, in, h.Offset, m.Data)
}

// amPart handles a part of the stream of a message whose header is known.
func (c *Context) amPart(t *task, in *incoming, offset uint64, data []byte) transport.Verdict {
	prefix := in.prefix()
	if !wire.Inside(offset, uint64(len(data)), in.am.Length+prefix) {
		return transport.Accept // malformed: dropped
	}
	n := min(max(prefix, offset)-offset, uint64(len(data))) // of the prefix
	behind := data[n:]
	at := offset + n - prefix // of behind
	done := in.handled || in.uhdrGot+n == prefix && n > 0
	if !done && len(behind) > 0 { // user data before the header handler can run
		if !c.keepEarly(t, in, at, behind) {
			return transport.Refuse
		}
		behind = nil
	}
	if n > 0 {
		copy(in.uhdr[uint64(in.uhdrFrom)+offset:], data[:n])
		if in.uhdrGot+n == prefix {
			if v := c.runHeader(t, in, in.uhdr[:in.am.UhdrLen], 0); v == transport.Refuse {
				return v
			}
		}
		in.uhdrGot += n
	}
	if in.handled {
		c.place(t, in, at, behind)
		c.placeEarly(t, in)
		c.finishIfComplete(t, in)
	}
	return transport.Accept
}

// finishIfComplete ends in once all its data is in place.
func (c *Context) finishIfComplete(t *task, in *incoming) {
	if in.handled && in.received >= in.am.Length {
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
	done.origin, done.session, done.tgtCntr, done.cmplCntr = t.id, t.session, in.am.TgtCntr, in.am.CmplCntr
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
