package conform

import (
	"encoding/binary"
	"math/rand/v2"

	"lapi/transport"
	"lapi/transport/memory"
)

// heard is what was reported to a node's owner.
type heard struct {
	kind   transport.NoticeKind
	from   transport.Endpoint
	n      uint64
	notice transport.Notice
}

// noticing gives the link of node 0 and the notices and faults of the target, or skips the test.
func (r *run) noticing() (link transport.Noticing, notices, faults *[]heard) {
	r.Helper()
	link, ok := r.Nodes[0].Link.(transport.Noticing)
	if !ok {
		r.Skip("the link gives no notices")
	}
	notices, faults = new([]heard), new([]heard)
	for i, n := range r.Nodes {
		if i != int(r.target()) {
			n.Link.(transport.Noticing).HandleNotices(func(kind transport.NoticeKind,
				from transport.Endpoint, _ uint64, _ transport.Notice) {
				r.Errorf("node %d hears a notice %d of node %d", i, kind, from)
			}, func(kind transport.NoticeKind, from transport.Endpoint, at transport.Addr) {
				r.Errorf("node %d hears of a bad address %#x of node %d", i, uint64(at), from)
			})
			continue
		}
		n.Link.(transport.Noticing).HandleNotices(func(kind transport.NoticeKind,
			from transport.Endpoint, n uint64, notice transport.Notice) {
			*notices = append(*notices, heard{kind, from, n, notice})
		}, func(kind transport.NoticeKind, from transport.Endpoint, at transport.Addr) {
			*faults = append(*faults, heard{kind: kind, from: from, n: uint64(at)})
		})
	}
	return link, notices, faults
}

// routes are the ways to try; a link may not be able to go all of them.
var routes = []transport.Route{transport.RouteAny, transport.RouteMessages,
	transport.RouteSingleCopy}

// testNotices: puts and gets of many lengths by each route: the data, all around it, and one notice
// each, not before the data.
func testNotices(r *run) {
	link, notices, _ := r.noticing()
	const most, around = 3 << 20, 64
	there, here := r.memoryOf(most+2*around), r.memoryOf(most+2*around)
	random := rand.New(rand.NewPCG(5, 6))
	for _, route := range routes {
		for _, put := range []bool{true, false} {
			for i, n := range append(dataSizes(most), 4096, 8191, 1<<16+1) {
				source, sink, kind, start := there, here, transport.NoticeGet, link.GetNotice
				if put {
					source, sink, kind, start = here, there, transport.NoticePut, link.PutNotice
				} else if n == 0 {
					continue
				}
				fill(source, uint64(i))
				clear(sink)
				from, to := random.IntN(around), random.IntN(around)
				local, remote := to, from
				if put {
					local, remote = from, to
				}
				o := r.operation(memory.AddrOf(here[local:]), memory.AddrOf(there[remote:]), n)
				o.Route, o.Notice = route, transport.Notice{uint64(i + 1), ^uint64(i)}
				*notices = nil
				err := o.complete(func(op *transport.Op) (transport.Status, error) {
					return start(r.target(), op)
				})
				if err == transport.ErrNotSupported && route == transport.RouteSingleCopy {
					continue
				}
				if err != nil {
					r.Fatalf("route %d, put %v, %d bytes: %v", route, put, n, err)
				}
				r.until("the notice", func() bool { return len(*notices) > 0 })
				if got, want := (*notices)[0], (heard{kind, 0, uint64(n), o.Notice}); got != want {
					r.Errorf("route %d, put %v, %d bytes: notice %+v, want %+v",
						route, put, n, got, want)
				}
				if string(sink[to:to+n]) != string(source[from:from+n]) {
					r.Errorf("route %d, put %v, %d bytes arrive damaged", route, put, n)
				}
				clear(sink[to : to+n])
				for _, b := range sink {
					if b != 0 {
						r.Fatalf("route %d, put %v, %d bytes: a byte beside them changed",
							route, put, n)
					}
				}
				r.settle()
				if len(*notices) != 1 {
					r.Errorf("route %d, put %v, %d bytes: %d notices", route, put, n, len(*notices))
				}
			}
		}
	}
}

// settle lets what is still on its way come.
func (r *run) settle() {
	f := r.flush(0, r.target())
	r.until("a flush", f.done)
	for range 3 {
		for _, n := range r.Nodes {
			n.Link.Progress(100)
		}
	}
}

