package shm

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"lapi/tests/lasting"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// victim is a link whose ring from peer 0 a test writes as it likes.
type victim struct {
	*Link
	writer   *Link
	messages int
	failed   error
}

func newVictim(t testing.TB) *victim { return newVictimOf(t, 2) }

// newVictimOf is the same on a node with that many tasks.
func newVictimOf(t testing.TB, tasks int) *victim {
	v := &victim{}
	links := newLinks(t, tasks, func(c *Config) {
		if c.Task == 1 {
			c.PeerFailed = func(ep transport.Endpoint, err error) {
				if ep != 0 || v.failed != nil {
					t.Errorf("PeerFailed(%d, %v) after %v", ep, err, v.failed)
				}
				v.failed = err
			}
		}
	})
	v.writer, v.Link = links[0], links[1]
	for id := transport.MsgID(1); id <= transport.MaxMsgID; id++ {
		v.Handle(id, func(m *transport.Msg) transport.Verdict {
			v.messages++
			touchAll(m.Hdr)
			touchAll(m.Data)
			return transport.Verdict(v.messages % 2)
		})
	}
	return v
}

// touchAll writes to each cache line of b, and to its last byte, so that missing memory is noticed.
func touchAll(b []byte) {
	for i := 0; i < len(b); i += 64 {
		b[i]++
	}
	if len(b) > 0 {
		b[len(b)-1]++
	}
}

// ring is the memory of the ring from peer 0, as that peer sees it.
func (v *victim) ring() []byte { return ringTo(v.writer.peers[1]).all() }

func TestImpossibleHeads(t *testing.T) {
	for name, head := range map[string]uint64{
		"kind 0":                pack(0, 0, 8, 8),
		"kind of nothing":       pack(0, layout.NodeKindEnd, 8, 8),
		"announcement and more": pack(0, 254, 8, 0),
		"padding of all":        pack(0, layout.KindPadding, 0, 0),
		"data over the limit":   pack(0, 1, 0, uint64(slotMax)+1),
		"data of 64 KiB":        pack(0, 1, 0, 1<<16-1),
		"header and data over":  pack(0, 1, 1016, uint64(slotMax)-1016+1),
	} {
		v := newVictim(t)
		atomic.StoreUint64(ringTo(v.writer.peers[1]).head(0), head)
		v.Progress(10)
		if v.messages != 0 || v.failed == nil {
			t.Errorf("%s: %d messages, peer failed: %v", name, v.messages, v.failed)
		}
		if _, err := v.Send(0, 1, nil, &transport.Op{}); err != transport.ErrUnreachable {
			t.Errorf("%s: Send to the failed peer: %v", name, err)
		}
		v.Progress(10)
	}
	// A message that would pass the ring's end, behind good ones up to near the end.
	v := newVictim(t)
	for v.writer.peers[1].node.Sender.Tail < ringSlots-3 {
		mustSend(t, v.writer, 1, 1, nil, nil)
	}
	for v.peers[0].node.Receiver.Head < ringSlots-3 {
		v.Progress(1000)
	}
	atomic.StoreUint64(ringTo(v.writer.peers[1]).head(ringSlots-3),
		pack(ringSlots-3, 1, 0, 3*slotSize))
	v.Progress(10)
	if v.failed == nil {
		t.Error("a message past the ring's end did no harm to its sender")
	}
}

// TestImpossibleRequests: requests that no peer writes are dropped and counted, and touch nothing.
func TestImpossibleRequests(t *testing.T) {
	for kind := uint8(layout.NodeKindMax + 1); kind < layout.NodeKindEnd; kind++ {
		for _, header := range []int{0, 8, 16, 24, 32, 40, 48} {
			v := newVictim(t)
			v.HandleNotices(func(k transport.NoticeKind, _ transport.Endpoint, n uint64,
				notice transport.Notice) {
				if n != 0 || notice != (transport.Notice{}) {
					t.Errorf("kind %d, header %d: notice %d of %d bytes: %v",
						kind, header, k, n, notice)
				}
			}, func(transport.NoticeKind, transport.Endpoint, transport.Addr) {})
			clear(v.ring()[:2*slotSize])
			atomic.StoreUint64(ringTo(v.writer.peers[1]).head(0), pack(0, kind, header, 0))
			v.Progress(10)
			if v.messages != 0 || v.failed != nil || v.peers[0].node.Receiver.Head != 1 {
				t.Errorf("kind %d, header %d: %d messages, peer failed: %v",
					kind, header, v.messages, v.failed)
			}
		}
	}
}

