package verbs

import (
	"encoding/binary"
	"slices"
	"testing"

	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// usedByC is an adapter that C could use; the tests here do C's work in its place.
type usedByC struct{ *fake.Device }

func (usedByC) Native() {}

func openForC(d *fake.Device) ibv.Device { return usedByC{d} }

func numbered(n byte) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 0} }

// collect has l note the numbers of the messages that come.
func collect(l *Link) *[]byte {
	got := new([]byte)
	l.Handle(2, func(m *transport.Msg) transport.Verdict {
		*got = append(*got, m.Hdr[0])
		return transport.Accept
	})
	return got
}

// newNetForC is a net whose first peers have open queue pairs.
func newNetForC(t *testing.T, more []int, set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	n := makeNetOver(t, more, 1, set, openForC)
	for _, l := range n.links {
		if !l.Tasks(len(n.links)) {
			t.Fatal("C cannot use the link")
		}
	}
	conform.ConnectAll(t, n.links)
	n.sendNumbers(t, 1, func(int) {})
	return n
}

// TestConformForC: the suite where all that C uses lies where C finds it.
func TestConformForC(t *testing.T) {
	conform.Run(t, conform.Factory{MaxNodes: 4, New: func(t *testing.T, n int) *conform.Net {
		out := &conform.Net{}
		net := makeNetOver(t, make([]int, n), 1, nil, openForC)
		for _, l := range net.links {
			l.Tasks(n)
			out.Nodes = append(out.Nodes, conform.Node{Link: l,
				Emul: emul.New(l, conform.EmulRequest, conform.EmulReply)})
		}
		conform.ConnectAll(t, net.links)
		return out
	}})
}

// made does what C does to make a packet, but for the post.
func (l *Link) made(p *peer, k wire.Kind, id transport.MsgID, header, data []byte) {
	s, _ := l.ports.Slot()
	b, laden := l.ports.Bytes(s), p.Laden
	h := wire.Head{Kind: k, ID: id, Header: uint16(len(header)), Data: uint32(len(data)),
		Number: p.Number}
	h.Encode(b)
	copy(b[wire.HeadSize:], header)
	copy(b[wire.HeadSize+len(header):], data)
	p.Push(s, wire.HeadSize+len(header)+len(data), &h)
	p.Laden = laden // C sees to that by itself
	l.news(p)
}

func (l *Link) news(p *peer) {
	if p.Listed == 0 {
		p.Listed = 1
		l.shared.News[min(l.shared.NumNews, layout.VerbsNews-1)] = uint32(p.Task)
		l.shared.NumNews++
	}
}

// parts is several messages of kind 2 with headers of these numbers, as they lie in a packet.
func parts(numbers ...byte) (b []byte) {
	for _, i := range numbers {
		b = append(b, 2, 0, 8, 0, 3, 0, 0, 0)
		b = append(append(b, numbered(i)...), "abc"...)
		b = append(b, make([]byte, 5)...)
	}
	return b
}

// TestOpenPacket: a packet that C has left open for more messages goes with the next entry, before
// later packets, and holds several messages in order.
func TestOpenPacket(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l, p := n.links[0], n.links[0].peers[1]
	got := collect(n.links[1])
	l.made(p, wire.KindMessages, 0, nil, parts(1, 2, 3))
	l.shared.Open = addressOf(p.VerbsPeer)
	if _, err := l.Send(1, 2, numbered(4), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "all messages", func() bool { return len(*got) == 4 })
	if !slices.Equal(*got, []byte{1, 2, 3, 4}) || l.shared.Open != 0 {
		t.Errorf("% d come, open is %#x", *got, l.shared.Open)
	}
	l.made(p, wire.KindMessages, 0, nil, parts(5))
	l.shared.Open = addressOf(p.VerbsPeer)
	n.until(t, "one alone", func() bool { return len(*got) == 5 }) // by progress alone
	n.close(t)
}

