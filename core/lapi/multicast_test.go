package lapi

import (
	"bytes"
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// receivers gives each task a header handler 0x1000 that keeps what comes, up to n bytes, in a
// buffer of the task's own.
type receivers struct {
	to    [][]byte
	uhdrs [][]byte
	from  []int32
	calls []int
}

func receiveAll(j *testJob, n int) *receivers {
	r := &receivers{make([][]byte, len(j.tasks)), make([][]byte, len(j.tasks)),
		make([]int32, len(j.tasks)), make([]int, len(j.tasks))}
	for i, k := range j.tasks {
		r.to[i] = make([]byte, n+1)
		k.headers[0x1000] = func(h *headerCall, result *HeaderResult) {
			r.calls[i]++
			r.uhdrs[i] = bytes.Clone(h.uhdr)
			r.from[i] = h.Src
			result.Buffer = at(&r.to[i][0])
		}
	}
	return r
}

// overGroups runs f in jobs of four tasks over each path.
func overGroups(t *testing.T, f func(t *testing.T, j *testJob)) {
	for name, env := range map[string]map[string]string{
		"shm":             paths["shm"],
		"udp":             paths["udp"],
		"small datagrams": {"LAPI_USE_SHM": "no", "MP_UDP_PACKET_SIZE": "1024"},
	} {
		t.Run(name, func(t *testing.T) { f(t, newJob(t, 4, env)) })
	}
}

var multicastSizes = []int{0, 1, 8, 127, 129, 5000, 16384, 70000, 300000}

// TestMulticast: each member gets one message with the user header and all data, others nothing;
// the handler runs once, for the group, and when it runs the data may be spoiled.
func TestMulticast(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		for _, members := range [][]uint32{{0, 1, 2, 3}, {3, 1}, {2}, {0}, {1, 0}} {
			name := j.tasks[0].group(t, members...)
			for i, n := range multicastSizes {
				testMulticast(t, j, name, members, n, i%2*wire.MaxUhdrSize/(1+i%3)&^3)
			}
			j.ok(j.tasks[0].GroupFree(name))
		}
	})
}

func testMulticast(t *testing.T, j *testJob, name uint32, members []uint32, n, uhdrLen int) {
	t.Helper()
	r := receiveAll(j, n)
	data, uhdr := pattern(n, uint64(n)), pattern(uhdrLen, 3)
	src := bytes.Clone(data)
	handled := 0
	j.tasks[0].sends[0x500] = func(info transport.Addr, of int32, reason codes.Code) {
		handled++
		clear(src)
		if info != 7 || uint32(of) != name || reason != codes.Success {
			t.Errorf("handler called with %d, %d, %s", info, of, codes.Name(reason))
		}
	}
	x := Transfer{Tgt: name, HdrHdl: 0x1000, Uhdr: addrOf(uhdr), UhdrLen: uint32(uhdrLen),
		OrgAddr: addrOf(src), N: uint64(n), Handler: 0x500, Info: 7}
	j.ok(j.tasks[0].Xfer(XferMc, &x))
	clear(uhdr) // it is copied, as all user headers are
	x = Transfer{}
	id, _ := j.tasks[0].FenceBegin()
	j.until("the handler and a fence", func() bool {
		return handled > 0 && j.tasks[0].tickets.Done(id)
	})
	j.tasks[0].TicketResult(id)
	uhdr = pattern(uhdrLen, 3)
	calls := make([]int, len(j.tasks))
	for _, m := range members {
		calls[m]++
		if !bytes.Equal(r.to[m][:n], data) || !bytes.Equal(r.uhdrs[m], uhdr) || r.from[m] != 0 {
			t.Fatalf("%d bytes to %v: task %d got something else", n, members, m)
		}
	}
	if handled != 1 {
		t.Fatalf("%d bytes to %v: the handler ran %d times", n, members, handled)
	}
	for i := range calls {
		if calls[i] != r.calls[i] {
			t.Fatalf("%d bytes to %v: calls of header handlers %v", n, members, r.calls)
		}
	}
}

// TestMulticastIsFenced: a fence waits for every member's data, also if nothing is reported to the
// origin.
func TestMulticastIsFenced(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		const n = 200000
		name := j.tasks[0].group(t, 0, 1, 2, 3)
		data := pattern(n, 5)
		for range 3 {
			r := receiveAll(j, n)
			j.ok(j.tasks[0].Xfer(XferMc,
				&Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(data), N: n}))
			id, _ := j.tasks[0].FenceBegin()
			if j.tasks[0].tickets.Done(id) {
				t.Fatal("the fence does not wait")
			}
			j.until("the fence", func() bool { return j.tasks[0].tickets.Done(id) })
			j.tasks[0].TicketResult(id)
			for i := range r.to {
				if !bytes.Equal(r.to[i][:n], data) {
					t.Errorf("the fence is over before task %d has the data", i)
				}
			}
		}
	})
}