// TestImpossibleControl: a receiver that claims to have consumed what was not sent, or takes
// consumption back, has failed.
func TestImpossibleControl(t *testing.T) {
	for name, consumed := range map[string]uint64{"not sent": ringSlots + 2, "far": 1 << 63,
		"taken back": 3} {
		v := newVictim(t) // here the receiver of its messages is the hostile one
		control := controlOf(v.peers[0])
		op := &transport.Op{Done: func(*transport.Op, error) {}}
		for range ringSlots {
			mustSend(t, v.Link, 0, 1, nil, nil)
		}
		atomic.StoreUint64(&control.Consumed, 10)
		mustSend(t, v.Link, 0, 1, nil, nil)
		if _, err := v.Flush(0, op); err != nil {
			t.Fatal(err)
		}
		atomic.StoreUint64(&control.Consumed, consumed)
		v.Progress(1)
		for range 10 {
			if _, err := v.Send(0, 1, nil, &transport.Op{}); err != nil {
				break
			}
		}
		v.Progress(1)
		if !errors.Is(v.failed, errNonsense) {
			t.Errorf("%s: the peer has not failed: %v", name, v.failed)
		}
	}
	// Other words that a peer can write do no harm: at worst it loses its own messages, or
	// makes this task look up.
	v := newVictim(t)
	head := v.own.head()
	for _, armed := range []uint64{0, 1, 2, 3, ^uint64(0)} {
		atomic.StoreUint64(&head.Armed, armed)
		for i := range head.Pending {
			atomic.StoreUint64(&head.Pending[i], ^uint64(0))
		}
		atomic.StoreUint64(&controlOf(v.peers[0]).Held, ^uint64(0))
		atomic.StoreUint32(&v.peers[0].inControl.Waiting, ^uint32(0))
		atomic.StoreUint32(&v.peers[0].inControl.Cold, ^uint32(0))
		_ = v.Arm()
		v.Disarm()
		v.Progress(10)
	}
	if v.failed != nil {
		t.Errorf("peer failed: %v", v.failed)
	}
}

// FuzzRing writes bytes into the ring, between good messages too, and lets the receiver look.
func FuzzRing(f *testing.F) {
	good := binary.LittleEndian.AppendUint64(nil, pack(0, 1, 8, 100))
	f.Add(uint16(0), good)
	f.Add(uint16(3), binary.LittleEndian.AppendUint64(nil, pack(3, layout.KindPadding, 0, 0)))
	f.Add(uint16(255), binary.LittleEndian.AppendUint64(nil, pack(255, 2, 1000, 5000)))
	chunked := binary.LittleEndian.AppendUint64(nil, pack(7, 1|layout.KindChunk, 8, 0))
	f.Add(uint16(7), binary.LittleEndian.AppendUint64(chunked, 100|5000<<32))
	f.Fuzz(func(t *testing.T, slot uint16, raw []byte) {
		v := newVictim(t)
		start := uint64(slot) & ringMask
		for v.writer.peers[1].node.Sender.Tail < start {
			mustSend(t, v.writer, 1, 1, nil, nil)
		}
		copy(v.ring()[start*slotSize:], raw)
		for range 10 {
			v.Progress(100)
			_, _ = v.Send(0, 1, nil, &transport.Op{})
		}
		if head := v.peers[0].node.Receiver.Head; head > 1<<20 {
			t.Errorf("the receiver has run to slot %d", head)
		}
	})
}

// FuzzSegment has the peer write bytes anywhere into either segment, its own or the victim's, which
// it has mapped: heads, controls, rings, chunks. The victim goes on sending and receiving, and can
// be left.
func FuzzSegment(f *testing.F) {
	f.Add(true, uint32(0), []byte("head"), uint32(64), []byte{1})
	f.Add(false, uint32(4096), binary.LittleEndian.AppendUint64(nil, 1<<40), uint32(4160),
		[]byte{0xff, 0xff, 0xff, 0xff})
	for at := uint32(0); at < 3*4096; at += 256 {
		f.Add(at&256 == 0, at, binary.LittleEndian.AppendUint64(nil, ^uint64(0)), at/2,
			[]byte{0x80})
	}
	victims := lasting.New(f, 200, func(t testing.TB) *victim {
		v := newVictim(t)
		v.writer.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
		return v
	})
	data := userMemory(f, 1<<16)
	f.Fuzz(func(t *testing.T, own bool, at uint32, raw []byte, at2 uint32, raw2 []byte) {
		v, _ := victims.For(t)
		send := func() {
			for _, n := range []int{0, 100, 5000, 40000} {
				_, _ = v.Send(0, 1, nil, &transport.Op{Local: memory.AddrOf(data), N: uint64(n),
					Done: func(*transport.Op, error) {}})
				_, _ = v.writer.Send(1, 1, nil, &transport.Op{Local: memory.AddrOf(data),
					N: uint64(n), Done: func(*transport.Op, error) {}})
			}
		}
		send()
		segment := v.writer.own.bytes
		if !own {
			segment = v.Link.own.bytes
		}
		copy(segment[int(at)%len(segment):], raw)
		copy(segment[int(at2)%len(segment):], raw2)
		for range 5 {
			v.Progress(100)
			send()
		}
		_, _ = v.Flush(0, &transport.Op{Done: func(*transport.Op, error) {}})
		v.Arm()
		v.Disarm()
		v.Progress(100)
		v.writer.Progress(100) // else there is no room for the next input
		if v.peers[0].gone || v.writer.peers[1].gone {
			victims.Spoil()
		}
	})
}

