package device

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// TestNoClock: a turn asks for the time only if something is due at one.
func TestNoClock(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	k := l.hosts[0].k
	k.due, l.asked = 0, 0
	if k.Progress(false); l.asked != 0 {
		t.Errorf("nothing is due, and the time was asked for %d times", l.asked)
	}
	k.wakeAt(1 << 40)
	if k.Progress(false); l.asked != 1 || k.due != 1<<40 {
		t.Errorf("asked %d times, due at %d", l.asked, k.due)
	}
}

// TestRoom: a pair that is gone takes no room in completion queues.
func TestRoom(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	k := l.hosts[0].k
	for range 3 {
		q := l.hosts[0].end(nil).pair
		if q.room == 0 || k.pools[0].used != q.room {
			t.Fatalf("%d places are taken for a pair's %d", k.pools[0].used, q.room)
		}
		q.Discard()
		if k.pools[0].used != 0 || len(k.pools) != 1 {
			t.Fatalf("%d places are taken for no pair", k.pools[0].used)
		}
	}
}

// low is a QueueOwner that counts.
type low struct{ low int }

func (o *low) Low() { o.low++ }

// TestLowBeforeCompletions: the owner of a queue is notified that few receives are left before the
// receives that messages have taken complete; once, and only if it watches.
func TestLowBeforeCompletions(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	h, o := l.hosts[1], &low{}
	queue, r := h.zone.NewQueue(8, 1, 0, o)
	l.must("queue", r)
	a := l.hosts[0].end(nil)
	b := h.end(func(c *PairConfig) { c.Queue = queue })
	l.connect(a, b)
	for range 4 {
		l.must("post", queue.Post(nil, 0))
	}
	queue.Watch(3)
	for i, want := range []int{0, 1, 1} {
		a.send(0)
		if h.k.onAsync(h.k.d.Event()); o.low != want || queue.Posted() != 4 {
			t.Fatalf("after %d messages: notified %d times, %d receives are not complete", i+1, o.low,
				queue.Posted())
		}
	}
	l.turn()
	a.take()
	if b.take(); len(b.received) != 3 || len(a.sent) != 3 || queue.Posted() != 1 {
		t.Errorf("%d receives and %d requests are complete, %d receives are not", len(b.received),
			len(a.sent), queue.Posted())
	}
	l.disconnect(a)
	queue.Close()
}

// bell is a Waker.
type bell struct{ rung int }

func (b *bell) Wake() { b.rung++ }

// TestSolicitedQueues: the pairs of a Waker share its queue, which ends with the last of them; other
// pairs have none.
func TestSolicitedQueues(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	h, waker := l.hosts[0], &bell{}
	k := h.k
	solicited := func(c *PairConfig) { c.Solicited = waker }
	first, second, plain := h.end(solicited).pair, h.end(solicited).pair, h.end(nil).pair
	if len(k.pools) != 2 || k.quiet != 1 || plain.quiet != nil || first.quiet != second.quiet {
		t.Fatalf("%d queues, %d of Wakers", len(k.pools), k.quiet)
	}
	if first.Discard(); k.quiet != 1 {
		t.Error("the queue has ended with the first pair")
	}
	second.Discard()
	plain.Discard()
	if k.quiet != 0 || len(k.pools) != 1 || k.pools[0].used != 0 {
		t.Errorf("%d queues are left, %d of Wakers, %d places taken", len(k.pools), k.quiet,
			k.pools[0].used)
	}
	h.d.Refuse["CreateCQ"] = errNoMemory
	c := PairConfig{Zone: h.zone, Requests: 1, Receives: 1, Solicited: waker}
	if _, r := k.NewPair(c, &end{}); r.Type() != codes.InsufficientResources {
		t.Errorf("without a queue: %#x", uint32(r))
	}
}

// TestWakesForWhatNobodyTook: a report of a solicited message takes the messages that nobody has
// looked for, and wakes.
func TestWakesForWhatNobodyTook(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	waker := &bell{}
	a, b := l.hosts[0].end(nil), l.hosts[1].end(func(c *PairConfig) { c.Solicited = waker })
	l.connect(a, b)
	const solicited = 2 // DAT_COMPLETION_SOLICITED_WAIT_FLAG
	for i, flags := range []int{0, solicited} {
		l.must("receive", b.pair.PostReceive(nil, 0))
		a.send(uint32(flags))
		l.hosts[1].k.wakeSolicited()
		if b.take(); waker.rung != i || len(b.received) != 2*i {
			t.Errorf("message %d: woken %d times, %d receives are complete", i+1, waker.rung,
				len(b.received))
		}
	}
	l.disconnect(a)
}

