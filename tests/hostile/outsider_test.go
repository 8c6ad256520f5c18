package hostile

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// outsider in the environment makes this program a process of another user that tries what it can
// against the processes named there.
const outsider = "HOSTILE_OUTSIDER"

// outsiderSockets in its environment are the names of the job's abstract sockets.
const outsiderSockets = "HOSTILE_SOCKETS"

const nobody = 65534

func TestMain(m *testing.M) {
	if pids := os.Getenv(outsider); pids != "" {
		for _, pid := range strings.Fields(pids) {
			tryProcess(pid)
		}
		if os.Geteuid() == nobody {
			trySockets()
			tryFiles()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tried prints the result of an attempt.
func tried(what string, reached bool) {
	if reached {
		fmt.Println("reached:", what)
	} else {
		fmt.Println("failed:", what)
	}
}

// tryProcess tries to get at a process's memory and descriptors.
func tryProcess(pid string) {
	dir := "/proc/" + pid
	for _, name := range []string{"environ", "maps", "mem", "syscall"} {
		f, err := os.Open(dir + "/" + name)
		if err == nil {
			n, _ := f.Read(make([]byte, 1))
			f.Close()
			tried(dir+"/"+name, n > 0)
		} else {
			tried(dir+"/"+name, false)
		}
	}
	_, err := os.ReadDir(dir + "/fd")
	tried(dir+"/fd", err == nil)
	_, err = os.ReadDir(dir + "/map_files")
	tried(dir+"/map_files", err == nil)
	for fd := range 64 {
		f, err := os.OpenFile(fmt.Sprintf("%s/fd/%d", dir, fd), os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		tried(fmt.Sprintf("%s/fd/%d", dir, fd), err == nil)
	}
	var id int
	fmt.Sscan(pid, &id)
	b := make([]byte, 8)
	local, remote := []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000,
		Len: 8}}
	_, err = unix.ProcessVMReadv(id, local, remote, 0)
	tried("process_vm_readv of "+pid, err == nil || err == unix.EFAULT)
	_, err = unix.ProcessVMWritev(id, local, remote, 0)
	tried("process_vm_writev of "+pid, err == nil || err == unix.EFAULT)
	tried("ptrace of "+pid, unix.PtraceSeize(id) == nil)
	tried("a signal to "+pid, unix.Kill(id, 0) == nil)
	if p, err := unix.PidfdOpen(id, 0); err == nil {
		for fd := range 16 {
			_, err := unix.PidfdGetfd(p, fd, 0)
			tried(fmt.Sprintf("pidfd_getfd %d of %s", fd, pid), err == nil)
		}
	}
}

// trySockets says hello at each abstract socket of LAPI that is the job's, as each task, and hopes
// for an answer.
func trySockets() {
	ours := strings.Fields(os.Getenv(outsiderSockets))
	b, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(b)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "@lapi/")
		if !ok || !slices.Contains(ours, "@lapi/"+name) {
			continue
		}
		for _, purpose := range []wire.Purpose{wire.Join, wire.Ask} {
			for task := range 2 {
				tried(fmt.Sprintf("hello %d as task %d at %s", purpose, task, name),
					sayHello("@lapi/"+name, purpose, task))
			}
		}
	}
}

// sayHello says whether the other end answers with anything but a refusal.
func sayHello(name string, purpose wire.Purpose, task int) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil || unix.Connect(fd, &unix.SockaddrUnix{Name: name}) != nil {
		return false
	}
	c, err := wire.NewConn(fd)
	if err != nil {
		return false
	}
	defer c.Close()
	g := wire.Greeting{Purpose: purpose, Task: task, NumTasks: 2, Instance: 0, PID: os.Getpid()}
	c.Queue(wire.Message{Kind: wire.Hello, Data: g.Encode()})
	_, _ = c.Flush()
	for end := time.Now().Add(200 *
		time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		m, ok, err := c.Receive(new(wire.Scratch))
		if err == io.EOF {
			return false
		}
		if ok {
			return m.Kind != wire.Refuse || len(m.Files) > 0
		}
	}
	return false
}

// tryFiles looks for traces and segments in the file system.
func tryFiles() {
	for _, pattern := range []string{"/dev/shm/*lapi*", os.Getenv("LAPI_TRACE_DIR") +
		"/lapi-trace*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			f, err := os.Open(name)
			if err == nil {
				f.Close()
			}
			tried(name, err == nil)
		}
	}
}

// TestOutsider: a process of another user cannot access any task's memory, segment, socket or
// trace, whether the job was launched or started by hand, and the job is undisturbed. A task of
// another user's job is such a process. Another job on the node, here one socket, changes nothing.
func TestOutsider(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	anotherJob(t)
	program := copyOfThis(t)
	attempts := func(t *testing.T, j *job, uid uint32) []byte { // of a process of that user
		t.Helper()
		attempt := exec.Command(program)
		attempt.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", outsider, j.tasks[0],
			j.tasks[1], max(j.launch, j.tasks[0])), outsiderSockets+"="+strings.Join(j.sockets(), " "))
		attempt.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid,
			Gid: uid}}
		out, err := attempt.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	for name, begin := range map[string]func() *job{
		"launched": func() *job {
			dir := open(t, t.TempDir())
			t.Setenv("LAPI_TRACE_DIR", dir)
			return start(t, "check", time.Second, "LAPI_USE_SHM=only", "MP_LAPI_TRACE_LEVEL=1",
				"LAPI_TRACE_SIZE=1")
		},
		"launched, UDP": func() *job { return start(t, "check", time.Second) },
		"by hand":       func() *job { return startByHandShared(t, time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			j := begin()
			out := attempts(t, j, nobody)
			if bytes.Contains(out, []byte("reached:")) {
				t.Errorf("%s", out)
			}
			n := bytes.Count(out, []byte("failed:"))
			sockets, traces := bytes.Contains(out, []byte("hello ")),
				bytes.Contains(out, []byte("lapi-trace"))
			t.Logf("%d attempts", n)
			if n < 200 || sockets != (name == "by hand") || !traces && name == "launched" {
				t.Errorf("%d attempts; sockets %v, traces %v", n, sockets, traces)
			}
			if out = attempts(t, j, 0); bytes.Count(out, []byte("reached:")) < 20 {
				t.Errorf("the same attempts do not even help the job's owner:\n%s", out)
			}
			j.finish()
		})
	}
}

// anotherJob has a socket with a name as those of LAPI, at which hello gets no answer.
func anotherJob(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unixpacket", fmt.Sprintf("@lapi/0/another/%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
}

// copyOfThis copies this program to a place where another user may run it.
func copyOfThis(t *testing.T) string {
	t.Helper()
	dir := open(t, t.TempDir())
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(dir+"/outsider", b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir + "/outsider"
}

// open lets other users into a temporary folder.
func open(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