// TestRandomRing has another goroutine scribble over the ring while the receiver reads it.
func TestRandomRing(t *testing.T) {
	memory.Guard()
	for seed := range uint64(20) {
		v := newVictim(t)
		stop := make(chan struct{})
		stopped := make(chan struct{})
		ring := v.ring()
		go func() {
			defer close(stopped)
			random := rand.New(rand.NewPCG(seed, 1))
			for index := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				position := random.Uint64N(ringSlots)
				if random.IntN(2) == 0 {
					position = index % ringSlots
					index++
				}
				head := pack(position, uint8(1+random.IntN(40)), 8*random.IntN(256),
					random.Uint64N(6000))
				if random.IntN(3) == 0 {
					head = pack(position, uint8(1+random.IntN(40))|layout.KindChunk,
						8*random.IntN(256), 0)
				}
				atomic.StoreUint64(ringTo(v.writer.peers[1]).head(position), head)
				ring[random.IntN(len(ring))] = byte(random.Uint32())
			}
		}()
		for range 5000 {
			v.Progress(100)
		}
		close(stop)
		<-stopped
	}
}

// FuzzAddress gives Connect's decoder arbitrary bytes.
func FuzzAddress(f *testing.F) {
	l, err := New(Config{Task: 1, NumTasks: 4, Tasks: []int{0, 1, 3}, Clock: clock})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = l.Close() })
	f.Add(l.Address().Bytes)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ring, err := l.decodeAddress(b)
		if err == nil && (l.tasks[ring] != int(a.Task) || a.Rings != 3) {
			t.Errorf("accepted %+v as ring %d", a, ring)
		}
	})
}

// The lane has found a message plausible; until Take looks, the peer changes its head word.
func TestTakeOfChangedHead(t *testing.T) {
	for name, head := range map[string]uint64{
		"kind 0":             pack(0, 0, 8, 8),
		"data of 64 KiB":     pack(0, 1, 0, 1<<16-1),
		"data over the ring": pack(250, 1, 0, uint64(7*slotSize)),
	} {
		v := newVictim(t)
		p := v.peers[0]
		if name == "data over the ring" {
			p.node.Receiver.Head = 250
		}
		before := p.node.Receiver.Head
		atomic.StoreUint64(ringTo(v.writer.peers[1]).head(before&ringMask), head)
		v.Take(uint32(p.ring), v.handlers[1])
		v.Progress(1)
		if v.messages != 0 || v.failed == nil || p.node.Receiver.Head != before {
			t.Errorf("%s: %d messages, peer failed: %v, head moved by %d",
				name, v.messages, v.failed, p.node.Receiver.Head-before)
		}
	}
}

// Slots that padding skipped keep head words of an earlier round. When their sequences come again
// nobody must take them for messages.
func TestSequencesComeAgain(t *testing.T) {
	links := newLinks(t, 2)
	got := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	s, r := &links[0].peers[1].node.Sender, &links[1].peers[0].node.Receiver
	send := func(messages int, n uint64) {
		t.Helper()
		data := make([]byte, n+1)
		got = 0
		for range messages {
			op := transport.Op{Local: memory.AddrOf(data), N: n}
			if _, err := links[0].Send(1, 1, nil, &op); err != nil {
				t.Fatal(err)
			}
			links[1].Progress(1)
		}
		links[1].Progress(10)
		if got != messages {
			t.Fatalf("%d messages came of %d", got, messages)
		}
	}
	const rest = 5 // slots at the ring's end behind the padding's
	send(ringSlots, 8)
	send(ringSlots-rest-1, 8)
	send(1, layout.InlineMax) // nine slots
	position := r.Head & ringMask
	s.Tail = 1<<31 + position
	s.Consumed, r.Head, r.Published = s.Tail, s.Tail, s.Tail
	atomic.StoreUint64(&links[1].peers[0].inControl.Consumed, r.Head)
	send(int(ringSlots-rest-position), 8)
}
