package sockets

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"lapi/core/dat"
	"lapi/core/dat/rc"
)

// child is a process that only sleeps.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// becomes waits until a process runs, or does not.
func becomes(t *testing.T, p processID, runs bool) {
	t.Helper()
	for i := 0; p.runs() != runs; i++ {
		if i == 1000 {
			t.Fatalf("runs is %v", !runs)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestProcessRuns: a process runs until it is stopped or ends, and is no other one.
func TestProcessRuns(t *testing.T) {
	c := child(t)
	p := identify(c.Process.Pid)
	becomes(t, p, true)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	becomes(t, p, false)
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	becomes(t, p, true)
	other := processID{p.pid, p.start + "1"}
	if other.runs() {
		t.Error("a process with the number of another one is that one")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	becomes(t, p, false) // it is there until it is waited for
	_ = c.Wait()
	if p.runs() {
		t.Error("one that has ended runs")
	}
	if (processID{}).runs() || identify(os.Getpid()).runs() {
		t.Error("one that may not be asked about runs")
	}
}

func TestReadStat(t *testing.T) {
	rest := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20"
	for _, c := range []struct {
		text  string
		state byte
		start string
	}{
		{"12 (a) S" + rest, 'S', "777"},
		{"12 (a) R b) T" + rest, 'T', "777"},
		{"12 (a) S 1 2", 0, ""},
		{"12 a S", 0, ""},
		{"", 0, ""},
	} {
		if state, start := readStat([]byte(c.text)); state != c.state || start != c.start {
			t.Errorf("%q: %q %q", c.text, state, start)
		}
	}
}

// TestSlowPeer: a process that does nothing for longer than the time-out, and is known to live, is
// not given up; once it is known no more, its silence counts.
func TestSlowPeer(t *testing.T) {
	p, q := newProcess(t), newProcess(t)
	a, b := p.end(nil, 0), q.end(nil, 0)
	connect(t, a, b)
	if p.l.Neighbours() != 1 {
		t.Skip("no shared memory between processes here")
	}
	c := child(t)
	for _, l := range p.network.door.lines {
		l.other = identify(c.Process.Pid)
	}
	must(t, "recv", a.ep.PostReceive(nil, 5, 0))
	must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send, Cookie: 6}))
	for begun := time.Now(); time.Since(begun) < 3*silence; time.Sleep(time.Millisecond) {
		p.l.Progress()
		if a.ep.State != dat.Connected {
			t.Fatalf("given up after %v", time.Since(begun))
		}
	}
	for _, l := range p.network.door.lines {
		l.other = processID{}
	}
	expect(t, a.con, dat.EventBroken, p)
}

// FuzzStat: whatever name a process has given itself, its state and start are what the kernel says.
func FuzzStat(f *testing.F) {
	f.Add([]byte("cat"), byte('S'), uint64(99))
	f.Add([]byte(") Z 1 (x) S 2"), byte('R'), uint64(0))
	f.Fuzz(func(t *testing.T, name []byte, state byte, start uint64) {
		if state <= ' ' || state > '~' || state == ')' {
			return
		}
		line := fmt.Appendf(nil, "7 (%s) %c%s %d 0", name, state,
			strings.Repeat(" 1", statStart-1), start)
		if s, when := readStat(line); s != state || when != fmt.Sprint(start) {
			t.Errorf("%q reads as %c and %s", line, s, when)
		}
		readStat(name) // any input, also if it is no such line
	})
}
