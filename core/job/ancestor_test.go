package job_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The server is found above a shell in between, by any version's variable; a listener that is no
// ancestor is not it, nor is an ancestor that does not listen. Its end is seen.
func TestListeningAncestor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	run := func(uri string) string {
		cmd := exec.Command("sh", "-c", os.Args[0]+"; :") // "; :" keeps the shell
		cmd.Env = append(os.Environ(), roleVariable+"=ancestor", uri)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		_ = unix.Kill(cmd.Process.Pid, unix.SIGKILL)
		go func() { _ = cmd.Wait() }()
		return strings.TrimSpace(line)
	}
	for _, c := range [][2]string{
		{"PMIX_SERVER_URI2=n0.0;tcp4://" + address, "found"},
		{"PMIX_SERVER_URI41=n0.0;tcp4://" + address, "found"},
		{"PMIX_SERVER_URI41=n0.0;usock://" + address, "none"},
		{"PMIX_SERVER_URI41=n0.0;tcp4://127.0.0.1:1", "none"},
		{"PMIX_SERVER_URI41=n0.0;tcp4://127.0.0.1:", "none"},
		{"PMIX_OTHER=" + address, "none"},
	} {
		if got := run(c[0]); got != c[1] {
			t.Errorf("%s: %q, not %s", c[0], got, c[1])
		}
	}
	other := exec.Command("sleep", "60") // no ancestor
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	other.ExtraFiles = []*os.File{f}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	f.Close()
	l.Close()
	if got := run("PMIX_SERVER_URI41=n0.0;tcp4://" + address); got != "none" {
		t.Errorf("a stranger that listens: %q", got)
	}
}

// A server that is killed is seen to end.
func TestAncestorEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("sh", "-c", os.Args[0]+"; :")
	server.ExtraFiles = []*os.File{f}
	server.Env = append(os.Environ(), roleVariable+"=ancestor",
		fmt.Sprintf("PMIX_SERVER_URI4=n0.0;tcp4://%v", l.Addr()))
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l.Close() // now the shell has it
	lines := bufio.NewScanner(out)
	for _, want := range []string{"found", "ended <nil>"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%q, not %q", lines.Text(), want)
		}
		_ = server.Process.Kill()
	}
	_ = server.Wait()
}
