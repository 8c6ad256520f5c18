package job_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
	"lapi/core/job/hub"
	"lapi/core/job/wire"
)

// The tests run this test binary as the tasks of a job: roleVariable says which function of roles a
// process runs.
const roleVariable = "JOB_TEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		role, ok := roles[name]
		if !ok {
			fmt.Println("no role", name)
			os.Exit(3)
		}
		if host := os.Getenv(hostVariable); host != "" {
			job.SetPlace(host)
		}
		if err := role(); err != nil {
			fmt.Println("FAIL:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A test binary with the race detector by default sleeps a second before it exits; its tasks
	// shall not.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(m.Run())
}

const guard = 4 * time.Minute // only against hangs

// tasks is a job of test processes.
type tasks struct {
	t   *testing.T
	hub *hub.Hub // nil if started by hand
	all []*task
}

type task struct {
	cmd    *exec.Cmd
	stdin  interface{ Write([]byte) (int, error) }
	mu     sync.Mutex
	out    bytes.Buffer
	lines  chan string
	ended  chan struct{}
	status string // valid once ended
}

// launch starts n tasks as lapirun does.
func launch(t *testing.T, n int, role string, env ...string) *tasks {
	t.Helper()
	j := &tasks{t: t, hub: hub.New(n, bytes.Repeat([]byte{7}, job.KeySize))}
	for i := range n {
		mine, theirs, err := wire.Pair()
		if err != nil {
			t.Fatal(err)
		}
		if err := j.hub.Serve(i, mine); err != nil {
			t.Fatal(err)
		}
		control := os.NewFile(uintptr(theirs), "control")
		value, err := job.LauncherValue(3, theirs)
		if err != nil {
			t.Fatal(err)
		}
		j.start(i, n, role, control, append([]string{job.LauncherVariable + "=" + value,
			"LAPI_USE_SHM=yes"}, env...))
		control.Close()
	}
	return j
}

// byHand starts n tasks as a user does who sets the variables.
func byHand(t *testing.T, n int, role string, env ...string) *tasks {
	t.Helper()
	j := &tasks{t: t}
	for i := range n {
		j.startByHand(i, n, role, env...)
	}
	return j
}

func (j *tasks) startByHand(i, n int, role string, env ...string) {
	common := strconv.Itoa(n - 1)
	for k := range n {
		if k != i {
			common += ":" + strconv.Itoa(k)
		}
	}
	j.start(i, n, role, nil, append([]string{"MP_PARTITION=" + j.partition(), "LAPI_USE_SHM=yes",
		"MP_COMMON_TASKS=" + common}, env...))
}

// partition is that of a job that is started by hand.
func (j *tasks) partition() string {
	sum := sha256.Sum256([]byte(j.t.Name()))
	return fmt.Sprintf("%d-%x", os.Getpid(), sum[:8])
}

var jobsOverNodes atomic.Uint32

// overNodes starts n tasks by hand on two nodes, the lower half on one, which meet by the address
// of task 0.
func overNodes(t *testing.T, n int, role string, env ...string) *tasks {
	t.Helper()
	return atAddress(t, 2, n, role, env...)
}

// onOneNode likewise starts them on one.
func onOneNode(t *testing.T, n int, role string, env ...string) *tasks {
	t.Helper()
	return atAddress(t, 1, n, role, env...)
}

func atAddress(t *testing.T, nodes, n int, role string, env ...string) *tasks {
	t.Helper()
	pid := os.Getpid() // each job has an address of its own
	address := fmt.Sprintf("127.%d.%d.%d:7711", 1+pid>>8&127, pid&255, jobsOverNodes.Add(1))
	j := &tasks{t: t}
	for i := range n {
		j.start(i, n, role, nil, append([]string{fmt.Sprintf("LAPI_RENDEZVOUS=%s", address),
			"MP_PARTITION=4711", "LAPI_USE_SHM=yes",
			fmt.Sprintf("%s=%d", hostVariable, nodes*i/(n+n%nodes))}, env...))
	}
	return j
}

func (j *tasks) start(i, n int, role string, control *os.File, env []string) {
	j.t.Helper()
	k := &task{lines: make(chan string, 1000), ended: make(chan struct{})}
	k.cmd = exec.Command(os.Args[0])
	k.cmd.Env = append(os.Environ(), roleVariable+"="+role, "MP_MSG_API=lapi",
		"MP_CHILD="+strconv.Itoa(i), "MP_PROCS="+strconv.Itoa(n))
	k.cmd.Env = append(k.cmd.Env, env...)
	if control != nil {
		k.cmd.ExtraFiles = []*os.File{control}
	}
	k.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	stdin, err := k.cmd.StdinPipe()
	if err != nil {
		j.t.Fatal(err)
	}
	k.stdin = stdin
	r, w, err := os.Pipe()
	if err != nil {
		j.t.Fatal(err)
	}
	k.cmd.Stdout, k.cmd.Stderr = w, w
	if err := k.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	w.Close()
	j.all = append(j.all, k)
	j.t.Cleanup(func() {
		_ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL)
		<-k.ended
	})
	go k.read(r)
	go func() {
		_ = k.cmd.Wait()
		k.status = k.cmd.ProcessState.String()
		if j.hub != nil {
			j.hub.TaskEnded(i, k.status)
		}
		close(k.ended)
	}()
}

func (k *task) read(r *os.File) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		k.mu.Lock()
		fmt.Fprintln(&k.out, lines.Text())
		k.mu.Unlock()
		select {
		case k.lines <- lines.Text():
		default:
		}
	}
	close(k.lines)
}

func (k *task) output() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.String()
}

// say writes a line to a task's standard input.
func (k *task) say(t *testing.T, line string) {
	t.Helper()
	if _, err := k.stdin.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

// expect waits for a line that begins with prefix and returns the rest.
func (k *task) expect(t *testing.T, prefix string) string {
	t.Helper()
	limit := time.After(guard)
	for {
		select {
		case line, ok := <-k.lines:
			if !ok {
				t.Fatalf("ended without %q; its output:\n%s", prefix, k.output())
			}
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return rest
			}
		case <-limit:
			t.Fatalf("no %q; output so far:\n%s", prefix, k.output())
		}
	}
}

// await waits until the task has written text, be it before other output that was expected.
func (k *task) await(t *testing.T, text string) {
	t.Helper()
	for limit := time.Now().Add(guard); !strings.Contains(k.output(),
		text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no %q; output so far:\n%s", text, k.output())
		}
	}
}

// succeed waits for all tasks to exit with status 0.
func (j *tasks) succeed() {
	j.t.Helper()
	for i, k := range j.all {
		select {
		case <-k.ended:
			if !k.cmd.ProcessState.Success() {
				j.t.Errorf("task %d: %s\n%s", i, k.status, k.output())
			}
		case <-time.After(guard):
			j.t.Fatalf("task %d hangs; output so far:\n%s", i, k.output())
		}
	}
}

func (k *task) killHard(t *testing.T) {
	t.Helper()
	if err := unix.Kill(k.cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
