package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

// The tests run this test binary as lapirun (asVariable=lapirun), which starts it again as its
// watchdog, and as tasks (asVariable=task).
const asVariable = "LAPIRUN_TEST_AS"

func TestMain(m *testing.M) {
	if os.Args[0] == watchdogName {
		reap(os.NewFile(3, "lapirun"))
		// with the race detector an exit would take a second, and lapirun waits for it
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	if len(os.Args) == 2 && os.Args[1] == listName {
		os.Exit(list())
	}
	as := os.Getenv(asVariable)
	os.Unsetenv(asVariable)
	switch as {
	case "lapirun":
		if os.Getenv(patientVariable) != "" {
			reapDelay = hang
		}
		os.Exit(run(append([]string{"lapirun"}, os.Args[1:]...), os.Environ()))
	case "task":
		exit(lapiTask())
	case "inspect":
		exit(inspect())
	}
	// A test binary with the race detector by default sleeps a second before it exits; its tasks
	// shall not.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Println("FAIL:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// lapiTask wires up with the other tasks as LAPI_Init does.
func lapiTask() error {
	c, err := job.FromEnv(os.LookupEnv, nil)
	if err != nil {
		return err
	}
	s, err := job.Open(c, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	key, authenticated, err := c.Key()
	if err != nil || !authenticated {
		return fmt.Errorf("key: %v %v", authenticated, err)
	}
	for range 3 {
		parts, err := s.Exchange(job.Part{Data: append([]byte{byte(c.Task)}, key...),
			Files: []int{0}})
		if err != nil {
			return err
		}
		for t, p := range parts {
			if len(p.Data) != 1+len(key) || p.Data[0] != byte(t) || !bytes.Equal(p.Data[1:], key) ||
				len(p.Files) != 1 {
				return fmt.Errorf("part of task %d: %+v", t, p)
			}
			unix.Close(p.Files[0])
		}
	}
	if os.Getenv("LAPIRUN_TEST_LEAVE") == "no" {
		return awaitDeath(c, s)
	}
	s.Leave()
	return nil
}

// awaitDeath: task 1 ends as LAPIRUN_TEST_END says, and all others wait for the notice.
func awaitDeath(c *job.Config, s job.Session) error {
	if c.Task == 1 {
		if os.Getenv("LAPIRUN_TEST_END") == "kill" {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		return nil
	}
	set := []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
	for {
		_, _ = unix.Poll(set, -1)
		if e, ok := s.Poll(); ok {
			fmt.Printf("%d %d %s\n", e.Kind, e.Task, e.Text)
			s.Leave()
			return nil
		}
	}
}

const hang = 60 * time.Second // only against hangs

// patientVariable has lapirun wait for a task's end as long as it takes before it says why its
// connection was closed.
const patientVariable = "LAPIRUN_TEST_PATIENT"

// lr is one run of lapirun.
type lr struct {
	t              *testing.T
	cmd            *exec.Cmd
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	done           chan struct{}
}

func (r *lr) locked(b *bytes.Buffer) io.Writer {
	return writerFunc(func(p []byte) (int,
		error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return b.Write(p)
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (r *lr) out() string { r.mu.Lock(); defer r.mu.Unlock(); return r.stdout.String() }
func (r *lr) err() string { r.mu.Lock(); defer r.mu.Unlock(); return r.stderr.String() }

// prepare makes a command that runs lapirun with args.
func prepare(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asVariable+"=lapirun")
	return cmd
}

func start(t *testing.T, args ...string) *lr { return startCmd(t, prepare(args...)) }

func startCmd(t *testing.T, cmd *exec.Cmd) *lr {
	t.Helper()
	r := &lr{t: t, cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = r.locked(&r.stdout)
	}
	cmd.Stderr = r.locked(&r.stderr)
	cmd.WaitDelay = hang
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(r.done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-r.done })
	return r
}

// status waits for the end and returns the exit status, 128 and more for signals.
func (r *lr) status() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(hang):
		r.t.Fatalf("lapirun hangs; output so far:\n%s%s", r.out(), r.err())
	}
	ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// want checks the exit status.
func (r *lr) want(status int) *lr {
	r.t.Helper()
	if got := r.status(); got != status {
		r.t.Errorf("exit status %d, not %d\n%s%s", got, status, r.out(), r.err())
	}
	return r
}

// lines waits until n lines that begin with prefix were written, and returns what follows it.
func (r *lr) lines(n int, prefix string) []string {
	r.t.Helper()
	for limit := time.Now().Add(hang); ; time.Sleep(2 * time.Millisecond) {
		var found []string
		for _, line := range strings.SplitAfter(r.out(), "\n") {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(line, "\n") {
				found = append(found, strings.TrimSpace(rest))
			}
		}
		if len(found) >= n {
			return found
		}
		if time.Now().After(limit) {
			r.t.Fatalf("not %d lines %q; output:\n%s%s", n, prefix, r.out(), r.err())
		}
	}
}

func (r *lr) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

func pids(t *testing.T, texts []string) []int {
	t.Helper()
	var all []int
	for _, s := range texts {
		for _, f := range strings.Fields(s) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	}
	return all
}

// state is the kernel's letter for a process: R, S, T, Z ...; "" if there is none.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

// began is when a process started, in clock ticks since boot, which distinguishes it from a later
// one with its number; "" if there is none.
func began(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)[19]
}

// processes remembers processes while they certainly run.
func processes(all []int) map[int]string {
	m := make(map[int]string)
	for _, pid := range all {
		m[pid] = began(pid)
	}
	return m
}

// gone waits until none of the processes is left; a zombie that its new parent has not collected
// does not count.
func gone(t *testing.T, all map[int]string) {
	t.Helper()
	for limit := time.Now().Add(hang); ; time.Sleep(2 * time.Millisecond) {
		var left []string
		for pid, start := range all {
			if s := state(pid); s != "" && s != "Z" && s != "X" && began(pid) == start {
				command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				left = append(left, fmt.Sprintf("%d (%s, %q)", pid, s, command))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("left behind: %v", left)
		}
	}
}

// children are the processes whose parent is pid.
func children(t *testing.T, pid int) []int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this kernel does not list children in /proc")
	}
	if err != nil {
		t.Fatal(err)
	}
	return pids(t, []string{string(data)})
}

// TestMissingProgramIsSaidPlainly: what is wrong with the program, in a user's words, and the status
// that a shell has for it.
func TestMissingProgramIsSaidPlainly(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "here"), "text")
	for _, k := range []struct {
		program, says string
		status        int
	}{{"./nothing", "lapirun: there is no program ./nothing\n", exitNotFound},
		{"nothing-at-all", "lapirun: there is no program nothing-at-all in PATH\n", exitNotFound},
		{"here", "for the file in this folder write ./here\n", exitNotFound},
		{"./here", "lapirun: ./here cannot be run: it is not marked as a program (chmod +x ./here)\n",
			exitNotRunnable},
		{dir, "cannot be run: it is a folder\n", exitNotRunnable}} {
		cmd := prepare(k.program)
		cmd.Dir = dir
		r := startCmd(t, cmd)
		if status := r.status(); status != k.status || !strings.HasSuffix(r.err(), k.says) {
			t.Errorf("%s: status %d, %q", k.program, status, r.err())
		}
	}
}