// testNoticeFlush: the data of puts before a flush is in place when the flush is done, also of puts
// that had to wait for room.
func testNoticeFlush(r *run) {
	link, notices, _ := r.noticing()
	const n, puts = 200_000, 12
	source, sink := r.memoryOf(n), r.memoryOf(n*puts)
	fill(source, 1)
	for i := range puts {
		o := r.operation(memory.AddrOf(source), memory.AddrOf(sink[i*n:]), n)
		o.Route, o.Notice = transport.RouteMessages, transport.Notice{uint64(i)}
		if err := o.begin(func(op *transport.Op) (transport.Status, error) {
			return link.PutNotice(r.target(), op)
		}); err != nil {
			r.Fatal(err)
		}
	}
	f := r.flush(0, r.target())
	r.until("the flush", f.done)
	if f.err != nil || len(*notices) != puts {
		r.Fatalf("flush: %v, with %d notices of %d", f.err, len(*notices), puts)
	}
	for i := range puts {
		if string(sink[i*n:(i+1)*n]) != string(source) {
			r.Errorf("put %d is not in place", i)
		}
	}
}

// testNoticeFlood: many operations of all kinds at once, to several nodes and back, more than there
// is room and places for. Each ends once, and the sums are right.
func testNoticeFlood(r *run) {
	if _, ok := r.Nodes[0].Link.(transport.Noticing); !ok {
		r.Skip("the link gives no notices")
	}
	const each, longest = 400, 20_000
	source := r.memoryOf(longest)
	fill(source, 9)
	type lane struct {
		sink, copy, words []byte
		notices           int
	}
	lanes := make([]lane, len(r.Nodes))
	for i := range lanes {
		lanes[i] = lane{sink: r.memoryOf(longest), copy: r.memoryOf(longest), words: r.memoryOf(8)}
		r.Nodes[i].Link.(transport.Noticing).HandleNotices(
			func(transport.NoticeKind, transport.Endpoint, uint64, transport.Notice) {
				lanes[i].notices++
			},
			func(_ transport.NoticeKind, _ transport.Endpoint, at transport.Addr) {
				r.Errorf("bad address %#x", uint64(at))
			})
	}
	random := rand.New(rand.NewPCG(7, 8))
	var all []*operation
	for k := range each {
		for a := range r.Nodes {
			b := transport.Endpoint((a + 1) % len(r.Nodes))
			link := r.Nodes[a].Link
			n := random.IntN(longest) + 1
			if k%4 != 0 {
				n = random.IntN(64) + 1
			}
			var o *operation
			var start func(*transport.Op) (transport.Status, error)
			switch k % 3 {
			case 0:
				o = r.operation(memory.AddrOf(source), memory.AddrOf(lanes[b].sink), n)
				start = func(op *transport.Op) (transport.Status, error) {
					return link.(transport.Noticing).PutNotice(b, op)
				}
			case 1:
				o = r.operation(memory.AddrOf(lanes[a].copy), memory.AddrOf(source), n)
				start = func(op *transport.Op) (transport.Status, error) {
					return link.(transport.Noticing).GetNotice(b, op)
				}
			default:
				o = r.operation(0, memory.AddrOf(lanes[b].words), 8)
				o.Width, o.Operand = 8, 1
				atomic := link.Atomic
				if link.Limits().Atomics == 0 {
					atomic = r.Nodes[a].Emul.Atomic
				}
				start = func(op *transport.Op) (transport.Status, error) {
					return atomic(b, transport.AtomicAdd, op)
				}
			}
			o.Route, o.Notice = transport.RouteMessages, transport.Notice{1}
			if err := o.begin(start); err != nil {
				r.Fatal(err)
			}
			all = append(all, o)
		}
	}
	puts, gets, adds := (each+2)/3, (each+1)/3, each/3
	r.until("all operations", func() bool {
		for _, o := range all {
			if !o.done() || o.err != nil {
				return false
			}
		}
		for i := range lanes {
			if lanes[i].notices != puts+gets {
				return false
			}
		}
		return true
	})
	for i := range lanes {
		if got := binary.LittleEndian.Uint64(lanes[i].words); got != uint64(adds) {
			r.Errorf("node %d: %d additions, want %d", i, got, adds)
		}
		for k, b := range lanes[i].sink {
			if b != 0 && b != source[k] {
				r.Fatalf("node %d: byte %d arrived damaged", i, k)
			}
		}
	}
}

