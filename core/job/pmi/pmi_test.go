package pmi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// server is a launcher: one key-value space, one connection for each task.
type server struct {
	size    int
	slurm   bool // words in another order, no msg
	mu      sync.Mutex
	all     *sync.Cond
	space   map[string]string
	in, gen int
	aborted string
}

func newServer(size int, slurm bool) *server {
	s := &server{size: size, slurm: slurm, space: make(map[string]string)}
	s.all = sync.NewCond(&s.mu)
	return s
}

// connect makes a task's connection and serves it. It returns the task's end.
func (s *server) connect(t *testing.T) int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(pair[1]), "launcher")
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]) })
	go s.serve(conn)
	return pair[0]
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		words, err := parse(lines.Text())
		if err != nil {
			return
		}
		answer := s.answer(words)
		if answer == "" {
			return
		}
		for _, part := range []string{answer[:len(answer)/2], answer[len(answer)/2:] + "\n"} {
			_, _ = conn.Write([]byte(part))
		}
	}
}

func (s *server) answer(words map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch words["cmd"] {
	case "init":
		return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
	case "get_maxes":
		return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
	case "get_my_kvsname":
		return "cmd=my_kvsname kvsname=kvs_1"
	case "put":
		if len(words["value"]) > 1023 || words["kvsname"] != "kvs_1" {
			return "cmd=put_result rc=-1 msg=value_too_long"
		}
		s.space[words["key"]] = words["value"]
		return "cmd=put_result rc=0 msg=success"
	case "barrier_in":
		gen := s.gen
		if s.in++; s.in == s.size {
			s.in, s.gen = 0, s.gen+1
			s.all.Broadcast()
		}
		for gen == s.gen {
			s.all.Wait()
		}
		return "cmd=barrier_out"
	case "get":
		v, ok := s.space[words["key"]]
		switch {
		case s.slurm && ok:
			return "cmd=get_result rc=0 value=" + v
		case s.slurm:
			return "cmd=get_result rc=1"
		case ok:
			return "cmd=get_result rc=0 msg=success value=" + v
		}
		return "cmd=get_result rc=-1 msg=key_" + words["key"] + "_not_found value=unknown"
	case "abort":
		s.aborted = words["exitcode"]
	}
	return ""
}

// keys are what the tasks have put. Its lock orders it after their puts: the sockets do not.
func (s *server) keys() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(slices.Sorted(maps.Keys(s.space)))
}

func TestExchange(t *testing.T) {
	for _, slurm := range []bool{false, true} {
		const size = 5
		s := newServer(size, slurm)
		card := func(rank int) []byte { // 0 bytes to more than three values
			return bytes.Repeat([]byte{byte(rank), ' ', '=', 255}, rank*rank*30)
		}
		var wg sync.WaitGroup
		for rank := range size {
			fd := s.connect(t)
			wg.Add(1)
			go func() {
				defer wg.Done()
				c, err := Open(fd, rank, size)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := c.Exchange(card(rank))
				if err != nil || len(got) != size {
					t.Errorf("task %d: %d cards, %v", rank, len(got), err)
					return
				}
				for other := range got {
					if !bytes.Equal(got[other], card(other)) {
						t.Errorf("task %d has another card of task %d", rank, other)
					}
				}
			}()
		}
		wg.Wait()
		if pieces := s.keys(); !strings.Contains(pieces, "lapi-4-3") {
			t.Errorf("the longest card has the pieces %s", pieces)
		}
	}
}

// TestOpenedDescriptor: what the task starts later does not get the socket.
func TestOpenedDescriptor(t *testing.T) {
	fd := newServer(1, false).connect(t)
	if _, err := Open(fd, 0, 1); err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil ||
		flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
}

