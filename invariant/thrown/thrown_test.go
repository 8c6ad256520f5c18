package thrown

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const kindVariable = "THROWN_TEST_KIND"

// TestMain is the process that has a fault, too.
func TestMain(m *testing.M) {
	switch os.Getenv(kindVariable) {
	case "":
		os.Exit(m.Run())
	case "throw":
		new(sync.Mutex).Unlock()
	case "named":
		Name("LAPI task 3")
		new(sync.Mutex).Unlock()
	case "panic":
		go func() { panic(errors.New("of two\nlines")) }()
		select {}
	case "nil":
		var p *int
		*p = 1
	case "memory":
		most := uint64(1) << 46
		b := make([]byte, most)
		b[len(b)-1] = 1
	case "print":
		println("a word of the run-time's")
		os.Exit(2)
	}
}

// ends is what a process has written that has ended by a fault. It is no test for the package.
func ends(t *testing.T, kind string, environment ...string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path)
	c.Args = []string{"program"}
	c.Env = append(os.Environ(), kindVariable+"="+kind)
	for i, v := range c.Env {
		if strings.HasPrefix(v, "GOTRACEBACK=") {
			c.Env[i] = "OTHER="
		}
	}
	c.Env = append(c.Env, environment...)
	var out strings.Builder
	c.Stderr = &out
	var exit *exec.ExitError
	if err := c.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("%s: the process ends with %v", kind, err)
	}
	return out.String()
}

func TestOneLineOfAFault(t *testing.T) {
	const please = " (please report this line: CONTRIBUTING.md, Reports)\n"
	const internal = "internal error in the run-time: "
	for kind, want := range map[string]string{
		"throw": "liblapi_r: " + internal + "fatal error: sync: unlock of unlocked mutex" + please,
		"named": "LAPI task 3: " + internal + "fatal error: sync: unlock of unlocked mutex" + please,
		"panic": "liblapi_r: " + internal + "panic: of two" + please,
		"nil": "liblapi_r: " + internal +
			"panic: runtime error: invalid memory address or nil pointer dereference" + please,
		"print": "a word of the run-time's\n",
	} {
		if got := ends(t, kind); got != want {
			t.Errorf("%s: %q, not %q", kind, got, want)
		}
	}
}

func TestOneLineWithoutMemory(t *testing.T) {
	got := ends(t, "memory")
	if strings.Contains(got, "-race mode") {
		t.Skip("the race detector allows no such size")
	}
	if !strings.HasPrefix(got, "liblapi_r: no memory or thread to be had (RLIMIT_AS, ") ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

func TestTraceIfAsked(t *testing.T) {
	got := ends(t, "throw", "GOTRACEBACK=single")
	if !strings.Contains(got, "internal error in the run-time: ") ||
		!strings.Contains(got, "\ngoroutine ") {
		t.Errorf("%q", got)
	}
}