// TestFailedPost: a post of C's has failed: the packet comes over the next queue pair, once, in its
// place.
func TestFailedPost(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l, p := n.links[0], n.links[0].peers[1]
	got := collect(n.links[1])
	l.made(p, wire.KindMessage, 2, numbered(1), nil)
	p.Usable, p.Failed = 0, 1
	if _, err := l.Send(1, 2, numbered(2), &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "another queue pair", func() bool { return l.Replaced() == 1 && p.Usable == 1 })
	l.made(p, wire.KindMessage, 2, numbered(3), nil)
	n.until(t, "all messages", func() bool { return len(*got) >= 3 })
	for range 100 {
		n.turn()
	}
	if !slices.Equal(*got, []byte{1, 2, 3}) {
		t.Errorf("% d come", *got)
	}
	n.close(t)
}

// TestFailedPostOfBefore: a post of C's that failed over a queue pair which has ended meanwhile
// does not end the next.
func TestFailedPostOfBefore(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l, p := n.links[0], n.links[0].peers[1]
	got := collect(n.links[1])
	l.made(p, wire.KindMessage, 2, numbered(1), nil)
	p.Failed = 1
	p.queue.dropPair()
	p.queue.begin()
	n.until(t, "the message", func() bool { return len(*got) == 1 && p.Usable == 1 })
	if l.Replaced() != 0 {
		t.Errorf("%d queue pairs were replaced", l.Replaced())
	}
	n.close(t)
}

// TestUsable: C may use a queue pair while it is open and works, finds it by its number, and leaves
// it alone while something waits for room.
func TestUsable(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l, p := n.links[0], n.links[0].peers[1]
	collect(n.links[1])
	listed := func() (of []uint32) {
		for _, q := range l.ports.Ports()[p.Own()].Pairs {
			if q.Peer == addressOf(p.VerbsPeer) {
				of = append(of, q.Qpn)
			}
		}
		return of
	}
	check := func(when string) {
		t.Helper()
		if p.Usable != 1 || !slices.Equal(listed(), []uint32{p.QPN()}) ||
			p.Qp != uint64(p.Handle()) || p.VerbsPeer.Port != addressOf(l.ports.Ports()[p.Own()].VerbsPort) ||
			l.tasks[1] != addressOf(p.VerbsPeer) {
			t.Errorf("%s: usable %d, %v are listed, %d is %d", when, p.Usable, listed(), p.Handle(), p.Qp)
		}
	}
	check("open")
	p.queue.fail()
	if p.Usable != 0 {
		t.Error("a failed pair is usable")
	}
	n.until(t, "another", func() bool { return l.Replaced() == 1 && p.Works() })
	n.until(t, "another there", func() bool { return p.Usable == 1 })
	check("another")
	for l.Hold(1, true); ; {
		if _, err := l.Send(1, 2, numbered(0), &transport.Op{}); err != nil {
			break
		}
	}
	if p.Waits != 1 || p.Closed != 1 {
		t.Errorf("without room: waits %d, closed %d", p.Waits, p.Closed)
	}
	l.Hold(1, false)
	n.until(t, "room", func() bool { return p.Waits == 0 })
	if p.Closed != 0 {
		t.Error("it is still held")
	}
	var b [wire.HeadSize]byte
	h := wire.Head{Kind: wire.KindCredit, Credit: p.Credit}
	h.Encode(b[:])
	p.Waits = 1
	if p.queue.receive(b[:], 0); p.Waits != 0 {
		t.Error("there may be room, and C still leaves all to the link")
	}
	life := p.Life
	l.Disconnect(1, transport.ErrUnreachable)
	if p.Usable != 0 || len(listed()) != 0 || p.Life == life {
		t.Errorf("disconnected: usable %d, %v are listed", p.Usable, listed())
	}
	n.close(t)
}

