package descriptor

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func newEvent(t *testing.T) int {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func closedOnExec(t *testing.T, fd int) {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags != unix.FD_CLOEXEC {
		t.Errorf("descriptor %d: flags %#x, %v", fd, flags, err)
	}
}

// softLimit sets the soft limit for a test.
func softLimit(t *testing.T, soft uint64) unix.Rlimit {
	t.Helper()
	was, err := limits(nil)
	if err != nil || was.Max < soft+room {
		t.Skip("the hard limit is low here: ", was, err)
	}
	now := unix.Rlimit{Cur: soft, Max: was.Max}
	if _, err := limits(&now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = limits(&was) })
	return now
}

// TestLeast: above the soft limit where the hard one leaves room, else the last 64 numbers below it,
// and never much above 65,536.
func TestLeast(t *testing.T) {
	const infinity = 1<<64 - 1
	for _, c := range []struct {
		soft, hard uint64
		want       int
	}{{1024, 4096, 1024}, {1024, 1024 + 64, 1024}, {1024, 1024 + 63, 1024 - 64}, {0, 0, 0},
		{256, 256, 192}, {255, 255, 0}, {10, infinity, 10}, {1 << 16, infinity, 1 << 16},
		{1<<16 + 1, infinity, 1<<16 - 64}, {infinity, infinity, 1<<16 - 64}} {
		if got := Least(c.soft, c.hard); got != c.want {
			t.Errorf("limits %d and %d: %d, not %d", c.soft, c.hard, got, c.want)
		}
	}
}

func TestOwn(t *testing.T) {
	want := softLimit(t, 300)
	first, err := Own(newEvent(t), nil)
	if err != nil || first < 300 {
		t.Fatalf("number %d, %v: not above the soft limit", first, err)
	}
	defer unix.Close(first)
	all := []int{newEvent(t), newEvent(t)}
	old := append([]int{}, all...)
	OwnAll(all)
	for i, fd := range all {
		closedOnExec(t, fd)
		if fd < 300 {
			t.Errorf("number %d: not above the soft limit", fd)
		}
		if _, err := unix.FcntlInt(uintptr(old[i]), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("the old number %d is open", old[i])
		}
		unix.Close(fd)
	}
	if now, err := limits(nil); err != nil || now != want {
		t.Errorf("limits are %v, not %v (%v)", now, want, err)
	}
}

// TestOwnWithoutRoom: where the limits leave no number above, one near the limit is taken.
func TestOwnWithoutRoom(t *testing.T) {
	was, err := limits(nil)
	if err != nil {
		t.Fatal(err)
	}
	full := unix.Rlimit{Cur: was.Max, Max: was.Max}
	if _, err := limits(&full); err != nil {
		t.Skip(err)
	}
	defer limits(&was)
	fd := newEvent(t)
	got, err := Own(fd, nil)
	defer unix.Close(got)
	if want := Least(was.Max, was.Max); err != nil || got < want {
		t.Errorf("%d became %d, %v, not at least %d", fd, got, err, want)
	}
	if _, err := Own(-1, unix.EMFILE); err != unix.EMFILE {
		t.Errorf("an error became %v", err)
	}
}

// TestOwnCanBeHandedOver: a program can be started that gets any of the descriptors, however many
// there are; no number is left for that above the last.
func TestOwnCanBeHandedOver(t *testing.T) {
	was, err := limits(nil)
	if err != nil {
		t.Fatal(err)
	}
	full := unix.Rlimit{Cur: min(was.Max, 1<<12), Max: was.Max}
	full.Max = full.Cur
	if os.Getenv("OWN_WITH_LIMITS") == "" { // what is lowered stays so
		cmd := exec.Command(os.Args[0], "-test.run=^TestOwnCanBeHandedOver$")
		cmd.Env = append(os.Environ(), "OWN_WITH_LIMITS=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
		t.Skip(err)
	}
	for range room + 1 {
		fd, err := Own(newEvent(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("true")
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "handed over")}
		if err := cmd.Run(); err != nil {
			t.Fatalf("number %d below the limit %d: %v", fd, full.Cur, err)
		}
		defer cmd.ExtraFiles[0].Close()
	}
}

// TestLow: a number of standard input, output or error is left.
func TestLow(t *testing.T) {
	saved, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, standard)
	if err != nil {
		t.Skip("there is no standard input: ", err)
	}
	defer unix.Close(saved)
	unix.Close(0)
	defer unix.Dup3(saved, 0, 0)
	fd, err := Low(newEvent(t), nil)
	if err != nil || fd < standard {
		t.Fatalf("number %d, %v", fd, err)
	}
	closedOnExec(t, fd)
	unix.Close(fd)
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("number 0 is open")
	}
}

