package job_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"lapi/core/job"
	"lapi/core/job/hub"
	"lapi/core/job/wire"
)

// inProcess returns a session of a job of one task whose launcher is in this process, and the
// launcher's end.
func inProcess(t *testing.T) (*hub.Hub, *job.Config, job.Session) {
	t.Helper()
	h := hub.New(1, bytes.Repeat([]byte{9}, job.KeySize))
	mine, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(theirs) })
	if err := h.Serve(0, mine); err != nil {
		t.Fatal(err)
	}
	c := launchedConfig(t, theirs, 0, 1)
	s, err := job.Open(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return h, c, s
}

func launchedConfig(t *testing.T, socket, task, procs int) *job.Config {
	t.Helper()
	value, err := job.LauncherValue(socket, socket)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"MP_MSG_API": "lapi", "MP_CHILD": strconv.Itoa(task),
		"MP_PROCS": strconv.Itoa(procs), job.LauncherVariable: value}
	c, err := job.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPollDoesNotAllocate(t *testing.T) {
	_, _, s := inProcess(t)
	if n := testing.AllocsPerRun(1000, func() {
		if e, ok := s.Poll(); ok {
			t.Errorf("event %+v", e)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKeyFromLauncher(t *testing.T) {
	h, c, _ := inProcess(t)
	_ = h
	key, authenticated, err := c.Key()
	if err != nil || !authenticated || !bytes.Equal(key, bytes.Repeat([]byte{9}, job.KeySize)) {
		t.Errorf("%x %v %v", key, authenticated, err)
	}
}

// The key comes without a session too.
func TestKeyBeforeOpen(t *testing.T) {
	h := hub.New(2, bytes.Repeat([]byte{5}, job.KeySize))
	mine, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(theirs)
	if err := h.Serve(1, mine); err != nil {
		t.Fatal(err)
	}
	key, authenticated, err := launchedConfig(t, theirs, 1, 2).Key()
	if err != nil || !authenticated || !bytes.Equal(key, bytes.Repeat([]byte{5}, job.KeySize)) {
		t.Errorf("%x %v %v", key, authenticated, err)
	}
	if _, _, err := launchedConfig(t, theirs, 0, 2).Key(); err == nil ||
		!strings.Contains(err.Error(), "MP_CHILD") {
		t.Errorf("task 0 instead of task 1: %v", err)
	}
}

// When the launcher ends each session reports that once, and its descriptor is readable no more.
func TestLauncherGone(t *testing.T) {
	mine, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(theirs)
	gone := make(chan error, 1)
	go func() { gone <- welcomeAndGo(mine) }()
	c := launchedConfig(t, theirs, 0, 2)
	s, err := job.Open(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	set := []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
	if n, err := unix.Poll(set, int(guard.Milliseconds())); n != 1 {
		t.Fatalf("the descriptor is silent: %d, %v", n, err)
	}
	if e, ok := s.Poll(); !ok || e.Kind != job.LauncherGone {
		t.Errorf("event %+v %v", e, ok)
	}
	if e, ok := s.Poll(); ok {
		t.Errorf("second event %+v", e)
	}
	if n, _ := unix.Poll(set, 0); n != 0 {
		t.Error("the descriptor is still readable")
	}
	if _, err := s.Exchange(job.Part{}); err == nil || !strings.Contains(err.Error(),
		"lapirun has ended") {
		t.Errorf("exchange: %v", err)
	}
	s.Leave()
	if _, err := job.Open(c, 0); err == nil || !strings.Contains(err.Error(), "lapirun has ended") {
		t.Errorf("open: %v", err)
	}
}

// welcomeAndGo is a launcher that welcomes one session and ends.
func welcomeAndGo(socket int) error {
	control, err := wire.NewConn(socket)
	if err != nil {
		return err
	}
	defer control.Close()
	hello, err := next(control)
	if err != nil {
		return err
	}
	session, err := wire.NewConn(hello.Files[0])
	if err != nil {
		return err
	}
	defer session.Close()
	session.Queue(wire.Message{Kind: wire.Welcome, Data: make([]byte, job.KeySize)})
	_, err = session.Flush()
	return err
}

func next(c *wire.Conn) (wire.Message, error) {
	var s wire.Scratch
	for {
		m, ok, err := c.Receive(&s)
		if ok || err != nil {
			return m, err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(c.Fd()), Events: unix.POLLIN}},
			-1); err != nil && err != unix.EINTR {
			return m, err
		}
	}
}

// TestLauncherProcess: the process at the other end of the inherited socket; none of a task started
// by hand.
func TestLauncherProcess(t *testing.T) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	defer unix.Close(theirs)
	if got := launchedConfig(t, theirs, 0, 1).LauncherProcess(); got != os.Getpid() {
		t.Errorf("launched by process %d, not %d", got, os.Getpid())
	}
	if got := new(job.Config).LauncherProcess(); got != 0 {
		t.Errorf("started by hand, launched by %d", got)
	}
}
