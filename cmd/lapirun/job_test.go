package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExitStatus(t *testing.T) {
	start(t, "-n", "3", "true").want(0)
	for script, want := range map[string]struct {
		status int
		says   string
	}{
		"[ $MP_CHILD != 2 ] || exit 7": {7, "task 2 (sh, process"},
		"[ $MP_CHILD != 1 ] || kill -9 $$": {137,
			"was killed by signal 9 (SIGKILL, killed) after"},
		"[ $MP_CHILD != 0 ] || kill -15 $$": {143, "task 0"},
	} {
		r := start(t, "-n", "3", "sh", "-c", script).want(want.status)
		if !strings.Contains(r.err(), want.says) {
			t.Errorf("%s: %q lacks %q", script, r.err(), want.says)
		}
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain, broken := filepath.Join(dir, "plain"), filepath.Join(dir, "broken")
	for name, mode := range map[string]os.FileMode{plain: 0o600, broken: 0o700} {
		if err := os.WriteFile(name, []byte("\x7fELF"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for program, status := range map[string]int{plain: 126, broken: 126,
		filepath.Join(dir, "missing"): 127, "no-such-program-anywhere": 127} {
		if r := start(t, "-n", "2", program).want(status); !strings.HasPrefix(r.err(),
			"lapirun: ") {
			t.Errorf("%s: %q", program, r.err())
		}
	}
	r := start(t, "-x").want(2)
	if !strings.Contains(r.err(), "-x") || !strings.Contains(r.err(), "lapirun -h") {
		t.Errorf("%q", r.err())
	}
	if r := start(t, "-h").want(0); !strings.Contains(r.out(), "Usage: lapirun") {
		t.Errorf("%q", r.out())
	}
}

// sleepers is a script whose tasks print their process and that of a child in the same group, and
// sleep.
const sleepers = `sleep 1000 & echo "pid $$ $!"; wait`

func TestDeathEndsOthers(t *testing.T) {
	r := start(t, "-n", "4", "sh", "-c", `if [ $MP_CHILD = 2 ]; then read x; exit 5; fi; `+sleepers)
	r.want(5) // task 2 has no input, so it exits at once
	if n := strings.Count(r.err(), "\n"); n != 1 || !strings.Contains(r.err(), "task 2") ||
		!strings.Contains(r.err(), "status 5") ||
		!strings.Contains(r.err(), "ending the other tasks") {
		t.Errorf("%q", r.err())
	}
	gone(t, processes(pids(t, r.lines(0, "pid "))))
}

func TestGrace(t *testing.T) {
	const grace = 3 * time.Second // for a shell to say a word, on a busy machine too
	trapped := filepath.Join(t.TempDir(), "trapped")
	script := `if [ $MP_CHILD = 1 ]; then while [ ! -e $TRAPPED ]; do sleep 0.02; done; exit 4; fi
trap "echo asked" TERM; echo pid $$; : > $TRAPPED; while :; do sleep 0.1; done`
	begin := time.Now()
	cmd := prepare("-n", "2", "--grace", fmt.Sprint(grace.Seconds()), "sh", "-c", script)
	cmd.Env = append(cmd.Env, "TRAPPED="+trapped)
	r := startCmd(t, cmd)
	r.want(4)
	if time.Since(begin) < grace {
		t.Errorf("the grace was only %v", time.Since(begin))
	}
	gone(t, processes(pids(t, r.lines(1, "pid "))))
	r.lines(1, "asked")
}

func TestKeepGoing(t *testing.T) {
	r := start(t, "-n", "3", "--keep-going", "sh", "-c",
		`if [ $MP_CHILD = 1 ]; then kill -9 $$; fi; sleep 0.4; echo done $MP_CHILD`).want(137)
	if got := len(r.lines(2, "done ")); got != 2 || !strings.Contains(r.err(), "task 1") ||
		strings.Contains(r.err(), "ending") {
		t.Errorf("%d tasks; %q", got, r.err())
	}
}

func TestWireUp(t *testing.T) {
	for _, n := range []string{"1", "2", "64"} {
		cmd := prepare("-n", n, "env", asVariable+"=task", os.Args[0])
		begin := time.Now()
		startCmd(t, cmd).want(0)
		t.Logf("%s tasks: %v", n, time.Since(begin))
	}
}

// With --keep-going the others are notified of a death, and how it came.
func TestDeathIsTold(t *testing.T) {
	for end, want := range map[string]string{"kill": "1 1 was killed by signal 9 (SIGKILL, killed)",
		"exit": "1 1 exited with status 0"} {
		cmd := prepare("-n", "3", "-k", "env", asVariable+"=task", "LAPIRUN_TEST_LEAVE=no",
			"LAPIRUN_TEST_END="+end, os.Args[0])
		cmd.Env = append(cmd.Env, patientVariable+"=yes")
		r := startCmd(t, cmd)
		r.want(map[string]int{"kill": 137, "exit": 0}[end])
		if got := strings.Count(r.out(), want+"\n"); got != 2 {
			t.Errorf("%s: %q", end, r.out())
		}
	}
}

func TestKillHard(t *testing.T) {
	for range 10 {
		r := start(t, "-n", "3", "sh", "-c", sleepers)
		all := pids(t, r.lines(3, "pid "))
		if len(all) != 6 {
			t.Fatalf("%v", all)
		}
		started := processes(append(all, children(t, r.cmd.Process.Pid)...)) // the watchdog too
		r.signal(syscall.SIGKILL)
		r.want(137)
		gone(t, started)
	}
}

// Killed at any moment, also between asking for a task and learning that it runs.
func TestKillHardWhileStarting(t *testing.T) {
	for i := range 20 {
		cmd := prepare("-n", "8", "sh", "-c", "sleep 1000 & sleep 1000")
		sign := fmt.Sprintf("LAPIRUN_TEST_RUN=%d.%d", os.Getpid(), i)
		cmd.Env = append(cmd.Env, sign)
		r := startCmd(t, cmd)
		time.Sleep(time.Duration(i) * time.Millisecond)
		r.signal(syscall.SIGKILL)
		_ = r.status()
		for limit := time.Now().Add(hang); len(withVariable(t,
			sign)) > 0; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("killed after %d ms, it leaves %q", i, withVariable(t, sign))
			}
		}
	}
}

// withVariable lists the processes whose environment has an entry.
func withVariable(t *testing.T, entry string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if environ, err := os.ReadFile(name); err == nil && strings.Contains(string(environ),
			entry+"\x00") {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			found = append(found, name+": "+string(command))
		}
	}
	return found
}

// orphanScript starts a process in a session of its own, out of reach of the signals to the task's
// group. START does it; the task goes on when the process runs and has left its number in ORPHAN.
const orphanScript = `eval "$START"; while [ ! -s $ORPHAN.$MP_CHILD ]; do sleep 0.02; done; `

// Ways to start an orphan: a child with the task's environment and output, and a daemon with
// neither, whose parent has ended.
const (
	sessionOrphan = `setsid sh -c 'echo $$ > $ORPHAN.$MP_CHILD; exec sleep 1000' &`
	daemonOrphan  = `(env -i PATH=$PATH F=$ORPHAN.$MP_CHILD setsid sh -c 'echo $$ > $F; exec env -i sleep 1000' >/dev/null 2>&1 </dev/null &)`
)

// startOrphans runs two tasks that start an orphan each and then do what rest says when both have.
// It returns the tasks' processes and the orphans.
func startOrphans(t *testing.T, how, rest string) (*lr, map[int]string) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid(1)")
	}
	file, rests := filepath.Join(t.TempDir(), "orphan"), filepath.Join(t.TempDir(), "rests")
	cmd := prepare("-n", "2", "sh", "-c",
		orphanScript+"echo pid $$; while [ ! -e $RESTS ]; do sleep 0.02; done; "+rest)
	cmd.Env = append(cmd.Env, "START="+how, "ORPHAN="+file, "RESTS="+rests)
	r := startCmd(t, cmd)
	all := pids(t, r.lines(2, "pid "))
	for _, task := range []string{"0", "1"} {
		number, err := os.ReadFile(file + "." + task)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pids(t, []string{string(number)})...)
	}
	started := processes(all)
	if err := os.WriteFile(rests, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return r, started
}

