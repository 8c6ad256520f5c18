package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseRow(t *testing.T) {
	r, ok := parseRow("row,latency,put,8,0.3500,us,60.1,61.2,3")
	want := Row{Test: "latency", Op: "put", Size: 8, Value: 0.35, Unit: "us", Before: 60.1, After: 61.2, Preempted: 3}
	if !ok || r != want {
		t.Fatalf("got %+v, %v", r, ok)
	}
	for _, bad := range []string{"", "hello", "row,latency,put,8,0.35,us,60,61", "row,a,b,x,1,us,1,1,0", "row,a,b,8,?,us,1,1,0", "row,a,b,8,1,us,1,1,0.5"} {
		if _, ok := parseRow(bad); ok {
			t.Errorf("%q was taken for a row", bad)
		}
	}
}

func TestRawRoundTrip(t *testing.T) {
	rows := []Row{
		{Round: 1, Side: Ours, Medium: "shm", Test: "latency", Op: "put", Size: 8, Value: 0.3501, Unit: "us", Before: 60, After: 61},
		{Round: 2, Side: Raw, Test: "cacheline", Op: "oneway", Value: 55.5, Unit: "ns", Before: 400, After: 61, Preempted: 2},
	}
	path := filepath.Join(t.TempDir(), "raw.csv")
	if err := writeRaw(path, rows, 110); err != nil {
		t.Fatal(err)
	}
	got, err := readRaw(path)
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Fatalf("got %+v, %v", got, err)
	}
	text, _ := os.ReadFile(path)
	if !bytes.Contains(text, []byte("60.00,61.00,0,0,true")) || !bytes.Contains(text, []byte("400.0,61.00,2,0,false")) {
		t.Fatalf("state flags are wrong:\n%s", text)
	}
}

// series makes one result for each value, undisturbed.
func series(side Side, medium, test, op string, size int, unit string, values ...float64) []Row {
	var rows []Row
	for i, v := range values {
		rows = append(rows, Row{Round: i + 1, Side: side, Medium: medium, Test: test, Op: op, Size: size, Value: v, Unit: unit, Before: 60, After: 60})
	}
	return rows
}

func TestSummariseDropsDisturbed(t *testing.T) {
	rows := series(Ours, "shm", "latency", "put", 8, "us", 1, 2, 3, 4, 5, 900)
	rows[5].After = 300
	rows = append(rows, series(Raw, "", "queue", "rate", 8, "M/s", 7)...)
	rows[6].Before = 300
	s := summarise(rows, 110)
	put := s.get(Ours, "shm", "latency", "put", 8)
	if put.Median != 3 || put.Low != 2 || put.High != 4 || put.Kept != 5 || put.Dropped != 1 || put.Disturbed {
		t.Errorf("put: %+v", put)
	}
	// nothing undisturbed: reported all the same, and marked
	queue := s.get(Raw, "", "queue", "rate", 8)
	if queue.Median != 7 || !queue.Disturbed || queue.Kept != 0 {
		t.Errorf("queue: %+v", queue)
	}
	if s.Kept != 5 || s.Dropped != 2 {
		t.Errorf("kept %d, dropped %d", s.Kept, s.Dropped)
	}
}

func TestStateLimitFollowsSlowMachine(t *testing.T) {
	rows := series(Raw, "", "queue", "rate", 8, "M/s", 1, 2, 3, 4)
	if got := stateLimit(rows, 110); got != 110 {
		t.Errorf("fast machine: %v", got)
	}
	for i := range rows {
		rows[i].Before, rows[i].After = 140, 140
	}
	if got := stateLimit(rows, 110); math.Abs(got-210) > 1e-9 {
		t.Errorf("slow machine: %v, want 210", got)
	}
	if got := stateLimit(nil, 110); got != 110 {
		t.Errorf("no checks: %v", got)
	}
}

func exampleRun() []Row {
	var rows []Row
	add := func(r []Row) { rows = append(rows, r...) }
	add(series(Raw, "", "cacheline", "oneway", 0, "ns", 100))
	add(series(Raw, "", "crossing", "call", 0, "ns", 50))
	add(series(Raw, "", "writev", "time", 4096, "ns", 2000))
	add(series(Raw, "", "writev", "bandwidth", 1<<20, "GB/s", 10))
	add(series(Raw, "", "udp", "oneway", 8, "us", 2))
	add(series(Raw, "", "udp", "oneway", 4096, "us", 4))
	add(series(Ours, "shm", "latency", "put", 8, "us", 0.5))
	add(series(Ours, "shm", "latency", "get", 8, "us", 0.8))
	add(series(Ours, "shm", "latency", "put", 4096, "us", 3))
	add(series(Ours, "shm", "bandwidth", "put", 1<<20, "GB/s", 8))
	add(series(Ours, "udp", "latency", "get", 4096, "us", 12))
	add(series(Ours, "udp", "gfence", "gfence", 8, "us", 12))
	add(series(Ours, "udp", "startup", "init-term", 64, "ms", 100))
	return rows
}

func TestRawLimit(t *testing.T) {
	s := summarise(exampleRun(), 110)
	for _, c := range []struct {
		medium, test, op string
		size             int
		want             float64
	}{
		{"shm", "latency", "put", 8, 0.1},
		{"shm", "latency", "get", 8, 0.2},
		{"shm", "latency", "put", 4096, 2},
		{"shm", "bandwidth", "put", 1 << 20, 10},
		{"udp", "latency", "get", 4096, 6},
		{"udp", "gfence", "gfence", 8, 6},
	} {
		got, what, ok := s.rawLimit(s.get(Ours, c.medium, c.test, c.op, c.size))
		if !ok || what == "" || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %v %q %v", c, got, what, ok)
		}
	}
	if _, _, ok := s.rawLimit(s.get(Ours, "udp", "startup", "init-term", 64)); ok {
		t.Error("start-up has no raw limit")
	}
}

