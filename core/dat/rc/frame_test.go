package rc

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// link is a link for tests: exactly once, in any order, as late as it likes, and often busy.
type link struct {
	transport.MessagesOnly
	random   *rand.Rand
	name     int
	peers    []*link
	ordered  bool
	busy     float64
	queued   float64 // how often it needs a fragment's memory for a while
	most     int     // SendMax
	handlers [transport.MaxMsgID + 1]transport.MsgHandler
	inbox    []message
	ops      []*transport.Op
	dead     bool
	stats    transport.Stats
	sent     int
}

type message struct {
	from transport.Endpoint
	id   transport.MsgID
	hdr  []byte
	op   *transport.Op // its memory is read when it arrives
	data []byte
}

func (l *link) Limits() transport.Limits {
	return transport.Limits{SendMax: l.most,
		HeaderMax: 128}
}
func (l *link) Address() transport.Address { return transport.Address{} }
func (l *link) Stats() *transport.Stats    { return &l.stats }
func (l *link) Close() error               { return nil }
func (l *link) Connect(transport.Endpoint, transport.Address) error {
	return nil
}
func (l *link) Disconnect(transport.Endpoint, error)              {}
func (l *link) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }
func (l *link) Flush(transport.Endpoint, *transport.Op) (transport.Status, error) {
	return transport.Done, nil
}

func (l *link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	to := l.peers[ep]
	if l.dead || to.dead {
		return 0, transport.ErrUnreachable
	}
	if l.random.Float64() < l.busy {
		return 0, transport.ErrBusy
	}
	l.sent++
	m := message{from: transport.Endpoint(l.name), id: id, hdr: bytes.Clone(hdr)}
	status := transport.Done
	if op.N > 0 && l.random.Float64() < l.queued {
		m.op, status = op, transport.Queued
	} else if op.N > 0 {
		m.data = make([]byte, op.N)
		if err := memory.CopyOut(m.data, op.Local); err != nil {
			return 0, err
		}
	}
	to.inbox = append(to.inbox, m)
	return status, nil
}

func (l *link) Progress(most int) (n int) {
	for ; n < most && len(l.inbox) > 0; n++ {
		i := 0
		if !l.ordered {
			i = l.random.IntN(len(l.inbox))
		}
		m := l.inbox[i]
		l.inbox = slices.Delete(l.inbox, i, i+1)
		var err error
		if m.op != nil {
			m.data = make([]byte, m.op.N)
			err = memory.CopyOut(m.data, m.op.Local)
			from := l.peers[m.from]
			from.ops = append(from.ops, m.op)
		}
		if err == nil && !l.dead && l.handlers[m.id](&transport.Msg{From: m.from, Hdr: m.hdr,
			Data: m.data}) == transport.Refuse {
			m.op = nil
			l.inbox = append(l.inbox, m)
		}
	}
	for len(l.ops) > 0 {
		op := l.ops[0]
		l.ops = l.ops[1:]
		op.Done(op, nil)
	}
	return n
}

// side is the owner of one engine with one or more connections.
type side struct {
	t        *testing.T
	name     string
	link     *link
	e        *Engine
	memory   []byte
	done     []*Request
	received []*Receive
	ended    map[*Conn]Ending
	invalid  []uint32
	over     map[any]int
	check    func(r *Receive)
}

func (s *side) addr(at int) transport.Addr { return memory.AddrOf(s.memory) + transport.Addr(at) }

// Contexts of tests.
const (
	ctxRead, ctxWrite, ctxAll = 11, 12, 13
)

// Access implements Owner.
func (s *side) Access(_ *Conn, context uint32, addr transport.Addr, n uint64,
	right Right) (transport.Addr, bool) {
	base := s.addr(0)
	if addr < base || uint64(addr-base)+n > uint64(len(s.memory)) {
		return 0, false
	}
	return addr, context == ctxAll || context == ctxRead && right == RightRead ||
		context == ctxWrite && right == RightWrite
}

