package main

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParseRow(t *testing.T) {
	r, ok := parseRow("row,latency,put,8,0.3500,us,60.1,61.2,3")
	want := Row{Key: Key{Op: "latency/put", Size: 8}, Value: 0.35, Unit: "us", Before: 60.1,
		After: 61.2, Preempted: 3}
	if !ok || r != want {
		t.Fatalf("got %+v, %v", r, ok)
	}
	for _, bad := range []string{"", "hello", "row,latency,put,8,0.35,us,60,61",
		"row,a,b,x,1,us,1,1,0", "row,a,b,8,?,us,1,1,0", "row,a,b,8,1,us,1,1,0.5"} {
		if _, ok := parseRow(bad); ok {
			t.Errorf("%q was taken for a row", bad)
		}
	}
}

// series makes one result for each value, undisturbed.
func series(who, op string, size int, unit string, values ...float64) []Row {
	var rows []Row
	for i, v := range values {
		rows = append(rows, Row{Key: Key{who, op, size}, Round: i + 1, Value: v, Unit: unit,
			Before: 60, After: 60})
	}
	return rows
}

func TestSummariseDropsDisturbed(t *testing.T) {
	rows := series("shm", "latency/put", 8, "us", 1, 2, 3, 4, 5, 900)
	rows[5].After = 300
	rows = append(rows, series("raw", "queue/rate", 8, "M/s", 7)...)
	rows[6].Before = 300
	s := summarise(rows, 110)
	put := s.All[Key{"shm", "latency/put", 8}]
	if put.Median != 3 || put.Low != 2 || put.High != 4 || put.Kept != 5 || put.Dropped != 1 ||
		put.Disturbed {
		t.Errorf("put: %+v", put)
	}
	// nothing undisturbed: reported all the same, and marked
	queue := s.All[Key{"raw", "queue/rate", 8}]
	if queue.Median != 7 || !queue.Disturbed || queue.Kept != 0 {
		t.Errorf("queue: %+v", queue)
	}
	if s.Kept != 5 || s.Dropped != 2 {
		t.Errorf("kept %d, dropped %d", s.Kept, s.Dropped)
	}
}

func TestStateLimitFollowsSlowMachine(t *testing.T) {
	rows := series("raw", "queue/rate", 8, "M/s", 1, 2, 3, 4)
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
	add(series("raw", "cacheline/oneway", 0, "ns", 100))
	add(series("raw", "crossing/call", 0, "ns", 50))
	add(series("raw", "writev/time", 4096, "ns", 2000))
	add(series("raw", "writev/bandwidth", 1<<20, "GB/s", 10))
	add(series("raw", "udp/oneway", 8, "us", 2))
	add(series("raw", "udp/oneway", 4096, "us", 4))
	add(series("shm", "latency/put", 8, "us", 0.5))
	add(series("shm", "latency/get", 8, "us", 0.8))
	add(series("shm", "latency/put", 4096, "us", 3))
	add(series("shm", "bandwidth/put", 1<<20, "GB/s", 8))
	add(series("udp", "latency/get", 4096, "us", 12))
	add(series("udp", "gfence/gfence", 8, "us", 12))
	add(series("udp", "startup/init-term", 64, "ms", 100))
	return rows
}

func TestRawLimit(t *testing.T) {
	s := summarise(exampleRun(), 110)
	for _, c := range []struct {
		key  Key
		want float64
	}{
		{Key{"shm", "latency/put", 8}, 0.1},
		{Key{"shm", "latency/get", 8}, 0.2},
		{Key{"shm", "latency/put", 4096}, 2},
		{Key{"shm", "bandwidth/put", 1 << 20}, 10},
		{Key{"udp", "latency/get", 4096}, 6},
		{Key{"udp", "gfence/gfence", 8}, 6},
	} {
		if got, what := s.rawLimit(c.key); what == "" || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %v %q", c, got, what)
		}
	}
	if got, _ := s.rawLimit(Key{"udp", "startup/init-term", 64}); got != 0 {
		t.Error("start-up has no raw limit")
	}
}

// program makes an executable shell script in the folder of the programs.
func script(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "rawbench"), []byte("#!/bin/sh\n"+text),
		0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRunTrial(t *testing.T) {
	o := &options{bin: t.TempDir(), out: t.TempDir()}
	pr := program{who: "raw", name: "rawbench", args: []string{"queue"}}
	script(t, o.bin, "echo noise; echo row,queue,rate,8,5,M/s,60,60,0\n")
	rows := runTrial(context.Background(), o, pr, 3)
	if len(rows) != 1 || rows[0].Round != 3 || rows[0].Who != "raw" || rows[0].Value != 5 {
		t.Errorf("got %+v", rows)
	}
	for _, bad := range []string{"exit 3\n", "echo nothing to see\n",
		"echo row,queue,rate,8,5,M/s,60,60,0; exit 1\n"} {
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
	if _, _, err := execute(ctx, o, program{who: "raw", name: "rawbench",
		args: []string{"queue"}}); err == nil {
		t.Error("a killed trial succeeded")
	}
}

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {1, "1.00"}, {9.999, "10.00"}, {123456, "123456"}, {0.00123, "0.00123"},
		{45.67, "45.7"}} {
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
	if got := othersCores(1500*time.Millisecond, 500*time.Millisecond,
		time.Second); math.Abs(got-0.98) > 1e-9 {
		t.Errorf("others: %v", got)
	}
	if got := othersCores(500*time.Millisecond, 500*time.Millisecond, time.Second); got != 0 {
		t.Errorf("nobody else: %v", got)
	}
	rows := series("raw", "queue/rate", 8, "M/s", 1, 2)
	rows[1].Others = 1
	if s := summarise(rows, 110).All[Key{"raw", "queue/rate", 8}]; s.Median != 1 || s.Dropped != 1 {
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
