package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCheckHostSaysWhatIsMissing: without /proc, or with few descriptors, the message names that.
func TestCheckHostSaysWhatIsMissing(t *testing.T) {
	for _, k := range []struct {
		self        string
		descriptors uint64
		says        string
	}{
		{"/proc/self/exe", 1024, ""},
		{"/proc/self/exe", descriptorsNeeded, ""},
		{"/proc/self/exe", descriptorsNeeded - 1, "the limit of open files is 60; lapirun"},
		{"/no/such/exe", 1024, "/proc is not mounted"},
	} {
		err := checkHost(k.self, k.descriptors)
		if (err == nil) != (k.says == "") || err != nil && !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s, %d: %v", k.self, k.descriptors, err)
		}
	}
}

// TestFewDescriptors: the job ends with a plain message and status 1, and runs where the limit is the
// least that does.
func TestFewDescriptors(t *testing.T) {
	for limit, want := range map[string]int{"50": 1, "100": 0} {
		cmd := prepare("-n", "2", "true")
		cmd.Args = append([]string{"sh", "-c", "ulimit -n " + limit + ` && exec "$0" "$@"`, cmd.Path},
			cmd.Args[1:]...)
		cmd.Path, _ = exec.LookPath("sh")
		r := startCmd(t, cmd).want(want)
		if want != 0 && !strings.Contains(r.err(), "the limit of open files is "+limit) {
			t.Errorf("limit %s: %q", limit, r.err())
		}
	}
}
