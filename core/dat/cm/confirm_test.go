package cm

import "testing"

// The last message is lost, and the active side forgets the connection before it comes again.
func TestConfirm(t *testing.T) {
	n := newNetwork(t, 1)
	a, b := n.host(""), n.host("")
	b.listen(1)
	c := a.connect(b, 1, "hello", 10)
	for a.heard[c] == "" && n.step(n.now+1e9) {
	}
	n.flying = nil // Ready, among them
	if b.heard[b.accepting()] == "established" {
		t.Fatal("established without the last message")
	}
	c.Confirm()
	c.Close(n.now)
	n.run(30)
	if got := b.heard[b.other()]; got != "established" {
		t.Errorf("the passive side: %q", got)
	}
	c.Confirm() // c is over: says nothing
	if len(n.flying) > 0 {
		t.Error("a closed connection is confirmed")
	}
}

// accepting is the one connection that b has.
func (h *host) accepting() *Conn {
	for _, c := range h.m.conns {
		return c
	}
	h.net.t.Fatalf("%v has no connection", h.own)
	return nil
}
