// Package send gives messages to links: it cuts them into fragments, keeps those that a link has no
// room for, and says when the user's memory may be overwritten.
//
//	send.go      Sender: messages on their way; flushes
//	queue.go     what waits for room, in little memory
//	message.go   Message: what all of them have; how each kind is made
//	fragment.go  fragments of data in one piece
//	gather.go    fragments of data in many: vectors, and what a DGSP places
//
// Messages to one task go in the order they were started. Nothing is allocated in the steady state.
package send

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/memory"
)

// Config is what a Sender needs of others.
type Config struct {
	Peers []peer.Peer
	Links *progress.Links
	// bytes of data up to which a message that must wait is copied (BUF_CP_SIZE)
	CopyMax int
	// memory that what waits for one task may take, bytes; then calls that add to it should
	// wait
	QueueMost  int
	Placements *placed.Pool // gets back what messages had
	// Finished: the data of m may be overwritten, or m has failed.
	Finished func(m *Message)
	// Failed: an address of m was bad, its peer is gone, or the link closes. Finished follows.
	Failed func(m *Message, err error)
	// Queued: messages to p wait for room, or none does any more.
	Queued func(p *peer.Peer)
	// Outstanding says whether p owes the completion of an operation.
	Outstanding func(p *peer.Peer) bool
	// Lost: data of the user's was sent to p, which has left without taking it.
	Lost func(p *peer.Peer)
}

// Sender sends to all tasks of a job.
type Sender struct {
	Single bool // messages made now keep to one of several addresses (LAPI_NOT_STRIPE)

	cfg     Config
	queues  []*queue // by task; nil: nothing was sent to it yet
	none    queue    // stands for these
	waiting int      // messages on all queues
	issued  *uint64  // number of the latest operation; own, or shared with the lane
	own     uint64

	sends  uint64  // what was given to links, to order it against flushes
	unsure []int32 // tasks sent to since their last flush began

	messages  pool[Message]
	entries   pool[entry]
	larges    pool[[largeHeader]byte]
	fragments pool[fragment]
	lists     pool[lists]
	flushes   pool[flushOp]
	stagings  [][]byte
}

// New is a Sender without messages.
func New(cfg Config) *Sender {
	s := &Sender{cfg: cfg, queues: make([]*queue, len(cfg.Peers))}
	s.issued = &s.own
	return s
}

// CountIn makes operations be numbered there from now on.
func (s *Sender) CountIn(issued *uint64) { s.issued = issued }

// Issued is the number of the latest operation, so that a fence knows which came before it.
func (s *Sender) Issued() uint64 { return *s.issued }

// Issue numbers n operations, and returns the last number.
func (s *Sender) Issue(n uint64) uint64 {
	*s.issued += n
	return *s.issued
}

// NextID numbers the fragmented messages to p.
func (s *Sender) NextID(p *peer.Peer) uint32 {
	q := s.queue(p)
	q.nextID++
	return q.nextID
}

// Used notes that something of an operation of that kind was given to p's link, for fences. counted:
// the operation has a completion counter, which shows that p has taken it.
func (s *Sender) Used(p *peer.Peer, kind codes.ErrType, counted bool) {
	q := s.queue(p)
	q.lastKind = kind
	s.sends++
	q.usedAt = s.sends
	if kind == codes.PutErr || kind == codes.AmErr {
		q.dataAt, q.dataSeq = s.sends, s.Issued()
		if !counted {
			q.uncountedAt = s.sends
		}
	}
	if !q.used {
		q.used = true
		s.unsure = append(s.unsure, int32(p.ID))
	}
}

// LastUsed is the kind of what was given to p's link last; false: nothing was.
func (s *Sender) LastUsed(p *peer.Peer) (codes.ErrType, bool) {
	q := s.known(p)
	return q.lastKind, q.usedAt != 0
}

// Waiting is how many messages wait for room, to any task.
func (s *Sender) Waiting() int { return s.waiting }

// Queued is how many messages to p wait for room, and the memory that they take, bytes.
func (s *Sender) Queued(p *peer.Peer) (n, bytes int) {
	q := s.known(p)
	for e := q.head; e != nil; e = e.next {
		n++
	}
	return n, q.bytes
}

// Waits says whether messages to p wait for room, and of which kind the oldest is.
func (s *Sender) Waits(p *peer.Peer) (codes.ErrType, bool) {
	if e := s.known(p).head; e != nil {
		return e.kind(), true
	}
	return 0, false
}

