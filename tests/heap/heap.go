// Package heap lets a test measure the memory that an object holds.
package heap

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// alone is set in the process of one test; its value is the test's name.
const alone = "LAPI_TEST_ALONE"

// Alone runs the test that calls it in a process of its own, where no other test's memory comes and
// goes. It reports whether this is that process: else the test is over, and returns.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) == t.Name() {
		return true
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	c.Env = append(os.Environ(), alone+"="+t.Name())
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("alone in a process: %v", err)
	}
	return false
}

// InUse is how many bytes of Go's heap are reachable.
func InUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // memory that has finalizers is freed by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
