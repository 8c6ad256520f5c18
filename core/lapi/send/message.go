package send

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

const (
	// smallHeader is room for any header but those of active messages, and a Part; largeHeader
	// is for these, bytes.
	smallHeader = wire.VectorSize + wire.PartSize
	largeHeader = wire.AmSize + wire.AmvSize + wire.MaxUhdrSize
	// copiedLeast is the least memory for a copy of data, bytes.
	copiedLeast = 128
)

// After is what follows a message of the user's: the origin counter and the send completion
// handler.
type After struct {
	OrgCntr transport.Addr
	Done    handlers.Callback
	User    bool // it counts for LAPI_Msgpoll
	Counted bool // the operation has a completion counter
}

// Follower is called when a message has left, before the actions of After.
type Follower interface{ MessageDone(m *Message) }

// Message is a message on its way to a task, until all its data has been copied out of the origin's
// memory:
//
//	started ──> on the queue while the link is busy ──> all given to the link ──> finished
//
// finished means: nothing is in flight, the origin's memory may be overwritten, the origin counter
// has changed.
type Message struct {
	After
	Follow Follower // nil: nothing else follows

	p    *peer.Peer
	seq  uint64
	kind codes.ErrType
	id   transport.MsgID // of the first or only fragment
	// prepare makes the next fragment; an error is a fault in the user's memory.
	prepare func(s *Sender, m *Message) (*fragment, error)

	hdr     []byte         // header of the first fragment
	first   uint64         // data bytes that travel with it
	data    transport.Addr // what lists does not say
	n       uint64         // bytes of stream: what leads the data, and data
	uhdrLen uint64         // bytes of split user header at the head of the stream, kept behind hdr
	uhdrAt  int            // where in hdr's memory
	offset  uint64         // of the stream, what the link already has
	step    uint64         // bytes of data in a fragment
	message uint64         // what the headers of the other fragments name
	skipped uint64         // of an answer: where in the get's stream this message's begins

	inflight int  // fragments that the link holds
	started  bool // the first fragment went
	single   bool // it keeps to one of several addresses
	ours     bool // its data is the library's, and stays
	allSent  bool // the link has got every fragment, or gets no more
	failed   bool

	put   wire.Put               // of a put in one message, or that the link makes by itself,
	route transport.Route        // and its way
	key   []byte                 // or the key of the target's region,
	keyed [transport.KeyMax]byte // which is here

	lists  *lists // nil: the data lies in one piece
	copied []byte // this package's copy of small data
	large  []byte // room for the headers of active messages
	small  [smallHeader]byte
}

// lists is a Message's data that does not lie in one piece.
type lists struct {
	org       vector.Vector     // where the data is
	tgt       vector.Vector     // of MsgPutv and MsgGetv: the target's blocks
	lengths   uint64            // bytes of lengths of org's blocks in the stream, before the data
	placement *placed.Placement // nil, or how the data lies instead of org
	held      *fragment         // the next fragment, when the link had no room for it
	isCopied  bool              // the data is in Message.copied
}

// Peer is the task it goes to.
func (m *Message) Peer() *peer.Peer { return m.p }

// Kind is the kind of operation that it belongs to.
func (m *Message) Kind() codes.ErrType { return m.kind }

// ID is the kind of message.
func (m *Message) ID() transport.MsgID { return m.id }

// Token is what an answer names.
func (m *Message) Token() uint64 { return m.message }

// Failed says whether it did not leave, or not all of it.
func (m *Message) Failed() bool { return m.failed }

// Len is the length of its stream.
func (m *Message) Len() uint64 { return m.n }

// Seq is its number among operations.
func (m *Message) Seq() uint64 { return m.seq }

func (s *Sender) newMessage(p *peer.Peer, id transport.MsgID, kind codes.ErrType,
	prepare func(*Sender, *Message) (*fragment, error)) *Message {
	m := s.blank(p, id, kind, prepare)
	m.seq, m.single = s.Issue(1), s.Single
	return m
}

