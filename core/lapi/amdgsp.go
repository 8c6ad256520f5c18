package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/wire"
	"lapi/transport"
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
func (c *Context) amdgsp(t *task, x *Transfer) codes.Code {
	if code := c.checkUhdr(x); code != codes.Success {
		return code
	}
	if x.N > wire.MaxMessageSize {
		return codes.ErrDataLen
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
	if offset, ok := program.Contiguous(x.Skip + x.N); !ok || program.AtomSize != 0 {
		return c.sendPlaced(t, x, l)
	} else { // one block: as any other message
		c.freePlacement(l)
		udata := dgsm.Place(x.OrgAddr, offset+int64(x.Skip))
		if udata == 0 && x.N > 0 {
			return codes.ErrOrgAddrNull
		}
		return c.sendAm(t, x, udata, x.done())
	}
}

func (c *Context) sendPlaced(t *task, x *Transfer, l *placement) codes.Code {
	m := c.newVectored(t, wire.MsgAm, AmErr)
	m.placement = l
	h, code := c.beginAm(m, x, wire.AmSize, x.N, x.done())
	if code != codes.Success {
		return code
	}
	h.Atom = uint8(l.hold.Program().AtomSize)
	whole := wire.AmSize + wire.Pad8(int(x.UhdrLen))
	switch {
	case c.offerPieces(m, &h, x, l):
	case whole > t.headers:
		m.splitUhdr(&h)
	default:
		m.hdrLen = whole
		m.first = m.cut(min(x.N, t.room(whole)), x.N)
	}
	h.Encode(m.hdr[:])
	c.start(m)
	return codes.Success
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
