package lapi

import (
	"fmt"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// amsendv is LAPI_Amsendv (guide, Chapters 6 and 18): an active message whose data is a vector. The header handler at the
// target names another one. The description is read before amsendv returns.
func (c *Context) amsendv(t *task, x *Transfer) codes.Code {
	if code := c.checkUhdr(x); code != codes.Success {
		return code
	}
	m := c.newVectored(t, wire.MsgAmv, AmErr)
	if err := c.loader().One(&m.org, x.OrgAddr); err != nil {
		c.freeOutgoing(m)
		return c.badVector(err)
	}
	h, code := c.beginAm(m, x, wire.AmSize+wire.AmvSize, m.org.Total(), x.done())
	if code != codes.Success {
		return code
	}
	a := m.org.DescribeOrigin()
	m.lengths = a.Lengths()
	m.n += m.lengths
	switch whole := m.uhdrAt + wire.Pad8(int(x.UhdrLen)); {
	case whole > t.headers:
		m.splitUhdr(&h)
	case c.amvGoesDirect(t, &m.org, x.way()):
		c.offerVector(m, &h, &a, whole)
	default:
		m.hdrLen = whole
		m.first = min(m.n, t.room(whole)&^7)
	}
	h.Encode(m.hdr[:])
	a.Encode(m.hdr[wire.AmSize:])
	c.start(m)
	return codes.Success
}

// offerVector is offer where the data lies in blocks: the target reads their list, which the reader keeps.
func (c *Context) offerVector(m *outgoing, h *wire.Am, a *wire.Amv, whole int) {
	if !m.org.Strided() {
		a.Base, _ = m.org.List()
	}
	c.offer(m, h, reader{vectored: true, org: m.org, n: m.org.Total()}, whole)
	m.org, m.lengths = vector.Vector{}, 0
}

// onAmv is the target's side of the first fragment.
func (c *Context) onAmv(m *transport.Msg) transport.Verdict {
	var h wire.Am
	var v wire.Amv
	uhdr, ok := wire.DecodeAmv(&h, &v, m.Hdr, len(m.Data))
	if !ok {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	if !h.Split && !h.Rendezvous && v.Lengths()+h.Length == uint64(len(m.Data)) {
		return c.wholeAmv(t, &h, &v, uhdr, m.Data)
	}
	in := c.findIncoming(t, uint64(h.ID))
	if in == nil {
		in = c.newIncoming(t, uint64(h.ID))
	}
	if in.hasHeader {
		return c.malformed(m)
	}
	in.vectored, in.am, in.amv = true, h, v
	if h.Rendezvous {
		return c.directAmv(t, in, uhdr)
	}
	return c.splitHeader(t, in, uhdr, m.Data)
}

// wholeAmv handles a message that came in one fragment.
func (c *Context) wholeAmv(t *task, h *wire.Am, v *wire.Amv, uhdr, data []byte) transport.Verdict {
	in := &c.whole
	in.tgt.Reset()
	*in = incoming{vectored: true, am: *h, amv: *v, tgt: in.tgt, uhdr: data[:v.Lengths()]}
	in.uhdrFrom = wholeLengths
	data = data[v.Lengths():]
	var onePacket transport.Addr
	if len(data) > 0 {
		onePacket = memory.AddrOf(data)
	}
	if v := c.runHeader(t, in, uhdr, onePacket); v == transport.Refuse {
		return v
	}
	c.place(t, in, 0, data)
	c.amComplete(t, in)
	return transport.Accept
}

// wholeLengths in uhdrFrom says that uhdr holds nothing but the lengths, in the link's memory.
const wholeLengths = -1

// directAmv handles a message whose data, and list of blocks, are to be read from the origin's memory.
func (c *Context) directAmv(t *task, in *incoming, uhdr []byte) transport.Verdict {
	v := &in.amv
	in.org.Origin(v, in.am.Length)
	if !t.direct {
		return c.refuseDirect(t, in, uhdr)
	}
	if v.Kind != wire.VectorStrided {
		err := c.readList(t, in)
		if fault, ok := err.(*transport.FaultError); ok {
			c.fetchFault(t, fault)
			c.freeIncoming(t, in)
			return transport.Accept
		}
		if err == errBadList {
			c.freeIncoming(t, in)
			return c.malformed(&transport.Msg{From: t.ep})
		}
		if err != nil {
			t.direct = false
			return c.refuseDirect(t, in, uhdr)
		}
	}
	if r := c.runHeader(t, in, uhdr, 0); r == transport.Refuse {
		return r
	}
	in.hasHeader = true
	c.fetch(t, in)
	c.placeEarly(t, in)
	c.finishIfComplete(t, in)
	return transport.Accept
}

// refuseDirect asks the origin for lengths and data in fragments instead.
func (c *Context) refuseDirect(t *task, in *incoming, uhdr []byte) transport.Verdict {
	token := in.am.Token
	in.am.Rendezvous = false
	if v := c.splitHeader(t, in, uhdr, nil); v == transport.Refuse {
		return v
	}
	answer := wire.Fetched{Token: token, Outcome: wire.FetchNothing}
	c.sendControl(t, wire.MsgFetched, AmErr, answer.Encode)
	return transport.Accept
}

// lengthsOf is where the header handler finds the lengths of the origin's blocks, not on the Go heap. Of a strided vector, whose
// blocks are all alike, there is one.
func (c *Context) lengthsOf(in *incoming) []byte {
	var from []byte
	n := int(8 * uint64(in.amv.Count))
	switch {
	case in.amv.Kind == wire.VectorStrided:
		n = 8
	case in.uhdrFrom == wholeLengths:
		if vector.WordSize == 8 {
			return in.uhdr
		}
		from = in.uhdr
	case !in.am.Rendezvous:
		from = in.uhdr[in.am.UhdrLen:]
	}
	var err error
	if c.lengths, err = arena.Grow(c.lengths, n+narrowRoom(n)); err != nil {
		c.raise(codes.ErrMemoryExhausted, AmErr, c.me, "no memory for the lengths of a vector's blocks")
		return nil
	}
	switch {
	case in.amv.Kind == wire.VectorStrided:
		wire.Order.PutUint64(c.lengths, in.amv.Block)
	case in.am.Rendezvous:
		in.org.WriteLengths(c.lengths[:n], 0)
	default:
		copy(c.lengths, from)
	}
	return c.lengths[:n]
}

// shownLengths is lengths as the header handler sees them: ulongs of this task.
func (c *Context) shownLengths(lengths []byte) transport.Addr {
	if vector.WordSize == 8 {
		return memory.AddrOf(lengths)
	}
	narrow := c.lengths[len(lengths):]
	for i := 0; i < len(lengths); i += 8 {
		wire.Order.PutUint32(narrow[i/2:], uint32(wire.Order.Uint64(lengths[i:])))
	}
	return memory.AddrOf(narrow)
}

// narrowRoom is what shownLengths needs behind n bytes of lengths.
func narrowRoom(n int) int {
	if vector.WordSize == 8 {
		return 0
	}
	return n / 2
}

// targetVector reads the vector that the header handler returned and holds it against the origin's (guide, Table 7). If it does not
// fit, the error handlers of both tasks hear of it and the data is dropped.
func (c *Context) targetVector(t *task, in *incoming, lengths []byte) {
	err := c.loader().Returned(&in.tgt, in.buffer, &in.amv, lengths)
	if err == nil {
		return
	}
	code := c.badVector(err)
	in.failed = true
	c.raise(code, AmErr, t.id, fmt.Sprintf("the vector that the header handler returned for a message of task %d cannot take it", t.id))
	if t.id != c.me {
		h := wire.Fault{Code: uint32(code), Kind: uint32(AmErr), Addr: in.buffer}
		c.sendControl(t, wire.MsgFault, IntErr, h.Encode)
	}
}
