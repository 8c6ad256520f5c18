package send

import (
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// This file makes the fragments of messages whose data lies in a vector or as a DGSP says. The link
// lets the fragment's data be gathered straight into its own memory (transport.Gathering), or it is
// gathered in memory of this package, which the link may refer to until the fragment is delivered.

// vectorPartMin is the least part in which a vector's data goes, where a link says that smaller
// ones were better: each costs some work.
const vectorPartMin = 16 << 10

// stagingsMost is how much memory of fragments is kept for later ones, bytes.
const stagingsMost = 4 << 20

// nextOfLists is the next fragment of such a message.
func nextOfLists(s *Sender, m *Message) (*fragment, error) {
	if f := m.lists.held; f != nil {
		m.lists.held = nil
		return f, nil
	}
	f := s.newFragment(m)
	f.id, f.op.Local, f.op.N, f.lead, f.by = m.id, 0, 0, 0, nil
	switch m.id {
	// a fragment that the target can place by itself; many entries leave less room for data
	case wire.MsgPutv:
		entries, n := m.lists.tgt.Fit(m.offset, m.n-m.offset, min(m.p.GatherRoom(), m.step))
		f.vectorPart(entries, n)
		f.op.N = uint64(f.lead) + n
	case wire.MsgGetv: // a part of a request: of a list, as many entries as fit
		f.vectorPart(m.lists.tgt.FitEntries(m.offset, m.n-m.offset,
			int(m.p.GatherRoom()/wire.EntrySize)))
		f.op.N = uint64(f.lead)
	default:
		f.streamPart()
	}
	if err := s.layOut(m, f); err != nil {
		s.freeFragment(f)
		return nil, err
	}
	return f, nil
}

// vectorPart makes f a part of a put or request: n bytes of the target's vector, named by that many
// entries.
func (f *fragment) vectorPart(entries int, n uint64) {
	m := f.m
	(*wire.Vector)(nil).EncodePlace(m.hdr, m.offset, uint32(entries))
	f.hdr, f.step, f.lead = m.hdr, n, entries*wire.EntrySize
}

// streamPart makes f the next of a stream: split user header, lengths of blocks, data.
func (f *fragment) streamPart() {
	m := f.m
	most := m.p.SendMax()
	if m.started && m.offset >= m.uhdrLen {
		most = max(most, m.p.GatherRoom())
	}
	n := m.partLen(most)
	f.id, f.hdr, f.step, f.op.N = m.partID(), m.partHeader(), n, n
	if m.inUhdr() {
		f.op.Local = m.partAt()
		return
	}
	if at := m.offset - m.uhdrLen; at < m.lists.lengths {
		f.lead = int(min(n, m.lists.lengths-at))
	}
}

// layOut says where f's data comes from, unless that is clear: it is gathered, by the link or now,
// or lies in one piece in the user's memory.
func (s *Sender) layOut(m *Message, f *fragment) error {
	if f.op.N == 0 || f.op.Local != 0 {
		return nil
	}
	if by, ok := m.p.Link.(transport.Gathering); ok {
		f.by = by
		return nil
	}
	n := f.op.N - uint64(f.lead)
	// not to be free on return: the link may take it from where it is
	if f.lead == 0 && n > uint64(s.cfg.CopyMax) && m.lists.placement == nil {
		at := m.lists.org.At(m.dataOffset())
		if a, got := at.Next(n); got == n {
			f.op.Local = a
			return nil
		}
	}
	b := s.stage(f)[:f.op.N]
	f.op.Local = memory.AddrOf(b)
	return f.Gather(b)
}

// stage gives f memory for one fragment to any task.
func (s *Sender) stage(f *fragment) []byte {
	if n := len(s.stagings); n > 0 {
		f.staging = s.stagings[n-1]
		s.stagings = s.stagings[:n-1]
	} else {
		f.staging = make([]byte, s.cfg.Links.SendMax())
	}
	return f.staging
}

// dataOffset is where in m's data its next fragment begins.
func (m *Message) dataOffset() uint64 {
	before := m.uhdrLen + m.lists.lengths
	return max(m.offset, before) - before
}

// Gather implements transport.Gatherer: it writes the fragment's entries or lengths, and its data.
// f is the next fragment of its message.
func (f *fragment) Gather(dst []byte) error {
	m, lead := f.m, dst[:f.lead]
	switch {
	case m.lists == nil:
		return memory.CopyOut(dst, f.op.Local)
	case f.lead == 0:
	case m.id == wire.MsgPutv || m.id == wire.MsgGetv:
		m.lists.tgt.WriteEntries(lead, m.offset, f.step)
	default: // fragments are cut at multiples of 8 bytes
		m.lists.org.WriteLengths(lead, int(m.offset-m.uhdrLen)/8)
	}
	dst = dst[f.lead:]
	if m.lists.isCopied {
		copy(dst, m.copied[m.dataOffset():])
		return nil
	}
	return m.lists.copyOut(dst, m.dataOffset())
}

// copyOut copies the data from offset on to dst.
func (l *lists) copyOut(dst []byte, offset uint64) error {
	if l.placement != nil {
		return l.placement.CopyOut(dst, offset)
	}
	return l.org.Gather(dst, offset)
}

// copyLists makes m, which must wait, independent of the user's memory if it is small.
func (s *Sender) copyLists(m *Message) {
	n := m.n - m.uhdrLen - m.lists.lengths
	if m.id == wire.MsgGetv || n == 0 || n > uint64(s.cfg.CopyMax) {
		return
	}
	if err := m.lists.copyOut(m.copyRoom(n), 0); err != nil {
		s.fail(m, err)
		return
	}
	m.lists.isCopied = true
}
