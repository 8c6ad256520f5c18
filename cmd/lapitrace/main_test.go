package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lapi/core/trace"
	"lapi/transport/layout"
)

// writeTrace makes a trace of one call.
func writeTrace(t *testing.T, dir, partition string, task int) string {
	t.Helper()
	id := trace.Identity{Partition: partition, Task: task, NumTasks: 2, Instance: 1, Level: 1}
	f, err := trace.Create(dir, &id, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	f.Add(layout.TraceRecord{Ns: trace.Now(), Id: 1000, Thread: 1, Peer: -1,
		Kind: layout.TraceComplete | layout.TraceCall}, "LAPI_Init")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, id.Name())
}

func lapitrace(args ...string) (status int, out, errors string) {
	var stdout, stderr bytes.Buffer
	status = run(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	writeTrace(t, dir, "a", 0)
	path := writeTrace(t, dir, "a", 1)
	if err := os.WriteFile(filepath.Join(dir, "lapi-trace.a.9"),
		[]byte("no trace, but long enough to be one: "+strings.Repeat("x", 200)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lapi-trace.a.8"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 130); err != nil { // in the middle of its record
		t.Fatal(err)
	}
	status, out, errors := lapitrace(dir)
	if status != 0 || !strings.Contains(errors, "lapi-trace.a.9: not a trace") ||
		!strings.Contains(errors, "lapi-trace.a.8: not a trace") {
		t.Errorf("status %d: %s", status, errors)
	}
	d := parse(t, []byte(out))
	if d.count(0, "X", "LAPI_Init") != 1 || d.count(1, "X", "LAPI_Init") != 0 ||
		d.OtherData["tasks"] != 2.0 {
		t.Errorf("trace %s", out)
	}
}

func TestPartitions(t *testing.T) {
	dir := t.TempDir()
	writeTrace(t, dir, "a", 0)
	writeTrace(t, dir, "b", 0)
	if status, _, errors := lapitrace(dir); status != 1 || !strings.Contains(errors,
		"-partition: a, b") {
		t.Errorf("status %d: %s", status, errors)
	}
	out := filepath.Join(t.TempDir(), "b.json")
	if status, _, errors := lapitrace("-o", out, "-partition", "b", dir); status != 0 ||
		!strings.HasPrefix(errors, "1 tasks") {
		t.Errorf("status %d: %s", status, errors)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, raw)
}

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{dir}, 1, "MP_LAPI_TRACE_LEVEL"},
		{[]string{filepath.Join(dir, "missing")}, 1, "no such file"},
		{[]string{"-nonsense"}, 2, "usage"},
		{[]string{"-h"}, 0, "usage"},
		{[]string{"-o", filepath.Join(dir, "missing", "x"), writeTrace(t, t.TempDir(), "a", 0)}, 1,
			"no such file"},
	} {
		if status, _, errors := lapitrace(c.args...); status != c.status ||
			!strings.Contains(errors, c.says) {
			t.Errorf("%q: status %d, want %d: %s", c.args, status, c.status, errors)
		}
	}
}
