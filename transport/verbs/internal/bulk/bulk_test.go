package bulk

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// task is a peer of which the test is the network. It is over one port, and has one lane more.
type task struct {
	lanes [2]Lane
	said  []wire.Kind
	last  wire.Control
	data  []byte // that went with it
	full  bool   // nothing goes
	turns int    // that were asked for
	to    wire.Address
	met   int // calls of Contact
}

func (t *task) Endpoint() transport.Endpoint { return 1 }
func (t *task) Gone() bool                   { return false }
func (t *task) Attend()                      { t.turns++ }
func (t *task) Starve()                      {}
func (t *task) Ended()                       {}
func (t *task) Packets() *Lane               { return &t.lanes[0] }
func (t *task) LaneAt(i int) *Lane           { return &t.lanes[i] }
func (t *task) Lanes() int                   { return len(t.lanes) }
func (t *task) Spread()                      {}
func (t *task) Contact()                     { t.met++ }
func (t *task) To() *wire.Address            { return &t.to }
func (t *task) Ports(lanes bool) uint32      { return 3 }

func (t *task) Control(k wire.Kind, c *wire.Control, at transport.Addr,
	n uint64) error {
	if t.full {
		return transport.ErrBusy
	}
	t.said, t.last, t.data = append(t.said, k), *c, nil
	if k == wire.KindWants || k == wire.KindGrants {
		t.data = append([]byte(nil), memory.Bytes(at, n)...)
	}
	return nil
}

// queue is a queue pair over the port of its number.
type queue struct {
	port    int
	posted  []ibv.Work
	failed  int
	refused bool
}

func (q *queue) Port() (own, his int) { return q.port, q.port }
func (q *queue) Works() bool          { return q.failed == 0 }
func (q *queue) Post(w *ibv.Work) error {
	q.posted = append(q.posted, *w)
	last := &q.posted[len(q.posted)-1]
	last.Segments = slices.Clone(w.Segments)
	return nil
}
func (q *queue) Fail(refused bool)  { q.failed++; q.refused = refused }
func (q *queue) Succeed()           {}
func (q *queue) id(i int) uint64    { return q.posted[i].ID }
func (q *queue) keyOf(i int) uint32 { return q.posted[i].RKey }
func (t *task) queue(i int) *queue  { return t.lanes[i].Queue.(*queue) }
func (t *task) answers(p *Peer, k wire.Kind, c wire.Control) bool {
	return t.answersWith(p, k, c, nil)
}

func (t *task) answersWith(p *Peer, k wire.Kind, c wire.Control, data []byte) bool {
	var b [wire.GrantSize]byte
	return p.Take(k, b[:c.Encode(b[:], k)], data)
}

func newSet(t *testing.T) (*Set, *Peer, *task, []byte) {
	t.Helper()
	s, p, of := newSetOf(t, nothingKept)
	return s, p, of, mapped(t, s)
}

// mapped is a MiB for operations of s, which it outlives.
func mapped(t *testing.T, s *Set) []byte {
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); _ = unix.Munmap(b) })
	return b
}

var nothingKept = registration.Config{Off: true}

func newSetOf(t *testing.T, kept registration.Config) (*Set, *Peer, *task) {
	t.Helper()
	memory.Guard()
	s := New(Config{Min: 1, KeyMax: 1 << 20, Stats: &transport.Stats{}, Fed: func() {},
		Registrations: kept})
	s.Limit(100)
	of := &task{}
	f := fake.New()
	f.Info.MaxMessage = 32 << 10
	for i := range of.lanes {
		of.lanes[i].Queue = &queue{port: i}
		d, err := f.Device()
		if err != nil {
			t.Fatal(err)
		}
		pd, _ := d.AllocPD()
		t.Cleanup(func() { _ = d.DeallocPD(pd); _ = d.Close() })
		s.Open(i, d, pd)
	}
	p := new(Peer)
	p.Init(s, of)
	return s, p, of
}

// begin has a put of n bytes ask for keys, and get those.
func begin(t *testing.T, p *Peer, of *task, b []byte, ended *error, keys wire.Keys) {
	t.Helper()
	*ended = errors.New("not yet")
	st, err := p.Start(&transport.Op{Local: memory.AddrOf(b), Remote: 4096, N: uint64(len(b)),
		Done: func(_ *transport.Op, err error) { *ended = err }}, false, false)
	if st != transport.Queued || err != nil || of.said[len(of.said)-1] != wire.KindWant {
		t.Fatal(st, err, of.said)
	}
	of.answers(p, wire.KindGrant, wire.Control{Token: of.last.Token, Keys: keys})
}

