package rc

import (
	"bytes"
	"encoding/binary"
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
	unusable bool
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

// Usable implements Owner.
func (s *side) Usable(*Conn, any) bool { return !s.unusable }

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
		s.e = NewEngine(s, random.Uint64)
		s.e.Attach(s.link)
		return s
	}
	a, b = make1("a", 0), make1("b", 1)
	a.link.peers = []*link{a.link, b.link}
	b.link.peers = a.link.peers
	return a, b
}

// join makes a connection between two sides.
func join(a, b *side, shared *Shared) (c, d *Conn) {
	c, d = a.e.New(nil), b.e.New(nil)
	d.Shared = shared
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

func TestEach(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		a, b := pair(t, 1, func(l *link) { l.ordered, l.busy, l.queued = ordered, 0.3, 0.5 })
		c, d := join(a, b, nil)
		fill(a.memory[:5000], 1)
		fill(b.memory[20000:30000], 9)
		binary.LittleEndian.PutUint64(b.memory[40000:], 100)
		d.PostReceive(&Receive{Segments: b.segments(0, 3000, 3000)})
		d.PostReceive(&Receive{Segments: b.segments(8000, 100)})
		d.PostReceive(&Receive{})
		requests := []*Request{
			{Op: Send, Segments: a.segments(0, 5000), Solicited: true},
			{Op: Write, Segments: a.segments(0, 100, 0, 2000), Addr: uint64(b.addr(10000)),
				Context: ctxWrite},
			{Op: Write, Immediate: true, Data: 77, Segments: a.segments(0, 9),
				Addr:    uint64(b.addr(13000)),
				Context: ctxAll},
			{Op: Read, Segments: a.segments(50000, 4000, 6000), Addr: uint64(b.addr(20000)),
				Context: ctxRead},
			{Op: FetchAdd, Operand: 5, Segments: a.segments(70000, 8),
				Addr: uint64(b.addr(40000)), Context: ctxAll},
			{Op: CompareSwap, Compare: 105, Operand: 9, Segments: a.segments(70008, 8),
				Addr: uint64(b.addr(40000)), Context: ctxAll},
			{Op: CompareSwap, Compare: 105, Operand: 7, Segments: a.segments(70016, 8),
				Addr: uint64(b.addr(40000)), Context: ctxAll, Fence: true},
			{Op: Send, Invalidate: true, Context: 5},
			{Op: Read, Addr: uint64(b.addr(0)), Context: ctxRead},
		}
		for _, r := range requests {
			if !c.Post(r) {
				t.Fatal("not open")
			}
		}
		run(a, b)
		if !slices.Equal(a.done, requests) {
			t.Fatalf("%d of %d are complete, or out of order", len(a.done), len(requests))
		}
		for i, r := range requests {
			if r.Status != Success {
				t.Errorf("request %d: status %d", i, r.Status)
			}
		}
		same := func(what string, got, want []byte) {
			t.Helper()
			if !bytes.Equal(got, want) {
				t.Errorf("ordered %v: %s has not arrived whole", ordered, what)
			}
		}
		same("the send", append(bytes.Clone(b.memory[:3000]), b.memory[3008:5008]...),
			a.memory[:5000])
		same("the write", b.memory[10000:12100], append(bytes.Clone(a.memory[:100]),
			a.memory[116:2116]...))
		same("the read", append(bytes.Clone(a.memory[50000:54000]), a.memory[54008:60008]...),
			b.memory[20000:30000])
		for i, want := range []uint64{100, 105, 9} {
			if got := binary.LittleEndian.Uint64(a.memory[70000+8*i:]); got != want {
				t.Errorf("atomic operation %d: %d, want %d", i, got, want)
			}
		}
		if got := binary.LittleEndian.Uint64(b.memory[40000:]); got != 9 {
			t.Errorf("the word is %d", got)
		}
		if len(b.received) != 3 || b.received[0].N != 5000 || !b.received[0].Solicited ||
			!b.received[1].HasData || b.received[1].Immediate != 77 || b.received[1].N != 9 ||
			!b.received[1].ByWrite || !b.received[2].Invalid || b.received[2].Context != 5 ||
			!slices.Equal(b.invalid, []uint32{5}) {
			t.Errorf("received %+v", b.received)
		}
		c.Disconnect(true)
		run(a, b)
		if a.ended[c] != ByUser || b.ended[d] != ByPeer || len(a.ended)+len(b.ended) != 2 {
			t.Errorf("ended %v, %v", a.ended, b.ended)
		}
		if a.e.Dropped+b.e.Dropped != 0 {
			t.Errorf("%d and %d messages were dropped", a.e.Dropped, b.e.Dropped)
		}
	}
}