// testNoticeFaults: a bad address at the target: its owner is notified once, the origin of a get
// too, no notice follows, and the next transfers are whole.
func testNoticeFaults(r *run) {
	link, notices, faults := r.noticing()
	const n = 40_000
	local, remote := r.memoryOf(n), r.memoryOf(n)
	fill(local, 3)
	for _, bad := range r.badAddresses() {
		o := r.operation(memory.AddrOf(local), bad, n)
		o.Route, o.Notice = transport.RouteMessages, transport.Notice{1}
		if err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return link.PutNotice(r.target(), op)
		}); err != nil {
			r.Errorf("a put to %#x by messages: %v", uint64(bad), err)
		}
		r.settle()
		if len(*notices) != 0 || len(*faults) != 1 || (*faults)[0].kind != transport.NoticePut {
			r.Errorf("after a put to %#x: notices %v, faults %v", uint64(bad), *notices, *faults)
		}
		*faults = nil
		o = r.operation(memory.AddrOf(local), bad, n)
		o.Route, o.Notice = transport.RouteMessages, transport.Notice{1}
		err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return link.GetNotice(r.target(), op)
		})
		r.wantFault("a get", err, true, bad, n)
		if fault, ok := err.(*transport.FaultError); ok && !fault.Told {
			r.Error("the origin is not told that the target knows")
		}
		if len(*notices) != 0 || len(*faults) != 1 || (*faults)[0].kind != transport.NoticeGet {
			r.Errorf("after a get from %#x: notices %v, faults %v", uint64(bad), *notices, *faults)
		}
		o = r.operation(bad, memory.AddrOf(remote), n)
		o.Route = transport.RouteMessages
		r.wantFault("a get to a bad address",
			o.complete(func(op *transport.Op) (transport.Status, error) {
				return link.GetNotice(r.target(), op)
			}), false, bad, n)
		o = r.operation(bad, memory.AddrOf(remote), n)
		o.Route = transport.RouteMessages
		r.wantFault("a put from a bad address",
			o.complete(func(op *transport.Op) (transport.Status, error) {
				return link.PutNotice(r.target(), op)
			}), false, bad, n)
		*faults, *notices = nil, nil
		o = r.operation(memory.AddrOf(local), memory.AddrOf(remote), n)
		o.Route, o.Notice = transport.RouteMessages, transport.Notice{1}
		clear(remote)
		if err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return link.PutNotice(r.target(), op)
		}); err != nil {
			r.Error(err)
		}
		r.settle()
		if len(*notices) != 1 || len(*faults) != 0 || string(remote) != string(local) {
			r.Errorf("the put after bad ones: notices %v, faults %v", *notices, *faults)
		}
		*notices = nil
	}
}

// testNoticeDisconnect: operations in flight, or waiting, end once with the error of Disconnect.
func testNoticeDisconnect(r *run) {
	link, _, _ := r.noticing()
	if len(r.Nodes) < 2 {
		r.Skip("a link to oneself")
	}
	local, remote := r.memoryOf(1<<20), r.memoryOf(1<<20)
	var all []*operation
	for i := range 40 {
		o := r.operation(memory.AddrOf(local), memory.AddrOf(remote), 1<<16)
		o.Route = transport.RouteMessages
		start := link.GetNotice
		if i == 20 {
			o.N, start = 1<<20, link.PutNotice
		}
		if status, err := start(r.target(), &o.Op); err != nil && err != transport.ErrBusy {
			r.Fatal(err)
		} else if err == nil {
			o.status = status
			all = append(all, o)
		}
	}
	r.Nodes[0].Link.Disconnect(r.target(), transport.ErrTimeout)
	ended := 0
	for _, o := range all {
		if o.finished == 1 && o.err == transport.ErrTimeout {
			ended++
		} else if !o.done() {
			r.Error("an operation is left")
		}
	}
	if ended < 20 {
		r.Errorf("%d operations ended by Disconnect", ended)
	}
	if _, err := link.GetNotice(r.target(), &r.operation(memory.AddrOf(local),
		memory.AddrOf(remote), 8).Op); err != transport.ErrUnreachable {
		r.Errorf("a get after it: %v", err)
	}
}
