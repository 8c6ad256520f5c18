package rc

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"lapi/transport/memory"
)

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
			return &Request{Op: Write, Segments: a.segments(0, 100000),
				Addr:    uint64(b.addr(memorySize - 99999)),
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
			for i := range a.memory {
				a.memory[i] = 1 + byte(i%200)
			}
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
			if f.receive != Success && !bytes.Equal(before, b.memory) {
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
			var s *queue
			if shared {
				s = newQueue()
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
				r := &Receive{Segments: []Segment{{b.addr(1000 + i), 1}},
					Owner: &kept{number: i}}
				if shared {
					s.post(r)
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
					r.Owner.(*kept).number != i {
					t.Fatalf("seed %d: receive %d, of %v, has send %d", seed, i,
						r.Owner, got)
				}
			}
			if b.memory[5000] != 99 || shared && len(s.list) != 0 {
				t.Error("the write has not arrived, or receives are left")
			}
		}
	}
}

// TestEarly: data that the peer sends before this side knows that the connection is established is
// not lost.
func TestEarly(t *testing.T) {
	a, b := pair(t, 5, nil)
	c, d := a.e.New(a), b.e.New(b)
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
	d.PostReceive(&Receive{Segments: b.segments(0, 8), Owner: &kept{unusable: true}})
	r := &Request{Op: Send, Segments: a.segments(0, 8)}
	c.Post(r)
	run(a, b)
	if b.memory[0] != 0 || r.Status != RemoteResponder || b.received[0].Status != LocalProtection {
		t.Errorf("%d was written, statuses %d and %d", b.memory[0], r.Status,
			b.received[0].Status)
	}
}

// TestOrder: a reader that sees a byte of a write's last word, or an event of a later request, sees
// all before.
func TestOrder(t *testing.T) {
	for seed := range uint64(100) {
		a, b := pair(t, seed, func(l *link) { l.queued, l.busy = 0.2, 0.1 })
		c, d := join(a, b, nil)
		const writes, size = 40, 3000
		for i := range writes {
			d.PostReceive(&Receive{Owner: &kept{number: i}})
			fill(a.memory[i*size:][:size], byte(i))
			copy(a.memory[(i+1)*size-word:], bytes.Repeat([]byte{0xff}, word))
			c.Post(&Request{Op: Write, Segments: a.segments(i*size, size),
				Addr:    uint64(b.addr(i * size)),
				Context: ctxAll})
			c.Post(&Request{Op: Send})
		}
		whole := func(i int) bool { return bytes.Equal(a.memory[:i*size], b.memory[:i*size]) }
		b.check = func(r *Receive) {
			if i := r.Owner.(*kept).number; !whole(i + 1) {
				t.Fatalf("seed %d: send %d has come before what was written", seed, i)
			}
		}
		for len(b.received) < writes {
			for _, s := range []*side{a, b} {
				s.link.Progress(1)
				s.e.Progress()
			}
			for i := range writes {
				last := b.memory[(i+1)*size-word:][:word]
				if bytes.IndexByte(last, 0xff) >= 0 && !whole(i+1) {
					t.Fatalf("seed %d: of the last word of write %d came first", seed, i)
				}
			}
		}
	}
}

// TestBind: a bind takes effect when all requests before it are complete, and none behind it has
// begun; a bind that fails ends the connection; a bind whose turn does not come does not take
// effect.
func TestBind(t *testing.T) {
	a, b := pair(t, 5, func(*link) {})
	c, d := join(a, b, nil)
	at := 0
	taken := &kept{bind: func() { at = len(a.done) }}
	send := &Request{Op: Send, Segments: a.segments(0, 8)}
	write := &Request{Op: Write, Segments: a.segments(8, 8), Addr: uint64(b.addr(8)),
		Context: ctxAll}
	bind := &Request{Op: Bind, Owner: taken}
	for _, r := range []*Request{send, write, bind} {
		c.Post(r)
	}
	last := &Request{Op: Write, Segments: a.segments(8, 8), Addr: uint64(b.addr(100)),
		Context: ctxAll}
	c.Post(last)
	a.memory[8] = 77
	run(a, b)
	if at != 0 || len(a.done) != 0 || b.memory[100] == 77 {
		t.Errorf("%d complete of a send without a receive, its bind with %d, what follows: %d",
			len(a.done), at, b.memory[100])
	}
	d.PostReceive(&Receive{Segments: b.segments(0, 8)})
	run(a, b)
	if at != 2 || len(a.done) != 4 || a.done[2] != bind || bind.Status != Success {
		t.Errorf("the bind took effect with %d complete; %d complete at the end", at, len(a.done))
	}

	at = 0
	bad := &Request{Op: Bind}
	never := &Request{Op: Bind, Owner: taken}
	c.Post(bad)
	c.Post(never)
	run(a, b)
	if bad.Status != BindFailed || never.Status != Flushed || at != 0 || a.ended[c] != Broken {
		t.Errorf("statuses %d, %d", bad.Status, never.Status)
	}
}