// TestMessagesInOne: several messages in a packet, of which C has taken the first, one is refused
// and comes again, and packets that are not right.
func TestMessagesInOne(t *testing.T) {
	n := newNet(t, 2, 1, nil)
	n.sendNumbers(t, 1, func(int) {})
	l := n.links[1]
	p := l.peers[0]
	var got []byte
	refuse := true
	l.Handle(2, func(m *transport.Msg) transport.Verdict {
		if string(m.Data) != "abc" {
			t.Errorf("the data is %q", m.Data)
		}
		if m.Hdr[0] == 3 && refuse {
			refuse = false
			return transport.Refuse
		}
		got = append(got, m.Hdr[0])
		return transport.Accept
	})
	packet := func(content []byte) []byte {
		b := make([]byte, wire.HeadSize, wire.HeadSize+len(content))
		h := wire.Head{Kind: wire.KindMessages, Data: uint32(len(content)), Number: p.Expected}
		h.Encode(b)
		return append(b, content...)
	}
	one := len(parts(1))
	p.queue.receive(packet(parts(1, 2, 3, 4)), one)
	n.until(t, "the refused one", func() bool { return len(got) == 3 })
	if !slices.Equal(got, []byte{2, 4, 3}) {
		t.Errorf("% d come", got)
	}
	for i, spoil := range []func(b []byte){
		func(b []byte) { b[0] = 0 }, func(b []byte) { b[0] = byte(transport.MaxMsgID) + 1 },
		func(b []byte) { b[1] = 1 }, func(b []byte) { b[2] = 7 }, func(b []byte) { b[3] = 0xff },
		func(b []byte) { binary.LittleEndian.PutUint32(b[4:], 1<<31) },
		func(b []byte) { b[one] = 0 }} {
		b := parts(1, 2)
		spoil(b)
		ghosts, expected := l.stats.GhostPackets, p.Expected
		p.queue.receive(packet(b), 0)
		if l.stats.GhostPackets != ghosts+1 || p.Expected != expected || len(got) != 3 {
			t.Errorf("spoiled %d: it is taken", i)
		}
	}
	n.close(t)
}

// TestFlushOfC: the link answers what C has left to it, and sees an answer that C has taken.
func TestFlushOfC(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	collect(n.links[1])
	n.sendNumbers(t, 1, func(int) {})
	from, to := n.links[0].peers[1], n.links[1].peers[0]
	over := false
	if _, err := n.links[0].Flush(1, &transport.Op{Done: func(*transport.Op, error) {
		over = true
	}}); err != nil {
		t.Fatal(err)
	}
	if from.Flushing != 1 || from.Asked != from.Number {
		t.Errorf("%d wait, %d of %d is asked for", from.Flushing, from.Asked, from.Number)
	}
	from.Flushed = from.Asked
	n.links[0].news(from)
	if n.links[0].Progress(0); !over || from.Flushing != 0 {
		t.Errorf("over %v, and %d wait", over, from.Flushing)
	}
	for range 20 { // the answer to that question is taken
		n.turn()
	}
	from.Asked, from.Flushed, to.Wanted = to.Expected, 0, to.Expected
	n.links[1].news(to)
	n.until(t, "the answer", func() bool { return from.Flushed == from.Asked })
	if to.Wanted != 0 {
		t.Error("C would answer it again")
	}
	n.close(t)
}

// TestTakeHandled: a message that C has taken, and its handler refuses, is offered again.
func TestTakeHandled(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l := n.links[1]
	got := collect(l)
	s, _ := l.ports.Slot()
	h := wire.Head{Kind: wire.KindMessage, ID: 2, Header: 8}
	h.Encode(l.ports.Bytes(s))
	copy(l.ports.Bytes(s)[wire.HeadSize:], numbered(9))
	verdicts := []transport.Verdict{transport.Refuse, transport.Accept}
	for i, verdict := range verdicts {
		l.TakeHandled(0, s, wire.HeadSize+8, func(m *transport.Msg) transport.Verdict {
			if m.From != 0 || m.Hdr[0] != 9 {
				t.Errorf("it is from %d, % x", m.From, m.Hdr)
			}
			return verdict
		})
		n.until(t, "the offer", func() bool { return len(*got) == 1 && l.peers[0].held.Len() == 0 })
		if i == len(verdicts)-1 && len(*got) != 1 {
			t.Error("an accepted one is offered again")
		}
	}
	l.ports.Free(s)
	n.close(t)
}

