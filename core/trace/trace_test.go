package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lapi/invariant"
	"lapi/transport/layout"
)

const testSize = 1 << 20

func create(t testing.TB, dir string, task int) *File {
	t.Helper()
	f, err := Create(dir,
		&Identity{Partition: "job/1", Task: task, NumTasks: 2, Instance: 1, Level: 5}, testSize)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readFile(t testing.TB, path string) *Trace {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// pair records a message and its arrival between two calls.
func pair(t testing.TB, dir string) (paths [2]string) {
	t.Helper()
	origin, target := create(t, dir, 0), create(t, dir, 1)
	at := Now()
	origin.Add(layout.TraceRecord{Ns: at, Thread: 10, Peer: -1,
		Kind: layout.TraceBegin | layout.TraceCall}, "LAPI_Put")
	origin.Add(layout.TraceRecord{Ns: at + 100, Id: 77, Size: 8, Thread: 10, Peer: 1, Code: 50,
		Kind: layout.TraceSent | layout.TraceMessage}, "put")
	origin.Add(layout.TraceRecord{Ns: at + 200, Thread: 10, Peer: -1, Code: 417,
		Kind: layout.TraceEnd | layout.TraceCall}, "")
	target.Add(layout.TraceRecord{Ns: at + 300, Id: 77, Size: 8, Thread: 20, Peer: 0,
		Kind: layout.TraceReceived | layout.TraceMessage}, "put")
	target.Add(layout.TraceRecord{Ns: at + 310, Thread: 20, Code: 1,
		Kind: layout.TraceEnd | layout.TraceMessage}, "")
	target.Add(layout.TraceRecord{Ns: at + 400, Id: 77, Size: 8, Thread: 20, Peer: 0,
		Kind: layout.TraceReceived | layout.TraceMessage}, "put")
	target.Add(layout.TraceRecord{Ns: at + 410, Id: 5, Thread: 20, Peer: 0,
		Kind: layout.TraceInstant | layout.TraceCounter}, "counter")
	target.Add(layout.TraceRecord{
		Ns: at + 500, Thread: 20, Kind: layout.TraceEnd | layout.TraceMessage}, "")
	for i, f := range []*File{origin, target} {
		paths[i] = f.file.Name()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	paths := pair(t, dir)
	if want := filepath.Join(dir, "lapi-trace.job_1.0"); paths[0] != want {
		t.Errorf("the file is %s, want %s", paths[0], want)
	}
	got := readFile(t, paths[0])
	if got.Partition != "job/1" || got.Task != 0 || got.NumTasks != 2 || got.PID != os.Getpid() ||
		got.Level != 5 {
		t.Errorf("head %+v", got.Head)
	}
	if len(got.Records) != 3 || text(got.Records[1].Name[:]) != "put" || got.Records[1].Id != 77 ||
		got.Records[2].Code != 417 {
		t.Errorf("records %+v", got.Records)
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(headSize + 3*recordSize); info.Size() != want {
		t.Errorf("%d bytes after Close, want %d", info.Size(), want)
	}
}

func TestMerge(t *testing.T) {
	paths := pair(t, t.TempDir())
	m, err := Merge([]*Trace{readFile(t, paths[1]), readFile(t, paths[0])})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Summary
	if s.Tasks != 2 || s.Sent != 1 || s.Received != 1 || s.Refused != 1 || s.Arrows != 1 ||
		s.Calls["LAPI_Put"] != 1 {
		t.Errorf("summary %+v", s)
	}
	var from, to, put *Event
	for i := range m.Events {
		switch e := &m.Events[i]; {
		case e.Phase == "s":
			from = e
		case e.Phase == "f":
			to = e
		case e.Name == "LAPI_Put":
			put = e
		}
	}
	if from == nil || to == nil || put == nil {
		t.Fatalf("events %+v", m.Events)
	}
	// Differences of times that are microseconds as floating point.
	near := func(got, want float64) bool { return got-want < 1e-6 && want-got < 1e-6 }
	if from.ID != to.ID || from.PID != 0 || to.PID != 1 || !near(to.Time-from.Time, 0.3) {
		t.Errorf("arrow from %+v to %+v", from, to)
	}
	if put.Duration == nil || !near(*put.Duration, 0.2) || put.Args["code"] != int32(417) {
		t.Errorf("call %+v", put)
	}
}

func TestMergeRefusesOtherJobs(t *testing.T) {
	paths := pair(t, t.TempDir())
	one := readFile(t, paths[0])
	other := readFile(t, paths[1])
	other.Partition = "another"
	if _, err := Merge([]*Trace{one, other}); err == nil {
		t.Error("traces of two jobs were merged")
	}
	if _, err := Merge([]*Trace{one, one}); err == nil {
		t.Error("two traces of one task were merged")
	}
	if _, err := Merge(nil); err == nil {
		t.Error("nothing was merged")
	}
}

// TestMachines: what is simultaneous by the exchange of LAPI_Init is so in the result, whatever the
// machines' clocks say.
func TestMachines(t *testing.T) {
	paths := pair(t, t.TempDir())
	one, other := readFile(t, paths[0]), readFile(t, paths[1])
	other.Machine[0]++
	const ahead = 1e12
	other.OpenedNs = one.OpenedNs + ahead
	for i := range other.Records {
		other.Records[i].Ns += ahead
	}
	m, err := Merge([]*Trace{one, other})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Events {
		if e.Time < 0 || e.Time > 1e6 {
			t.Fatalf("%+v is not within a second of the beginning", e)
		}
	}
}

func TestFullFile(t *testing.T) {
	f, err := Create(t.TempDir(), &Identity{Partition: "p", NumTasks: 1, Instance: 2, Level: 1},
		int64(headSize+4*recordSize))
	if err != nil {
		t.Fatal(err)
	}
	path := f.file.Name()
	if !strings.HasSuffix(path, ".0.2") {
		t.Errorf("the second instance's file is %s", path)
	}
	for range 10 {
		f.Add(layout.TraceRecord{Kind: layout.TraceInstant | layout.TraceTurn},
			"a name that is longer than a record has room for")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := readFile(t, path)
	if len(got.Records) != 4 || got.Lost != 6 ||
		text(got.Records[0].Name[:]) != "a name that is longer th" {
		t.Errorf("%d records, %d lost, %q", len(got.Records), got.Lost, got.Records[0].Name)
	}
}

// TestKilled: a file that was never closed, with a record that was claimed and not filled.
func TestKilled(t *testing.T) {
	f := create(t, t.TempDir(), 0)
	defer f.Close()
	f.Add(layout.TraceRecord{Thread: 1, Kind: layout.TraceBegin | layout.TraceCall}, "LAPI_Fence")
	f.head.Next++
	f.Add(layout.TraceRecord{Ns: 5, Thread: 1, Kind: layout.TraceInstant | layout.TraceTurn},
		"turn")
	got := readFile(t, f.file.Name())
	if len(got.Records) != 2 || got.Broken != 1 {
		t.Fatalf("%d records, %d broken", len(got.Records), got.Broken)
	}
	s := got.slices()
	if !s[0].open || s[0].end != 5 {
		t.Errorf("the call that was not over: %+v", s[0])
	}
}

func TestConcurrentWriters(t *testing.T) {
	f := create(t, t.TempDir(), 0)
	path := f.file.Name()
	const writers, each = 4, 500
	var wait invariant.Group
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				f.Add(layout.TraceRecord{Id: uint64(i), Thread: int32(w),
					Kind: layout.TraceInstant | layout.TraceTurn}, "turn")
			}
		})
	}
	wait.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	next := [writers]uint64{}
	for _, r := range readFile(t, path).Records {
		if r.Id != next[r.Thread] {
			t.Fatalf("writer %d: record %d where %d should be", r.Thread, r.Id, next[r.Thread])
		}
		next[r.Thread]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: %d records", w, n)
		}
	}
}

