package pmix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test program a task: its value says what to do.
const childVariable = "LAPI_TEST_PMIX"

func TestMain(m *testing.M) {
	what, ok := os.LookupEnv(childVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

func child(what string) error {
	if !Present(os.LookupEnv) {
		return errors.New("no server is seen in the environment")
	}
	c, err := Open()
	if err != nil {
		return err
	}
	switch what {
	case "abort":
		if c.Rank() == 1 {
			return c.Abort(37)
		}
		time.Sleep(time.Minute) // the server is to end it before
	case "again": // it is the connection that there is
		for range 2 {
			again, err := Open()
			if err != nil || again.rank != c.rank || again.size != c.size {
				return fmt.Errorf("opened %v, then %v, %v", c, again, err)
			}
		}
	}
	if err := exchange(c); err != nil {
		return err
	}
	End()
	if err := c.Abort(1); err == nil {
		return errors.New("an abort after the end")
	}
	return nil
}

func exchange(c *Client) error {
	card := func(rank int) []byte {
		return bytes.Repeat([]byte{byte(rank), 0, ' ', '=', '\n', 255}, 1+rank*3000)
	}
	got, err := c.Exchange(card(c.Rank()))
	if err != nil || len(got) != c.Size() {
		return fmt.Errorf("task %d: %d cards, %v", c.Rank(), len(got), err)
	}
	for rank := range got {
		if !bytes.Equal(got[rank], card(rank)) {
			return fmt.Errorf("task %d has another card of task %d", c.Rank(), rank)
		}
	}
	fmt.Printf("task %d of %d\n", c.Rank(), c.Size())
	return nil
}

// mpirun runs a program on this machine and returns what it printed and its exit code.
func mpirun(t *testing.T, tasks int, env string, program ...string) (string, int) {
	t.Helper()
	if out, err := exec.Command("mpirun", "--version").Output(); err != nil ||
		!strings.Contains(string(out), "Open MPI") {
		t.Skip("there is no mpirun of Open MPI")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun", append([]string{"--oversubscribe", "-n",
		fmt.Sprint(tasks)}, program...)...)
	// killed, it would leave its tasks behind
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil || cmd.ProcessState == nil {
		t.Fatalf("mpirun: %v, %v\n%s", ctx.Err(), err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestExchange(t *testing.T) {
	for _, what := range []string{"exchange", "again"} {
		const tasks = 5
		out, code := mpirun(t, tasks, childVariable+"="+what, os.Args[0])
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s", what, code, out)
		}
		for rank := range tasks {
			if line := fmt.Sprintf("task %d of %d\n", rank, tasks); !strings.Contains(out, line) {
				t.Errorf("%s: no %q in\n%s", what, line, out)
			}
		}
	}
}

func TestAbort(t *testing.T) {
	if out, code := mpirun(t, 3, childVariable+"=abort", os.Args[0]); code != 37 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestExit: mpirun ends a job in which a task exits without having ended its connection, though
// with status 0. The exit handler ends it, and a child's exit does not.
func TestExit(t *testing.T) {
	program := filepath.Join(t.TempDir(), "exits")
	if out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program,
		"-I..", "testdata/exits.c", "pmix.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	for _, how := range []string{"return", "fork"} {
		if out, code := mpirun(t, 3, "", program, library, how); code != 0 {
			t.Errorf("%s: exit code %d\n%s", how, code, out)
		}
	}
	if out, code := mpirun(t, 3, "", program, library, "silent"); code == 0 {
		t.Errorf("nobody misses the exit handler\n%s", out)
	}
}

// TestMPI: an MPI in the process uses the same connection. It neither takes it away nor loses it.
func TestMPI(t *testing.T) {
	if _, err := exec.LookPath("mpicc.openmpi"); err != nil {
		t.Skip("there is no mpicc.openmpi")
	}
	program := filepath.Join(t.TempDir(), "mpi")
	if out, err := exec.Command("mpicc.openmpi", "-std=gnu11", "-Wall", "-Wextra", "-o", program,
		"-I..", "testdata/mpi.c", "pmix.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	for _, when := range []string{"before", "within"} {
		if out, code := mpirun(t, 2, "", program, library, when); code != 0 {
			t.Errorf("%s: exit code %d\n%s", when, code, out)
		}
	}
	// a second connection hung some tasks with PMIx 4.2
	out, code := mpirun(t, 2, "", program, library, "after")
	if code == 0 || !strings.Contains(out, "LAPI_Init is to come before it") {
		t.Errorf("after: exit code %d\n%s", code, out)
	}
}

// TestNoServer: a process that nobody started this way, and a machine without libpmix.
func TestNoServer(t *testing.T) {
	env := map[string]string{"PMIX_RANK": "0"}
	getenv := func(name string) (string, bool) { s, ok := env[name]; return s, ok }
	if Present(getenv) {
		t.Error("a server without a name space")
	}
	env["PMIX_NAMESPACE"] = "x"
	if !Present(getenv) {
		t.Error("no server")
	}
	if _, err := open("libno-such-pmix.so"); err == nil ||
		!strings.Contains(err.Error(), "libno-such-pmix.so") {
		t.Errorf("a library that is not there: %v", err)
	}
	if _, err := open("libm.so.6"); err == nil || !strings.Contains(err.Error(), "PMIx_Init") {
		t.Errorf("another library: %v", err)
	}
	c := &Client{size: 1}
	if _, err := c.Exchange([]byte("x")); err == nil {
		t.Error("an exchange without a connection")
	}
	if err := c.Abort(1); err == nil {
		t.Error("an abort without a connection")
	}
}
