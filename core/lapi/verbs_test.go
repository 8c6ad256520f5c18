package lapi

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/ibv"
)

// with is the environment of jobs over adapters, and what more is set.
func with(more ...string) map[string]string {
	env := maps.Clone(paths["us"])
	for _, s := range more {
		name, value, _ := strings.Cut(s, "=")
		env[name] = value
	}
	return env
}

// TestMixedJob: tasks with and without an adapter in one job: data goes between all pairs, by RDMA
// where both have one.
func TestMixedJob(t *testing.T) {
	j := newJob(t, 3, with("LAPI_US=yes", "TEST_ADAPTERS=01"))
	for i, k := range j.tasks {
		for to := range j.tasks {
			if want := i != to && i < 2 && to < 2; k.byRDMA(&k.peers[to]) != want {
				t.Errorf("task %d reaches task %d by RDMA: not %v", i, to, want)
			}
		}
		if n := k.attribute(qRCMaxQP); n != map[int]uint32{0: 1, 1: 1, 2: 0}[i] {
			t.Errorf("task %d: RC_MAX_QP is %d", i, n)
		}
	}
	values := [3]int64{10, 20, 30}
	var got [3][3]int64
	arrived := new(int32)
	for i, k := range j.tasks {
		for to := range j.tasks {
			j.ok(k.Put(uint32(to), 8, at(&got[to][i]), at(&values[i]), at(arrived), 0, 0))
		}
	}
	j.until("all puts", func() bool { return *arrived == 9 })
	for to := range got {
		if got[to] != values {
			t.Errorf("task %d has %v", to, got[to])
		}
	}
	if said := strings.Join(j.tasks[2].messages, "\n"); !strings.Contains(said, "no adapter") ||
		strings.Count(said, "MP_EUILIB=us") != 1 {
		t.Errorf("task 2 says %q", said)
	}
	if n := j.tasks[0].attribute(qRCQPInUse); n != 1 {
		t.Errorf("RC_QP_IN_USE is %d", n)
	}
}

// TestBulkByRDMA: which puts and gets are RDMA, seen by the packets that they take.
func TestBulkByRDMA(t *testing.T) {
	const n = 100_000
	src, dst := make([]byte, n), make([]byte, n)
	for i := range src {
		src[i] = byte(i * 3)
	}
	for _, c := range []struct {
		env   map[string]string
		n     int
		flags uint32
		rdma  bool
	}{
		{with(), n, 0, true},
		{with(), 10_000, 0, false},
		{with(), 10_000, singlecopy.UseBulkXfer, true},
		{with(), n, singlecopy.NotUseBulkXfer, false},
		{with("MP_USE_BULK_XFER=yes"), n, 0, false}, // 150K
		{with("MP_USE_BULK_XFER=yes", "MP_BULK_MIN_MSG_SIZE=8192"), 10_000, 0, true},
		{with("MP_USE_BULK_XFER=yes", "MP_BULK_MIN_MSG_SIZE=64K"), 65_535, 0, false},
		{with("MP_USE_BULK_XFER=yes", "MP_BULK_MIN_MSG_SIZE=64K"), 65_536, 0, true},
	} {
		j := newJob(t, 2, c.env)
		k := j.tasks[0]
		for _, kind := range []uint32{XferPut, XferGet} {
			clear(dst)
			here, there := new(int32), new(int32)
			x := &Transfer{Tgt: 1, N: uint64(c.n), TgtAddr: at(&dst[0]), OrgAddr: at(&src[0]),
				OrgCntr: at(here), TgtCntr: at(there), Flags: c.flags}
			if kind == XferGet {
				x.TgtAddr, x.OrgAddr = x.OrgAddr, x.TgtAddr
			}
			before := k.statistics(qStatistics)
			j.ok(k.Xfer(kind, x))
			j.until("a transfer", func() bool { return *here == 1 && *there == 1 })
			s := k.statistics(qStatistics)
			sent, received := s.PacketsSent-before.PacketsSent,
				s.PacketsReceived-before.PacketsReceived
			if !bytes.Equal(dst[:c.n], src[:c.n]) {
				t.Errorf("%v, kind %d, %d bytes: damaged", c.env, kind, c.n)
			}
			// RDMA: three packets to the target, two from there. Messages: one way nearly none.
			rdma := sent >= 3 && received >= 2 && sent+received < 12
			if rdma != c.rdma {
				t.Errorf("%v, kind %d, %d bytes, flags %#x: %d packets there, %d back", c.env,
					kind, c.n, c.flags, sent, received)
			}
		}
	}
}

// TestSmallBuffersOverRDMA: a put of at most BUF_CP_SIZE bytes may be overwritten when the call
// returns, also if it asks for bulk transfer.
func TestSmallBuffersOverRDMA(t *testing.T) {
	j := newJob(t, 2, with())
	src, dst := new([100]byte), new([100]byte)
	for i := range byte(50) {
		arrived := new(int32)
		src[0] = i + 1
		j.ok(j.tasks[0].Xfer(XferPut, &Transfer{Tgt: 1, N: 100, TgtAddr: at(dst), OrgAddr: at(src),
			TgtCntr: at(arrived), Flags: singlecopy.UseBulkXfer}))
		src[0] = 99
		j.until("a put", func() bool { return *arrived == 1 })
		if dst[0] != i+1 {
			t.Fatalf("put %d arrives as %d", i, dst[0])
		}
	}
	link := j.tasks[0].net.Verbs.(interface{ Replaced() uint64 })
	if n := link.Replaced(); n != 0 { // an adapter was given other memory than was registered
		t.Errorf("%d queue pairs have failed", n)
	}
}

