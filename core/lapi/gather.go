package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// This file makes the fragments of messages whose data lies in a vector: it gathers what one fragment holds in memory of this
// package, which the link may refer to until the fragment is delivered.

// prepareVector is prepare for such a message.
func (c *Context) prepareVector(m *outgoing) (*fragmentOp, error) {
	if f := m.held; f != nil {
		m.held = nil
		return f, nil
	}
	f := c.newFragmentOp(m)
	f.id, f.op.Local, f.op.N = m.id, 0, 0
	var err error
	switch m.id {
	case msgPutv:
		err = c.preparePutv(m, f)
	case msgGetv:
		c.prepareGetv(m, f)
	default:
		err = c.prepareStream(m, f)
	}
	if err != nil {
		c.freeFragmentOp(f)
		return nil, err
	}
	return f, nil
}

// vectorRoom is how many bytes of data fit behind a vectorHeader.
func (t *task) vectorRoom() int { return t.sendMax - (vectorHeaderSize - putFragmentHeaderSize) }

// stage gives f memory for one fragment to any task.
func (c *Context) stage(f *fragmentOp) []byte {
	if n := len(c.stagings); n > 0 {
		f.staging = c.stagings[n-1]
		c.stagings = c.stagings[:n-1]
	} else {
		size := 0
		for _, l := range c.links() {
			if l != nil {
				size = max(size, l.Limits().SendMax)
			}
		}
		f.staging = make([]byte, size)
	}
	return f.staging
}

// preparePutv makes a fragment that the target can place by itself. Many entries leave less room for data.
func (c *Context) preparePutv(m *outgoing, f *fragmentOp) error {
	room, entries := uint64(m.t.vectorRoom()), 0
	n := min(m.n-m.offset, room)
	if n > 0 && m.tgt.kind != vecStrided {
		data := c.stage(f)
		n = 0
		for at := m.tgt.at(m.offset); m.offset+n < m.n; entries++ {
			if entries > 0 && room < vectorEntrySize+vectorEntryMinData {
				break
			}
			a, got := at.next(min(m.n-m.offset-n, room-vectorEntrySize))
			putEntry(data, entries, a, got)
			n, room = n+got, room-vectorEntrySize-got
		}
	}
	order.PutUint64(m.hdr[vectorOffsetAt:], m.offset)
	order.PutUint32(m.hdr[vectorEntriesAt:], uint32(entries))
	f.hdr, f.step = m.hdr[:vectorHeaderSize], n
	return c.addData(m, f, entries*vectorEntrySize, m.offset, int(n))
}

// prepareGetv makes a part of a request: of a list, as many entries as fit.
func (c *Context) prepareGetv(m *outgoing, f *fragmentOp) {
	entries := 0
	f.hdr, f.step = m.hdr[:vectorHeaderSize], m.n
	order.PutUint64(m.hdr[vectorOffsetAt:], m.offset)
	if m.n > 0 && m.tgt.kind != vecStrided {
		data, most := c.stage(f), m.t.vectorRoom()/vectorEntrySize
		f.step = 0
		for at := m.tgt.at(m.offset); entries < most && m.offset+f.step < m.n; entries++ {
			a, n := at.next(m.n - m.offset - f.step)
			putEntry(data, entries, a, n)
			f.step += n
		}
		f.op.Local, f.op.N = memory.AddrOf(data), uint64(entries*vectorEntrySize)
	}
	order.PutUint32(m.hdr[vectorEntriesAt:], uint32(entries))
}

// prepareStream makes a fragment of a stream: split user header, lengths of blocks, data. The user header never shares one with the
// rest.
func (c *Context) prepareStream(m *outgoing, f *fragmentOp) error {
	id, hdr, data, n := m.nextFragment(m.t)
	f.id, f.hdr, f.step = id, hdr, n
	if n == 0 || m.started && m.offset < m.uhdrLen {
		f.op.Local, f.op.N = data, n
		return nil
	}
	at, lead := m.offset-m.uhdrLen, 0
	if at < m.lengths {
		lead = int(min(n, m.lengths-at))
		b := c.stage(f)
		for i := range lead / 8 { // fragments are cut at multiples of 8 bytes
			k := int(at)/8 + i
			order.PutUint64(b[8*i:], m.org.list[k].end-m.org.start(k))
		}
		at = 0
	} else {
		at -= m.lengths
	}
	return c.addData(m, f, lead, at, int(n)-lead)
}

// addData puts n bytes of m's data, from offset on, behind the first lead bytes of the fragment.
func (c *Context) addData(m *outgoing, f *fragmentOp, lead int, offset uint64, n int) error {
	f.op.N = uint64(lead + n)
	if lead == 0 && n > c.bufCopy && m.placement == nil { // in one piece, and not to be free on return: the link may take it from where it is
		at := m.org.at(offset)
		if a, got := at.next(uint64(n)); got == uint64(n) {
			f.op.Local = a
			return nil
		}
	}
	if f.staging == nil {
		c.stage(f)
	}
	f.op.Local = memory.AddrOf(f.staging)
	if m.isCopied {
		copy(f.staging[lead:lead+n], m.copied[offset:])
		return nil
	}
	return m.gather(f.staging[lead:lead+n], offset)
}

// gather copies m's data from offset on to dst.
func (m *outgoing) gather(dst []byte, offset uint64) error {
	if m.placement != nil {
		return m.placement.machine.Gather(dst, offset)
	}
	return m.org.gather(dst, offset)
}

// copyVector makes m, which must wait, independent of the user's memory if it is small.
func (c *Context) copyVector(m *outgoing) {
	n := m.n - m.uhdrLen - m.lengths
	if m.id == msgGetv || n == 0 || n > uint64(c.bufCopy) || m.isCopied {
		return
	}
	if cap(m.copied) < int(n) {
		m.copied = make([]byte, max(n, 128))
	}
	m.copied = m.copied[:n]
	if err := m.gather(m.copied, 0); err != nil {
		c.fault(err, codes.ErrOrgAddrNull, m.kind, c.me)
		clear(m.copied)
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
