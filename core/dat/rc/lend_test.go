package rc

import (
	"bytes"
	"testing"

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