// TestSmallMulticastIsCopied: up to BUF_CP_SIZE the data may be overwritten on return, however many
// wait; and a group may be freed at once.
func TestSmallMulticastIsCopied(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		const times, n = 2000, 100
		got := make([][times]byte, len(j.tasks))
		for i, k := range j.tasks {
			k.headers[0x1000] = func(h *headerCall, r *HeaderResult) {
				number := wire.Order.Uint32(h.uhdr)
				r.Buffer = at(&got[i][number])
				r.Bytes = 1
			}
		}
		src, uhdr := make([]byte, 1), make([]byte, 4)
		for i := range uint32(times) {
			name := j.tasks[0].group(t, 0, 1, 2, 3)
			src[0] = byte(i%250 + 1)
			wire.Order.PutUint32(uhdr, i)
			j.ok(j.tasks[0].Xfer(XferMc, &Transfer{Tgt: name, HdrHdl: 0x1000, Uhdr: addrOf(uhdr),
				UhdrLen: 4, OrgAddr: addrOf(src), N: 1}))
			j.ok(j.tasks[0].GroupFree(name))
			src[0], uhdr[0] = 0, 0xff
		}
		id, _ := j.tasks[0].FenceBegin()
		j.until("the fence", func() bool { return j.tasks[0].tickets.Done(id) })
		for i := range got {
			for number := range got[i] {
				if got[i][number] != byte(number%250+1) {
					t.Fatalf("task %d, message %d: %d", i, number, got[i][number])
				}
			}
		}
		runtime.KeepAlive([]any{src, uhdr})
	})
}

// TestMulticastRefusedByOne: a header handler that wants its message again delays no other task,
// and the send completion handler still runs once.
func TestMulticastRefusedByOne(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		for _, n := range []int{8, 40000} {
			r := receiveAll(j, n)
			refused, handled := 0, 0
			accept := j.tasks[2].headers[0x1000]
			j.tasks[2].headers[0x1000] = func(h *headerCall, result *HeaderResult) {
				if r.calls[1] == 0 || r.calls[3] == 0 || refused == 0 {
					refused++
					result.CtlFlags = host.CtlDrop
					return
				}
				accept(h, result)
			}
			j.tasks[0].sends[0x500] = func(transport.Addr, int32, codes.Code) { handled++ }
			name := j.tasks[0].group(t, 2, 1, 3)
			data := pattern(n, 6)
			j.ok(j.tasks[0].Xfer(XferMc, &Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(data),
				N: uint64(n), Handler: 0x500}))
			id, _ := j.tasks[0].FenceBegin()
			j.until("the fence", func() bool { return j.tasks[0].tickets.Done(id) && handled > 0 })
			if refused == 0 || handled != 1 || r.calls[2] != 1 || !bytes.Equal(r.to[2][:n], data) {
				t.Errorf("%d bytes: refused %d times, accepted %d times, handler ran %d times",
					n, refused, r.calls[2], handled)
			}
		}
	})
}

func TestMulticastErrors(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	r := receiveAll(j, 100)
	k.sends[0x500] = func(transport.Addr, int32, codes.Code) {
		t.Error("a call that failed has its handler called")
	}
	name := k.group(t, 0, 1)
	freed := k.group(t, 1)
	j.ok(k.GroupFree(freed))
	theirs := j.tasks[1].group(t, 0, 1)
	buffer := make([]byte, 100)
	good := Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(buffer), N: 24, Handler: 0x500}
	j.ok(k.Senv(qErrorChk, 1))
	for _, e := range []struct {
		what   string
		change func(x *Transfer)
		want   codes.Code
	}{
		{"no group", func(x *Transfer) { x.Tgt = 0 }, codes.ErrTgt},
		{"a freed group", func(x *Transfer) { x.Tgt = freed }, codes.ErrTgt},
		{"another context's group", func(x *Transfer) { x.Tgt = theirs }, codes.ErrTgt},
		{"no header handler", func(x *Transfer) { x.HdrHdl = 0 }, codes.ErrHdrHndlrNull},
		{"length over the limit", func(x *Transfer) { x.N = 1 << 63 }, codes.ErrDataLen},
		{"no data", func(x *Transfer) { x.OrgAddr = 0 }, codes.ErrOrgAddrNull},
		{"user header too long", func(x *Transfer) { x.UhdrLen = wire.MaxUhdrSize + 1 },
			codes.ErrUhdrLen},
		{"user header of no words", func(x *Transfer) { x.UhdrLen, x.Uhdr = 7, addrOf(buffer) },
			codes.ErrHdrLen},
		{"user header NULL", func(x *Transfer) { x.UhdrLen = 8 }, codes.ErrUhdrNull},
		{"user header that cannot be read", func(x *Transfer) { x.UhdrLen, x.Uhdr = 8, 0x1000 },
			codes.ErrUhdrNull},
	} {
		x := good
		e.change(&x)
		want(t, e.what, k.Xfer(XferMc, &x), e.want)
	}
	id, _ := k.FenceBegin()
	j.until("the fence", func() bool { return k.tickets.Done(id) })
	if r.calls[0] != 0 || r.calls[1] != 0 {
		t.Errorf("calls that failed sent something: %v", r.calls)
	}
	runtime.KeepAlive(buffer)
}

