package simnet

import (
	"encoding/binary"
	"math/rand/v2"

	"lapi/transport"
	"lapi/transport/memory"
)

// message is a message of a run. A message longer than a link takes is cut into fragments, as core
// does.
type message struct {
	from, to int
	fromLife int // of the task, when it sent this: restarts begin another
	n, hdr   int
	first    int32 // of its fragments
	count    int32
	accepted int32 // fragments
	maybe    bool  // a task has been restarted meanwhile: it may have arrived or not
	data     []byte
}

// fragment is one Send.
type fragment struct {
	message  int32
	offset   int
	n        int
	given    bool // to the link
	accepted bool
	done     bool
	refusals uint8
	op       transport.Op
}

// Bounds of a run. Memory for so much is made once, and used by one run after the other.
const (
	maxMessages  = 6000
	maxFragments = 1 << 15
	arenaSize    = 64 << 20
	longest      = 256 << 10 // bytes of a message
)

// stubbornMessages are refused until Scenario.Stubborn.
const stubbornMessages = 10

// drawLength: half of the messages have up to 100 bytes, one of a hundred up to 256 KiB, some
// nothing.
func drawLength(r *rand.Rand) int {
	switch r.IntN(100) {
	case 0:
		return r.IntN(longest + 1)
	case 1, 2:
		return 0
	}
	return int(between(r, 1, 10000))
}

// mix is word i of the content of message id.
func mix(id uint64, i int) uint64 {
	x := (id<<32 + uint64(i) + 1) * 0x9e3779b97f4a7c15
	return x ^ x>>29
}

// pattern fills b with the content of message id from byte offset on, a multiple of 8.
func pattern(b []byte, id uint64, offset int) {
	i := offset / 8
	for ; len(b) >= 8; b, i = b[8:], i+1 {
		binary.LittleEndian.PutUint64(b, mix(id, i))
	}
	for j, w := 0, mix(id, i); j < len(b); j, w = j+1, w>>8 {
		b[j] = byte(w)
	}
}

// hasPattern says whether b is that content.
func hasPattern(b []byte, id uint64, offset int) bool {
	i := offset / 8
	for ; len(b) >= 8; b, i = b[8:], i+1 {
		if binary.LittleEndian.Uint64(b) != mix(id, i) {
			return false
		}
	}
	for j, w := 0, mix(id, i); j < len(b); j, w = j+1, w>>8 {
		if b[j] != byte(w) {
			return false
		}
	}
	return true
}

// headerID is what a message's header is patterned with, apart from its data.
const headerID = 1 << 31

// create makes a message and puts its fragments into the sender's queue. False: the run has no room
// for more.
func (s *run) create(from, to int) bool {
	r, l := s.random, s.tasks[from].link
	limits := l.Limits()
	m := message{from: from, to: to, fromLife: s.tasks[from].life, n: drawLength(r),
		hdr: 8 + 8*r.IntN(6), first: int32(len(s.fragments))}
	if r.IntN(200) == 0 {
		m.hdr = limits.HeaderMax
	}
	room := limits.SendMax - m.hdr
	if best := s.tasks[from].sendMax[to]; best > 0 {
		room = max(best-m.hdr, 256)
	}
	m.count = int32(max(1, (m.n+room-1)/room))
	if len(s.messages) == maxMessages || len(s.fragments)+int(m.count) > maxFragments ||
		s.used+m.n > arenaSize {
		return false
	}
	m.data = s.arena[s.used : s.used+m.n : s.used+m.n]
	s.used += (m.n + 7) &^ 7
	id := int32(len(s.messages))
	pattern(m.data, uint64(id), 0)
	s.messages = append(s.messages, m)
	s.open++
	// the sender still has a session with the task's earlier generation
	if s.tasks[from].view[to] != s.tasks[to].life {
		s.doubt(id)
	}
	for offset := 0; ; offset += room {
		n := min(room, m.n-offset)
		i := len(s.fragments)
		s.fragments = s.fragments[:i+1]
		f := &s.fragments[i]
		*f = fragment{message: id, offset: offset, n: n}
		f.op.N, f.op.Owner, f.op.Done, f.op.Single = uint64(n), s.owners[i], fragmentDone,
			s.sc.Single
		if n > 0 {
			f.op.Local = memory.AddrOf(m.data[offset:])
		}
		s.tasks[from].pending[to].add(int32(i))
		s.tasks[from].waiting++
		s.undone++
		if offset+n == m.n {
			return true
		}
	}
}

