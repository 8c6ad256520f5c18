package poll_test

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/poll"
)

// underSignals calls look again and again in a thread that is sent signals meanwhile, until so many
// of them have made a poll of its own fail, so that look has met them, too.
func underSignals(t *testing.T, look func()) {
	t.Helper()
	const wanted = 200
	thread, stop := make(chan int), atomic.Bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		to := <-thread
		for !stop.Load() {
			_ = unix.Tgkill(unix.Getpid(), to, unix.SIGURG)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread <- unix.Gettid()
	defer func() { stop.Store(true); <-done }()
	interrupted := 0
	for end := time.Now().Add(time.Minute); interrupted < wanted; {
		if time.Now().After(end) {
			t.Skipf("only %d polls of a minute were interrupted", interrupted)
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: 0}}, 0); err == unix.EINTR {
			interrupted++
		}
		look()
	}
}

func TestSignalsSayNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	set := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
	t.Run("nothing is ready", func(t *testing.T) {
		underSignals(t, func() {
			if n, err := poll.Now(set); n != 0 || err != nil {
				t.Fatalf("%d are ready, %v", n, err)
			}
		})
	})
	t.Run("and nothing comes", func(t *testing.T) {
		underSignals(t, func() {
			ok, err := poll.Until(set, time.Now().Add(time.Microsecond))
			if ok || err != nil {
				t.Fatalf("ready: %v, %v", ok, err)
			}
		})
	})
	t.Run("this process lives", func(t *testing.T) {
		underSignals(t, func() {
			if poll.Ended(os.Getpid()) {
				t.Fatal("it is said to have ended")
			}
		})
	})
}

func TestEnded(t *testing.T) {
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !poll.Ended(c.Process.Pid); { // a zombie, too
		if time.Now().After(end) {
			t.Fatal("a process that has ended is not said to have")
		}
		time.Sleep(time.Millisecond)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if !poll.Ended(c.Process.Pid) {
		t.Error("a process that is no more is not said to have ended")
	}
}

func TestReadable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if poll.Readable(int(r.Fd())) {
		t.Error("an empty pipe can be read")
	}
	if _, err := w.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if !poll.Readable(int(r.Fd())) {
		t.Error("a full pipe cannot be read")
	}
	if ok, err := poll.Until([]unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}},
		time.Time{}); !ok || err != nil {
		t.Errorf("until it can be read: %v, %v", ok, err)
	}
	w.Close()
}