// TestDial: the launcher gives the task its number.
func TestDial(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		ok   bool
	}{
		"as mpiexec.hydra": {"cmd=initack\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n", true},
		"no rank":          {"cmd=initack\ncmd=set size=3\ncmd=set debug=0\ncmd=set x=0\n", false},
		"rank":             {"cmd=initack\ncmd=set size=3\ncmd=set rank=3\ncmd=set debug=0\n", false},
		"refused":          {"cmd=initack rc=-1\n", false},
		"something else":   {"cmd=initack\ncmd=x size=3\ncmd=x rank=2\ncmd=x debug=0\n", false},
		"nothing":          {"", false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(3, false)
		said := make(chan string, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			said <- line
			fmt.Fprint(conn, c.says)
			if strings.Count(c.says, "\n") == 4 { // it would go on, whoever the task may be
				s.serve(conn)
			}
			conn.Close()
		}()
		got, err := Dial(l.Addr().String(), 7)
		l.Close()
		if line := <-said; line != "cmd=initack pmiid=7\n" {
			t.Errorf("%s: %q", name, line)
		}
		if c.ok != (err == nil) || c.ok && (got.Rank() != 2 || got.Size() != 3) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err == nil {
			unix.Close(got.Socket())
		}
	}
}

func TestAbort(t *testing.T) {
	s := newServer(1, false)
	fd := s.connect(t)
	c, err := Open(fd, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Abort(37); err != nil {
		t.Fatal(err)
	}
	// the server closes: what comes then is an error, not a signal
	if _, err := c.line(); err == nil {
		t.Error("an answer to abort")
	}
	if err := c.Abort(1); err == nil {
		t.Error("no error from a launcher that has closed the connection")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted != "37" {
		t.Errorf("aborted with %q", s.aborted)
	}
}

// TestNoLauncher: a descriptor that is none, or another file, is named.
func TestNoLauncher(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, fd := range []int{9999, int(f.Fd())} {
		if _, err := Open(fd, 0, 1); err == nil || !strings.Contains(err.Error(), fmt.Sprint(fd)) {
			t.Errorf("descriptor %d: %v", fd, err)
		}
	}
	if _, err := Open(0, 3, 3); err == nil {
		t.Error("rank 3 of 3 is accepted")
	}
}

// TestBadLauncher: each answer that makes no sense ends in an error, none hangs.
func TestBadLauncher(t *testing.T) {
	for _, text := range []string{"", "\n", "cmd=maxes\n", "cmd=response_to_init rc=1\n",
		"cmd=response_to_init cmd=x\n", strings.Repeat("x", maxLine+5000),
		"cmd=response_to_init rc=0\ncmd=maxes vallen_max=7\n",
		"cmd=response_to_init rc=0\ncmd=maxes vallen_max=1024\ncmd=my_kvsname\n"} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			f := os.NewFile(uintptr(pair[1]), "launcher")
			_, _ = f.WriteString(text)
			f.Close()
		}()
		if _, err := Open(pair[0], 0, 1); err == nil {
			t.Errorf("%.60q is accepted", text)
		}
		unix.Close(pair[0])
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"cmd=get_result rc=0 msg=success value=abc", "cmd=", "=x", "a=b=c",
		"rc=1 cmd=get_result", "cmd=a cmd=b", "  ", "cmd=put_result rc=-1 msg=no room"} {
		f.Add([]byte(s + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		line, rest, ok := cutLine(b)
		if ok != bytes.Contains(b, []byte("\n")) || ok && len(line)+1+len(rest) != len(b) {
			t.Fatalf("%q is cut into %q and %q", b, line, rest)
		}
		words, err := parse(line)
		if err != nil {
			return
		}
		var again []string
		for name, value := range words {
			again = append(again, name+"="+value)
		}
		if twice, err := parse(strings.Join(again, " ")); err != nil || !maps.Equal(twice, words) {
			t.Fatalf("%q gives %v, again %v, %v", line, words, twice, err)
		}
	})
}

func FuzzFirst(f *testing.F) {
	for _, s := range []string{"1.", "256.abc", "0.", "257.x", "-1.", "1", ".",
		"9999999999999999999."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		count, text, err := first(s)
		if err == nil && (count < 1 || count > maxPieces || !strings.HasSuffix(s, "."+text)) {
			t.Fatalf("%q gives %d and %q", s, count, text)
		}
	})
}

// TestLook: a task that waits for others gives up when look says so.
func TestLook(t *testing.T) {
	c, err := Open(newServer(2, false).connect(t), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	c.Look(func() error {
		if looks++; looks < 3 {
			return nil
		}
		return errors.New("in vain")
	})
	if _, err := c.Exchange([]byte{1}); err == nil || !strings.Contains(err.Error(), "in vain") {
		t.Error(err)
	}
}
