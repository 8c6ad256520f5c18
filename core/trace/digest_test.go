package trace

import (
	"strings"
	"testing"
	"time"

	"lapi/transport/layout"
)

// record is a record of a thread at a time in microseconds.
func record(us uint64, thread, peer int32, kind uint32, name string, size, id uint64,
	code int32) layout.TraceRecord {
	r := layout.TraceRecord{Ns: us * 1000, Thread: thread, Peer: peer, Kind: kind, Size: size, Id: id,
		Code: code}
	copy(r.Name[:], name)
	return r
}

// digested is a job of two tasks: task 0 (process 10) waits 40 us for a message of task 1, with a
// handler thread 12 and a service thread 13; task 1 copies 100 bytes to task 0.
func digested() []*Trace {
	const call, wait, message, handler = layout.TraceCall, layout.TraceWait, layout.TraceMessage,
		layout.TraceHandler
	const begin, end = layout.TraceBegin, layout.TraceEnd
	zero := &Trace{Head: Head{Identity: Identity{Task: 0, NumTasks: 2, Instance: 1}, PID: 10}}
	zero.Records = []layout.TraceRecord{
		record(0, 10, -1, begin|call, "LAPI_Waitcntr", 0, 0, 0),
		record(10, 10, -1, begin|wait, "wait", 0, 0, 0),
		record(20, 10, -1, begin|wait, "asleep", 0, 0, 0),
		record(30, 10, -1, end|wait, "", 0, 0, 0),
		record(35, 13, 1, layout.TraceReceived|message, "put", 8, 7, 0),
		record(36, 13, 1, end|message, "", 0, 0, 1), // refused
		record(40, 13, 1, layout.TraceReceived|message, "put", 8, 7, 0),
		record(45, 13, 1, end|message, "", 0, 0, 0),
		record(50, 10, -1, end|wait, "", 0, 0, 0),
		record(60, 10, -1, end|call, "", 0, 0, 0),
		record(70, 11, -1, begin|call, "LAPI_Put", 0, 0, 0),
		record(72, 11, -1, end|call, "", 0, 0, 417),
		record(80, 12, -1, begin|handler, "completion handler", 0, 0, 0),
		record(81, 12, -1, begin|call, "LAPI_Setcntr", 0, 0, 0),
		record(82, 12, -1, end|call, "", 0, 0, 0),
		record(90, 12, -1, end|handler, "", 0, 0, 0),
		record(100, 10, -1, begin|call, "LAPI_Term", 0, 0, 0),
	}
	one := &Trace{Head: Head{Identity: Identity{Task: 1, NumTasks: 2, Instance: 1}, PID: 20}}
	one.Records = []layout.TraceRecord{
		record(5, 20, 0, layout.TraceComplete|message, "copy to task", 100, 1000, 0),
		record(5, 20, 0, layout.TraceSent|message, "put", 100, 7, 500), // the copy's notice
		record(8, 20, 0, layout.TraceSent|message, "put", 8, 7, 500),
		record(9, 20, 0, layout.TraceComplete|message, "copy from task", 30, 1000, 0),
	}
	one.By = []uint8{layout.TraceByShm, layout.TraceByShm, layout.TraceByUDP, layout.TraceByShm}
	return []*Trace{one, zero}
}

// TestDigestSumsTimes: of calls, waits, sleeps and handlers, per task and per call; and threads have
// the names of what they do.
func TestDigestSumsTimes(t *testing.T) {
	d := Digests(digested())
	us := time.Microsecond
	if len(d.Tasks) != 2 {
		t.Fatalf("%+v", d.Tasks)
	}
	got := d.Tasks[0]
	if got.Task != 0 || got.Wall != 100*us || got.Calls != 62*us || got.Waiting != 40*us ||
		got.Asleep != 10*us || got.Handlers != 10*us {
		t.Errorf("%+v", got)
	}
	if names := strings.Join(got.Threads, ","); names != "main,thread 1,completion handlers,service" {
		t.Errorf("%s", names)
	}
	calls := map[string]CallTime{}
	for _, c := range d.Calls {
		calls[c.Name] = c
	}
	if c := calls["LAPI_Waitcntr"]; c.Count != 1 || c.Total != 60*us || c.Longest != 60*us {
		t.Errorf("%+v", c)
	}
	if calls["LAPI_Put"].Failed != 1 || calls["LAPI_Term"].Unending != 1 ||
		calls["LAPI_Setcntr"].Count != 1 || d.Calls[0].Name != "LAPI_Waitcntr" {
		t.Errorf("%+v", d.Calls)
	}
}

// TestDigestNamesTheOrigin: a wait belongs to the origin of the message that was taken before it
// ended, not of a refused message; without a message it belongs to none.
func TestDigestNamesTheOrigin(t *testing.T) {
	traces := digested()
	d := Digests(traces)
	if len(d.Waits) != 1 || d.Waits[0] != (Wait{Task: 0, From: 1, Count: 1,
		Total: 40 * time.Microsecond}) {
		t.Errorf("%+v", d.Waits)
	}
	traces[1].Records[7].Code = 1 // now that one is refused as well
	if d = Digests(traces); len(d.Waits) != 1 || d.Waits[0].From != -1 {
		t.Errorf("%+v", d.Waits)
	}
}

// TestDigestCountsBytesOnce: a copy and the message that reports it are one transfer; a copy from a
// task counts in the direction of the data; links are kept apart.
func TestDigestCountsBytesOnce(t *testing.T) {
	d := Digests(digested())
	want := []Pair{{From: 1, To: 0, By: "shared memory", Copies: 1, Bytes: 100},
		{From: 0, To: 1, By: "shared memory", Copies: 1, Bytes: 30},
		{From: 1, To: 0, By: "UDP/IP", Messages: 1, Bytes: 8}}
	if len(d.Pairs) != len(want) {
		t.Fatalf("%+v", d.Pairs)
	}
	for i, p := range want {
		if d.Pairs[i] != p {
			t.Errorf("%+v, not %+v", d.Pairs[i], p)
		}
	}
}

// TestDigestAsText: tables of at most as many lines as asked for, and the units.
func TestDigestAsText(t *testing.T) {
	var b strings.Builder
	if err := Digests(digested()).WriteText(&b, 2); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LAPI_Waitcntr", "60 us", "100 us", "62%", "and 2 more",
		"task 0      for task 1 ", "1 -> 0      shared memory", "100 bytes"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for d, want := range map[time.Duration]string{999: "999 ns", 1500: "1.5 us", 2e6: "2 ms",
		3e9: "3 s", 2000e9: "2000 s", 0: "0 ns"} {
		if got := brief(d); got != want {
			t.Errorf("%d: %s, not %s", d, got, want)
		}
	}
	b.Reset()
	if err := Digests(nil).WriteText(&b, 0); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestThreadsHaveNames: in the merged picture.
func TestThreadsHaveNames(t *testing.T) {
	m, err := Merge(digested())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int32]any{}
	for _, e := range m.Events {
		if e.Name == "thread_name" && e.PID == 0 {
			got[e.TID] = e.Args["name"]
		}
	}
	if got[10] != "main" || got[11] != "thread 1" || got[12] != "completion handlers" ||
		got[13] != "service" {
		t.Errorf("%v", got)
	}
}