// TestPortsFail: with two ports a job goes on when one of a task's goes down, or is gone:
// each addition is done once. With the last one the others are lost: 435.
func TestPortsFail(t *testing.T) {
	j := newJob(t, 2, with("MP_INSTANCES=2", "MP_INFOLEVEL=2"))
	for i, d := range j.devices {
		if len(d) != 2 {
			t.Fatalf("task %d has %d ports", i, len(d))
		}
	}
	k, word, one, done := j.tasks[0], new(int64), new(int64), new(int32)
	*one = 1
	long, sink := make([]byte, 2<<20), make([]byte, 2<<20)
	for i := range long {
		long[i] = byte(i >> 4)
	}
	added := int64(0)
	work := func(what string, meanwhile func()) {
		t.Helper()
		*done = 0
		for i := range 40 {
			j.ok(k.Rmw(8, wire.FetchAndAdd, 1, at(word), at(one), 0, at(done)))
			if i == 20 {
				clear(sink)
				j.ok(k.Put(1, uint64(len(long)), at(&sink[0]), at(&long[0]), at(done), 0, 0))
				meanwhile()
			}
		}
		added += 40
		j.until(what, func() bool { return *done == 41 })
		if *word != added || !bytes.Equal(sink, long) {
			t.Fatalf("%s: %d additions instead of %d, or data is damaged", what, *word, added)
		}
	}
	work("nothing fails", func() {})
	work("a port is down", func() { j.devices[0][0].Down(true) })
	work("it is up again", func() { j.devices[0][0].Down(false) })
	work("the peer's is down", func() { j.devices[1][1].Down(true) })
	j.devices[1][1].Down(false)
	work("a port is gone", func() { j.devices[0][0].Raise(ibv.Event{Kind: ibv.Fatal}) })
	if e, some := k.NextError(); some {
		t.Errorf("the error handler hears of %+v", e)
	}
	for _, text := range []string{"is down; other ports", "is up again", "gone; other ports"} {
		j.until("word that a port "+text, func() bool {
			return strings.Contains(strings.Join(k.messages, "\n"), "port 0 (adapter "+
				k.portName()+") is "+strings.TrimPrefix(text, "is ")) // the first port's
		})
	}
	j.devices[0][1].Raise(ibv.Event{Kind: ibv.Fatal})
	j.until("the end", func() bool { return k.peers[1].Dead() })
	if e, some := k.NextError(); !some || e.Code != codes.ErrAdaptersDown || e.Of != 1 {
		t.Errorf("error event %+v, %v", e, some)
	}
	if code := k.Put(1, 8, at(word), at(one), 0, 0, 0); code != codes.ErrNoConnectivity {
		t.Errorf("a put after that: %s", codes.Name(code))
	}
}

// portName is the name of the task's first port.
func (k *testTask) portName() string {
	for _, m := range k.messages {
		if _, name, some := strings.Cut(m, "adapter "); some {
			name, _, _ = strings.Cut(name, ",")
			return name
		}
	}
	return ""
}

// TestPurgeOverRDMA: two tasks that gave each other up begin anew, and what was under way is gone.
func TestPurgeOverRDMA(t *testing.T) {
	j := newJob(t, 2, with())
	a, b := j.tasks[0], j.tasks[1]
	got, src := new(int64), new(int64)
	for round := range int64(3) {
		*src = round + 1
		arrived := new(int32)
		j.ok(a.Put(1, 8, at(got), at(src), at(arrived), 0, 0))
		j.until("a put", func() bool { return *arrived == 1 && *got == round+1 })
		j.ok(a.Purge(1))
		if code := a.Put(1, 8, at(got), at(src), 0, 0, 0); code != codes.ErrTgtPurged {
			t.Errorf("a put to a purged task: %s", codes.Name(code))
		}
		j.ok(b.Purge(0))
		j.ok(a.Resume(1))
		j.ok(b.Resume(0))
	}
	if len(a.events())+len(b.events()) != 0 {
		t.Error("an error handler is called")
	}
}

// TestLeftOverRDMA: a task that has ended its context is reported as over UDP.
func TestLeftOverRDMA(t *testing.T) {
	j := newJob(t, 2, with())
	a, b := j.tasks[0], j.tasks[1]
	word := new(int64)
	arrived := new(int32)
	j.ok(a.Put(1, 8, at(word), at(word), at(arrived), 0, 0))
	j.until("a put", func() bool { return *arrived == 1 })
	b.ended = true
	b.TermEnd()
	j.tasks = j.tasks[:1]
	j.until("its farewell", func() bool { return a.net.Verbs.HasLeft(transport.Endpoint(1)) })
	if code := a.Put(1, 8, at(word), at(word), 0, 0, 0); code != codes.ErrNoConnectivity {
		t.Errorf("a put to it: %s", codes.Name(code))
	}
	if e, some := a.NextError(); !some || e.Code != codes.ErrNoConnectivity {
		t.Errorf("error event %+v, %v", e, some)
	}
}