// TestMulticastOfALostTask: a member dies while its message flies, waits or is to be fetched: the
// others get theirs, the handler runs once and gets the task and the reason. Later multicasts to it
// send nothing at all.
func TestMulticastOfALostTask(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		const n = 300000
		k := j.tasks[0]
		r := receiveAll(j, n)
		handled := 0
		k.sends[0x500] = func(_ transport.Addr, of int32, reason codes.Code) {
			handled++
			if of != 2 || reason != codes.ErrNoConnectivity {
				t.Errorf("handler called for %d: %s", of, codes.Name(reason))
			}
		}
		name := k.group(t, 1, 2, 3)
		data := pattern(n, 8)
		x := Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(data), N: n, Handler: 0x500}
		j.ok(k.Xfer(XferMc, &x))
		k.fail(&k.peers[2], codes.ErrNoConnectivity, "the test says so")
		k.publish()
		if handled != 0 {
			t.Error("the handler runs although others still need the data")
		}
		id, _ := k.FenceBegin()
		j.until("the fence", func() bool { return k.tickets.Done(id) && handled > 0 })
		for _, m := range []int{1, 3} {
			if !bytes.Equal(r.to[m][:n], data) {
				t.Errorf("task %d has not got the data", m)
			}
		}
		calls := r.calls[1]
		want(t, "a group with a lost task", k.Xfer(XferMc, &x), codes.ErrNoConnectivity)
		id, _ = k.FenceBegin()
		j.until("another fence", func() bool { return k.tickets.Done(id) })
		if handled != 1 || r.calls[1] != calls || r.calls[3] != calls {
			t.Errorf("the handler ran %d times, header handlers %v", handled, r.calls)
		}
		j.ok(k.Purge(3))
		runtime.KeepAlive(data)
		want(t, "the first that cannot be reached decides",
			k.Xfer(XferMc, &Transfer{Tgt: k.group(t, 3, 2), HdrHdl: 0x1000}), codes.ErrTgtPurged)
	})
}

// TestMulticastFromHandlers: a send completion handler may send to the group again, and free it.
func TestMulticastFromHandlers(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		k := j.tasks[0]
		r := receiveAll(j, 8)
		name := k.group(t, 0, 1, 2, 3)
		var word uint64 = 1
		handled := 0
		x := Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: at(&word), N: 8, Handler: 0x500}
		k.sends[0x500] = func(transport.Addr, int32, codes.Code) {
			if handled++; handled < 10 {
				j.ok(k.Xfer(XferMc, &x))
				return
			}
			j.ok(k.GroupFree(name))
		}
		j.ok(k.Xfer(XferMc, &x))
		if handled == 0 {
			t.Error("the data was copied, but the handler does not run before the call returns")
		}
		j.until("ten multicasts", func() bool {
			return handled == 10 && r.calls[0]+r.calls[1]+r.calls[2]+r.calls[3] == 40
		})
		want(t, "the group", k.GroupFree(name), codes.ErrTgt)
		runtime.KeepAlive([]any{&word, r})
	})
}

// TestMulticastSteadyState: nothing is allocated once the pools are filled.
func TestMulticastSteadyState(t *testing.T) {
	overGroups(t, func(t *testing.T, j *testJob) {
		k := j.tasks[0]
		src, dst := make([]byte, 64), make([]byte, 64)
		got, handled, wanted := 0, 0, 0
		to := at(&dst[0])
		for _, member := range j.tasks {
			member.headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer, got = to, got+1
			}
		}
		k.sends[0x500] = func(transport.Addr, int32, codes.Code) { handled++ }
		x := Transfer{Tgt: k.group(t, 0, 1, 2, 3), HdrHdl: 0x1000, Uhdr: at(&src[32]), UhdrLen: 16,
			OrgAddr: at(&src[0]), N: 32, Handler: 0x500}
		once := func() {
			wanted++
			k.Xfer(XferMc, &x)
			for got < 4*wanted || handled < wanted {
				for _, k := range j.tasks {
					k.Dispatch(0)
				}
			}
		}
		for range 100 {
			once()
		}
		if n := testing.AllocsPerRun(200, once); n >= 1 {
			t.Errorf("%.1f allocations for a multicast", n)
		}
		runtime.KeepAlive([]any{src, dst})
	})
}
