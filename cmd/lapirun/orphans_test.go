package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Processes that have left their task's group end too: when lapirun is killed, and when a task
// fails.
func TestOrphans(t *testing.T) {
	for _, how := range []string{sessionOrphan, daemonOrphan} {
		r, all := startOrphans(t, how, "wait; sleep 1000")
		r.signal(syscall.SIGKILL)
		r.want(137)
		gone(t, all)

		r, all = startOrphans(t, how, "exit 3")
		r.want(3)
		gone(t, all)
	}
	r, all := startOrphans(t, sessionOrphan, "exit 0") // the orphan holds the output open
	r.want(0)
	gone(t, all)
}

// A daemon of a job without failure was started on purpose, and stays.
func TestDaemonStays(t *testing.T) {
	r, all := startOrphans(t, daemonOrphan, "exit 0")
	r.want(0)
	left := 0
	for pid, start := range all {
		if s := state(pid); s != "" && s != "Z" && s != "X" && began(pid) == start {
			left++
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if left != 2 {
		t.Errorf("%d daemons are left, not 2", left)
	}
	gone(t, all)
}

// A process that has left the group and does nothing but exec itself ends too.
func TestOrphansInExec(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid(1)")
	}
	for range 20 {
		cmd := prepare("-n", "1", "sh", "-c",
			`setsid sh -c 'echo pid $$; exec sh -c "$AGAIN"' & wait`)
		cmd.Env = append(cmd.Env, `AGAIN=exec sh -c "$AGAIN"`)
		r := startCmd(t, cmd)
		orphan := processes(pids(t, r.lines(1, "pid ")))
		r.signal(syscall.SIGKILL)
		r.want(137)
		gone(t, orphan)
	}
}

// A process that runs away from the watchdog by forks ends too: each of its processes lives only
// until it has started the next.
func TestRunawayEnds(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	cmd := prepare("-n", "1", "sh", "-c",
		`(eval "$NEXT" >/dev/null 2>&1 &); while [ ! -e $RUNS ]; do sleep 0.02; done; exit 3`)
	cmd.Env = append(cmd.Env, "RUNS="+runs, `NEXT=: > $RUNS; sleep 0.02; sh -c "$NEXT" & exit`)
	r := startCmd(t, cmd)
	r.want(3)
	for limit := time.Now().Add(hang); len(withVariable(t,
		"RUNS="+runs)) > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("left behind: %q", withVariable(t, "RUNS="+runs))
		}
	}
}

// Orphans that have ended are collected while the job runs.
func TestOrphansAreCollected(t *testing.T) {
	r := start(t, "-n", "1", "sh", "-c",
		"for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.01 &); done; echo pid $$; exec sleep 1000")
	task := pids(t, r.lines(1, "pid "))
	watchdog := watchdogOf(t, r.cmd.Process.Pid)
	for limit := time.Now().Add(hang); ; time.Sleep(10 * time.Millisecond) {
		if left := children(t, watchdog); slices.Equal(left, task) {
			return
		} else if time.Now().After(limit) {
			t.Fatalf("children of the watchdog: %v, of which %v is the task", left, task)
		}
	}
}

// When the watchdog is killed, the kernel kills the tasks, and lapirun says why.
func TestKillWatchdog(t *testing.T) {
	r := start(t, "-n", "3", "sh", "-c", sleepers)
	tasks := processes(pids(t, r.lines(3, "pid ")))
	if err := unix.Kill(watchdogOf(t, r.cmd.Process.Pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r.want(1); !strings.Contains(r.err(), "the watchdog is gone") {
		t.Errorf("%q", r.err())
	}
	gone(t, tasks)
}

// Processes that have left their task's group end too when the watchdog is killed.
func TestKillWatchdogOfOrphans(t *testing.T) {
	for _, how := range []string{sessionOrphan, daemonOrphan} {
		r, all := startOrphans(t, how, "wait; sleep 1000")
		if err := unix.Kill(watchdogOf(t, r.cmd.Process.Pid), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r.want(1)
		gone(t, all)
	}
}

// With watchdog and lapirun killed at once, too.
func TestKillWatchdogToo(t *testing.T) {
	r := start(t, "-n", "3", "sh", "-c", "echo pid $$; exec sleep 1000")
	tasks := pids(t, r.lines(3, "pid "))
	watchdog := watchdogOf(t, r.cmd.Process.Pid)
	started := processes(append(tasks, watchdog))
	r.signal(syscall.SIGSTOP) // it is not to see the watchdog's end
	if err := unix.Kill(watchdog, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.signal(syscall.SIGKILL)
	r.want(137)
	gone(t, started)
}

// watchdogOf waits until the watchdog has taken its name.
func watchdogOf(t *testing.T, lapirun int) int {
	t.Helper()
	for limit := time.Now().Add(hang); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		for _, pid := range children(t, lapirun) {
			if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm",
				pid)); strings.TrimSpace(string(comm)) == watchdogName {
				return pid
			}
		}
	}
	t.Fatal("no watchdog")
	return 0
}

// Processes that a task leaves running in its process group end with the job, and cannot delay it
// for ever.
func TestLeftovers(t *testing.T) {
	r := start(t, "-n", "2", "sh", "-c", `sleep 1000 & echo pid $!`).want(0)
	gone(t, processes(pids(t, r.lines(2, "pid "))))
}