// Holds says whether operations of the user's wait for room on the way to p, not messages of the
// library alone: the kind of the oldest, and the number of the latest.
func (s *Sender) Holds(p *peer.Peer) (kind codes.ErrType, latest uint64, holds bool) {
	for e := s.known(p).head; e != nil; e = e.next {
		if e.kind() == codes.IntErr {
			continue
		}
		if !holds {
			kind = e.kind()
		}
		latest, holds = e.seq, true
	}
	return kind, latest, holds
}

// Owes says whether data of the user's on its way to p is not known to be delivered, and the number
// of the last such operation, also if it is delivered.
func (s *Sender) Owes(p *peer.Peer) (seq uint64, owes bool) {
	if _, seq, owes = s.Holds(p); owes {
		return seq, true
	}
	return s.known(p).dataSeq, s.owes(p)
}

// owes is Owes without the messages that wait here. An operation is delivered when a flush covers
// it, or its completion counter has changed.
func (s *Sender) owes(p *peer.Peer) bool {
	outstanding := s.cfg.Outstanding(p) // it may note data
	q := s.known(p)
	return q.flushed < q.uncountedAt || q.flushed < q.dataAt && outstanding
}

// Quiet says whether no message issued at seq or before waits for room.
func (s *Sender) Quiet(seq uint64) bool {
	if s.waiting == 0 {
		return true
	}
	for _, q := range s.queues {
		if q == nil {
			continue
		}
		for e := q.head; e != nil; e = e.next {
			if e.seq <= seq {
				return false
			}
		}
	}
	return true
}

// Now sends a message of the user's that fits one fragment, without the bookkeeping of a Message.
// False: nothing happened, make a Message: others wait for room, or the link does not copy the data
// at once.
func (s *Sender) Now(p *peer.Peer, id transport.MsgID, kind codes.ErrType, counted bool,
	hdr []byte, data transport.Addr, n uint64) bool {
	if n > p.AtOnce() || s.known(p).head != nil && !s.drained(p) {
		return false
	}
	f := s.newFragment(nil)
	f.op.Local, f.op.N = data, n
	status, err := p.Link.Send(p.Ep, id, hdr, &f.op)
	if err == nil && status != transport.Done {
		panic("send: a link queued data that it copies at once")
	}
	s.freeFragment(f)
	if err != nil {
		return false
	}
	s.Issue(1)
	s.Used(p, kind, counted)
	return true
}

// Control sends a message of the library itself, without data.
func (s *Sender) Control(p *peer.Peer, id transport.MsgID, kind codes.ErrType,
	encode func(b []byte) []byte) {
	m := s.newMessage(p, id, kind, nextWhole)
	m.hdr = encode(m.small[:])
	s.Start(m)
}

// Start gives m to its link, or queues it.
func (s *Sender) Start(m *Message) {
	p, q := m.p, s.queue(m.p)
	if p.Dead() {
		m.failed = true
	}
	if q.head == nil && s.advance(m) {
		return
	}
	s.wait(m)
}

// copyData makes m independent of the user's memory. If that cannot be read, m fails as if it had
// been sent at once.
func (s *Sender) copyData(m *Message) {
	if err := memory.CopyOut(m.copyRoom(m.n-m.uhdrLen), m.data); err != nil {
		s.fail(m, err)
		return
	}
	m.data, m.ours = memory.AddrOf(m.copied), true
}

// keep is copyData for a put of which the link has only sent the beginning.
func (s *Sender) keep(m *Message, f *fragment) {
	if m.n <= uint64(s.cfg.CopyMax) && !m.ours {
		s.copyData(m)
		f.op.Local = m.data
	}
}

// advance sends as many fragments of m as the link takes. True: it gets no more of them, m may be
// gone. m is on no queue.
func (s *Sender) advance(m *Message) bool {
	p := m.p
	for !m.failed {
		f, err := m.prepare(s, m)
		if err != nil {
			s.fail(m, err)
			break
		}
		step := f.step
		m.inflight++
		status, err := f.send(p)
		if err == transport.ErrBusy {
			m.inflight--
			s.putOff(m, f)
			return false
		}
		if err != nil || status == transport.Done {
			m.inflight--
			s.freeFragment(f)
		} else if f.moves {
			s.keep(m, f)
		}
		if err != nil {
			s.fail(m, err)
			break
		}
		s.Used(p, m.kind, m.Counted)
		m.started = true
		if m.offset += step; m.offset >= m.n {
			break
		}
	}
	m.allSent = true
	if m.inflight == 0 {
		s.finish(m)
	}
	return true
}

// putOff keeps a fragment that the link had no room for, if making it again would cost.
func (s *Sender) putOff(m *Message, f *fragment) {
	if m.lists != nil && f.by == nil {
		m.lists.held = f
	} else {
		s.freeFragment(f)
	}
}