// TestErrors: an access that is not allowed, or a receive too short, has the status that the
// document names at both ends, and ends the connection.
func TestErrors(t *testing.T) {
	for name, f := range map[string]struct {
		request func(a, b *side) *Request
		status  Status
		receive Status
	}{
		"context": {func(a, b *side) *Request {
			return &Request{Op: Write, Segments: a.segments(0, 8), Addr: uint64(b.addr(0)),
				Context: ctxRead}
		}, RemoteAccess, Flushed},
		"read": {func(a, b *side) *Request {
			return &Request{Op: Read, Segments: a.segments(0, 8), Addr: uint64(b.addr(0)),
				Context: ctxWrite}
		}, RemoteAccess, Flushed},
		"bounds": {func(a, b *side) *Request {
			return &Request{Op: Write, Segments: a.segments(0, 3000),
				Addr:    uint64(b.addr(memorySize - 2999)),
				Context: ctxAll}
		}, RemoteAccess, Flushed},
		"wrap": {func(a, b *side) *Request {
			return &Request{Op: Read, Segments: a.segments(0, 16), Addr: ^uint64(7),
				Context: ctxAll}
		}, RemoteAccess, Flushed},
		"unaligned": {func(a, b *side) *Request {
			return &Request{Op: FetchAdd, Segments: a.segments(0, 8), Addr: uint64(b.addr(4)),
				Context: ctxAll}
		}, RemoteAccess, Flushed},
		"short": {func(a, b *side) *Request {
			return &Request{Op: Send, Segments: a.segments(0, 101)}
		}, RemoteResponder, LocalLength},
		"invalidate": {func(a, b *side) *Request {
			return &Request{Op: Send, Invalidate: true}
		}, RemoteAccess, Flushed},
		"local": {func(a, b *side) *Request {
			return &Request{Op: Send, Segments: []Segment{{8, 8}}}
		}, LocalProtection, Flushed},
		"local of a read": {func(a, b *side) *Request {
			return &Request{Op: Read, Segments: []Segment{{8, 8}}, Addr: uint64(b.addr(0)),
				Context: ctxAll}
		}, LocalProtection, Success}, // the send behind it has arrived
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, 3, func(l *link) { l.ordered = true })
			c, d := join(a, b, nil)
			d.PostReceive(&Receive{Segments: b.segments(0, 100)})
			before := bytes.Clone(b.memory)
			first := &Request{Op: Write, Addr: uint64(b.addr(0)), Context: ctxAll}
			bad := f.request(a, b)
			later := &Request{Op: Send, Segments: a.segments(0, 8)}
			for _, r := range []*Request{first, bad, later} {
				c.Post(r)
			}
			run(a, b)
			if first.Status != Success || bad.Status != f.status || later.Status != Flushed {
				t.Errorf("statuses %d, %d, %d; want 0, %d, 1", first.Status, bad.Status,
					later.Status,
					f.status)
			}
			if a.ended[c] != Broken || b.ended[d] != Broken {
				t.Errorf("ended %v and %v", a.ended, b.ended)
			}
			if len(b.received) != 1 || b.received[0].Status != f.receive {
				t.Errorf("the receive has status %v, want %d", b.received, f.receive)
			}
			if name != "bounds" && !bytes.Equal(before, b.memory) {
				t.Error("memory has changed")
			}
			if c.Post(later) {
				t.Error("one can post after the end")
			}
		})
	}
}