func TestCreateFails(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "missing"), &Identity{NumTasks: 1, Instance: 1},
		testSize); err == nil {
		t.Error("a file in no folder")
	}
	dir := t.TempDir()
	if _, err := Create(dir, &Identity{NumTasks: 1, Instance: 1}, int64(headSize)); err == nil {
		t.Error("a file without room for a record")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Error("a failed Create leaves a file")
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	f := create(t, t.TempDir(), 0)
	defer f.Close()
	if n := testing.AllocsPerRun(100, func() {
		f.Add(layout.TraceRecord{Ns: Now(), Kind: layout.TraceInstant | layout.TraceTurn}, "turn")
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// FuzzRead: whatever a file holds, reading and merging it ends, and the result is JSON.
func FuzzRead(f *testing.F) {
	for _, path := range pair(f, f.TempDir()) {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw[:len(raw)/2])
		f.Add(raw, []byte("something else"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var traces []*Trace
		for _, raw := range [][]byte{a, b} {
			if trace, err := Read(bytes.NewReader(raw)); err == nil {
				traces = append(traces, trace)
			} else if err != ErrForeign {
				t.Fatalf("unexpected error %v", err)
			}
		}
		if err := Digests(traces).WriteText(io.Discard, 0); err != nil {
			t.Fatal(err)
		}
		m, err := Merge(traces)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := m.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("not JSON: %s", out.Bytes())
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	f, err := Create(b.TempDir(), &Identity{NumTasks: 1, Instance: 1}, 64<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		f.Add(layout.TraceRecord{Ns: Now(), Kind: layout.TraceInstant | layout.TraceTurn}, "turn")
	}
}
