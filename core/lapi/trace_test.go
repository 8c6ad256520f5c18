package lapi

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/wire"
	"lapi/core/trace"
	"lapi/transport"
)

// tracedJob is newJob with tracing on. Each task counts as one thread.
func tracedJob(t testing.TB, n, level int, env map[string]string) (j *testJob, dir string) {
	t.Helper()
	dir = t.TempDir()
	vars := map[string]string{"MP_LAPI_TRACE_LEVEL": fmt.Sprint(level), "LAPI_TRACE_DIR": dir,
		"LAPI_TRACE_SIZE": "64"}
	maps.Copy(vars, env)
	j = newJob(t, n, vars)
	for i, k := range j.tasks {
		atomic.StoreUint32(&k.shared.Progress.LockWord, uint32(i+1))
	}
	return j, dir
}

// merged ends the job and merges its traces.
func (j *testJob) merged(dir string) *trace.Merged {
	j.t.Helper()
	var traces []*trace.Trace
	for i, k := range j.tasks {
		k.ended = true
		k.TermEnd()
		f, err := os.Open(filepath.Join(dir, fmt.Sprint("lapi-trace.test.", i)))
		if err != nil {
			j.t.Fatal(err)
		}
		one, err := trace.Read(f)
		f.Close()
		if err != nil {
			j.t.Fatal(err)
		}
		traces = append(traces, one)
	}
	m, err := trace.Merge(traces)
	if err != nil {
		j.t.Fatal(err)
	}
	return m
}

func countEvents(m *trace.Merged, phase, name string) (n int) {
	for i := range m.Events {
		if e := &m.Events[i]; e.Phase == phase && e.Name == name {
			n++
		}
	}
	return n
}

// exercise makes every kind of transfer once, or, where that says so, often.
func (j *testJob) exercise(puts, amsends int) {
	j.t.Helper()
	a, b := j.tasks[0], j.tasks[1]
	src, dst := make([]byte, 100_000), make([]byte, 100_000)
	small, big, got := new(int32), new(int32), new(int32)
	for range puts {
		j.ok(a.Put(1, 8, at(&dst[0]), at(&src[0]), at(small), 0, 0))
	}
	j.until("puts", func() bool { return int(*small) == puts })
	j.ok(a.Put(1, uint64(len(src)), at(&dst[0]), at(&src[0]), at(big), 0, 0))
	j.ok(a.Get(1, uint64(len(src)), at(&dst[0]), at(&src[0]), 0, at(got)))
	j.until("a long put and get", func() bool { return *big == 1 && *got == 1 })
	word, one, was, done := new(int64), new(int64), new(int64), new(int32)
	*one = 1
	j.ok(a.Rmw(8, wire.FetchAndAdd, 1, at(word), at(one), at(was), at(done)))
	j.until("a read-modify-write", func() bool { return *done == 1 })

	const handler, completion = 1000, 2000
	ran := 0
	b.headers[handler] = func(_ *headerCall, r *HeaderResult) {
		r.Buffer, r.Completion, r.RetFlags = at(&dst[0]), completion, host.RetLocalState
	}
	b.handlers[completion] = func(transport.Addr) { ran++ }
	for range amsends {
		j.ok(a.Amsend(1, handler, 0, 0, at(&src[0]), 64, 0, 0, 0))
	}
	j.until("active messages", func() bool { return ran == amsends })
}

// TestTrace: every message has its arrow, and the numbers are those of what was done.
func TestTrace(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			const puts, amsends = 40, 7
			named := puts // the long put is one by shared memory and RDMA, fragments by UDP
			if name != "udp" {
				named++
			}
			j, dir := tracedJob(t, 2, 5, env)
			j.exercise(puts, amsends)
			j.settle()
			m := j.merged(dir)
			s := m.Summary
			if s.Sent == 0 || s.Sent != s.Received || s.Arrows != s.Sent || s.Lost != 0 ||
				s.Broken != 0 {
				t.Errorf("summary %+v", s)
			}
			for _, want := range []struct {
				phase, name string
				n           int
			}{
				{"X", "send active message", amsends}, {"X", "active message", amsends},
				{"s", "active message", amsends},
				{"X", "header handler", amsends}, {"X", "completion handler", amsends},
				{"X", "LAPI_Init", 2},
				{"s", "put", named}, {"f", "put", named},
			} {
				if n := countEvents(m, want.phase, want.name); n != want.n {
					t.Errorf("%d events %s %q, want %d", n, want.phase, want.name, want.n)
				}
			}
			// small, big, got, done: one change each time.
			if n := countEvents(m, "i", "counter"); n != puts+3 {
				t.Errorf("%d counter changes, want %d", n, puts+3)
			}
			if countEvents(m, "i", "turn") == 0 || countEvents(m, "i", "packets sent") == 0 {
				t.Error("no turns, or no packets")
			}
		})
	}
}

