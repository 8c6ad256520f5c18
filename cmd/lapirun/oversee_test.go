package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestOverseenLauncher: a launcher that ends in time gives its status; a late launcher is ended, by
// force if it must be, and the status is that of --timeout.
func TestOverseenLauncher(t *testing.T) {
	for script, k := range map[string]struct {
		timeout time.Duration
		want    int
	}{
		"exit 7":                             {time.Minute, 7},
		"true":                               {time.Minute, 0},
		"kill -9 $$":                         {time.Minute, 137},
		"exec sleep 1000":                    {50 * time.Millisecond, exitTimeout},
		"trap '' TERM; exec sleep 1000":      {50 * time.Millisecond, exitTimeout},
		"trap 'exit 3' TERM; sleep 1 & wait": {10 * time.Millisecond, exitTimeout},
	} {
		o := &options{timeout: k.timeout, grace: 100 * time.Millisecond}
		if got := overseen("lapirun", launcher{path: "/bin/sh"}, []string{"sh", "-c", script},
			&delegation{o: o}, nil); got != k.want {
			t.Errorf("%s: status %d, not %d", script, got, k.want)
		}
	}
}

// TestOverseenLauncherTakesSignals: the launcher ignores no signal that lapirun does not ignore.
func TestOverseenLauncherTakesSignals(t *testing.T) {
	const script = `test "$(grep SigIgn /proc/self/status)" = "$1"`
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "SigIgn")
	ignored, _, _ := strings.Cut(after, "\n")
	argv := []string{"sh", "-c", script, "sh", "SigIgn" + ignored}
	o := &options{timeout: time.Minute}
	if got := overseen("lapirun", launcher{path: "/bin/sh"}, argv, &delegation{o: o}, nil); got != 0 {
		t.Errorf("the launcher ignores other signals than%s", ignored)
	}
}

// TestProgramsWithDividers: the programs of "-n 1 a : -n 2 b" are commands of the tasks in turn; a --
// leaves the divider to the program.
func TestProgramsWithDividers(t *testing.T) {
	for line, want := range map[string]string{
		"-n 1 a x : -n 2 b y":    "a x|b y|b y",
		"a : b : c":              "a|b|c",
		"-n 2 a : -procs 1 b -l": "a|a|b -l",
		"-n 1 -- a : b":          "a : b",
		"a -procs 2 : b":         "a|a|b",
	} {
		o, err := parse(strings.Fields(line), nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got []string
		for task := range o.procs {
			got = append(got, strings.Join(o.command(task), " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	for line, says := range map[string]string{
		"a :":               "a : without a program after it",
		"a : -n":            "needs a value",
		"a : -n 0 b":        "1 to 16384",
		"a : -wdir /tmp b":  "-wdir after : is not taken",
		"--on x -n 1 a : b": "neither a commands file nor --on",
		"-n 16384 a : b":    "16385 tasks in all",
		"-n 1 : b":          "no program is named",
	} {
		if _, err := parse(strings.Fields(line), nil); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", line, err, says)
		}
	}
	r := start(t, "-n", "1", "sh", "-c", "echo first $MP_CHILD $MP_PROCS", ":", "-n", "2", "sh", "-c",
		"echo second $MP_CHILD $MP_PROCS").want(0)
	for _, says := range []string{"first 0 3\n", "second 1 3\n", "second 2 3\n"} {
		if !strings.Contains(r.out(), says) {
			t.Errorf("%q is not in %q", says, r.out())
		}
	}
}
