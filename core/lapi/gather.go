package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// This file makes the fragments of messages whose data lies in a vector or as a DGSP says. The link lets the fragment's data be gathered
// straight into its own memory (transport.Gathering), or it is gathered in memory of this package, which the link may refer to until the
// fragment is delivered.

// prepareVector is prepare for such a message.
func (c *Context) prepareVector(m *outgoing) (*fragmentOp, error) {
	if f := m.held; f != nil {
		m.held = nil
		return f, nil
	}
	f := c.newFragmentOp(m)
	f.id, f.op.Local, f.op.N, f.lead, f.by = m.id, 0, 0, 0, nil
	switch m.id {
	case wire.MsgPutv:
		c.preparePutv(m, f)
	case wire.MsgGetv:
		c.prepareGetv(m, f)
	default:
		c.prepareStream(m, f)
	}
	if err := c.layOut(m, f); err != nil {
		c.freeFragmentOp(f)
		return nil, err
	}
	return f, nil
}

// gatherRoom is how much data the next fragment to t may hold, with any header, if it is gathered.
func (t *task) gatherRoom() uint64 {
	most := t.sendMax - (wire.VectorSize - wire.PutFragmentSize)
	if by, ok := t.link.(transport.Gathering); ok {
		most = max(most, by.GatherMax(t.ep))
	}
	return uint64(most)
}

// stage gives f memory for one fragment to any task.
func (c *Context) stage(f *fragmentOp) []byte {
	if n := len(c.stagings); n > 0 {
		f.staging = c.stagings[n-1]
		c.stagings = c.stagings[:n-1]
	} else {
		f.staging = make([]byte, c.links.SendMax())
	}
	return f.staging
}

// preparePutv makes a fragment that the target can place by itself. Many entries leave less room for data.
func (c *Context) preparePutv(m *outgoing, f *fragmentOp) {
	entries, n := m.tgt.Fit(m.offset, m.n-m.offset, min(m.t.gatherRoom(), m.step))
	f.vectorPart(entries, n)
	f.op.N = uint64(f.lead) + n
}

// prepareGetv makes a part of a request: of a list, as many entries as fit.
func (c *Context) prepareGetv(m *outgoing, f *fragmentOp) {
	f.vectorPart(m.tgt.FitEntries(m.offset, m.n-m.offset, int(m.t.gatherRoom()/wire.EntrySize)))
	f.op.N = uint64(f.lead)
}

// vectorPart makes f a part of a put or request: n bytes of the target's vector, named by that many entries.
func (f *fragmentOp) vectorPart(entries int, n uint64) {
	m := f.m
	(*wire.Vector)(nil).EncodePlace(m.hdr[:], m.offset, uint32(entries))
	f.hdr, f.step, f.lead = m.hdr[:wire.VectorSize], n, entries*wire.EntrySize
}

// prepareStream makes a fragment of a stream: split user header, lengths of blocks, data. The user header never shares one with the
// rest.
func (c *Context) prepareStream(m *outgoing, f *fragmentOp) {
	most := uint64(m.t.sendMax)
	if m.started && m.offset >= m.uhdrLen {
		most = max(most, m.t.gatherRoom())
	}
	id, hdr, data, n := m.nextFragment(most)
	f.id, f.hdr, f.step, f.op.N = id, hdr, n, n
	if m.started && m.offset < m.uhdrLen {
		f.op.Local = data
		return
	}
	if at := m.offset - m.uhdrLen; at < m.lengths {
		f.lead = int(min(n, m.lengths-at))
	}
}

// layOut says where f's data comes from, unless that is clear: it is gathered, by the link or now, or lies in one piece in the user's
// memory.
func (c *Context) layOut(m *outgoing, f *fragmentOp) error {
	n := f.op.N - uint64(f.lead)
	if f.op.N == 0 || f.op.Local != 0 {
		return nil
	}
	if by, ok := m.t.link.(transport.Gathering); ok {
		f.by = by
		return nil
	}
	if f.lead == 0 && n > uint64(c.bufCopy) && m.placement == nil { // not to be free on return: the link may take it from where it is
		at := m.org.At(m.dataOffset())
		if a, got := at.Next(n); got == n {
			f.op.Local = a
			return nil
		}
	}
	b := c.stage(f)[:f.op.N]
	f.op.Local = memory.AddrOf(b)
	return f.Gather(b)
}

// dataOffset is where in m's data its next fragment begins.
func (m *outgoing) dataOffset() uint64 {
	before := m.uhdrLen + m.lengths
	return max(m.offset, before) - before
}

// Gather implements transport.Gatherer: writes the fragment's entries or lengths, and its data. f is the next fragment of its message.
func (f *fragmentOp) Gather(dst []byte) error {
	m, lead := f.m, dst[:f.lead]
	switch {
	case !m.vectored:
		return memory.CopyOut(dst, f.op.Local)
	case f.lead == 0:
	case m.id == wire.MsgPutv || m.id == wire.MsgGetv:
		m.tgt.WriteEntries(lead, m.offset, f.step)
	default: // fragments are cut at multiples of 8 bytes
		m.org.WriteLengths(lead, int(m.offset-m.uhdrLen)/8)
	}
	dst = dst[f.lead:]
	if m.isCopied {
		copy(dst, m.copied[m.dataOffset():])
		return nil
	}
	return m.gather(dst, m.dataOffset())
}

// gather copies m's data from offset on to dst.
func (m *outgoing) gather(dst []byte, offset uint64) error {
	if m.placement != nil {
		return m.placement.machine.Gather(dst, offset)
	}
	return m.org.Gather(dst, offset)
}

// copyVector makes m, which must wait, independent of the user's memory if it is small.
func (c *Context) copyVector(m *outgoing) {
	n := m.n - m.uhdrLen - m.lengths
	if m.id == wire.MsgGetv || n == 0 || n > uint64(c.bufCopy) || m.isCopied {
		return
	}
	if cap(m.copied) < int(n) {
		m.copied = make([]byte, max(n, 128))
	}
	m.copied = m.copied[:n]
	if err := m.gather(m.copied, 0); err != nil {
		c.sendFailed(m, err)
		return
	}
	m.isCopied = true
}

// Callback is what follows when an operation's data may be overwritten (of a get: is there): a function of the user's with its parameter,
// or, for one of a multicast's messages, the multicast. The zero Callback is nothing.
type Callback struct {
	Handler, Info transport.Addr
	multicast     *multicast
}

// sendCompletion is a send completion handler that is due.
type sendCompletion struct {
	Callback
	tgt  int // a task, or the group of a multicast
	code codes.Code
}

// sendDone notes that an operation's data may be overwritten, for its send completion handler. It runs at the end of the current
// entry into this package, when everything is in order: it may begin operations of its own.
func (c *Context) sendDone(done Callback, t *task, code codes.Code) {
	switch {
	case done.multicast != nil:
		c.partDone(done.multicast, t, code)
	case done.Handler != 0:
		c.sent = append(c.sent, sendCompletion{done, t.id, code})
	}
}

// runSendHandlers runs the handlers that are due, and those that become due meanwhile, one after the other.
func (c *Context) runSendHandlers() {
	c.calling = true
	for i := 0; i < len(c.sent); i++ {
		d := c.sent[i]
		c.host.SendHandler(d.Handler, d.Info, int32(d.tgt), d.code)
		if i == 255 { // handlers that go on sending must not make the list grow for ever
			c.sent = append(c.sent[:0], c.sent[i+1:]...)
			i = -1
		}
	}
	c.sent = c.sent[:0]
	c.calling = false
}
