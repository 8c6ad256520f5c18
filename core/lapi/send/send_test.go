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
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// fake is a link that keeps what it is sent, as long as it has room.
type fake struct {
	transport.Link
	room int
	part int
	got  []sentMessage
}

type sentMessage struct {
	id        transport.MsgID
	hdr, data []byte
}

func (l *fake) Limits() transport.Limits {
	return transport.Limits{SendMax: 1 << 16, HeaderMax: 1 << 12}
}
func (l *fake) Attends(transport.Endpoint) bool  { return true }
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

func (l *fake) Send(_ transport.Endpoint, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	return transport.Done, l.take(id, hdr, bytes.Clone(memory.Bytes(op.Local, op.N)))
}

func (l *fake) SendGathered(_ transport.Endpoint, id transport.MsgID, hdr []byte, n uint64, from transport.Gatherer) error {
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
	peers[0].Shared = true
	peers[0].SetLink(l, 0)
	finished = new(int)
	pool := placed.NewPool(new(dgsm.Registry))
	return New(Config{Peers: peers, CopyMax: 128, Placements: &pool, Finished: func(*Message) { *finished++ },
		Failed: func(*Message, error) {}, Queued: func(*peer.Peer) {}}), &peers[0], finished
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

// TestLaneAnswer: the parts of an answer of which the lane has sent the first say where they
// belong, and which is the last.
func TestLaneAnswer(t *testing.T) {
	const n, before, step = 500_000, 70_000, 32 << 10
	l := &fake{room: 1 << 20, part: step}
	s, p, finished := newSender(l)
	src := userData(t, n)
	s.LaneAnswer(p, 77, memory.AddrOf(src), n, before, After{})
	next := uint64(before)
	for i, m := range l.got {
		state := uint32(layout.ReplyPart)
		if i == len(l.got)-1 {
			state = layout.ReplyOK
		}
		want := (&wire.Reply{Token: 77, State: state, Value: next}).Encode(make([]byte, wire.ReplySize))
		if m.id != wire.MsgLaneReply || !bytes.Equal(m.hdr, want) || !bytes.Equal(m.data, src[next:next+uint64(len(m.data))]) {
			t.Fatalf("part %d of an answer, at %d: header % x, want % x", i, next, m.hdr, want)
		}
		next += uint64(len(m.data))
	}
	if next != n || *finished != 1 {
		t.Errorf("the parts end at %d; %d messages finished", next, *finished)
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
		s.Put(p, &wire.Put{TgtAddr: transport.Addr(i)}, memory.AddrOf(src), 100, After{User: true})
	}
	h := wire.Completion{Cntr: 3}
	s.Control(p, wire.MsgCounter, codes.IntErr, h.Encode)
	clear(src)
	if kind, waits := s.Waits(p); !waits || kind != codes.PutErr || s.Waiting() != 3 || *finished != 1 {
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
	s.Put(p, &wire.Put{}, memory.AddrOf(src), 1000, After{})
	p.GiveUp()
	s.GiveUp(p)
	if s.Waiting() != 0 || *finished != 1 || len(l.got) != 0 {
		t.Errorf("%d wait, %d finished, %d sent", s.Waiting(), *finished, len(l.got))
	}
	s.Put(p, &wire.Put{}, memory.AddrOf(src), 1000, After{})
	if *finished != 2 || len(l.got) != 0 {
		t.Error("a later one goes")
	}
}