func TestExpectations(t *testing.T) {
	s := summarise(exampleRun(), 110)
	got := map[string]string{}
	for _, e := range s.expectations() {
		got[e.What] = e.Verdict()
	}
	want := map[string]string{
		"shm put bandwidth, 1 MiB":             "missed",  // 8 < 0.9 x 10
		"shm put one way, 8 B":                 "reached", // 0.5 <= 5 x 0.1 + 2 x 0.05
		"udp LAPI_Init to LAPI_Term, 64 tasks": "reached",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestTableAndCSV(t *testing.T) {
	o := &options{out: t.TempDir(), stateLimit: 110}
	if err := report(o, exampleRun()); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"table.txt":    "0.500 [0.500 0.500] 5.00x",
		"results.csv":  "ours,shm,latency,get,8,0.8000,0.8000,0.8000,us,1,0,false,0.2000,cache line x 2,4.000",
		"expected.csv": "\"shm put bandwidth, 1 MiB\",at least,9.000,0.9 x process_vm_writev,8.000,GB/s,missed",
	} {
		text, err := os.ReadFile(filepath.Join(o.out, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q (%v):\n%s", file, want, err, text)
		}
	}
}

func TestPlotScript(t *testing.T) {
	s := summarise(exampleRun(), 110)
	script, n := pictures()[0].script(s, "x.png")
	if n != 2 || !strings.Contains(string(script), "8 0.5 0.5 0.5\n4096 3 3 3\n") || !strings.Contains(string(script), "4194304 0.1 0.1 0.1\n") {
		t.Errorf("%d curves:\n%s", n, script)
	}
}

// program makes an executable shell script in the folder of the programs.
func script(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "rawbench"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRunTrial(t *testing.T) {
	o := &options{bin: t.TempDir(), out: t.TempDir()}
	pr := program{side: Raw, name: "rawbench", args: []string{"queue"}}
	script(t, o.bin, "echo noise; echo row,queue,rate,8,5,M/s,60,60,0\n")
	rows := runTrial(context.Background(), o, pr, 3)
	if len(rows) != 1 || rows[0].Round != 3 || rows[0].Side != Raw || rows[0].Value != 5 {
		t.Errorf("got %+v", rows)
	}
	for _, bad := range []string{"exit 3\n", "echo nothing to see\n", "echo row,queue,rate,8,5,M/s,60,60,0; exit 1\n"} {
		script(t, o.bin, bad)
		if rows := runTrial(context.Background(), o, pr, 1); rows != nil {
			t.Errorf("%q gave %+v", bad, rows)
		}
	}
}

func TestInterruptEndsTrial(t *testing.T) {
	o := &options{bin: t.TempDir(), out: t.TempDir()}
	script(t, o.bin, "sleep 1000\n")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := execute(ctx, o, program{side: Raw, name: "rawbench", args: []string{"queue"}}); err == nil {
		t.Error("a killed trial succeeded")
	}
}

func TestCompleteNamesMissing(t *testing.T) {
	o := &options{quick: true}
	err := complete(o, exampleRun())
	if err == nil || !strings.Contains(err.Error(), "udp-rate/rate") || strings.Contains(err.Error(), "shm-latency") {
		t.Errorf("got %v", err)
	}
	o.rawOnly = true
	if err := complete(o, nil); err != nil {
		t.Errorf("raw only: %v", err)
	}
}

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {1, "1.00"}, {9.999, "10.00"}, {123456, "123456"}, {0.00123, "0.00123"}, {45.67, "45.7"}} {
		if got := brief(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

func TestOthers(t *testing.T) {
	if got := parseBusy("cpu  100 1 20 9999 5 3 2 1 0 0\ncpu0 1 1 1\n"); got != 127*tick {
		t.Errorf("busy: %v", got)
	}
	if got := parseBusy("intr 5"); got != 0 {
		t.Errorf("no line: %v", got)
	}
	if got := othersCores(1500*time.Millisecond, 500*time.Millisecond, time.Second); math.Abs(got-0.98) > 1e-9 {
		t.Errorf("others: %v", got)
	}
	if got := othersCores(500*time.Millisecond, 500*time.Millisecond, time.Second); got != 0 {
		t.Errorf("nobody else: %v", got)
	}
	rows := series(Raw, "", "queue", "rate", 8, "M/s", 1, 2)
	rows[1].Others = 1
	if s := summarise(rows, 110).get(Raw, "", "queue", "rate", 8); s.Median != 1 || s.Dropped != 1 {
		t.Errorf("a trial beside other programs was kept: %+v", s)
	}
}

func TestAccounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board")
	if err := os.WriteFile(path, binary.NativeEndian.AppendUint64(nil, 1500), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := accounted(path); got != 1500 {
		t.Errorf("got %v", got)
	}
	if got := accounted(path + "-missing"); got != 0 {
		t.Errorf("no board: %v", got)
	}
}

func TestPatienceEnds(t *testing.T) {
	patience := -time.Second
	waitQuiet(context.Background(), &patience) // must return at once
	if patience != -time.Second {
		t.Errorf("patience is %v", patience)
	}
}
