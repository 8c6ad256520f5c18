package rc

import (
	"bytes"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// TestReturned: what the owner has begun while it had the state goes on where it was: at the side
// that asks a request of which a part was sent and one of which nothing was, at the other one of
// which a part has come.
func TestReturned(t *testing.T) {
	const total, part = 3000, 900
	a, b := pair(t, 8, func(l *link) { l.ordered, l.most = true, 1024 })
	c, d := join(a, b, nil)
	run(a, b)
	c.Recall()
	d.Recall()
	a.e.Idle, b.e.Idle = nil, nil
	run(a, b)
	fill(a.memory[:2*total], 3)
	for i := range 2 {
		d.PostReceive(&Receive{Segments: b.segments(i*total, total)})
	}
	run(a, b)
	fits := func(*Receive) bool { return true }
	var s State
	s, ok := c.Lend(fits, func() { c.Return(s) })
	var in State
	in, ok2 := d.Lend(fits, func() { d.Return(in) })
	if !ok || !ok2 {
		t.Fatal("the state of a connection that does nothing is not lent")
	}
	h := header{Seq: s.Oldest, Op: Send, Total: total, Number: s.Numbers}
	if err := c.send(msgData, &h, nil, Segment{a.addr(0), part}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		s.Requests = append(s.Requests, &Request{Op: Send, Segments: a.segments(i*total, total)})
		s.Takes, s.Answers = append(s.Takes, s.Numbers), append(s.Answers, 0)
		s.Numbers++
	}
	s.Part = part
	c.Recall()
	first := b.link.inbox[0]
	b.link.inbox = b.link.inbox[1:]
	if err := memory.CopyIn(b.addr(0), first.data); err != nil {
		t.Fatal(err)
	}
	in.Coming, in.ComingAs, in.Got = first.hdr, Data, part
	d.Recall()
	run(a, b)
	if len(a.done) != 2 || len(b.received) != 2 || len(a.ended)+len(b.ended) > 0 {
		t.Fatalf("%d of 2 requests complete, %d of 2 receives; ended %v %v", len(a.done),
			len(b.received), a.ended, b.ended)
	}
	if !bytes.Equal(a.memory[:2*total], b.memory[:2*total]) {
		t.Error("the data is another")
	}
}

// TestUntold: what the owner has not told the peer is told when it returns the state.
func TestUntold(t *testing.T) {
	a, b := pair(t, 9, nil)
	c, d := join(a, b, nil)
	a.e.Idle, b.e.Idle = nil, nil
	run(a, b)
	var s State
	s, _ = d.Lend(func(*Receive) bool { return true }, func() { d.Return(s) })
	c.Post(&Request{Op: Write, Addr: uint64(b.addr(0)), Context: ctxAll})
	a.e.Progress()
	b.link.inbox = nil // the owner has done it
	s.Expected++
	s.Untold = true
	d.Recall()
	run(a, b)
	if len(a.done) != 1 {
		t.Error("the request is not complete")
	}
}

// TestPull: a write whose data the receiver is to read by itself comes in messages after all: one
// that core takes, and one that the owner has begun to read when it returns the state. Half of it
// says nothing any more.
func TestPull(t *testing.T) {
	const total = 3000
	for _, begun := range []bool{false, true} {
		a, b := pair(t, 10, func(l *link) { l.ordered = true })
		c, d := join(a, b, nil)
		a.e.Idle, b.e.Idle = nil, nil
		run(a, b)
		var s, in State
		s, _ = c.Lend(func(*Receive) bool { return true }, func() { c.Return(s) })
		fill(a.memory[:total], 5)
		h := header{Seq: s.Oldest, Op: Write, Total: total, Addr: uint64(b.addr(0)),
			Context: ctxAll}
		for _, id := range []transport.MsgID{msgPull, msgHalf} {
			h.Conn, h.Tag = c.peerIndex, c.peerTag
			hdr := h.put(make([]byte, askSize))
			if id == msgPull {
				hdr = h.putAsk(make([]byte, askSize))
			}
			if begun && id == msgPull {
				in, _ = d.Lend(func(*Receive) bool { return true }, func() { d.Return(in) })
				in.Coming, in.ComingAs = h.put(make([]byte, askSize)), Pull
				d.Recall()
				continue
			}
			b.link.inbox = append(b.link.inbox, message{from: 0, id: id, hdr: hdr})
		}
		s.Requests = []*Request{{Op: Write, Segments: a.segments(0, total), Context: ctxAll,
			Addr: uint64(b.addr(0))}}
		s.Takes, s.Answers, s.Whole = []uint32{0}, []uint32{0}, 1
		c.Recall()
		run(a, b)
		if len(a.done) != 1 || a.done[0].Status != Success || len(a.ended)+len(b.ended) > 0 {
			t.Fatalf("begun %v: %d requests complete, ended %v %v", begun, len(a.done), a.ended,
				b.ended)
		}
		if !bytes.Equal(a.memory[:total], b.memory[:total]) {
			t.Errorf("begun %v: the data is another", begun)
		}
	}
}

// TestReturnedAnswers: requests that ask for something, and what was told while the owner had the
// state, go on where they were: a read of which a part has come, one that is complete behind it,
// and at the other side a read of which a part was answered.
func TestReturnedAnswers(t *testing.T) {
	const total, part = 3000, 1200
	a, b := pair(t, 11, func(l *link) { l.ordered, l.most = true, 1024 })
	c, d := join(a, b, nil)
	a.e.Idle, b.e.Idle = nil, nil
	run(a, b)
	var s, in State
	s, _ = c.Lend(func(*Receive) bool { return true }, func() { c.Return(s) })
	in, _ = d.Lend(func(*Receive) bool { return true }, func() { d.Return(in) })
	fill(b.memory[:total], 9)
	copy(a.memory, b.memory[:part])
	h := header{Seq: in.Expected, Op: Read, Total: total, Addr: uint64(b.addr(0)),
		Context: ctxAll}
	in.Coming, in.ComingAs, in.Got = h.put(make([]byte, askSize)), Asked, part
	s.Requests = []*Request{{Op: Read, Segments: a.segments(0, total), Context: ctxAll,
		Addr: uint64(b.addr(0))}}
	s.Takes, s.Answers, s.Whole = []uint32{0}, []uint32{part}, 1
	c.Recall()
	d.Recall()
	run(a, b)
	if len(a.done) != 1 || c.reads != 0 || !bytes.Equal(a.memory[:total], b.memory[:total]) {
		t.Errorf("%d requests complete, %d reads under way; ended %v %v", len(a.done), c.reads,
			a.ended, b.ended)
	}
}

// TestReturnedDone: what the owner has found to be done is complete.
func TestReturnedDone(t *testing.T) {
	a, b := pair(t, 12, nil)
	c, _ := join(a, b, nil)
	a.e.Idle, b.e.Idle = nil, nil
	run(a, b)
	var s State
	s, _ = c.Lend(func(*Receive) bool { return true }, func() { c.Return(s) })
	for range 3 {
		s.Requests = append(s.Requests, &Request{Op: Write, Context: ctxAll})
		s.Takes, s.Answers = append(s.Takes, 0), append(s.Answers, 0)
	}
	s.Whole, s.Done = 3, s.Oldest+2
	c.Recall()
	a.e.Progress()
	if len(a.done) != 2 {
		t.Errorf("%d of 2 requests are complete", len(a.done))
	}
}