// withoutHangup: SIGHUP is ignored from outside (nohup), so lapirun and its tasks rightly ignore
// it, too.
func withoutHangup(s syscall.Signal) bool {
	return s == syscall.SIGHUP && signal.Ignored(syscall.SIGHUP)
}

func TestSignalsArePassed(t *testing.T) {
	if withoutHangup(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here: run the tests without nohup")
	}
	script := `trap 'echo got USR1' USR1; trap 'echo got USR2' USR2; trap 'echo got INT' INT; trap 'echo got HUP; exit 6' HUP
echo ready; while :; do sleep 0.02; done`
	r := start(t, "-n", "2", "sh", "-c", script)
	r.lines(2, "ready")
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT} {
		r.signal(s)
		r.lines(2, "got "+strings.TrimPrefix(unix.SignalName(s), "SIG"))
	}
	r.signal(syscall.SIGHUP)
	r.want(6) // the first task that exits ends the other, which may not get to its trap
	r.lines(1, "got HUP")
}

func TestSignalsEndTheJob(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP,
		syscall.SIGQUIT} {
		if withoutHangup(s) {
			continue
		}
		r := start(t, "-n", "2", "sh", "-c", "ulimit -c 0; echo pid $$; exec sleep 1000")
		all := processes(pids(t, r.lines(2, "pid ")))
		r.signal(s)
		r.want(128 + int(s))
		if r.err() != "" {
			t.Errorf("%v: %q", s, r.err())
		}
		gone(t, all)
	}
}

