package send

import (
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// fragment is a link operation for one fragment of a message.
type fragment struct {
	op   transport.Op
	m    *Message
	s    *Sender
	id   transport.MsgID
	hdr  []byte
	step uint64 // bytes of m's stream that it stands for

	lead    int                 // of data in lists: bytes of entries or lengths in front of it
	moves   bool                // the link makes the transfer by itself (transport.Noticing)
	by      transport.Gathering // the link, if it is to gather all of it
	staging []byte              // else it is gathered here; goes back to Sender.stagings
}

func (s *Sender) newFragment(m *Message) *fragment {
	f := s.fragments.get()
	if f == nil {
		f = &fragment{s: s}
		f.op.Owner, f.op.Done = f, fragmentDone
	}
	f.m, f.moves = m, false
	f.op.Single = m != nil && m.single
	f.op.Part = m != nil && m.n > uint64(s.cfg.CopyMax)+m.uhdrLen
	return f
}

func (s *Sender) freeFragment(f *fragment) {
	if f.staging != nil && len(s.stagings)*len(f.staging) < stagingsMost {
		s.stagings = append(s.stagings, f.staging)
	}
	f.m, f.hdr, f.staging, f.op.Key = nil, nil, nil, nil
	s.fragments.put(f)
}

// send gives f to the link.
func (f *fragment) send(p *peer.Peer) (transport.Status, error) {
	if f.moves {
		return f.put(p)
	}
	if f.by != nil {
		return transport.Done, f.by.SendGathered(p.Ep, f.id, f.hdr, f.op.N, f)
	}
	return p.Link.Send(p.Ep, f.id, f.hdr, &f.op)
}

// put lets the link make the transfer. The link may report that the kernel forbids single copies
// now.
func (f *fragment) put(p *peer.Peer) (transport.Status, error) {
	if f.op.Key != nil {
		return p.Link.Put(p.Ep, &f.op)
	}
	status, err := p.Noticing.PutNotice(p.Ep, &f.op)
	if err == transport.ErrNotSupported {
		p.SingleCopy = false
		f.op.Route = transport.RouteMessages
		status, err = p.Noticing.PutNotice(p.Ep, &f.op)
	}
	return status, err
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

// nextTransfer: the link makes all of a put by itself.
func nextTransfer(s *Sender, m *Message) (*fragment, error) {
	f, err := s.piece(m, m.id, nil, m.data, m.n)
	f.moves, f.by = true, nil
	f.op.Remote, f.op.Notice, f.op.Route = m.put.TgtAddr, notice(&m.put), m.route
	f.op.Key = m.key
	return f, err
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