// TestCollectOwners: the owner collects each of C's notes once, also when turns of the link lie
// between, and when there is more news than the list holds; and so its counters.
func TestCollectOwners(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l, p := n.links[0], n.links[0].peers[1]
	reported := 0
	hear := func() int {
		reported = 0
		l.CollectOwners(func(ep transport.Endpoint, noted *[3]uint32) {
			reported += int(noted[0])
			*noted = [3]uint32{}
		})
		return reported
	}
	p.Owner[0] = 5
	l.news(p)
	for range 3 {
		n.turn()
		l.news(p)
	}
	if len(l.pending) != 1 {
		t.Errorf("%d peers have news for the owner", len(l.pending))
	}
	if first, then := hear(), hear(); first != 5 || then != 0 {
		t.Errorf("it collects %d, then %d", first, then)
	}
	p.Owner[0] = 7
	p.Listed, l.shared.NumNews = 1, layout.VerbsNews+1
	if heard := hear(); heard != 7 {
		t.Errorf("of much news it collects %d", heard)
	}
	before := *l.Stats()
	l.shared.PacketsSent, l.shared.DataReceived, l.shared.AcksSent = 3, 4, 5
	for range 2 {
		if s := l.Stats(); s.PacketsSent != before.PacketsSent+3 ||
			s.DataReceived != before.DataReceived+4 || s.AcksSent != before.AcksSent+5 {
			t.Errorf("it counts %+v", s)
		}
	}
	p.Again()
	p.heardOf, p.Heard = false, 1
	l.news(p)
	if n.turn(); p.Failures() != 0 || !p.heardOf || p.Heard != 0 {
		t.Error("no sign of life of the peer was collected")
	}
	n.close(t)
}

// TestBusyForC: while the link has something to do it says so.
func TestBusyForC(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l := n.links[0]
	n.until(t, "silence", func() bool { return !l.Busy() })
	l.peers[1].Attend()
	if !l.Busy() {
		t.Error("a peer is to be attended to, and it is not busy")
	}
	n.until(t, "silence", func() bool { return !l.Busy() })
	here, there, done := userMemory(t, 1<<16), userMemory(t, 1<<16), false
	if _, err := l.Put(1, &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there),
		N: 1 << 16, Done: func(*transport.Op, error) { done = true }}); err != nil {
		t.Fatal(err)
	}
	n.until(t, "the put", func() bool {
		if !done && !l.Busy() {
			t.Fatal("a put is under way, and it is not busy")
		}
		return done
	})
	n.close(t)
}

// TestCompletionsOfC: completions that C has taken from the adapter and left are taken before later
// ones, and keep a thread from sleeping.
func TestCompletionsOfC(t *testing.T) {
	n := newNetForC(t, []int{0, 0}, nil)
	l := n.links[1]
	got := collect(l)
	for i := range byte(3) {
		if _, err := n.links[0].Send(1, 2, numbered(i), &transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "completions", func() bool { return len(*got) == 3 || !l.ports.Arm() })
	if len(*got) == 0 && !l.Arm() {
		t.Error("there is something, and the thread may sleep")
	}
	l.Disarm()
	n.until(t, "all messages", func() bool { return len(*got) == 3 })
	if !slices.Equal(*got, []byte{0, 1, 2}) {
		t.Errorf("% d come", *got)
	}
	n.close(t)
}
