package send

import (
	"bytes"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// queue is a Sender's state about one task.
type queue struct {
	head, tail *entry // what the link had no room for, oldest first
	bytes      int    // memory that this takes
	nextID     uint32 // of fragmented messages
	lastKind   codes.ErrType
	used       bool   // in Sender.unsure
	usedAt     uint64 // Sender.sends when it was last sent to
	dataAt     uint64 // Sender.sends when it was last sent data of the user's
	dataSeq    uint64 // the number of that operation, or of a later one
	// dataAt of the latest operation without a completion counter
	uncountedAt uint64
	flushed     uint64 // Sender.sends when the latest finished flush began
}

// queue is p's, made when something is first sent to it: most tasks of a large job never talk.
func (s *Sender) queue(p *peer.Peer) *queue {
	q := s.queues[p.ID]
	if q == nil {
		q = new(queue)
		s.queues[p.ID] = q
	}
	return q
}

// known is p's queue to read; an empty queue if nothing was sent to p yet.
func (s *Sender) known(p *peer.Peer) *queue {
	if q := s.queues[p.ID]; q != nil {
		return q
	}
	return &s.none
}

// entry is a message that waits: m, or a short put of which nothing went, as the rest says. There
// may be very many of these, so it is as small as can be.
type entry struct {
	next   *entry
	m      *Message
	seq    uint64
	after  After
	put    wire.Put
	data   transport.Addr // not copied
	copied []byte
	n      uint64
	route  transport.Route
	single bool
}

const (
	entrySize   = 144 // bytes, as the run-time allocates it
	messageSize = 432 // likewise
	// poolMost is how many of a kind a Sender keeps for later; what a burst needed goes back.
	poolMost = 256
)

// kind is the kind of operation that e belongs to.
func (e *entry) kind() codes.ErrType {
	if e.m != nil {
		return e.m.kind
	}
	return codes.PutErr
}

// size is the memory that e takes, bytes.
func (e *entry) size() int {
	n := entrySize + cap(e.copied)
	if m := e.m; m != nil {
		n += messageSize + cap(m.copied) + cap(m.large)
		if l := m.lists; l != nil {
			n += wire.EntrySize * int(l.org.Pieces()+l.tgt.Pieces())
		}
	}
	return n
}

func (q *queue) push(e *entry) {
	if q.tail == nil {
		q.head = e
	} else {
		q.tail.next = e
	}
	q.tail = e
	q.bytes += e.size()
}

func (q *queue) pop() *entry {
	e := q.head
	q.head = e.next
	if q.head == nil {
		q.tail = nil
	}
	e.next = nil
	q.bytes -= e.size()
	return e
}

func (q *queue) putBack(e *entry) {
	e.next = q.head
	q.head = e
	if q.tail == nil {
		q.tail = e
	}
	q.bytes += e.size()
}

// wait puts m, which the link has no room for, on its queue. Small user data is copied, so that the
// user may overwrite it.
func (s *Sender) wait(m *Message) {
	p := m.p
	if m.lists != nil {
		s.copyLists(m)
	} else if n := m.n - m.uhdrLen; n > 0 && n <= uint64(s.cfg.CopyMax) && !m.ours {
		s.copyData(m)
	}
	e := s.entries.get()
	if e == nil {
		e = new(entry)
	}
	*e = entry{m: m, seq: m.seq}
	switch {
	case m.id == wire.MsgPut && !m.started && !m.failed && m.key == nil:
		*e = entry{seq: m.seq, after: m.After, put: m.put, data: m.data, n: m.n, route: m.route,
			single: m.single}
		if m.ours {
			e.copied = bytes.Clone(m.copied)
		}
		s.Drop(m)
	case m.large != nil && !m.started:
		s.fitHeader(m)
	}
	s.queue(p).push(e)
	s.waiting++
	s.cfg.Queued(p)
}

// fitHeader gives m, of which nothing went, memory for its headers as long as they are.
func (s *Sender) fitHeader(m *Message) {
	exact := bytes.Clone(m.large[:max(len(m.hdr), m.uhdrAt+wire.Pad8(int(m.uhdrLen)))])
	s.keepLarge(m.large)
	m.hdr, m.large = exact[:len(m.hdr)], exact
}

// message is e as a message again.
func (s *Sender) message(p *peer.Peer, e *entry) *Message {
	if e.m != nil {
		return e.m
	}
	m := s.blank(p, wire.MsgPut, codes.PutErr, nextWhole)
	m.seq, m.single, m.After = e.seq, e.single, e.after
	data := e.data
	if e.copied != nil {
		m.copied, m.ours = e.copied, true
		data = memory.AddrOf(m.copied)
	}
	s.shapePut(m, &e.put, data, e.n, e.route)
	return m
}

// again puts e, which is m and was to go now, back on the queue.
func (s *Sender) again(q *queue, e *entry, m *Message) {
	if e.m == nil && !m.started {
		m.copied = nil // it is e's
		s.Drop(m)
	} else {
		e.m, e.copied = m, nil
	}
	q.putBack(e)
}

// Full says whether too much waits for p, so that a call which adds to it should wait for room;
// eased: whether the call need wait no longer.
func (s *Sender) Full(p *peer.Peer) bool  { return s.known(p).bytes > s.cfg.QueueMost }
func (s *Sender) Eased(p *peer.Peer) bool { return s.known(p).bytes <= s.cfg.QueueMost/4*3 }

// pool keeps what can be used again.
type pool[T any] []*T

// get is one of them, or nil.
func (l *pool[T]) get() *T {
	n := len(*l)
	if n == 0 {
		return nil
	}
	v := (*l)[n-1]
	(*l)[n-1] = nil
	*l = (*l)[:n-1]
	return v
}

func (l *pool[T]) put(v *T) {
	if len(*l) < poolMost {
		*l = append(*l, v)
	}
}

// largeRoom is room for the headers of an active message.
func (s *Sender) largeRoom() []byte {
	if b := s.larges.get(); b != nil {
		return b[:]
	}
	return make([]byte, largeHeader)
}

// keepLarge takes it back.
func (s *Sender) keepLarge(b []byte) {
	if len(b) == largeHeader {
		s.larges.put((*[largeHeader]byte)(b))
	}
}
