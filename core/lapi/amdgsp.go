package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// placement is one end of an active message whose data lies as a DGSP says: the program, which the library keeps meanwhile, and
// the machine that runs it.
type placement struct {
	next    *placement
	hold    dgsm.Hold
	machine dgsm.Machine
	first   uint64 // of the program's stream: where the message begins
	bytes   uint64 // of a target: how many of the message to deliver
}

// newPlacement keeps the program of a handle. LAPI_ERR_DGSP: it is not registered.
func (c *Context) newPlacement(handle transport.Addr) (*placement, *dgsm.Error) {
	hold, err := dgsps.Hold(handle)
	if err != nil {
		return nil, err
	}
	l := c.freePlacements
	if l == nil {
		l = new(placement)
	} else {
		c.freePlacements = l.next
	}
	l.hold, l.first = hold, 0
	return l, nil
}

func (c *Context) freePlacement(l *placement) {
	if l == nil {
		return
	}
	dgsps.Release(l.hold)
	l.hold = dgsm.Hold{}
	l.next = c.freePlacements
	c.freePlacements = l
}

// amdgsp is LAPI_DGSP_XFER (guide, Chapter 6 and LAPI_Xfer): an active message of n bytes that the DGSP gathers at udata, whose
// offsets are addresses where udata is 0; and LAPI_AMX_XFER, the same from byte Skip of the DGSP's stream on. At the target it
// arrives as any active message: in one piece, or as the DGSP says that the header handler names.
func (c *Context) amdgsp(x *Transfer, done Callback) codes.Code {
	memory.Guard()
	t, code := c.target(x.Tgt)
	if code == codes.Success {
		code = c.checkUhdr(x.HdrHdl, x.Uhdr, x.UhdrLen)
	}
	if code == codes.Success && x.N > wire.MaxMessageSize {
		code = codes.ErrDataLen
	}
	if code != codes.Success {
		return code
	}
	l, err := c.newPlacement(x.TgtAddr)
	if err == nil {
		err = l.machine.StartGather(dgsm.Transfer{Program: l.hold.Program(), Base: x.OrgAddr, First: x.Skip, Bytes: x.N})
		l.first = x.Skip
	}
	if err != nil {
		c.freePlacement(l)
		return explainDGSP(c.host, "LAPI_Xfer", err)
	}
	program := l.hold.Program()
	if offset, ok := program.Contiguous(x.Skip + x.N); ok && program.AtomSize == 0 { // one block: as any other message, directly if that is worth it
		c.freePlacement(l)
		return c.amsend(x.Tgt, x.HdrHdl, x.Uhdr, x.UhdrLen, dgsm.Place(x.OrgAddr, offset+int64(x.Skip)), x.N, x.TgtCntr, x.OrgCntr, x.CmplCntr, done, hintOf(x.Flags))
	}
	return c.sendPlaced(t, x, l, done)
}

func (c *Context) sendPlaced(t *task, x *Transfer, l *placement, done Callback) codes.Code {
	m := c.newVectored(t, wire.MsgAm, AmErr)
	m.placement = l
	if err := memory.CopyOut(m.hdr[wire.AmSize:wire.AmSize+x.UhdrLen], x.Uhdr); err != nil {
		c.freeOutgoing(m)
		c.fault(err, codes.ErrOrgAddrNull, AmErr, c.me)
		return codes.ErrUhdrNull
	}
	t.lastKind = AmErr
	if x.CmplCntr != 0 {
		t.expected++
	}
	t.nextID++
	h := wire.Am{Handler: x.HdrHdl, Length: x.N, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr, ID: t.nextID, UhdrLen: uint16(x.UhdrLen),
		Atom: uint8(l.hold.Program().AtomSize)}
	m.user, m.orgCntr, m.done = true, x.OrgCntr, done
	m.message, m.part, m.n = uint64(h.ID), wire.MsgAmFragment, x.N
	padded := wire.Pad8(int(x.UhdrLen))
	clear(m.hdr[wire.AmSize+int(x.UhdrLen) : wire.AmSize+padded])
	if !c.offerPieces(m, &h, x, l) {
		m.layOutPlaced(&h, x, padded)
	}
	c.start(m)
	c.publish()
	return codes.Success
}

// layOutPlaced makes m a message whose data is gathered into fragments.
func (m *outgoing) layOutPlaced(h *wire.Am, x *Transfer, padded int) {
	m.hdrLen = wire.AmSize + padded
	if m.hdrLen > m.t.headers {
		h.Split = true
		m.hdrLen = wire.AmSize
		m.uhdrLen = uint64(x.UhdrLen)
		m.n += m.uhdrLen
	} else {
		m.first = m.cut(min(x.N, m.t.room(m.hdrLen)), x.N)
	}
	h.Encode(m.hdr[:])
}

// cut is how much of n bytes the next fragment takes, of left bytes that there are: no atom is split. Atoms are counted from the
// beginning of the program's stream, so the first of a message that begins inside one is the rest of it.
func (m *outgoing) cut(n, left uint64) uint64 {
	if m.placement == nil || n == left {
		return n
	}
	program := m.placement.hold.Program()
	if program.AtomSize == 0 {
		return n
	}
	at := m.placement.first
	if m.offset > m.uhdrLen {
		at += m.offset - m.uhdrLen
	}
	begun := at % uint64(program.AtomSize)
	return max(program.AtomAlign(begun+n), begun) - begun
}

// scatterBy makes in's data go where the DGSP says that the header handler named, as many bytes and from where in its stream on as the
// handler said. A bad DGSP reaches the error handler, and the data is dropped.
func (c *Context) scatterBy(t *task, in *incoming, r *HeaderResult) {
	l, err := c.newPlacement(transport.Addr(r.DGSP))
	if err == nil {
		l.bytes = min(r.Bytes, in.am.Length)
		atom := int32(in.am.Atom)
		if atom == 0 && in.whole {
			atom = -1
		}
		err = l.machine.StartScatter(dgsm.Transfer{Program: l.hold.Program(), Base: in.buffer, First: r.Skip, Bytes: l.bytes, DDM: c.ddm}, atom)
	}
	if err != nil {
		c.freePlacement(l)
		in.buried = true
		c.raise(err.Code, AmErr, t.id, "the DGSP that the header handler named cannot be used: "+err.Text)
		return
	}
	in.placement = l
}

// scatter is place for such a message.
func (in *incoming) scatter(offset uint64, data []byte) error {
	l := in.placement
	if offset >= l.bytes {
		return nil
	}
	return l.machine.Scatter(data[:min(uint64(len(data)), l.bytes-offset)], offset)
}
