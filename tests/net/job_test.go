package net

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lapi/tests/net/world"
)

// hang is a limit against hangs only.
const hang = 5 * time.Minute

// job is a run of lapirun. Its output is kept, and shown if the test fails.
type job struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan error
	// The file that a job of steady waits for before it ends; "": it waits for none.
	until string

	mu     sync.Mutex
	output bytes.Buffer
}

func (j *job) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output.Write(p)
}

func (j *job) out() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output.String()
}

// spread starts a job with some tasks on each node of w, tasks[n] on node n.
func spread(t *testing.T, w *world.World, tasks []int, environ []string, program ...string) *job {
	t.Helper()
	var args []string
	for n, procs := range tasks {
		args = append(args, "--on", w.Command(n), "-n", strconv.Itoa(procs))
	}
	if !filepath.IsAbs(program[0]) {
		program[0] = filepath.Join(*build, program[0])
	}
	j := &job{t: t, cmd: exec.Command(filepath.Join(*build, "bin/lapirun"),
		append(append(args, "--"), program...)...), done: make(chan error, 1)}
	j.cmd.Env = append(os.Environ(), environ...)
	j.cmd.Stdout, j.cmd.Stderr = j, j
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { j.done <- j.cmd.Wait() }()
	t.Cleanup(func() {
		if j.cmd.ProcessState == nil {
			_ = j.cmd.Process.Signal(syscall.SIGTERM)
		}
		if t.Failed() {
			t.Logf("lapirun %s:\n%.5000s", strings.Join(j.cmd.Args[1:], " "), j.out())
		}
	})
	return j
}

// steady starts a job of that program that goes on until it is waited for, and waits until it does.
func steady(t *testing.T, w *world.World, tasks []int, environ ...string) *job {
	t.Helper()
	until := filepath.Join(t.TempDir(), "over")
	j := spread(t, w, tasks, append(environ, "STEADY_UNTIL="+until), "net/steady", "1")
	j.until = until
	j.goesOn(tasks[0])
	return j
}

// goesOn waits until each driver of a job of steady has reported its round several more times: so
// it makes progress now, however long that takes on a busy machine. The first of these lines may be
// older.
func (j *job) goesOn(drivers int) {
	j.t.Helper()
	for driver := range drivers {
		line := fmt.Sprintf("steady: task %d: at round ", driver)
		want := strings.Count(j.out(), line) + 5
		j.waitUntil(func(out string) bool { return strings.Count(out, line) >= want },
			fmt.Sprintf("%q %d times", line, want))
	}
}

// wait waits for the end, which must be a success, and returns the output.
func (j *job) wait() string {
	j.t.Helper()
	if j.until != "" {
		if err := os.WriteFile(j.until, nil, 0o644); err != nil {
			j.t.Fatal(err)
		}
	}
	select {
	case err := <-j.done:
		if err != nil {
			j.t.Fatalf("lapirun: %v", err)
		}
	case <-time.After(hang):
		j.t.Fatalf("the job hangs")
	}
	return j.out()
}

// waitFor waits until the job has printed something.
func (j *job) waitFor(text string) {
	j.t.Helper()
	j.waitUntil(func(out string) bool { return strings.Contains(out, text) }, strconv.Quote(text))
}

// waitUntil waits until the job's output is enough.
func (j *job) waitUntil(enough func(out string) bool, what string) {
	j.t.Helper()
	for limit := time.Now().Add(hang); !enough(j.out()); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-j.done:
			j.done <- err
			j.t.Fatalf("the job has ended (%v) without saying %s", err, what)
		default:
		}
		if time.Now().After(limit) {
			j.t.Fatalf("the job does not say %s", what)
		}
	}
}

var closingLine = regexp.MustCompile(`(?m)^[a-z_]+: (\d+) passed, 0 failed, \d+ skipped$`)

// conforms runs a conformance program and checks that it did something, and all of it well.
func conforms(t *testing.T, w *world.World, tasks []int, program string, environ ...string) {
	t.Helper()
	environ = append([]string{"CONFORM_HANG_SECONDS=280"}, environ...)
	out := spread(t, w, tasks, environ, "conform/"+program).wait()
	if m := closingLine.FindStringSubmatch(out); m == nil || m[1] == "0" {
		t.Errorf("no closing line without failures")
	}
}

var steadyLine = regexp.MustCompile(`(?m)^steady: task \d+: (\d+) rounds, longest pause (\d+) us$`)

// pauses are the longest pauses of the drivers of a job of steady that has ended.
func (j *job) pauses(drivers int) []time.Duration {
	j.t.Helper()
	var all []time.Duration
	for _, m := range steadyLine.FindAllStringSubmatch(j.wait(), -1) {
		us, _ := strconv.Atoi(m[2])
		all = append(all, time.Duration(us)*time.Microsecond)
	}
	if len(all) != drivers {
		j.t.Fatalf("%d drivers have reported, not %d", len(all), drivers)
	}
	return all
}

func name(parts ...any) string { return strings.ReplaceAll(fmt.Sprint(parts...), " ", "_") }
