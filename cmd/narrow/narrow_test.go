package narrow

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// limited runs a command of ours within a limit of address space, in KiB.
func limited(t *testing.T, command, kib string, arguments ...string) (string, error) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", "ulimit -v " + kib + ` && exec "$0" "$@"`, command},
		arguments...)...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func build(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH != "amd64" || testing.Short() {
		t.Skip("for x86-64, in whole runs")
	}
	command := filepath.Join(t.TempDir(), "lapirun")
	c := exec.Command("go", "build", "-o", command, "lapi/cmd/lapirun")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return command
}

func TestRunsInLittleAddressSpace(t *testing.T) {
	command := build(t)
	for range 3 {
		out, err := limited(t, command, "131072", "--keep-going", "-n", "2", "echo", "started")
		if err != nil || strings.Count(out, "started\n") != 2 {
			t.Errorf("%v: %q", err, out)
		}
	}
}

func TestOneLineInTooLittle(t *testing.T) {
	out, err := limited(t, build(t), "40000", "-n", "1", "true")
	if err == nil || strings.Count(out, "\n") != 1 || !strings.Contains(out, "RLIMIT_AS") {
		t.Errorf("%v: %q", err, out)
	}
}
