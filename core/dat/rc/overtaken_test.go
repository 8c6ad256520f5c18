package rc

import (
	"bytes"
	"testing"

	"lapi/transport"
)

// pass lets the messages of a link that have come be taken, in an order of the test's.
func (s *side) pass(order ...int) {
	inbox := s.link.inbox
	s.link.inbox = nil
	for _, i := range order {
		m := inbox[i]
		s.link.handlers[m.id](&transport.Msg{From: m.from, Hdr: m.hdr, Data: m.data})
	}
}

// TestWritesToOnePlace: of writes to the same memory the later one is there in the end, in whatever
// order they come; a write to other memory needs no second message.
func TestWritesToOnePlace(t *testing.T) {
	for _, apart := range []uint64{0, 5, 8, 100} {
		a, b := pair(t, 1, nil)
		c, _ := join(a, b, nil)
		fill(a.memory[:100], 1)
		fill(a.memory[200:300], 77)
		first := &Request{Op: Write, Segments: a.segments(0, 100), Addr: uint64(b.addr(1000)),
			Context: ctxAll}
		second := &Request{Op: Write, Segments: a.segments(200, 100),
			Addr: uint64(b.addr(1000)) + apart, Context: ctxAll}
		c.Post(first)
		c.Post(second)
		a.e.Progress()
		b.pass(1, 0)
		run(a, b)
		want := append(append([]byte{}, a.memory[:apart]...), a.memory[200:300]...)
		if got := b.memory[1000:][:len(want)]; !bytes.Equal(got, want) || len(a.done) != 2 {
			t.Errorf("%d bytes apart: %d of 2 are complete, memory %v, want %v", apart,
				len(a.done), got, want)
		}
		if sent := a.link.sent; sent != 3 && apart < 100 || sent != 2 && apart == 100 {
			t.Errorf("%d bytes apart: %d messages", apart, sent)
		}
	}
}

// TestLastWordInTwo: of a write's last word nothing is there before the rest, also where its bytes
// come in two messages.
func TestLastWordInTwo(t *testing.T) {
	a, b := pair(t, 1, nil)
	c, _ := join(a, b, nil)
	fill(a.memory[:100], 9)
	w := &Request{Op: Write, Segments: a.segments(0, 50, 12, 2), Addr: uint64(b.addr(1000)),
		Context: ctxAll}
	c.Post(w)
	a.e.Progress()
	inbox := b.link.inbox
	if len(inbox) != 3 {
		t.Fatalf("%d messages", len(inbox))
	}
	for _, i := range []int{1, 2, 0} {
		if !bytes.Equal(b.memory[1056:1064], make([]byte, 8)) {
			t.Errorf("before message %d the last word is %v", i, b.memory[1056:1064])
		}
		m := inbox[i]
		b.link.handlers[m.id](&transport.Msg{From: m.from, Hdr: m.hdr, Data: m.data})
	}
	b.link.inbox = nil
	run(a, b)
	want := append(append(bytes.Clone(a.memory[:50]), a.memory[58:70]...), a.memory[78:80]...)
	if w.Status != Success || !bytes.Equal(b.memory[1000:1064], want) {
		t.Errorf("status %d, memory %v, want %v", w.Status, b.memory[1000:1064], want)
	}
}

// TestErrorInTurn: a request that fails does so when all before it have taken effect, though its
// data has come first; their statuses are those of requests that have succeeded.
func TestErrorInTurn(t *testing.T) {
	a, b := pair(t, 1, nil)
	c, d := join(a, b, nil)
	send := &Request{Op: Send, Segments: a.segments(0, 8)}
	bad := &Request{Op: Write, Segments: a.segments(0, 8), Addr: 8, Context: ctxAll}
	long := &Request{Op: Send, Segments: a.segments(0, 100)}
	for _, r := range []*Request{send, bad, long} {
		c.Post(r)
	}
	run(a, b)
	if len(a.done) != 0 || len(a.ended)+len(b.ended) != 0 {
		t.Errorf("%d are complete, %d ends, while the first waits for its receive", len(a.done),
			len(a.ended)+len(b.ended))
	}
	d.PostReceive(&Receive{Segments: b.segments(0, 8)})
	d.PostReceive(&Receive{Segments: b.segments(0, 8)})
	run(a, b)
	if send.Status != Success || bad.Status != RemoteAccess || long.Status != Flushed {
		t.Errorf("statuses %d, %d, %d; want 0, 6, 1", send.Status, bad.Status, long.Status)
	}
	if len(b.received) != 2 || b.received[0].Status != Success || b.received[1].Status != Flushed {
		t.Errorf("received %+v", b.received)
	}
	if a.ended[c] != Broken || b.ended[d] != Broken {
		t.Errorf("ended %v, %v", a.ended, b.ended)
	}
}

// TestEndOvertakesAnswer: an answer that the end for an error has overtaken is awaited.
func TestEndOvertakesAnswer(t *testing.T) {
	a, b := pair(t, 1, nil)
	c, _ := join(a, b, nil)
	fill(b.memory[:8], 5)
	read := &Request{Op: Read, Segments: a.segments(0, 8), Addr: uint64(b.addr(0)), Context: ctxAll}
	bad := &Request{Op: Write, Segments: a.segments(0, 8), Addr: 8, Context: ctxAll}
	c.Post(read)
	c.Post(bad)
	a.e.Progress()
	b.pass(0, 1)
	b.e.Progress() // the answer
	b.e.Progress() // the end
	if n := len(a.link.inbox); n < 2 {
		t.Fatalf("%d messages have been sent", n)
	}
	order := []int{}
	for i := range a.link.inbox {
		order = append([]int{i}, order...)
	}
	a.pass(order...)
	run(a, b)
	if read.Status != Success || bad.Status != RemoteAccess || a.ended[c] != Broken ||
		!bytes.Equal(a.memory[:8], b.memory[:8]) {
		t.Errorf("statuses %d and %d, ended %v", read.Status, bad.Status, a.ended)
	}
}

// TestOvertakenReadiness: NotReady and Ready that come after their request is complete are nothing.
func TestOvertakenReadiness(t *testing.T) {
	a, b := pair(t, 1, nil)
	c, d := join(a, b, nil)
	c.Post(&Request{Op: Send})
	a.e.Progress()
	b.pass(0)
	b.e.Progress()
	if len(a.link.inbox) != 1 || a.link.inbox[0].id != msgNotReady {
		t.Fatalf("messages %v", a.link.inbox)
	}
	late := a.link.inbox
	a.link.inbox = nil
	d.PostReceive(&Receive{})
	b.e.Progress()
	late = append(late, a.link.inbox...)
	run(a, b)
	if len(a.done) != 1 {
		t.Fatal("the send is not complete")
	}
	a.link.inbox = late
	run(a, b)
	if len(a.ended)+len(b.ended) != 0 || !c.Post(&Request{Op: Write}) {
		t.Errorf("the connection has ended: %v, %v", a.ended, b.ended)
	}
}