// kept is the owner of a receive, by number, or of a bind.
type kept struct {
	number   int
	unusable bool
	bind     func()
}

// Usable implements Posted.
func (k *kept) Usable() bool { return !k.unusable }

// Bind implements Posted.
func (k *kept) Bind() bool {
	k.bind()
	return true
}

// Invalidate implements Owner.
func (s *side) Invalidate(_ *Conn, context uint32) bool {
	s.invalid = append(s.invalid, context)
	return context != 0
}

// Completed implements Owner.
func (s *side) Completed(c *Conn, r *Request) {
	if s.over[r]++; s.over[r] > 1 || r.ops != 0 {
		s.t.Errorf("%s: a request completed %d times, with %d fragments out", s.name, s.over[r],
			r.ops)
	}
	s.done = append(s.done, r)
}

// Received implements Owner.
func (s *side) Received(c *Conn, r *Receive) {
	if s.over[r]++; s.over[r] > 1 {
		s.t.Errorf("%s: a receive completed %d times", s.name, s.over[r])
	}
	if s.check != nil && r.Status == Success {
		s.check(r)
	}
	s.received = append(s.received, r)
}

// Ended implements Owner.
func (s *side) Ended(c *Conn, how Ending) {
	if _, twice := s.ended[c]; twice {
		s.t.Errorf("%s: ended twice", s.name)
	}
	if c.ops != 0 || len(c.requests) != 0 || len(c.receives.list) != 0 {
		s.t.Errorf("%s: ended with %d fragments, %d requests, %d receives", s.name, c.ops,
			len(c.requests), len(c.receives.list))
	}
	s.ended[c] = how
}

const memorySize = 1 << 20

// pair makes two sides, joined.
func pair(t *testing.T, seed uint64, set func(l *link)) (a, b *side) {
	memory.Guard()
	random := rand.New(rand.NewPCG(seed, 2))
	make1 := func(name string, n int) *side {
		b, err := arena.Map(memorySize)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { arena.Unmap(b) })
		s := &side{t: t, name: name, memory: b, ended: map[*Conn]Ending{}, over: map[any]int{}}
		s.link = &link{random: random, name: n, most: 1024}
		if set != nil {
			set(s.link)
		}
		s.e = NewEngine(random.Uint64)
		s.e.Attach(s.link)
		return s
	}
	a, b = make1("a", 0), make1("b", 1)
	a.link.peers = []*link{a.link, b.link}
	b.link.peers = a.link.peers
	return a, b
}

// queue is a shared queue of receives.
type queue struct {
	Shared
	list []*Receive
}

func newQueue() *queue {
	q := &queue{}
	q.Waits = func(int) {}
	q.Next = func() (r *Receive) {
		if len(q.list) > 0 {
			r, q.list = q.list[0], q.list[1:]
		}
		return r
	}
	return q
}

func (q *queue) post(r *Receive) {
	q.list = append(q.list, r)
	q.Offer()
}

// join makes a connection between two sides.
func join(a, b *side, shared *queue) (c, d *Conn) {
	c, d = a.e.New(a), b.e.New(b)
	if shared != nil {
		d.Shared = &shared.Shared
	}
	ci, ct := c.Name()
	di, dt := d.Name()
	c.Open(a.link, 1, di, dt, 4)
	d.Open(b.link, 0, ci, ct, 4)
	return c, d
}

// run makes progress until nothing happens.
func run(sides ...*side) {
	for idle := 0; idle < 3; idle++ {
		for _, s := range sides {
			n := s.link.Progress(7)
			done, waiting := s.e.Progress()
			if n+done > 0 || waiting {
				idle = 0
			}
		}
	}
}

func (s *side) segments(at int, lengths ...uint32) (list []Segment) {
	for _, n := range lengths {
		list = append(list, Segment{s.addr(at), n})
		at += int(n) + 8
	}
	return list
}

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = seed + byte(i*7)
	}
}