func TestFileOf(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	fd := newEvent(t)
	event, pipe := FileOf(fd), FileOf(ends[0])
	unix.Close(fd)
	none := FileOf(fd)
	if event == pipe || event == none || pipe == none || none != (File{}) ||
		FileOf(ends[1]) != pipe {
		t.Errorf("an eventfd %v, a pipe %v, nothing %v", event, pipe, none)
	}
	unix.Close(ends[0])
	unix.Close(ends[1])
}

// bracket holds the numbers 0 to 2 as C does; they are free before and after the test.
func bracket(t *testing.T) {
	t.Helper()
	saved, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, standard)
	if err != nil {
		t.Skip("there is no standard input: ", err)
	}
	unix.Close(0)
	holders := 0
	Bracket(func() {
		holders++
		if fd, _ := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0); fd >= standard {
			unix.Close(fd)
		}
	}, func() {
		holders--
		flags, err := unix.FcntlInt(0, unix.F_GETFL, 0)
		if holders == 0 && err == nil && flags&unix.O_PATH != 0 {
			unix.Close(0)
		}
	})
	t.Cleanup(func() {
		Bracket(func() {}, func() {})
		_ = unix.Dup3(saved, 0, 0)
		unix.Close(saved)
	})
}

func TestAboveStandard(t *testing.T) {
	bracket(t)
	var fd int
	AboveStandard(func() { fd = newEvent(t) })
	if fd < standard {
		t.Errorf("number %d", fd)
	}
	unix.Close(fd)
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("number 0 is open")
	}
}

// TestNoFileOfTheProgramsIsTaken: the program closes number 0 when it is held, so that it is what the
// library's call gets, and puts a file of its own there before the library looks. That is neither
// used nor closed; without it the number is free afterwards.
func TestNoFileOfTheProgramsIsTaken(t *testing.T) {
	bracket(t)
	own, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer own.Close()
	for _, puts := range []bool{true, false} {
		first := true
		fd, err := opened(func() (int, error) {
			if first {
				unix.Close(0)
			}
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			if first && puts {
				_ = unix.Dup3(int(own.Fd()), 0, unix.O_CLOEXEC)
			}
			first = false
			return fd, err
		})
		if err != nil || fd < standard || FileOf(fd).kind&unix.S_IFMT != 0 {
			t.Errorf("number %d, %v, of %v", fd, err, FileOf(fd))
		}
		unix.Close(fd)
		is, want := FileOf(0), File{}
		if puts {
			want = FileOf(int(own.Fd()))
			unix.Close(0)
		}
		if is != want {
			t.Errorf("number 0 is %v, not %v", is, want)
		}
	}
}

// TestConnIsAboveStandard: a connection that has got number 0 has another one, and works.
func TestConnIsAboveStandard(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	bracket(t)
	ours, err := Conn(net.Dial("tcp", listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := Conn(listener.Accept())
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if isStandard(ours) || isStandard(theirs) {
		t.Error("a connection has a standard number")
	}
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != unix.EBADF {
		t.Error("number 0 is open")
	}
	_, _ = ours.Write([]byte("x"))
	b := make([]byte, 1)
	if n, err := theirs.Read(b); n != 1 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := Conn(nil, unix.EMFILE); err != unix.EMFILE {
		t.Errorf("an error became %v", err)
	}
}