// fail marks m as failed. No more of it is sent.
func (s *Sender) fail(m *Message, err error) {
	if !m.failed {
		m.failed = true
		s.cfg.Failed(m, err)
	}
}

// finish is the end of m: the origin's memory is free.
func (s *Sender) finish(m *Message) {
	if m.Follow != nil {
		m.Follow.MessageDone(m)
	}
	s.cfg.Finished(m)
	s.Drop(m)
}

// Progress tries again for messages that found their link busy. It returns how many that has taken.
func (s *Sender) Progress() (n int) {
	for i := range s.queues {
		if s.waiting == 0 {
			break
		}
		n += s.drain(&s.cfg.Peers[i])
	}
	return n
}

// drain tries again for the messages that wait for room on the way to p.
func (s *Sender) drain(p *peer.Peer) (n int) {
	q := s.known(p)
	for q.head != nil {
		e := q.pop()
		m := s.message(p, e)
		if !s.advance(m) {
			s.again(q, e, m)
			break
		}
		s.entries.put(e)
		s.waiting--
		n++
	}
	s.cfg.Queued(p)
	return n
}

// drained is drain for a caller that sends to p now: it says whether no message waits in front any
// more.
func (s *Sender) drained(p *peer.Peer) bool {
	s.drain(p)
	return s.known(p).head == nil
}

// GiveUp ends every message that waits for p, which is gone. The parts of them that the link holds
// end when the link disconnects p.
func (s *Sender) GiveUp(p *peer.Peer) {
	q := s.known(p)
	for q.head != nil {
		m := s.message(p, q.pop())
		s.waiting--
		m.failed = true
		s.advance(m)
	}
	s.cfg.Queued(p)
}

// Flush waits until all that was given to links before it is delivered, or its task is gone.
type Flush struct {
	outstanding int
	lost        bool
}

// Done says whether that is so.
func (f *Flush) Done() bool { return f.outstanding == 0 }

// Lost says whether a task is gone that did not take data of the user's.
func (f *Flush) Lost() bool { return f.lost }

type flushOp struct {
	op  transport.Op
	s   *Sender
	f   *Flush
	p   *peer.Peer
	seq uint64
}

// Unflushed says whether something that was given to a link is not known to be delivered. A task
// that is gone counts for nothing: what it has not taken is lost, and fences know.
func (s *Sender) Unflushed() bool {
	for len(s.unsure) > 0 {
		last := len(s.unsure) - 1
		id := s.unsure[last]
		q := s.queues[id]
		if q.flushed < q.usedAt && !s.cfg.Peers[id].Dead() {
			return true
		}
		q.used = false
		s.unsure = s.unsure[:last]
	}
	return false
}

// Flush begins f: it asks the link of each task used since its last flush to say when all is
// delivered.
func (s *Sender) Flush(f *Flush) {
	kept := s.unsure[:0]
	for _, id := range s.unsure {
		p, q := &s.cfg.Peers[id], s.queues[id]
		if q.flushed >= q.usedAt || p.Dead() {
			q.used = false
			continue
		}
		kept = append(kept, id)
	}
	s.unsure = kept
	for _, id := range kept {
		s.flush(f, &s.cfg.Peers[id])
	}
}

// Confirm asks p's link whether all that was given to it is delivered, which changes what Owes
// says.
func (s *Sender) Confirm(p *peer.Peer) {
	if _, owes := s.Owes(p); owes {
		s.flush(new(Flush), p)
	}
}

func (s *Sender) flush(f *Flush, p *peer.Peer) {
	o := s.flushes.get()
	if o == nil {
		o = &flushOp{s: s}
		o.op.Owner, o.op.Done = o, flushed
	}
	o.f, o.p, o.seq = f, p, s.sends
	f.outstanding++
	status, err := p.Link.Flush(p.Ep, &o.op)
	if err != nil || status == transport.Done {
		flushed(&o.op, err)
	}
}

// flushed: all that was sent to a task before the flush began is in its memory, or the task is
// gone.
func flushed(op *transport.Op, err error) {
	o := op.Owner.(*flushOp)
	s, f, p := o.s, o.f, o.p
	q := s.queue(p)
	f.outstanding--
	o.f, o.p = nil, nil
	s.flushes.put(o)
	switch {
	case err == nil:
		q.flushed = max(q.flushed, o.seq)
	case err != transport.ErrClosed && !p.Purged() && s.owes(p):
		f.lost = true
		s.cfg.Lost(p)
	}
}
