package send

import (
	"bytes"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// fake is a link that keeps what it is sent, as long as it has room.
type fake struct {
	transport.Link
	room  int
	part  int
	got   []sentMessage
	slow  bool          // a flush takes its time
	flush *transport.Op // the latest that does
}

type sentMessage struct {
	id        transport.MsgID
	hdr, data []byte
}

func (l *fake) Limits() transport.Limits {
	return transport.Limits{SendMax: 1 << 16, HeaderMax: 1 << 12}
}
func (l *fake) Polls(transport.Endpoint) bool    { return true }
func (l *fake) PartSize(uint64) int              { return l.part }
func (l *fake) GatherMax(transport.Endpoint) int { return 1 << 16 }
func (l *fake) take(id transport.MsgID, hdr, data []byte) error {
	if l.room == 0 {
		return transport.ErrBusy
	}
	l.room--
	l.got = append(l.got, sentMessage{id, bytes.Clone(hdr), data})
	return nil
}

func (l *fake) Send(_ transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	return transport.Done, l.take(id, hdr, bytes.Clone(memory.Bytes(op.Local, op.N)))
}

// Flush is done at once, or when the test ends l.flush.
func (l *fake) Flush(_ transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if l.slow {
		l.flush = op
		return transport.Queued, nil
	}
	return transport.Done, nil
}

func (l *fake) SendGathered(_ transport.Endpoint, id transport.MsgID, hdr []byte, n uint64,
	from transport.Gatherer) error {
	if l.room == 0 {
		return transport.ErrBusy
	}
	data := make([]byte, n)
	if err := from.Gather(data); err != nil {
		return err
	}
	return l.take(id, hdr, data)
}

// newSender is a Sender to one task, over l, that counts what is finished.
func newSender(l *fake) (s *Sender, p *peer.Peer, finished *int) {
	memory.Guard()
	peers := make([]peer.Peer, 1)
	peers[0].Reach = peer.NewReach(l, false, 0)
	finished = new(int)
	pool := placed.NewPool(new(dgsm.Registry))
	return New(Config{Peers: peers, CopyMax: 128, Placements: &pool, Finished: func(*Message) {
		*finished++
	},
		Failed: func(*Message, error) {}, Queued: func(*peer.Peer) {},
		Outstanding: func(*peer.Peer) bool { return false }}), &peers[0], finished
}

func userData(t *testing.T, n int) []byte {
	t.Helper()
	b, err := arena.Map(n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// noticing is a fake that makes puts by itself, by messages only.
type noticing struct {
	*fake
	puts   []transport.Op
	queued *transport.Op
}

func (l *noticing) PutNotice(_ transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if op.Route == transport.RouteSingleCopy {
		return transport.Done, transport.ErrNotSupported
	}
	if err := l.take(0, nil, nil); err != nil {
		return transport.Done, err
	}
	l.puts, l.queued = append(l.puts, *op), op
	return transport.Queued, nil
}
func (l *noticing) GetNotice(transport.Endpoint, *transport.Op) (transport.Status, error) {
	panic("there is no get here")
}
func (l *noticing) HandleNotices(transport.NoticeHandler, transport.FaultHandler) {}

func (l *noticing) ContinuePut(_ transport.Endpoint, op *transport.Op,
	at uint64) (transport.Status, error) {
	l.queued = op
	return transport.Queued, nil
}

// TestTransfer: a put to a link that makes puts by itself is one transfer, with its notice, when
// there is room. The origin's memory is free when the link says so. A link that cannot copy as the
// user wants gets messages instead, from then on.
func TestTransfer(t *testing.T) {
	l := &noticing{fake: &fake{room: 1, part: 1 << 15}}
	s, p, finished := newSender(l.fake)
	p.Reach = peer.NewReach(l, false, 0)
	p.SingleCopy = true
	src := userData(t, 100_000)
	for i := range 2 {
		h := wire.Put{TgtAddr: 1000, TgtCntr: 8, CmplCntr: transport.Addr(16 + i)}
		s.Put(p, &h, memory.AddrOf(src), 100_000, transport.RouteSingleCopy, After{})
	}
	if s.Waiting() != 1 || *finished != 0 || p.SingleCopy {
		t.Fatalf("%d wait, %d finished; single copies: %v", s.Waiting(), *finished, p.SingleCopy)
	}
	l.queued.Done(l.queued, nil)
	l.room = 1
	s.Progress()
	l.queued.Done(l.queued, nil)
	if *finished != 2 || len(l.puts) != 2 {
		t.Fatalf("%d finished of %d", *finished, len(l.puts))
	}
	for i, op := range l.puts {
		if op.Remote != 1000 || op.N != 100_000 || op.Local != memory.AddrOf(src) ||
			op.Notice != (transport.Notice{8, uint64(16 + i)}) {
			t.Errorf("put %d is %+v", i, op)
		}
	}
	s.Continue(p, l, &wire.Put{TgtAddr: 1000, TgtCntr: 8}, memory.AddrOf(src), 100_000, 70_000,
		After{})
	if op := l.queued; *finished != 2 || op.N != 100_000 || op.Remote != 1000 ||
		op.Notice != (transport.Notice{8, 0}) {
		t.Errorf("the rest of a put is %+v", op)
	}
	l.queued.Done(l.queued, nil)
	if *finished != 3 {
		t.Error("the rest of a put does not end")
	}
}

// TestOrder: what the link has no room for goes later, in the order it was started, and small data
// may be overwritten meanwhile.
func TestOrder(t *testing.T) {
	l := &fake{room: 1, part: 1 << 15}
	s, p, finished := newSender(l)
	src := userData(t, 100)
	want := bytes.Clone(src)
	for i := range 3 {
		s.Put(p, &wire.Put{TgtAddr: transport.Addr(i)}, memory.AddrOf(src), 100, transport.RouteAny,
			After{User: true})
	}
	h := wire.Completion{Cntr: 3}
	s.Control(p, wire.MsgCounter, codes.IntErr, h.Encode)
	clear(src)
	if kind, waits := s.Waits(p); !waits || kind != codes.PutErr || s.Waiting() != 3 ||
		*finished != 1 {
		t.Fatalf("%d wait, %d finished", s.Waiting(), *finished)
	}
	if s.Quiet(2) || !s.Quiet(1) {
		t.Error("a fence does not see what waits")
	}
	l.room = 2
	s.Progress()
	l.room = 2
	s.Progress()
	if s.Waiting() != 0 || *finished != 4 || len(l.got) != 4 {
		t.Fatalf("%d wait, %d finished", s.Waiting(), *finished)
	}
	for i, m := range l.got {
		if m.hdr[0] != byte(i) {
			t.Errorf("message %d is that to %d", i, m.hdr[0])
		}
		if i < 3 && !bytes.Equal(m.data, want) {
			t.Errorf("message %d arrived damaged", i)
		}
	}
}

// TestGiveUp: messages to a task that is gone end, as failed.
func TestGiveUp(t *testing.T) {
	l := &fake{part: 1 << 15}
	s, p, finished := newSender(l)
	src := userData(t, 1000)
	s.Put(p, &wire.Put{}, memory.AddrOf(src), 1000, transport.RouteAny, After{})
	p.GiveUp()
	s.GiveUp(p)
	if s.Waiting() != 0 || *finished != 1 || len(l.got) != 0 {
		t.Errorf("%d wait, %d finished, %d sent", s.Waiting(), *finished, len(l.got))
	}
	s.Put(p, &wire.Put{}, memory.AddrOf(src), 1000, transport.RouteAny, After{})
	if *finished != 2 || len(l.got) != 0 {
		t.Error("a later one goes")
	}
}

// TestUnflushedUntilDelivered: a fence has core to ask until all that was given to a link is
// delivered, and not a fence longer: what core is not asked for costs a fence nothing.
func TestUnflushedUntilDelivered(t *testing.T) {
	l := &fake{room: 10}
	s, p, _ := newSender(l)
	send := func() {
		if !s.Now(p, wire.MsgPut, codes.PutErr, false, make([]byte, 8), 0, 0) {
			t.Fatal("nothing was sent")
		}
	}
	var f Flush
	send()
	if !s.Unflushed() {
		t.Error("a message is under way, and nothing to flush")
	}
	if s.Flush(&f); !f.Done() || s.Unflushed() {
		t.Error("all is delivered, and a fence asks again")
	}
	l.slow = true
	send()
	s.Flush(&f)
	if f.Done() || !s.Unflushed() {
		t.Error("a flush is under way, and nothing to flush")
	}
	send() // the flush does not cover it
	flushed(l.flush, nil)
	if !f.Done() || !s.Unflushed() {
		t.Error("what came after a flush is taken for delivered")
	}
	s.Flush(&f)
	flushed(l.flush, nil)
	if s.Unflushed() {
		t.Error("all is delivered, and a fence asks again")
	}
}

// TestFailedFlushLosesWhatIsOutstanding: where a flush fails, operations that it covers are lost but
// for those whose completion counters have all changed.
func TestFailedFlushLosesWhatIsOutstanding(t *testing.T) {
	for _, c := range []struct {
		kind                       codes.ErrType
		counted, outstanding, lost bool
	}{{codes.PutErr, false, false, true}, {codes.AmErr, false, false, true},
		{codes.PutErr, true, true, true}, {codes.AmErr, true, true, true},
		{codes.PutErr, true, false, false}, {codes.AmErr, true, false, false},
		{codes.GetErr, false, true, false}, {codes.IntErr, false, true, false}} {
		l := &fake{room: 2, slow: true}
		s, p, _ := newSender(l)
		lost := 0
		s.cfg.Outstanding = func(*peer.Peer) bool { return c.outstanding }
		s.cfg.Lost = func(*peer.Peer) { lost++ }
		if !s.Now(p, wire.MsgPut, c.kind, c.counted, make([]byte, 8), 0, 0) {
			t.Fatal("nothing was sent")
		}
		_, owes := s.Owes(p)
		var f Flush
		s.Flush(&f)
		flushed(l.flush, transport.ErrUnreachable)
		if f.Lost() != c.lost || (lost == 1) != c.lost || owes != c.lost || !f.Done() {
			t.Errorf("%+v: flush lost: %v, reported %d times, owed: %v", c, f.Lost(), lost, owes)
		}
	}
}