// TestLateReceive: sends wait for their receives, in order, and writes pass them.
func TestLateReceive(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for seed := range uint64(50) {
			a, b := pair(t, seed, func(l *link) { l.queued, l.busy = 0.3, 0.2 })
			var s *Shared
			if shared {
				s = &Shared{}
			}
			c, d := join(a, b, s)
			for i := range 100 {
				a.memory[i] = byte(i)
				c.Post(&Request{Op: Send, Segments: []Segment{{a.addr(i), 1}}})
			}
			c.Post(&Request{Op: Write, Segments: []Segment{{a.addr(99), 1}},
				Addr:    uint64(b.addr(5000)),
				Context: ctxAll})
			run(a, b)
			if len(a.done) != 0 || a.link.sent > 400 {
				t.Fatalf("%d are complete after %d messages", len(a.done), a.link.sent)
			}
			for i := range 100 {
				r := &Receive{Segments: []Segment{{b.addr(1000 + i), 1}}, Owner: i}
				if shared {
					s.Post(r)
				} else {
					d.PostReceive(r)
				}
				if i%7 == 0 {
					run(a, b)
				}
			}
			run(a, b)
			if len(a.done) != 101 || len(b.received) != 100 {
				t.Fatalf("seed %d: %d and %d are complete", seed, len(a.done), len(b.received))
			}
			for i, r := range b.received {
				if got := memory.Bytes(r.Segments[0].Addr, 1)[0]; got != byte(i) || !shared &&
					r.Owner != i {
					t.Fatalf("seed %d: receive %d, the %vth posted, has send %d", seed, i,
						r.Owner, got)
				}
			}
			if b.memory[5000] != 99 || shared && s.Len() != 0 {
				t.Error("the write has not arrived, or receives are left")
			}
		}
	}
}

// TestEarly: what the peer sends before this side knows that the connection stands is not lost.
func TestEarly(t *testing.T) {
	a, b := pair(t, 5, nil)
	c, d := a.e.New(nil), b.e.New(nil)
	ci, ct := c.Name()
	di, dt := d.Name()
	d.PostReceive(&Receive{Segments: b.segments(0, 8)})
	c.Open(a.link, 1, di, dt, 4)
	c.Post(&Request{Op: Send, Segments: a.segments(0, 8)})
	for range 10 {
		a.e.Progress()
		b.link.Progress(5)
	}
	d.Open(b.link, 0, ci, ct, 4)
	run(a, b)
	if len(b.received) != 1 || len(a.done) != 1 || a.done[0].Status != Success {
		t.Errorf("%d received, %d done", len(b.received), len(a.done))
	}
}

// TestFence: a fenced request waits for the reads before it, others do not.
func TestFence(t *testing.T) {
	for _, fence := range []bool{true, false} {
		a, b := pair(t, 6, nil)
		c, _ := join(a, b, nil)
		c.Post(&Request{Op: Read, Segments: a.segments(0, 8), Addr: uint64(b.addr(0)),
			Context: ctxAll})
		c.Post(&Request{Op: Write, Addr: uint64(b.addr(0)), Context: ctxAll, Fence: fence})
		a.e.Progress()
		if want := map[bool]int{true: 1, false: 2}[fence]; a.link.sent != want {
			t.Errorf("fence %v: %d messages before the answer, want %d", fence, a.link.sent, want)
		}
		run(a, b)
		if len(a.done) != 2 {
			t.Errorf("fence %v: %d of 2 are complete", fence, len(a.done))
		}
	}
}

