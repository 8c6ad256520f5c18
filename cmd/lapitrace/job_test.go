package main

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
)

// event is what the tests look at, read independently of how it was written.
type event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat"`
	Ph    string         `json:"ph"`
	Ts    float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	ID    int            `json:"id"`
	Scope string         `json:"s"`
	Args  map[string]any `json:"args"`
}

type document struct {
	TraceEvents []event
	OtherData   map[string]any
}

func parse(t *testing.T, raw []byte) *document {
	t.Helper()
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func (d *document) count(task int, phase, name string) (n int) {
	for _, e := range d.TraceEvents {
		if e.Pid == task && e.Ph == phase && e.Name == name {
			n++
		}
	}
	return n
}

// TestJob looks at the trace of a job of tests/c/trace/traced.c, whose numbers stand below.
// run-trace names it in the environment.
func TestJob(t *testing.T) {
	path := os.Getenv("LAPI_TRACE_JSON")
	if path == "" {
		t.Skip("no trace of a job: tests/c/trace/run-trace (make trace-test) makes some and runs this test for each")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, raw)
	tasks, err := strconv.Atoi(os.Getenv("LAPI_TRACE_TASKS"))
	if err != nil {
		t.Fatal(err)
	}
	level, err := strconv.Atoi(os.Getenv("LAPI_TRACE_LEVEL"))
	if err != nil {
		t.Fatal(err)
	}
	for task := range tasks {
		checkCalls(t, d, task)
		if level >= 3 {
			checkHandlers(t, d, task)
		}
	}
	if level >= 2 {
		checkArrows(t, d)
	}
}

func checkCalls(t *testing.T, d *document, task int) {
	for name, want := range map[string]int{"LAPI_Init": 1, "LAPI_Term": 1, "LAPI_Put": 21,
		"LAPI_Amsend": 10, "LAPI_Get": 5,
		"LAPI_Waitcntr": 4, "LAPI_Address_init": 3, "LAPI_Gfence": 1, "LAPI_Qenv": 2} {
		if n := d.count(task, "X", name); n != want {
			t.Errorf("task %d: %d slices of %s, want %d", task, n, name, want)
		}
	}
	failed := 0
	for _, e := range d.TraceEvents {
		if code, ok := e.Args["code"].(float64); ok && e.Pid == task && e.Cat == "call" &&
			code != 0 {
			failed++
			if e.Name != "LAPI_Put" {
				t.Errorf("task %d: %s returned %v", task, e.Name, code)
			}
		}
	}
	if failed != 1 {
		t.Errorf("task %d: %d calls failed, want 1", task, failed)
	}
}

func checkHandlers(t *testing.T, d *document, task int) {
	for _, name := range []string{"header handler", "completion handler"} {
		if n := d.count(task, "X", name); n != 10 {
			t.Errorf("task %d: %d slices of %s, want 10", task, n, name)
		}
	}
	if d.count(task, "X", "wait") == 0 {
		t.Errorf("task %d never waited", task)
	}
}

// checkArrows: every message sent arrived, both ends of each arrow lie in a slice of a message, on
// the right tasks, in the right order.
func checkArrows(t *testing.T, d *document) {
	type side struct{ pid, tid int }
	from, to := map[int]event{}, map[int]event{}
	slices := map[side][]event{}
	sent := 0
	for _, e := range d.TraceEvents {
		switch {
		case e.Ph == "s":
			from[e.ID] = e
		case e.Ph == "f":
			to[e.ID] = e
		case e.Ph == "X" && e.Cat == "message":
			slices[side{e.Pid, e.Tid}] = append(slices[side{e.Pid, e.Tid}], e)
			if len(e.Name) > 5 && e.Name[:5] == "send " {
				sent++
			}
		}
	}
	if sent == 0 || len(from) != sent || len(to) != sent {
		t.Errorf("%d messages sent, %d arrows begin, %d end", sent, len(from), len(to))
	}
	inside := func(e event) *event {
		for i, s := range slices[side{e.Pid, e.Tid}] {
			if s.Ts <= e.Ts && e.Ts <= s.Ts+s.Dur {
				return &slices[side{e.Pid, e.Tid}][i]
			}
		}
		return nil
	}
	for id, a := range from {
		b, ok := to[id]
		if !ok {
			t.Errorf("arrow %d has no end", id)
			continue
		}
		out, in := inside(a), inside(b)
		if out == nil || in == nil {
			t.Errorf("arrow %d hangs in the air", id)
			continue
		}
		if b.Ts < a.Ts || int(out.Args["task"].(float64)) != b.Pid {
			t.Errorf("arrow %d: from %+v to %+v", id, a, b)
		}
	}
}