// TestExpired: keys for a port that is somewhere else are not used any more.
func TestExpired(t *testing.T) {
	s, p, of, b := newSet(t)
	var ended error
	begin(t, p, of, b, &ended, wire.Keys{7, 8})
	first, second := of.queue(0), of.queue(1)
	if len(first.posted) == 0 || len(second.posted) == 0 || first.keyOf(0) != 7 ||
		second.keyOf(0) != 8 {
		t.Fatal(first.posted, second.posted)
	}
	posted := len(second.posted)
	p.Expired(1)
	for i := range posted {
		s.Moved(&of.lanes[1], second.id(i), ibv.Success)
	}
	for i := 0; i < len(first.posted); i++ {
		s.Moved(&of.lanes[0], first.id(i), ibv.Success)
		p.Pump()
	}
	if len(second.posted) != posted {
		t.Error("a request with the key that has expired")
	}
}

// TestInterrupted: the pieces that a queue pair had under way when it ended are moved again,
// once, and are not counted any more; the keys are given back when all is moved, and not before.
func TestInterrupted(t *testing.T) {
	s, p, of, b := newSet(t)
	var ended error
	begin(t, p, of, b, &ended, wire.Keys{7, 8})
	first, second := of.queue(0), of.queue(1)
	lost := second.posted
	s.Moved(&of.lanes[1], lost[0].ID, ibv.RetryExcErr)
	p.Interrupted(&of.lanes[1])
	s.Moved(&of.lanes[1], lost[len(lost)-1].ID, ibv.Success) // late
	if s.Moving() != len(first.posted) || second.failed != 1 || second.refused {
		t.Errorf("%d under way, %d failures", s.Moving(), second.failed)
	}
	moved := map[uint64]int{}
	for i := 0; i < len(first.posted); i++ {
		if of.said[len(of.said)-1] == wire.KindFinish {
			t.Fatal("the keys are given back too early")
		}
		moved[first.posted[i].RemoteAddr] += int(first.posted[i].Segments[0].N)
		s.Moved(&of.lanes[0], first.id(i), ibv.Success)
		p.Pump()
	}
	for _, w := range lost {
		if moved[w.RemoteAddr] == 0 {
			t.Errorf("what was to go to %#x was not moved again", w.RemoteAddr)
		}
	}
	if s.Moving() != 0 || of.said[len(of.said)-1] != wire.KindFinish || ended == nil {
		t.Fatal(s.Moving(), of.said, ended)
	}
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	if ended != nil || p.Calls() != 0 || s.Busy() {
		t.Error("it is not over", ended)
	}
}

// TestLostIsReported: Finish names the ports of the peer's over which requests were lost.
func TestLostIsReported(t *testing.T) {
	s, p, of, b := newSet(t)
	var ended error
	begin(t, p, of, b, &ended, wire.Keys{7, 8})
	p.Interrupted(&of.lanes[1])
	of.queue(1).failed = 1
	for i := 0; i < len(of.queue(0).posted); i++ {
		s.Moved(&of.lanes[0], of.queue(0).id(i), ibv.Success)
		p.Pump()
	}
	if of.said[len(of.said)-1] != wire.KindFinish || of.last.Ports != 2 {
		t.Errorf("%v with ports %b", of.said, of.last.Ports)
	}
}

// TestRefused: a piece that an adapter refuses is copied, after its key was given back.
func TestRefused(t *testing.T) {
	s, p, of, b := newSet(t)
	var ended error
	begin(t, p, of, b[:4096], &ended, wire.Keys{7})
	s.Moved(&of.lanes[0], of.queue(0).id(0), ibv.RemAccessErr)
	if p.Pump(); !of.queue(0).refused || of.said[len(of.said)-1] != wire.KindFinish {
		t.Fatal(of.said)
	}
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	if of.said[len(of.said)-1] != wire.KindPut {
		t.Error(of.said)
	}
}