// TestReportSaysWhyNoRouteIsFound: the kernel's reason, as long as no request was sent; once.
func TestReportSaysWhyNoRouteIsFound(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	h := l.hosts[0]
	e := h.end(nil)
	id, err := h.k.d.NewID(false)
	if err != nil {
		t.Fatal(err)
	}
	c := h.k.newCall(id)
	c.end, c.active, c.reportAt = e, true, 5e9
	c.peer = netip.MustParseAddrPort("10.0.0.9:7")
	c.onActive(e, &ibv.CMEvent{Kind: ibv.NotFound, Status: -int(syscall.ETIMEDOUT)})
	if c.noteUnanswered(5e9 - 1); len(h.silent) != 0 {
		t.Errorf("too soon: %q", h.silent)
	}
	c.noteUnanswered(5e9)
	c.noteUnanswered(6e9)
	if len(h.silent) != 1 || !strings.HasSuffix(h.silent[0],
		"the kernel says: connection timed out") {
		t.Errorf("%q", h.silent)
	}
	c.Disown()
	c.free()
	e.pair.Discard()
}

// TestReportsFailures: a request that has failed is reported once, with all that the adapter says and
// where its memory is, and an event by which a queue pair ends; requests that are flushed are not.
func TestReportsFailures(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.hosts[0].end(nil), l.hosts[1].end(nil)
	l.connect(a, b)
	a.h.d.Vendor = 0x81
	a.h.d.Fail = func(*ibv.Work) ibv.Status { return ibv.RetryExcErr }
	at := &dev.Memory{Addr: 0x1000, N: 8, Start: 0x1000, Context: 7, Key: 7}
	if !a.h.k.AddMemory(at) {
		t.Fatal("no memory")
	}
	for range 3 {
		l.must("write", a.pair.Post(&dev.Request{Op: dev.OpWrite, Remote: dev.Triplet{Addr: 0x2000},
			Flags: dev.Immediate, // whose data is not inline: nothing is there
			Local: []dev.Triplet{{Addr: 0x1000, N: 8, Context: 7}}}))
	}
	number := a.pair.Number()
	l.turn()
	want := fmt.Sprintf("IBV_WC_RETRY_EXC_ERR, vendor_err 0x81: RDMA write with immediate data of 8 bytes, local address "+
		"0x1000, remote address 0x2000; queue pair %#x of adapter fake0, port 1", number)
	if got := a.h.reports; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	l.now += AbruptTimeout + 1
	l.turn()
	a, b = l.hosts[0].end(nil), l.hosts[1].end(nil)
	a.h.d.Fail, a.h.reports = nil, nil
	l.connect(a, b)
	a.h.d.Raise(ibv.Event{Kind: ibv.QPFailed, Type: 3, QPN: a.pair.Number()})
	want = fmt.Sprintf("IBV_EVENT_QP_ACCESS_ERR of adapter fake0, port 1, queue pair %#x",
		a.pair.Number())
	if a.h.k.Progress(false); len(a.h.reports) != 1 || a.h.reports[0] != want {
		t.Errorf("%q", a.h.reports)
	}
	l.turn()
	l.now += AbruptTimeout + 1
	l.turn()
}

// TestRefusedByAdapter: what the adapter refuses is an error of the call, and leaves nothing.
func TestRefusedByAdapter(t *testing.T) {
	for call, f := range map[string]func(h *host) codes.Return{
		"CreateQP": func(h *host) codes.Return {
			_, r := h.k.NewPair(PairConfig{Zone: h.zone, Requests: 1, Receives: 1}, &end{})
			return r
		},
		"CreateSRQ": func(h *host) codes.Return {
			_, r := h.zone.NewQueue(1, 1, 0, &low{})
			return r
		},
		"AllocMW": func(h *host) codes.Return {
			_, r := h.zone.NewWindow(true)
			return r
		},
		"RegMR": func(h *host) codes.Return {
			_, r := h.zone.Register(4096, 1, 0, 0)
			return r
		},
		"NewID": func(h *host) codes.Return {
			_, r := h.k.Listen(7, h)
			return r
		},
	} {
		l := newLab(t, 1)
		l.hosts[0].d.Refuse[call] = errors.New("no")
		if r := f(l.hosts[0]); r == codes.Success {
			t.Errorf("%s is refused, and nobody notices", call)
		}
		l.close()
	}
}