// TestTraceRefused: a message that comes again is received once, and shows as a retransmission.
func TestTraceRefused(t *testing.T) {
	j, dir := tracedJob(t, 2, 5, paths["shm"])
	const handler = 1000
	calls := 0
	j.tasks[1].headers[handler] = func(_ *headerCall, r *HeaderResult) {
		if calls++; calls < 3 {
			r.CtlFlags = host.CtlDrop
		}
	}
	j.ok(j.tasks[0].Amsend(1, handler, 0, 0, 0, 0, 0, 0, 0))
	j.until("the message to be accepted", func() bool { return calls == 3 })
	j.settle()
	m := j.merged(dir)
	if s := m.Summary; s.Refused != 2 || s.Sent != s.Received || s.Arrows != s.Sent {
		t.Errorf("summary %+v", s)
	}
	if refused, accepted := countEvents(m, "X", "active message (refused)"),
		countEvents(m, "X", "active message"); refused != 2 || accepted != 1 {
		t.Errorf("%d refusals and %d messages", refused, accepted)
	}
	if countEvents(m, "i", "retransmitted") == 0 {
		t.Error("no retransmission")
	}
}

// settle turns the dispatchers until what the links hold was delivered.
func (j *testJob) settle() {
	j.t.Helper()
	for i, k := range j.tasks {
		ticket, code := k.FenceBegin()
		j.ok(code)
		j.until(fmt.Sprint("the fence of task ", i), func() bool { return k.tickets.Done(ticket) })
	}
}

// TestTraceLevels: each level has what it adds, and nothing of those above.
func TestTraceLevels(t *testing.T) {
	for level := range 6 {
		j, dir := tracedJob(t, 2, level, paths["shm"])
		j.exercise(3, 2)
		j.tasks[0].faults.Raise(codes.ErrUnknown, codes.IntErr, 1, "made up")
		if level == 0 {
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("level 0 leaves files: %v, %v", left, err)
			}
			continue
		}
		m := j.merged(dir)
		for _, want := range []struct {
			phase, name string
			from        int
		}{
			{"X", "LAPI_Init", 1}, {"i", "LAPI_ERR_UNKNOWN", 1}, {"X", "put", 2},
			{"X", "header handler", 3}, {"i", "counter", 3},
			{"i", "packets sent", 4}, {"i", "turn", 5},
		} {
			if has := countEvents(m, want.phase, want.name) > 0; has != (level >= want.from) {
				t.Errorf("level %d: %q is there: %v", level, want.name, has)
			}
		}
	}
}

// TestTraceNowhere: LAPI works on without its trace, and says why there is none.
func TestTraceNowhere(t *testing.T) {
	j := newJob(t, 2, map[string]string{"LAPI_USE_SHM": "only", "MP_LAPI_TRACE_LEVEL": "2",
		"LAPI_TRACE_DIR": filepath.Join(t.TempDir(), "missing")})
	j.exercise(1, 1)
	if text := strings.Join(j.tasks[0].messages, "\n"); !strings.Contains(text, "LAPI_TRACE_DIR") {
		t.Errorf("it says %q", text)
	}
}

// TestTraceAllocatesNothing: also while tracing.
func TestTraceAllocatesNothing(t *testing.T) {
	j, _ := tracedJob(t, 2, 5, paths["shm"])
	src, dst, target := new(uint64), new(uint64), new(int32)
	put := func() {
		want := *target + 1
		j.tasks[0].Put(1, 8, at(dst), at(src), at(target), 0, 0)
		for *target != want {
			j.tasks[1].Dispatch(0)
		}
	}
	put()
	if n := testing.AllocsPerRun(200, put); n != 0 {
		t.Errorf("%v allocations a put", n)
	}
}

// BenchmarkPut8Traced is BenchmarkPut8 at each level: level 0 is to cost what it costs there.
func BenchmarkPut8Traced(b *testing.B) {
	for level := range 6 {
		b.Run(fmt.Sprint("level", level), func(b *testing.B) {
			j, _ := tracedJob(b, 2, level,
				map[string]string{"LAPI_USE_SHM": "only", "LAPI_TRACE_SIZE": "512"})
			src, dst, target := new(uint64), new(uint64), new(int32)
			for b.Loop() {
				want := *target + 1
				j.tasks[0].Put(1, 8, at(dst), at(src), at(target), 0, 0)
				for *target != want {
					j.tasks[1].Dispatch(0)
				}
			}
		})
	}
}
