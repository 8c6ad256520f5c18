package wire_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// callVariable has this test binary dial a name and wait to be killed.
const callVariable = "WIRE_TEST_CALL"

func TestMain(m *testing.M) {
	if name := os.Getenv(callVariable); name != "" {
		if _, _, err := wire.Dial(name); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// The end of the process at the other end is seen, also by poll and by the runtime.
func TestPeerProcess(t *testing.T) {
	name := fmt.Sprint("@lapi/test/", os.Getpid())
	listener, err := wire.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	if _, err := wire.Listen(name); err != unix.EADDRINUSE {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, _, err := wire.Accept(listener); err != unix.EAGAIN {
		t.Errorf("nobody has come: %v", err)
	}
	caller := exec.Command(os.Args[0])
	caller.Env = append(os.Environ(), callVariable+"="+name)
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	defer caller.Process.Kill()
	if ok, err := poll.Until([]unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}},
		time.Now().Add(time.Minute)); !ok {
		t.Fatal("it does not come", err)
	}
	fd, pid, err := wire.Accept(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if want := caller.Process.Pid; pid != want || wire.PeerPID(fd) != want {
		t.Errorf("process %d, %d, not %d", pid, wire.PeerPID(fd), want)
	}
	process := wire.PeerProcess(fd)
	if process < 0 {
		t.Skip("this kernel does not show processes")
	}
	defer unix.Close(process)
	flags, err := unix.FcntlInt(uintptr(process), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("the runtime's poller does not take it: flags %#x, %v", flags, err)
	}
	if poll.Readable(process) {
		t.Error("it is said to have ended")
	}
	if err := caller.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = caller.Wait()
	if !poll.Readable(process) {
		t.Error("it is not said to have ended")
	}
}

func TestNoPeer(t *testing.T) {
	name := fmt.Sprint("@lapi/test/nobody/", os.Getpid())
	if _, _, err := wire.Dial(name); err != unix.ECONNREFUSED {
		t.Errorf("where nobody listens: %v", err)
	}
	for _, fd := range []int{-1, int(os.Stdin.Fd())} {
		if p := wire.PeerProcess(fd); p >= 0 {
			t.Errorf("descriptor %d has a process at its other end", fd)
			unix.Close(p)
		}
	}
}