// blank is a message without a number.
func (s *Sender) blank(p *peer.Peer, id transport.MsgID, kind codes.ErrType,
	prepare func(*Sender, *Message) (*fragment, error)) *Message {
	m := s.messages.get()
	if m == nil {
		m = new(Message)
	}
	m.p, m.id, m.kind, m.prepare, m.step = p, id, kind, prepare, p.SendMax()
	return m
}

// Drop ends m, which Start has not got, or which is over.
func (s *Sender) Drop(m *Message) {
	if l := m.lists; l != nil {
		s.cfg.Placements.Free(l.placement)
		if l.held != nil {
			s.freeFragment(l.held)
		}
		l.org.Reset()
		l.tgt.Reset()
		*l = lists{org: l.org, tgt: l.tgt}
		s.lists.put(l)
	}
	s.keepLarge(m.large)
	*m = Message{copied: m.copied}
	s.messages.put(m)
}

func (s *Sender) newLists() *lists {
	if l := s.lists.get(); l != nil {
		return l
	}
	return new(lists)
}

// copyRoom is memory for a copy of n bytes of m's data.
func (m *Message) copyRoom(n uint64) []byte {
	if cap(m.copied) < int(n) {
		m.copied = make([]byte, max(n, copiedLeast))
	}
	m.copied = m.copied[:n]
	return m.copied
}

// Put sends a put of n bytes at data. Which way it goes is the link's choice, as far as route
// leaves it one.
func (s *Sender) Put(p *peer.Peer, h *wire.Put, data transport.Addr, n uint64,
	route transport.Route, after After) {
	m := s.newMessage(p, wire.MsgPut, codes.PutErr, nextWhole)
	m.After = after
	s.shapePut(m, h, data, n, route)
	s.Start(m)
}

// shapePut makes m a put.
func (s *Sender) shapePut(m *Message, h *wire.Put, data transport.Addr, n uint64,
	route transport.Route) {
	m.put, m.route, m.data, m.n = *h, route, data, n
	switch part := m.p.PartSize(n); {
	case m.p.Transfers(n, route):
		m.prepare = nextTransfer
	case n <= part:
		m.hdr = h.Encode(m.small[:])
	default:
		f := wire.PutFragment{Put: *h, Total: n, ID: s.NextID(m.p)}
		m.id, m.prepare, m.first = wire.MsgPutFragment, nextPutFragment, part
		m.hdr = f.Encode(m.small[:])
	}
}

// PutByKey sends a put of n bytes to tgt, in a region of p's, which needs nothing of p: what after
// says follows when the data is in place.
func (s *Sender) PutByKey(p *peer.Peer, tgt transport.Addr, key []byte, data transport.Addr,
	n uint64, after After) {
	m := s.newMessage(p, wire.MsgPut, codes.PutErr, nextTransfer)
	m.After, m.put.TgtAddr, m.data, m.n = after, tgt, data, n
	m.key = append(m.keyed[:0], key...)
	s.Start(m)
}

// PutDirect notifies p of a put whose data is in its memory. Without a counter the put is complete.
func (s *Sender) PutDirect(p *peer.Peer, h *wire.PutDirect) {
	kind := codes.PutErr
	if h.TgtCntr == 0 && h.CmplCntr == 0 {
		kind = codes.IntErr
	}
	m := s.newMessage(p, wire.MsgPutDirect, kind, nextWhole)
	m.Counted = h.CmplCntr != 0
	m.hdr = h.Encode(m.small[:])
	s.Start(m)
}

// notice is what the target's core must know of a put that the link made: its counters.
func notice(h *wire.Put) transport.Notice {
	return transport.Notice{uint64(h.TgtCntr), uint64(h.CmplCntr)}
}

// Continuer is a link that goes on with a put of which C has made the first parts, up to at.
type Continuer interface {
	ContinuePut(ep transport.Endpoint, op *transport.Op, at uint64) (transport.Status, error)
}