// TestSettingsFileGivesDefaults: to lapirun's own options, and to the tasks, below the environment.
func TestSettingsFileGivesDefaults(t *testing.T) {
	conf := write(t, filepath.Join(t.TempDir(), "conf"), "MP_LABELIO = yes\nMP_EUILIB = us\n"+
		"MP_INFOLEVEL = 0\n")
	cmd := prepare("-n", "1", "sh", "-c", "echo $MP_EUILIB $MP_INFOLEVEL")
	cmd.Env = append(cmd.Env, "LAPI_CONF="+conf, "MP_INFOLEVEL=1")
	r := startCmd(t, cmd)
	if status := r.status(); status != 0 || r.out() != "0:us 1\n" {
		t.Errorf("status %d, %q, %q", status, r.out(), r.err())
	}
}

// TestBindingsAreReported: one line a task.
func TestBindingsAreReported(t *testing.T) {
	for _, k := range []struct{ option, says string }{{"--bind=none", "task 1: not bound: processor"},
		{"--bind=core", "task 1: bound to processor"}} {
		r := start(t, "-n", "2", "--report-bindings", k.option, "true")
		if status := r.status(); status != 0 || !strings.Contains(r.err(), k.says) ||
			strings.Count(r.err(), "\n") != 2 {
			t.Errorf("%s: status %d, %q", k.option, status, r.err())
		}
	}
}

// TestLabelsNameTheHost: -labelio host.
func TestLabelsNameTheHost(t *testing.T) {
	name, _ := os.Hostname()
	r := start(t, "-labelio", "host", "echo", "x")
	if status := r.status(); status != 0 || r.out() != name+":0:x\n" {
		t.Errorf("status %d, %q", status, r.out())
	}
}
