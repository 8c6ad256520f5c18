package job

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// When the launcher's daemon has been killed a session reports it, once, and its descriptor does
// before: a daemon's death closes no socket that this task reads from.
func TestDaemonGone(t *testing.T) {
	daemon := exec.Command("sleep", "1000")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(daemon.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := attend(&alone{numTasks: 1}, os.NewFile(uintptr(fd), "daemon"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e, ok := s.Poll(); ok {
		t.Errorf("before its death: %+v", e)
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait()
	set := []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
	if n, err := unix.Poll(set, int(time.Minute.Milliseconds())); n != 1 {
		t.Fatalf("the descriptor is silent: %d, %v", n, err)
	}
	if e, ok := s.Poll(); !ok || e.Kind != LauncherGone {
		t.Errorf("event %+v %v", e, ok)
	}
	if e, ok := s.Poll(); ok {
		t.Errorf("second event %+v", e)
	}
	if n, _ := unix.Poll(set, 0); n != 0 {
		t.Error("the descriptor is still readable")
	}
}

// A socket whose other end this process has made itself has no daemon, nor has a descriptor of
// another kind.
func TestNoDaemon(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for _, fd := range []int{pair[0], -1} {
		if d := daemonOf(fd); d != nil {
			t.Errorf("descriptor %d has a daemon", fd)
		}
	}
}