// owner finds the fragment of an Op in its run; made once, so that Done allocates nothing.
type owner struct {
	run *run
	i   int32
}

func fragmentDone(op *transport.Op, err error) {
	o := op.Owner.(*owner)
	o.run.over(o.i, err)
}

// give hands fragment i to the link. False: no room.
func (s *run) give(i int32) bool {
	f := &s.fragments[i]
	m := &s.messages[f.message]
	hdr := s.header[:m.hdr]
	binary.LittleEndian.PutUint64(hdr, uint64(i))
	pattern(hdr[8:], uint64(f.message)|headerID, 0)
	status, err := s.tasks[m.from].link.Send(transport.Endpoint(m.to), msgID, hdr, &f.op)
	switch err {
	case transport.ErrBusy:
		return false
	case nil:
		f.given = true
		if status == transport.Done {
			s.over(i, nil)
		}
	default:
		if !m.maybe {
			s.fail("message %d from %d to %d: Send: %v", f.message, m.from, m.to, err)
		}
		f.given = true
		s.over(i, nil)
	}
	return true
}

// over: the link says that the fragment's memory is free; from now on it holds something else.
func (s *run) over(i int32, err error) {
	f := &s.fragments[i]
	m := &s.messages[f.message]
	if f.done || !f.given || err != nil && !m.maybe {
		s.fail("message %d from %d to %d, fragment at %d: Done with %v; done before %v, given %v",
			f.message, m.from, m.to, f.offset, err, f.done, f.given)
	}
	f.done = true
	s.undone--
	for b := m.data[f.offset : f.offset+f.n]; len(b) > 0; {
		b = b[copy(b, s.rubbish):]
	}
}

// handle is the message handler of task me.
func (s *run) handle(me int, msg *transport.Msg) transport.Verdict {
	if len(msg.Hdr) < 8 {
		s.fail("a message with %d bytes of header", len(msg.Hdr))
		return transport.Accept
	}
	i := binary.LittleEndian.Uint64(msg.Hdr)
	if i >= uint64(len(s.fragments)) {
		s.fail("a message that was never sent: %d", i)
		return transport.Accept
	}
	f := &s.fragments[i]
	id := f.message
	m := &s.messages[id]
	if m.to != me || m.from != int(msg.From) || len(msg.Hdr) != m.hdr || len(msg.Data) != f.n ||
		!f.given {
		s.fail("message %d from %d to %d arrives as another", id, m.from, m.to)
		return transport.Accept
	}
	if !hasPattern(msg.Hdr[8:], uint64(id)|headerID, 0) ||
		!hasPattern(msg.Data, uint64(id), f.offset) {
		s.fail("message %d from %d to %d is damaged, at %d", id, m.from, m.to, f.offset)
	}
	if uintptr(memory.AddrOf(msg.Data))%8 != 0 && len(msg.Data) > 0 {
		s.fail("message %d: data is not aligned", id)
	}
	if m.fromLife < s.tasks[me].view[m.from] {
		s.fail("message %d is from an earlier life of task %d", id, m.from)
	}
	if id < stubbornMessages && s.net.Now() < int64(s.sc.Stubborn) {
		s.refused++
		return transport.Refuse
	}
	if f.refusals < 4 && s.sc.Refuse > 0 && s.random.Float64() < s.sc.Refuse {
		f.refusals++
		s.refused++
		return transport.Refuse
	}
	if f.accepted {
		s.fail("message %d from %d to %d, fragment at %d, is offered after it was accepted", id,
			m.from, m.to, f.offset)
		return transport.Accept
	}
	f.accepted = true
	if m.accepted++; m.accepted == m.count && !m.maybe {
		s.open--
	}
	if s.sc.Reply > 0 && !s.ending && m.accepted == m.count && len(s.messages) < 2*s.sc.Messages &&
		s.random.Float64() < s.sc.Reply {
		s.create(me, m.from)
		s.pump(me)
	}
	return transport.Accept
}

// doubt: nobody waits for message id any more, because a task at one of its ends has been
// restarted.
func (s *run) doubt(id int32) {
	if m := &s.messages[id]; !m.maybe {
		m.maybe = true
		if m.accepted < m.count {
			s.open--
		}
	}
}

// fifo holds fragments that a link had no room for.
type fifo struct {
	items []int32
	head  int
}

func (q *fifo) add(i int32) { q.items = append(q.items, i) }
func (q *fifo) len() int    { return len(q.items) - q.head }

func (q *fifo) take() {
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