// TestLateFragments: of a send in many fragments that found no receive at first only those count
// that were sent again.
func TestLateFragments(t *testing.T) {
	for seed := range uint64(100) {
		a, b := pair(t, seed, func(l *link) { l.queued, l.most = 0.3, 300 })
		c, d := join(a, b, nil)
		fill(a.memory[:5000], byte(seed))
		r := &Request{Op: Send, Segments: a.segments(0, 5000)}
		c.Post(r)
		for step := range 60 {
			a.e.Progress()
			b.link.Progress(1)
			b.e.Progress()
			a.link.Progress(1)
			if step == 5 {
				d.PostReceive(&Receive{Segments: b.segments(0, 5000)})
			}
		}
		run(a, b)
		if len(b.received) != 1 || b.received[0].Status != Success || r.Status != Success ||
			!bytes.Equal(a.memory[:5000], b.memory[:5000]) {
			t.Fatalf("seed %d: %d received, status %d", seed, len(b.received), r.Status)
		}
	}
}

// TestUnusable: memory that may not be written any more is not.
func TestUnusable(t *testing.T) {
	a, b := pair(t, 7, func(l *link) { l.ordered = true })
	c, d := join(a, b, nil)
	a.memory[0] = 1
	d.PostReceive(&Receive{Segments: b.segments(0, 8)})
	b.unusable = true
	r := &Request{Op: Send, Segments: a.segments(0, 8)}
	c.Post(r)
	run(a, b)
	if b.memory[0] != 0 || r.Status != RemoteResponder || b.received[0].Status != LocalProtection {
		t.Errorf("%d was written, statuses %d and %d", b.memory[0], r.Status,
			b.received[0].Status)
	}
}

// TestOrder: whoever sees a write's last byte, or an event of a later request, sees all before.
func TestOrder(t *testing.T) {
	for seed := range uint64(100) {
		a, b := pair(t, seed, func(l *link) { l.queued, l.busy = 0.2, 0.1 })
		c, d := join(a, b, nil)
		const writes, size = 40, 3000
		for i := range writes {
			d.PostReceive(&Receive{Owner: i})
			fill(a.memory[i*size:][:size], byte(i))
			a.memory[(i+1)*size-1] = 0xff
			c.Post(&Request{Op: Write, Segments: a.segments(i*size, size),
				Addr:    uint64(b.addr(i * size)),
				Context: ctxAll})
			c.Post(&Request{Op: Send})
		}
		whole := func(i int) bool { return bytes.Equal(a.memory[:i*size], b.memory[:i*size]) }
		b.check = func(r *Receive) {
			if i := r.Owner.(int); !whole(i + 1) {
				t.Fatalf("seed %d: send %d has come before what was written", seed, i)
			}
		}
		for len(b.received) < writes {
			for _, s := range []*side{a, b} {
				s.link.Progress(1)
				s.e.Progress()
			}
			for i := range writes {
				if b.memory[(i+1)*size-1] == 0xff && !whole(i+1) {
					t.Fatalf("seed %d: the last byte of write %d came first", seed, i)
				}
			}
		}
	}
}

