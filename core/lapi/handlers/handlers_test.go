package handlers

import (
	"slices"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/layout"
)

// recorder is a Host whose send completion handlers note their call, and may begin more.
type recorder struct {
	host.Host
	due   *Due
	calls []call
	more  int // operations that the handlers still begin
}

type call struct {
	info transport.Addr
	tgt  int32
	code codes.Code
}

func (r *recorder) SendHandler(_, info transport.Addr, tgt int32, code codes.Code) {
	r.calls = append(r.calls, call{info, tgt, code})
	if r.more > 0 {
		r.more--
		r.due.Sent(Callback{Handler: 1, Info: info + 1}, &peer.Peer{}, codes.Success)
		r.due.RunSent() // a handler's call ends as any other
	}
}

func newDue() (*Due, *recorder) {
	r := new(recorder)
	var h host.Host = r
	block := progress.NewBlock(new(layout.Progress), new(uint32))
	d := New(&h, &block)
	r.due = &d
	return &d, r
}

// TestSent: handlers run one after the other, those that become due meanwhile too, and their list
// does not grow for ever.
func TestSent(t *testing.T) {
	d, r := newDue()
	r.more = 10000
	d.Sent(Callback{Handler: 1}, &peer.Peer{}, codes.Success)
	d.Sent(Callback{}, &peer.Peer{}, codes.Success)
	d.RunSent()
	if len(r.calls) != 10001 || cap(d.sent) > 4*keptSent {
		t.Fatalf("%d calls, room for %d", len(r.calls), cap(d.sent))
	}
	for i, c := range r.calls {
		if c.info != transport.Addr(i) {
			t.Fatalf("call %d is that of operation %d", i, c.info)
		}
	}
}

// TestMany: for several messages the handler is called once, with the first failure.
func TestMany(t *testing.T) {
	d, r := newDue()
	for range 2 { // the second uses what the first left
		r.calls = nil
		all, ok := d.Many(Callback{Handler: 1, Info: 5}, 77, 3), d.Many(Callback{Handler: 1, Info: 6}, 78, 1)
		d.Sent(all, &peer.Peer{ID: 0}, codes.Success)
		d.Sent(all, &peer.Peer{ID: 1}, codes.ErrTgtPurged)
		d.Sent(ok, &peer.Peer{ID: 0}, codes.Success)
		d.Sent(all, &peer.Peer{ID: 2}, codes.ErrNoConnectivity)
		d.RunSent()
		if want := []call{{6, 78, codes.Success}, {5, 1, codes.ErrTgtPurged}}; !slices.Equal(r.calls, want) {
			t.Errorf("calls %v, want %v", r.calls, want)
		}
	}
	if d.Many(Callback{}, 1, 2) != (Callback{}) {
		t.Error("no handler, but a callback")
	}
}

// TestQueue: completion handlers are taken in order, and end once.
func TestQueue(t *testing.T) {
	d, _ := newDue()
	var ids []uint64
	next := transport.Addr(1)
	for i := range transport.Addr(300) {
		d.Queue(Completion{Handler: 1, Info: i + 1})
		if i%3 != 0 {
			_, info, id, ok := d.Take()
			if !ok || info != next {
				t.Fatalf("taken %d, want %d", info, next)
			}
			next++
			ids = append(ids, id)
		}
	}
	if d.Queued() != 100 {
		t.Errorf("%d are queued", d.Queued())
	}
	for i, id := range ids {
		if c, ok := d.End(id); !ok || c.Info != transport.Addr(i+1) {
			t.Fatalf("id %d ends %d", id, c.Info)
		}
		if _, ok := d.End(id); ok {
			t.Fatal("it ends twice")
		}
	}
	if _, ok := d.End(0); ok {
		t.Error("nothing ends")
	}
}