// FuzzDatagramEnd: what a peer says of its queue pair is taken as it is written, or not at all.
func FuzzDatagramEnd(f *testing.F) {
	f.Add(datagramEnd{qpn: 7, lid: 3, gid: [16]byte{15: 1}}.bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again datagramEnd
		if d.read(b) && (!again.read(d.bytes()) || d != again || d.qpn >= 1<<24) {
			t.Errorf("%x: %+v", b, d)
		}
	})
}

// ends are two that are connected, with a number of receives at the first and one at the second.
func (l *lab) ends(solicited bool, receives int) (a, b *end) {
	a = l.hosts[0].end(func(c *PairConfig) {
		if solicited {
			c.Solicited = new(waker)
		}
	})
	b = l.hosts[1].end(nil)
	l.connect(a, b)
	for range receives {
		l.must("receive", a.pair.PostReceive(nil, 0))
	}
	l.must("receive", b.pair.PostReceive(nil, 0))
	return a, b
}

// discard frees two whose connection the first has lost.
func (l *lab) discard(a, b *end) {
	l.now += AbruptTimeout + 1
	l.turn()
	b.pair.Discard()
	for _, e := range []*end{a, b} {
		e.pair.Close()
	}
}

// TestEventLosesNoCompletion: what is in the completion queues when the adapter reports that a queue
// pair, or all of it, has failed keeps its status. The rest is flushed.
func TestEventLosesNoCompletion(t *testing.T) {
	for _, kind := range []ibv.EventKind{ibv.QPFailed, ibv.Fatal} {
		for _, solicited := range []bool{false, true} {
			l := newLab(t, 2)
			a, b := l.ends(solicited, 2)
			a.send(0)
			a.send(0) // no receive is there for it
			b.send(0)
			a.h.k.onAsync(ibv.Event{Kind: kind, QPN: a.pair.number})
			a.take()
			want := []rc.Status{rc.Success, rc.Flushed}
			if !slices.Equal(a.sent, want) || !slices.Equal(a.received, want) {
				t.Errorf("%v, solicited %v: requests %v, receives %v", kind, solicited, a.sent,
					a.received)
			}
			l.discard(a, b)
			l.close()
		}
	}
}

// TestQueueFails: requests posted over a completion queue that fails are flushed, once; that is
// reported once, however often the adapter does; and later pairs have another queue.
func TestQueueFails(t *testing.T) {
	for _, solicited := range []bool{false, true} {
		l := newLab(t, 2)
		for life := range 2 {
			a, b := l.ends(solicited, 3)
			b.send(0)
			a.h.d.FailCQs()
			a.send(0)
			b.send(0)
			a.h.d.OverrunCQs()
			a.h.d.OverrunCQs()
			l.turn()
			a.take()
			if want := []rc.Status{rc.Success, rc.Flushed, rc.Flushed}; !slices.Equal(a.sent,
				want[1:2]) || !slices.Equal(a.received, want) {
				t.Errorf("solicited %v: requests %v, receives %v", solicited, a.sent, a.received)
			}
			most := life + 1
			if solicited { // it has two queues
				most *= 2
			}
			if a.h.broken <= life || a.h.broken > most || len(a.events) != 2 || a.events[1] != fmt.Sprintf("ended %d", rc.Broken) {
				t.Errorf("solicited %v: reported %d times; events %q", solicited, a.h.broken,
					a.events)
			}
			l.discard(a, b)
		}
		if n := len(l.hosts[0].k.pools); n != 0 {
			t.Errorf("%d queues that have failed are left", n)
		}
		l.close()
	}
}

// TestQueueGoesOn: a completion queue that loses completions and goes on ends its pairs before the
// adapter reports it, and no message completes another receive than its own.
func TestQueueGoesOn(t *testing.T) {
	l := newLab(t, 2)
	a, b := l.ends(false, 3)
	a.h.d.LoseNext(1)
	for range 3 {
		b.send(0)
	}
	l.turn()
	a.h.d.OverrunCQs()
	l.turn()
	a.take()
	if want := []rc.Status{rc.Flushed, rc.Flushed, rc.Flushed}; !slices.Equal(a.received, want) ||
		a.h.broken != 1 {
		t.Errorf("receives %v, reported %d times", a.received, a.h.broken)
	}
	l.discard(a, b)
	l.close()
}

type waker struct{ woken int }

func (w *waker) Wake() { w.woken++ }