// TestGrantsOfOthers: a peer gives back no key of another's, and answers for no call of another's.
func TestGrantsOfOthers(t *testing.T) {
	s, p, of, b := newSet(t)
	other, there := new(Peer), &task{}
	other.Init(s, there)
	of.answers(p, wire.KindWant, wire.Control{Addr: uint64(memory.AddrOf(b)), N: 4096, Ports: 3,
		Status: wire.WantWrite})
	mine := of.last
	if of.said[0] != wire.KindGrant || mine.Keys[0] == 0 || mine.Keys[1] == 0 {
		t.Fatal(of.said, mine)
	}
	of.answers(other, wire.KindFinish, wire.Control{Offset: mine.Offset})
	of.answers(other, wire.KindFinish, wire.Control{Offset: 1 << 40})
	of.answers(other, wire.KindGrant, wire.Control{Token: 1 << 33})
	if len(there.said) != 0 || s.grants[mine.Offset].peer != p {
		t.Error("one peer has given back another's key")
	}
	if of.answers(p, wire.KindAsk, wire.Control{N: wire.ChunkMax + 1}) {
		t.Error("more than a packet is asked for")
	}
	of.full = true
	asked := 0
	for of.answers(p, wire.KindAsk, wire.Control{N: 1}) {
		asked++
	}
	if asked != owedMax {
		t.Errorf("%d answers wait", asked)
	}
	if p.End(transport.ErrUnreachable); s.grants[mine.Offset].peer != nil || p.Owes() {
		t.Error("a peer that has ended keeps something")
	}
}

// TestLostRequest: a key by which a request was lost on its way is not kept, and the operation is
// not over, at either side, before the key has ended: a late request would write to memory that the
// program uses again. Other operations by the same registration go on.
func TestLostRequest(t *testing.T) {
	s, p, of := newSetOf(t, registration.Config{})
	b := mapped(t, s)
	other, there := new(Peer), &task{}
	other.Init(s, there)
	notices := 0
	s.Handle(func(transport.NoticeKind, transport.Endpoint, uint64, transport.Notice) { notices++ },
		nil)
	keys := func() int { return s.memory[0].adapter.(*fake.Device).Keys() }
	grant := func(p *Peer, of *task) wire.Control {
		t.Helper()
		of.answers(p, wire.KindWant, wire.Control{Addr: uint64(memory.AddrOf(b)), N: 4096, Ports: 1,
			Status: wire.WantWrite})
		if of.last.Status != wire.StatusOK {
			t.Fatal(of.said)
		}
		return of.last
	}
	finish := func(p *Peer, of *task, g wire.Control, lost uint32) (answered bool) {
		of.answers(p, wire.KindFinish, wire.Control{Offset: g.Offset, Ports: lost,
			Status: wire.StatusNoticedLast})
		return of.said[len(of.said)-1] == wire.KindFinished
	}
	first := grant(p, of)
	if !finish(p, of, first, 0) || keys() != 1 {
		t.Fatal("it is not kept")
	}
	mine, theirs := grant(p, of), grant(other, there)
	if mine.Keys != first.Keys || theirs.Keys != first.Keys {
		t.Fatal("there are several keys")
	}
	if finish(other, there, theirs, 1) || notices != 1 || keys() != 1 {
		t.Errorf("over, while a request may come: %d notices, %d keys", notices, keys())
	}
	if other.Pump(); there.said[len(there.said)-1] == wire.KindFinished {
		t.Error("over after a turn")
	}
	next := grant(other, there)
	if next.Keys == first.Keys || !finish(other, there, next, 0) {
		t.Error("a key that is to end is given again")
	}
	there.turns = 0
	if !finish(p, of, mine, 0) || keys() != 1 || there.turns == 0 {
		t.Errorf("the other use has ended: %d keys, %d turns", keys(), there.turns)
	}
	if other.Pump(); len(s.ending) != 0 || other.granted != 0 || notices != 4 {
		t.Errorf("%d wait, %d grants, %d notices", len(s.ending), other.granted, notices)
	}
	if g := grant(p, of); !finish(p, of, g, 1) || keys() != 0 {
		t.Error("a key that nobody else uses does not end at once")
	}
	grant(p, of)
	if p.End(transport.ErrUnreachable); keys() != 0 {
		t.Error("a peer that has ended while its requests may come has left a key")
	}
}
