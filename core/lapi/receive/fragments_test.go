package receive

import (
	"bytes"
	"testing"

	"lapi/core/lapi/handlers"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// user has a header handler that names a buffer, and counts messages that are complete.
type user struct {
	host.Host
	buffer   transport.Addr
	complete int
}

func (u *user) HeaderHandler(_ *host.HeaderCall, r *host.HeaderResult) { r.Buffer = u.buffer }

// newReceiver receives from two tasks into a buffer, which is returned: of n bytes, and a page.
func newReceiver(t *testing.T, n int) (*Receiver, *user, []byte) {
	t.Helper()
	memory.Guard()
	buffer, err := arena.Map(n + 4096)
	if err != nil {
		t.Fatal(err)
	}
	u := &user{buffer: memory.AddrOf(buffer)}
	var h host.Host = u
	r, err := New(Config{Peers: make([]peer.Peer, 2), Host: &h,
		Completed: func(*peer.Peer, handlers.Completion, bool) { u.complete++ }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); arena.Unmap(buffer) })
	for i := range r.cfg.Peers {
		r.cfg.Peers[i].ID = i
	}
	return r, u, buffer
}

// header is the first message of one of n bytes, of which data came along.
func (u *user) header(r *Receiver, id uint32, n int, data []byte) transport.Verdict {
	h := wire.Am{Handler: 1 << 20, Length: uint64(n), ID: id}
	return r.Am(&transport.Msg{From: 1, Hdr: h.Encode(make([]byte, wire.AmSize)), Data: data})
}

func fragment(r *Receiver, id uint64, offset uint64, data []byte) transport.Verdict {
	p := wire.Part{Message: id, Offset: offset}
	return r.Fragment(&transport.Msg{From: 1, Hdr: p.Encode(make([]byte, wire.PartSize)),
		Data: data})
}

// TestFragments: each goes to its place whatever the order, none goes outside of the message, and
// the message is complete once, with the last byte.
func TestFragments(t *testing.T) {
	const n = 1000
	r, u, buffer := newReceiver(t, n)
	want := make([]byte, len(buffer))
	for i := range n {
		want[i] = byte(i*7 + 1)
	}
	part := func(from, to int) { fragment(r, 3, uint64(from), want[from:to]) }
	part(900, n) // before the header
	part(500, 600)
	u.header(r, 3, n, want[:100])
	part(600, 900)
	outside := bytes.Repeat([]byte{0xee}, 200)
	fragment(r, 3, n-100, outside)
	fragment(r, 3, n+50, outside)
	fragment(r, 3, 1<<63, outside)
	fragment(r, 3, ^uint64(0)-99, outside)
	part(101, 500)
	if u.complete != 0 {
		t.Error("it is complete with a byte missing")
	}
	part(100, 101)
	if u.complete != 1 || r.Busy(&r.cfg.Peers[1]) {
		t.Errorf("it is complete %d times, under way: %v", u.complete, r.Busy(&r.cfg.Peers[1]))
	}
	if !bytes.Equal(buffer, want) {
		t.Error("the data is damaged, or more was written")
	}
}

// TestEarlyIsBounded: fragments whose header does not come are kept up to a bound, and given up
// with their task.
func TestEarlyIsBounded(t *testing.T) {
	r, _, _ := newReceiver(t, 0)
	data := make([]byte, 64<<10)
	for range 2 {
		kept := 0
		for fragment(r, uint64(kept%5), 0, data) == transport.Accept {
			if kept += len(data); kept > 2*earlyMax {
				t.Fatal("without a bound")
			}
		}
		if kept < earlyMax/2 {
			t.Errorf("%d bytes are kept", kept)
		}
		p := &r.cfg.Peers[1]
		if r.GiveUp(p); r.Busy(p) || r.from[1].early != 0 {
			t.Errorf("under way: %v; %d bytes", r.Busy(p), r.from[1].early)
		}
	}
}