// TestRandom: random requests both ways over many connections, which end in every way at any
// moment. Everything posted completes once, and the ends agree on what has happened.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		a, b := pair(t, seed, func(l *link) {
			l.ordered = random.IntN(2) == 0
			l.busy, l.queued = 0.5*random.Float64(), random.Float64()
			l.most = 256 + random.IntN(4000)
		})
		var conns [][2]*Conn
		for range 1 + random.IntN(4) {
			var s *Shared
			if random.IntN(3) == 0 {
				s = &Shared{}
			}
			c, d := join(a, b, s)
			conns = append(conns, [2]*Conn{c, d})
		}
		posted := [2]int{}
		end := -1
		if random.IntN(2) == 0 {
			end = random.IntN(400)
		}
		for step := range 400 {
			k := random.IntN(2)
			from, to := []*side{a, b}[k], []*side{b, a}[k]
			pair := conns[random.IntN(len(conns))]
			c, d := pair[k], pair[1-k]
			switch random.IntN(8) {
			case 0, 1:
				r := &Receive{Segments: to.segments(random.IntN(10000), uint32(random.IntN(5000)))}
				if d.Shared != nil {
					d.Shared.Post(r)
				} else if d.state == open {
					d.PostReceive(r)
					posted[1-k]++
				}
			case 7:
				from.link.Progress(random.IntN(5))
				from.e.Progress()
			default:
				if c.Post(randomRequest(random, from, to)) {
					posted[k]++
				}
			}
			if step == end {
				switch random.IntN(3) {
				case 0:
					c.Disconnect(true)
				case 1:
					c.Disconnect(false)
				case 2:
					a.link.dead = true
					for _, s := range []*side{a, b} {
						s.link.ops = s.e.drainOps(s.link)
					}
					a.e.PeerFailed(a.link, 1)
					b.e.PeerFailed(b.link, 0)
				}
			}
		}
		run(a, b)
		for _, p := range conns {
			p[0].Disconnect(false)
			p[1].Disconnect(false)
		}
		run(a, b)
		for i, s := range []*side{a, b} {
			own := 0
			for _, r := range s.received {
				if r.Owner == nil {
					own++
				}
			}
			if len(s.done) > posted[i] || len(s.ended) != len(conns) {
				t.Fatalf("seed %d: side %d: %d requests of %d, %d ends of %d", seed, i, len(s.done),
					posted[i], len(s.ended), len(conns))
			}
			for j, c := range s.e.conns {
				if c != nil {
					t.Fatalf("seed %d: side %d has connection %d on", seed, i, j)
				}
			}
		}
	}
}

// drainOps is what a link has of this side's when its peer dies.
func (e *Engine) drainOps(l *link) (ops []*transport.Op) {
	for _, p := range l.peers {
		for i, m := range p.inbox {
			if m.from == transport.Endpoint(l.name) && m.op != nil {
				ops = append(ops, m.op)
				p.inbox[i].op = nil
			}
		}
	}
	return append(l.ops, ops...)
}

func randomRequest(random *rand.Rand, from, to *side) *Request {
	r := &Request{Op: Op(random.IntN(int(Bind))), Context: ctxAll, Addr: uint64(to.addr(
		8 * random.IntN(1000))), Fence: random.IntN(4) == 0, Operand: 1}
	switch r.Op {
	case Send, Write, Read:
		r.Segments = from.segments(random.IntN(5000), uint32(random.IntN(3000)),
			uint32(random.IntN(3000)))
		r.Immediate = r.Op == Write && random.IntN(3) == 0
		if random.IntN(100) == 0 {
			r.Context = ctxRead
		}
	default:
		r.Segments = from.segments(8*random.IntN(100), 8)
	}
	return r
}

// FuzzMessages: nothing that a peer sends makes more than its own connection end.
func FuzzMessages(f *testing.F) {
	var h [askSize]byte
	(&header{Op: Send, Total: 5}).put(h[:])
	f.Add([]byte(h[:headerSize]), byte(msgData), []byte("hello"))
	(&header{Op: FetchAdd, Total: 8, Context: ctxAll}).putAsk(h[:])
	f.Add([]byte(h[:]), byte(msgAsk), []byte{})
	f.Fuzz(func(t *testing.T, hdr []byte, id byte, data []byte) {
		a, b := pair(t, 1, nil)
		c, d := join(a, b, nil)
		e, g := join(a, b, nil)
		d.PostReceive(&Receive{Segments: b.segments(0, 100)})
		d.Post(&Request{Op: Read, Segments: b.segments(0, 16), Addr: uint64(a.addr(0)),
			Context: ctxAll})
		b.e.Progress()
		if len(hdr) >= 12 {
			binary.LittleEndian.PutUint32(hdr, d.index)
			binary.LittleEndian.PutUint32(hdr[4:], d.tag)
		}
		k := transport.MsgID(id)%msgEnd + 1
		for range 3 {
			b.link.handlers[k](&transport.Msg{From: 0, Hdr: hdr, Data: data})
		}
		run(a, b)
		g.PostReceive(&Receive{})
		ok := &Request{Op: Send}
		e.Post(ok)
		run(a, b)
		if ok.Status != Success || len(a.done) == 0 {
			t.Error("another connection has suffered")
		}
		_ = c
	})
}