func TestSecondInterruptEndsTheJob(t *testing.T) {
	r := start(t, "-n", "2", "--grace", "0.2", "sh", "-c",
		`trap "echo got" INT; trap "" TERM; echo pid $$; while :; do sleep 0.02; done`)
	all := processes(pids(t, r.lines(2, "pid ")))
	r.signal(syscall.SIGINT)
	r.lines(2, "got")
	r.signal(syscall.SIGINT)
	r.want(130)
	gone(t, all)
}

// Tasks that do not end when lapirun gets a signal are killed by it: the status is that of the
// signal which it got, and no death is reported.
func TestSignalThenKill(t *testing.T) {
	r := start(t, "-n", "2", "--grace", "0.2", "sh", "-c",
		`trap "" TERM; echo pid $$; while :; do sleep 0.02; done`)
	all := processes(pids(t, r.lines(2, "pid ")))
	r.signal(syscall.SIGTERM)
	if r.want(143); r.err() != "" {
		t.Errorf("%q", r.err())
	}
	gone(t, all)
}

func TestStopAndContinue(t *testing.T) {
	r := start(t, "-n", "2", "sh", "-c", "echo pid $$; exec sleep 1000")
	all := append(pids(t, r.lines(2, "pid ")), r.cmd.Process.Pid)
	await := func(stopped bool) {
		t.Helper()
		for limit := time.Now().Add(hang); ; time.Sleep(2 * time.Millisecond) {
			n := 0
			for _, pid := range all {
				if (state(pid) == "T") == stopped {
					n++
				}
			}
			if n == len(all) {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("only %d of %d processes have stopped: %v", n, len(all), stopped)
			}
		}
	}
	r.signal(syscall.SIGTSTP)
	await(true)
	r.signal(syscall.SIGCONT)
	await(false)
	r.signal(syscall.SIGTERM)
	r.want(143)
}

func TestNohup(t *testing.T) {
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skip("no nohup(1)")
	}
	hungUp := filepath.Join(t.TempDir(), "hung-up")
	cmd := prepare("-n", "2", "sh", "-c",
		"echo ready; while [ ! -e $HUNG_UP ]; do sleep 0.02; done; echo end")
	cmd.Env = append(cmd.Env, "HUNG_UP="+hungUp)
	cmd.Path, cmd.Args = nohup, append([]string{"nohup"}, cmd.Args...)
	r := startCmd(t, cmd)
	r.lines(2, "ready")
	r.signal(syscall.SIGHUP)
	if err := os.WriteFile(hungUp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(0)
	r.lines(2, "end")
}

// inspect is a task that checks what lapirun has left it.
func inspect() error {
	for fd := range 3 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			return fmt.Errorf("descriptor %d: flags %#o, %v", fd, flags, err)
		}
	}
	if masks := signalMasks(); masks != os.Getenv(masksVariable) {
		return fmt.Errorf("signals ignored and blocked: %s, lapirun's own: %s", masks,
			os.Getenv(masksVariable))
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		link, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		n, _ := strconv.Atoi(fd.Name())
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil &&
			flags&unix.FD_CLOEXEC == 0 {
			fmt.Println("inherited", fd.Name(), link)
		}
	}
	return nil
}

// Tasks get blocking descriptors, no ignored or blocked signals, and of lapirun's descriptors only
// the socket to it. masksVariable passes on which signals whoever started the tests had ignored or
// blocked: tasks inherit just that.
const masksVariable = "LAPIRUN_TEST_MASKS"

// signalMasks is which signals this process ignores and blocks.
func signalMasks() (masks string) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	for _, line := range strings.Split(string(status), "\n") {
		if name, mask, _ := strings.Cut(line, ":"); name == "SigIgn" || name == "SigBlk" {
			masks += strings.TrimSpace(mask) + " "
		}
	}
	return masks
}

func TestWhatTasksInherit(t *testing.T) {
	r := start(t, "env", asVariable+"=inspect", masksVariable+"="+signalMasks(), os.Args[0]).want(0)
	own := map[string]bool{"0": true, "1": true, "2": true, strconv.Itoa(launcherFD): true}
	for _, fd := range r.lines(len(own), "inherited ") {
		number, link, _ := strings.Cut(fd, " ")
		// what the tests inherited from elsewhere, lapirun did too
		here, _ := os.Readlink("/proc/self/fd/" + number)
		if !own[number] && link != here {
			t.Errorf("descriptor %s is %s", number, link)
		}
	}
}