// Continue makes link go on with a put of n bytes, all of it, of which C has sent what lies before
// at.
func (s *Sender) Continue(p *peer.Peer, link Continuer, h *wire.Put, data transport.Addr,
	n, at uint64, after After) {
	m := s.newMessage(p, wire.MsgPut, codes.PutErr, nil)
	m.After, m.data, m.n, m.offset = after, data, n, n
	m.started, m.allSent, m.inflight = true, true, 1
	f := s.newFragment(m)
	f.op.Local, f.op.Remote, f.op.N, f.op.Notice, f.op.Route = data, h.TgtAddr, n, notice(h),
		transport.RouteMessages
	s.Used(p, codes.PutErr, after.Counted)
	if _, err := link.ContinuePut(p.Ep, &f.op, at); err != nil {
		fragmentDone(&f.op, err)
		return
	}
	s.keep(m, f)
}

// Answer sends the n bytes at data that a get of p's has asked for.
func (s *Sender) Answer(p *peer.Peer, token uint64, data transport.Addr, n uint64, single bool,
	after After) {
	m := s.newMessage(p, wire.MsgGetData, codes.GetErr, nextOfStream)
	m.single = single
	s.startStream(m, token, data, n, after)
}

// startStream sends m, all of whose fragments are parts of message, of n bytes at data.
func (s *Sender) startStream(m *Message, message uint64, data transport.Addr, n uint64,
	after After) {
	m.After, m.data, m.n, m.step = after, data, n, m.p.PartSize(n)
	m.beginPart(message, 0, min(n, m.step))
	s.Start(m)
}

// beginPart makes m a message all of whose headers are Parts.
func (m *Message) beginPart(message, skipped, first uint64) {
	m.message, m.skipped, m.first = message, skipped, first
	m.hdr = (&wire.Part{Message: message, Offset: skipped}).Encode(m.small[:])
}

// Values sends data of the library's, which is copied.
func (s *Sender) Values(p *peer.Peer, id transport.MsgID, encode func(b []byte) []byte,
	data []byte) {
	m := s.newMessage(p, id, codes.IntErr, nextWhole)
	m.hdr, m.n, m.ours = encode(m.small[:]), uint64(len(data)), true
	copy(m.copyRoom(m.n), data)
	m.data = memory.AddrOf(m.copied)
	s.Start(m)
}

// NewVector is a message of a put or get between vectors, which the caller fills in.
func (s *Sender) NewVector(p *peer.Peer, id transport.MsgID, kind codes.ErrType) (
	m *Message, org, tgt *vector.Vector) {
	m = s.newMessage(p, id, kind, nextOfLists)
	m.lists = s.newLists()
	return m, &m.lists.org, &m.lists.tgt
}

// Origin is the origin's vector of a NewVector.
func (m *Message) Origin() *vector.Vector { return &m.lists.org }

// StartVector sends m, of n bytes. h is completed with what it says of the target's vector, and a
// number.
func (s *Sender) StartVector(m *Message, h *wire.Vector, n uint64) {
	h.Total, h.ID, m.n = n, s.NextID(m.p), n
	m.lists.tgt.Describe(h)
	m.hdr = h.Encode(m.small[:])
	m.step = max(m.p.PartSize(n), vectorPartMin)
	s.Start(m)
}

// StartAnswer sends m, a part of the blocks that a vector get of p's has asked for, which begins at
// skipped of that.
func (s *Sender) StartAnswer(m *Message, token, skipped uint64, single bool) {
	m.n, m.single = m.lists.org.Total(), single
	m.beginPart(token, skipped, min(m.n, m.p.SendMax()))
	m.step = max(m.p.PartSize(m.n), vectorPartMin)
	s.Start(m)
}

