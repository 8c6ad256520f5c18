package send

import (
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// fragment is a link operation for one fragment of a message.
type fragment struct {
	op   transport.Op
	next *fragment
	m    *Message
	s    *Sender
	id   transport.MsgID
	hdr  []byte
	step uint64 // bytes of m's stream that it stands for

	lead    int                 // of data in lists: bytes of entries or lengths in front of it
	by      transport.Gathering // the link, if it is to gather all of it
	staging []byte              // else it is gathered here; goes back to Sender.stagings
}

func (s *Sender) newFragment(m *Message) *fragment {
	f := s.fragments
	if f == nil {
		f = &fragment{s: s}
		f.op.Owner, f.op.Done = f, fragmentDone
	} else {
		s.fragments = f.next
	}
	f.m = m
	f.op.Single = m != nil && m.single
	return f
}

func (s *Sender) freeFragment(f *fragment) {
	if f.staging != nil {
		s.stagings = append(s.stagings, f.staging)
		f.staging = nil
	}
	f.m, f.hdr = nil, nil
	f.next = s.fragments
	s.fragments = f
}

// send gives f to the link.
func (f *fragment) send(p *peer.Peer) (transport.Status, error) {
	if f.by != nil {
		return transport.Done, f.by.SendGathered(p.Ep, f.id, f.hdr, f.op.N, f)
	}
	return p.Link.Send(p.Ep, f.id, f.hdr, &f.op)
}

// fragmentDone is Op.Done of every fragment that a link had queued.
func fragmentDone(op *transport.Op, err error) {
	f := op.Owner.(*fragment)
	s, m := f.s, f.m
	s.freeFragment(f)
	m.inflight--
	if err != nil {
		s.fail(m, err)
	}
	if m.allSent && m.inflight == 0 {
		s.finish(m)
	}
}

// piece is a fragment of data in one piece. More than a link takes in one message it gathers
// itself, else it was cut when the way there took more.
func (s *Sender) piece(m *Message, id transport.MsgID, hdr []byte, data transport.Addr,
	n uint64) (*fragment, error) {
	f := s.newFragment(m)
	f.id, f.hdr, f.op.Local, f.op.N = id, hdr, data, n
	f.step, f.by, f.lead = n, nil, 0
	if n > m.p.SendMax() {
		f.by, _ = m.p.Link.(transport.Gathering)
	}
	return f, nil
}

// nextWhole: the only fragment is all of the message.
func nextWhole(s *Sender, m *Message) (*fragment, error) {
	return s.piece(m, m.id, m.hdr, m.data, m.n)
}

// nextPutFragment is of a put whose fragments can come in any order.
func nextPutFragment(s *Sender, m *Message) (*fragment, error) {
	n := m.first
	if m.started {
		n = min(m.n-m.offset, m.step)
	}
	(*wire.PutFragment)(nil).EncodeOffset(m.hdr, m.offset)
	return s.piece(m, m.id, m.hdr, m.data+transport.Addr(m.offset), n)
}

// nextOfStream is of an active message, and of an answer to a get.
func nextOfStream(s *Sender, m *Message) (*fragment, error) {
	most := m.p.SendMax()
	if m.started && m.n-m.offset > most && m.offset >= m.uhdrLen {
		most = max(most, m.p.GatherRoom())
	}
	return s.piece(m, m.partID(), m.partHeader(), m.partAt(), m.partLen(most))
}

// The next fragment of a stream: its kind, header, place and length. A split user header lies
// behind the first header, and shares no fragment with the data.

func (m *Message) partID() transport.MsgID {
	if m.started && m.id != wire.MsgGetData {
		return wire.MsgAmFragment
	}
	return m.id
}

func (m *Message) partHeader() []byte {
	if !m.started {
		return m.hdr
	}
	return (&wire.Part{Message: m.message, Offset: m.skipped +
		m.offset}).Encode(m.small[wire.VectorSize:])
}

func (m *Message) inUhdr() bool { return m.started && m.offset < m.uhdrLen }

func (m *Message) partAt() transport.Addr {
	if m.inUhdr() {
		return memory.AddrOf(m.large[m.uhdrAt:]) + transport.Addr(m.offset)
	}
	return m.data + transport.Addr(max(m.offset, m.uhdrLen)-m.uhdrLen)
}

func (m *Message) partLen(most uint64) uint64 {
	switch {
	case !m.started:
		return m.first
	case m.inUhdr():
		return min(m.uhdrLen-m.offset, most)
	}
	n, left := min(m.n-m.offset, m.step, most), m.n-m.offset
	if m.lists != nil && m.lists.placement != nil {
		return m.lists.placement.Cut(m.offset-m.uhdrLen, n, left)
	}
	return n
}

// nextLaneReply is of the answer to a get of the lane.
func nextLaneReply(s *Sender, m *Message) (*fragment, error) {
	n := min(m.n-m.offset, m.step)
	h := wire.Reply{Token: uint32(m.message), Value: m.skipped + m.offset}
	if m.offset+n < m.n {
		h.State = layout.ReplyPart
	}
	return s.piece(m, m.id, h.Encode(m.small[:]), m.data+transport.Addr(m.offset), n)
}

// inParts makes m a put in parts; h is that of all of it. Not first: parts were sent already.
//
// Between tasks of one node messages stay in order, and no other put's parts come between those of
// one. So a part says only where it goes, the last one carries the counters, and nothing is kept at
// the target but whether an address was bad.
func (m *Message) inParts(h *wire.Put, first bool) {
	m.id, m.prepare, m.step, m.continued = wire.MsgPutPart, nextPutPart, m.p.PartSize(m.n), !first
	m.hdr = h.Encode(m.small[:])
}

// nextPutPart is of a put in parts.
func nextPutPart(s *Sender, m *Message) (*fragment, error) {
	at, b := transport.Addr(m.offset), m.small[partsHeader:]
	var h wire.Put
	h.Decode(m.hdr)
	h.TgtAddr += at
	if n := m.n - m.offset; n <= m.step {
		return s.piece(m, wire.MsgPutLast, h.Encode(b), m.data+at, n)
	}
	p := wire.PutPart{Addr: h.TgtAddr}
	if m.offset == 0 && !m.continued {
		p.Flags |= layout.PartFirst
	}
	if m.n >= layout.HugeMin {
		p.Flags |= layout.PartHuge
	}
	return s.piece(m, wire.MsgPutPart, p.Encode(b), m.data+at, m.step)
}
