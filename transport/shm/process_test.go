package shm

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// childVariable tells a child process what it is: role, task, tasks.
const childVariable = "LAPI_SHM_TEST_CHILD"

// TestMain makes the test binary its own child: a task in a process of its own.
func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := childMain(role); err != nil {
			println("child:", err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// swap gives own to the process at the other end of the socket and returns what that one gave.
func swap(socket int, own transport.Address) (transport.Address, error) {
	if err := unix.Sendmsg(socket, own.Bytes, unix.UnixRights(own.Files...), nil, 0); err != nil {
		return transport.Address{}, err
	}
	b, oob := make([]byte, 4096), make([]byte, 256)
	n, oobn, _, _, err := unix.Recvmsg(socket, b, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return transport.Address{}, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return transport.Address{}, errors.Join(errors.New("no descriptors"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	return transport.Address{Bytes: b[:n], Files: files}, err
}

// startChild starts task 1 in a process of its own and connects it with a new link of task 0.
func startChild(t testing.TB, role string, change ...func(*Config)) (*Link, *exec.Cmd) {
	t.Helper()
	memory.Guard()
	config := Config{Task: 0, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock,
		PeerFailed: func(_ transport.Endpoint, err error) {
			t.Errorf("the peer failed: %v", err)
		}}
	for _, f := range change {
		f(&config)
	}
	l, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, startAgain(t, l, role)
}

// startAgain starts a process of task 1 and connects it with l, which has no task 1 yet, or none
// any more.
func startAgain(t testing.TB, l *Link, role string) *exec.Cmd {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
		_ = unix.Close(pair[0])
	})
	address, err := swap(pair[0], l.Address())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Connect(1, address); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// childMain is the process of task 1.
func childMain(role string) error {
	memory.Guard()
	l, err := New(Config{Task: 1, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
	if err != nil {
		return err
	}
	address, err := swap(3, l.Address())
	if err != nil {
		return err
	}
	if err := l.Connect(0, address); err != nil {
		return err
	}
	switch role {
	case "flood":
		return flood(l)
	case "echo":
		return echo(l)
	case "sink":
		l.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
		for os.Getppid() != 1 {
			for range 1000 {
				l.Progress(64)
			}
		}
		return nil
	}
	return errors.New("unknown role " + role)
}

// flood sends messages with checkable content for ever, and answers nothing.
func flood(l *Link) error {
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 0))
	data, err := unix.Mmap(-1, 0, sendMax, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for number := uint64(0); ; number++ {
		n := random.IntN(sendMax - 8)
		for i := range data[:n] {
			data[i] = content(1, number, i)
		}
		op := transport.Op{Local: memory.AddrOf(data), N: uint64(n)}
		for {
			_, err := l.Send(0, 1, word(number), &op)
			if err == nil {
				break
			}
			if err != transport.ErrBusy {
				return err
			}
			l.Progress(10)
		}
	}
}

// echo returns each message of kind 1, names its own memory in answer to kind 2, and leaves at kind
// 3.
func echo(l *Link) error {
	target, err := unix.Mmap(-1, 0, 8<<20, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	var sendErr error
	var op transport.Op
	answer := func(id transport.MsgID, hdr []byte, local transport.Addr, n int) {
		op.Local, op.N = local, uint64(n)
		for {
			if _, err := l.Send(0, id, hdr, &op); err != transport.ErrBusy {
				sendErr = errors.Join(sendErr, err)
				return
			}
		}
	}
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		answer(1, m.Hdr, memory.AddrOf(m.Data), len(m.Data))
		return transport.Accept
	})
	l.Handle(2, func(*transport.Msg) transport.Verdict {
		answer(2, word(uint64(memory.AddrOf(target))), 0, 0)
		return transport.Accept
	})
	leave, turn := false, 0
	l.Handle(3, func(*transport.Msg) transport.Verdict { leave = true; return transport.Accept })
	for !leave && sendErr == nil {
		l.Progress(64)
		if turn++; turn%1000 == 0 && os.Getppid() == 1 { // the test has died
			return nil
		}
	}
	return errors.Join(sendErr, l.Close())
}

// TestKilledProducer kills a task at a random moment of its sending, several times. The messages
// that it had published arrive whole, and no others; the survivor's link works on, and learns from
// its operations or not at all: links do not watch processes.
func TestKilledProducer(t *testing.T) {
	for round := range 8 {
		l, child := startChild(t, "flood")
		next := uint64(0)
		l.Handle(1, func(m *transport.Msg) transport.Verdict {
			if number := binary.LittleEndian.Uint64(m.Hdr); number != next {
				t.Fatalf("message %d comes where %d should", number, next)
			}
			for i, b := range m.Data {
				if b != content(1, next, i) {
					t.Fatalf("message %d is damaged", next)
				}
			}
			next++
			return transport.Accept
		})
		until(t, "traffic", func() bool { return next > 1000 }, func() { l.Progress(16) })
		if err := child.Process.Signal(unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Duration(1+
			round) * time.Millisecond); time.Now().Before(end); {
			l.Progress(16)
		}
		_, _ = child.Process.Wait()
		for l.Progress(16) > 0 {
		}
		if _, err := l.Send(1, 1, nil, &transport.Op{}); err != nil {
			t.Errorf("Send to the dead: %v", err) // its ring is empty and there: nothing to report
		}
		b := userMemory(t, 64)
		op := transport.Op{Local: memory.AddrOf(b), Remote: memory.AddrOf(b), N: 64}
		if _, err := l.Put(1, &op); l.CanDirect(1) && err != transport.ErrUnreachable {
			t.Errorf("Put to the dead: %v", err)
		}
		for range ringSlots {
			if _, err := l.Send(1, 1, nil, &transport.Op{}); err != nil &&
				err != transport.ErrBusy {
				t.Errorf("Send to the dead: %v", err)
			}
		}
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestTwoProcesses: messages, puts and gets between processes that share nothing else.
func TestTwoProcesses(t *testing.T) {
	l, child := startChild(t, "echo")
	echoed := 0
	var target transport.Addr
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		for i, b := range m.Data {
			if b != content(0, uint64(echoed), i) {
				t.Fatalf("echo %d is damaged", echoed)
			}
		}
		echoed++
		return transport.Accept
	})
	l.Handle(2, func(m *transport.Msg) transport.Verdict {
		target = transport.Addr(binary.LittleEndian.Uint64(m.Hdr))
		return transport.Accept
	})
	data := userMemory(t, 1<<20)
	for i := range 200 {
		n := i * 25
		for j := range data[:n] {
			data[j] = content(0, uint64(i), j)
		}
		mustSend(t, l, 1, 1, nil, data[:n])
		until(t, "the echo", func() bool { return echoed == i+1 }, func() { l.Progress(16) })
	}
	mustSend(t, l, 1, 2, nil, nil)
	until(t, "an address", func() bool { return target != 0 }, func() { l.Progress(16) })
	if !l.CanDirect(1) {
		t.Log("cross-memory attach is not permitted here: no puts and gets")
	} else {
		op := transport.Op{Local: memory.AddrOf(data), Remote: target + 3, N: uint64(len(data))}
		if _, err := l.Put(1, &op); err != nil {
			t.Fatal(err)
		}
		back := userMemory(t, 1<<20)
		op.Local = memory.AddrOf(back)
		if _, err := l.Get(1, &op); err != nil || string(back) != string(data) {
			t.Errorf("what a get brings is not what a put took away (%v)", err)
		}
	}
	mustSend(t, l, 1, 3, nil, nil)
	if err := child.Wait(); err != nil {
		t.Errorf("the child: %v", err)
	}
	if _, err := l.Send(1, 1, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send to one that has left: %v", err)
	}
}