// NewAm is an active message of that kind, whose user header of n bytes the caller writes to uhdr.
func (s *Sender) NewAm(p *peer.Peer, id transport.MsgID, n uint32) (m *Message, uhdr []byte) {
	m = s.newMessage(p, id, codes.AmErr, nextOfStream)
	m.large = s.largeRoom()
	m.uhdrAt = wire.AmSize
	if id != wire.MsgAm {
		m.uhdrAt += wire.AmvSize
	}
	end := m.uhdrAt + wire.Pad8(int(n))
	clear(m.large[m.uhdrAt+int(n) : end])
	m.hdr = m.large[:end]
	m.message = uint64(s.NextID(p))
	return m, m.large[m.uhdrAt : m.uhdrAt+int(n)]
}

// HeaderFits says whether m's header, with the user header, is not too long for the link.
func (m *Message) HeaderFits() bool { return len(m.hdr) <= m.p.Headers() }

// Split makes the user header of an active message the head of its stream.
func (m *Message) Split(h *wire.Am) {
	h.Split = true
	m.uhdrLen = uint64(h.UhdrLen)
	m.n += m.uhdrLen
	m.hdr, m.first, m.step = m.hdr[:m.uhdrAt], 0, m.p.SendMax()
}

// Data makes m an active message of n bytes at data.
func (m *Message) Data(data transport.Addr, n uint64) {
	m.data, m.n, m.first = data, n, n
	if room := m.p.Room(len(m.hdr)); n > room {
		m.step = m.p.PartSize(n)
		m.first = min(m.step, room)
	}
}

// Ours makes the stream of m n bytes at data that are the library's, and stay until m is over.
func (m *Message) Ours(data transport.Addr, n uint64) {
	m.Data(data, n)
	m.ours = true
}

// Vector makes m an active message of org's data, which it takes over, led by the blocks' lengths,
// which take lengths bytes.
func (s *Sender) Vector(m *Message, org *vector.Vector, lengths uint64) {
	l := s.useLists(m)
	l.org, *org = *org, l.org
	l.lengths = lengths
	m.n = lengths + l.org.Total()
	m.first = min(m.n, m.p.Room(len(m.hdr))&^7)
}

// Placed makes m an active message of data that lies as l says, which it takes over.
func (s *Sender) Placed(m *Message, l *placed.Placement) {
	s.useLists(m).placement = l
	m.n = l.Bytes()
	m.first = l.Cut(0, min(m.n, m.p.Room(len(m.hdr))), m.n)
}

func (s *Sender) useLists(m *Message) *lists {
	m.prepare, m.lists = nextOfLists, s.newLists()
	return m.lists
}

// StartAm sends m with these headers; a is nil but for vectors.
func (s *Sender) StartAm(m *Message, h *wire.Am, a *wire.Amv) {
	h.Encode(m.large)
	if a != nil {
		a.Encode(m.large[wire.AmSize:])
	}
	if m.lists != nil {
		m.step = max(m.p.PartSize(m.n), vectorPartMin)
	}
	s.Start(m)
}

// Number is the id of an active message.
func (m *Message) Number() uint32 { return uint32(m.message) }

// Refetched sends the data of a rendezvous in fragments: the target of active message id does not
// fetch it. seq is the message's number among operations.
func (s *Sender) Refetched(p *peer.Peer, id uint32, seq uint64, data transport.Addr, n uint64,
	after After) {
	m := s.newMessage(p, wire.MsgAmFragment, codes.AmErr, nextOfStream)
	m.seq = seq
	s.startStream(m, uint64(id), data, n, after)
}

// RefetchedVector is Refetched for org's data, which it takes over, led by the blocks' lengths,
// which take lengths bytes.
func (s *Sender) RefetchedVector(p *peer.Peer, id uint32, seq uint64, org *vector.Vector,
	lengths uint64, after After) {
	m := s.newMessage(p, wire.MsgAmFragment, codes.AmErr, nextOfLists)
	l := s.useLists(m)
	l.org, *org = *org, l.org
	l.lengths = lengths
	m.After, m.n, m.seq = after, lengths+l.org.Total(), seq
	m.beginPart(uint64(id), 0, min(m.n, p.PartSize(m.n)))
	m.step = max(p.PartSize(m.n), vectorPartMin)
	s.Start(m)
}
