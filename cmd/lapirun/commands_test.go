package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lapi/core/settings"
)

// write makes a file with text in it.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCommandsFile(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "commands"), `
# what each task runs
sh -c 'echo first $MP_CHILD of $MP_PROCS'
! two of these
  sh -c 'echo "other $MP_CHILD: $0"' 'a b'
sh -c 'echo "other $MP_CHILD: $0"' c
`)
	want := []string{"first 0 of 3", "other 1: a b", "other 2: c"}
	for _, environ := range [][]string{{"MP_CMDFILE=" + file},
		{"MP_CMDFILE=" + file, "MP_PGMMODEL=MPMD", "MP_PROCS=3"}} {
		cmd := prepare()
		cmd.Env = append(cmd.Env, environ...)
		if got := shown(t, startCmd(t, cmd)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", environ, got)
		}
	}
	if got := shown(t, start(t, "--on", "env A=1", "-n", "2", "--on", "", "-cmdfile",
		file)); !slices.Equal(got, want) {
		t.Errorf("of two nodes: %q", got)
	}
	want = []string{"first 0 of 2", "first 1 of 2"}
	if got := shown(t, start(t, "-pgmmodel", "spmd", "-n", "2", "-cmdfile",
		file)); !slices.Equal(got, want) {
		t.Errorf("spmd: %q", got)
	}
	if r := start(t, "-n", "2", "-cmdfile", file).want(2); !strings.Contains(r.err(),
		"has 3 commands for 2 tasks") {
		t.Errorf("%q", r.err())
	}
	// a program that is named goes before the variable, as with POE, not before the option
	cmd := prepare("echo", "named")
	cmd.Env = append(cmd.Env, "MP_CMDFILE="+file)
	r := startCmd(t, cmd).want(0)
	if !strings.Contains(r.err(), "MP_CMDFILE is not read, since a program is named") ||
		r.out() != "named\n" {
		t.Errorf("%q %q", r.out(), r.err())
	}
	cmd = prepare("-pgmmodel", "mpmd", "echo", "named")
	cmd.Env = append(cmd.Env, "MP_CMDFILE="+file)
	for _, r := range []*lr{startCmd(t, cmd), start(t, "-cmdfile", file, "echo", "named")} {
		if r.want(2); !strings.Contains(r.err(), "both a program, echo, and a commands file") {
			t.Errorf("%q", r.err())
		}
	}
	write(t, file, "true\n/no/such/program\n")
	if r := start(t, "-cmdfile", file).want(127); !strings.Contains(r.err(), "/no/such/program") {
		t.Errorf("%q", r.err())
	}
	write(t, file, "true\nfalse\n")
	if r := start(t, "-cmdfile", file).want(1); !strings.Contains(r.err(), "task 1 (false,") {
		t.Errorf("%q", r.err())
	}
	write(t, file, "true\n'false\n")
	if r := start(t, "-cmdfile", file).want(2); !strings.Contains(r.err(), "line 2: a ' is not") {
		t.Errorf("%q", r.err())
	}
}

// A relative program is one of the working directory.
func TestWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := write(t, filepath.Join(dir, "here"), "#!/bin/sh\necho $PWD $(/bin/pwd)\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	want := []string{dir + " " + dir, dir + " " + dir}
	for _, args := range [][]string{{"-n", "2", "-wdir", dir, "./here"},
		{"--on", "env A=1", "-n", "2", "-wdir", dir, "./here"}} {
		if got := shown(t, start(t, args...)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", args, got)
		}
	}
}

func TestTimeout(t *testing.T) {
	for _, args := range [][]string{nil, {"-k"}} {
		args = append(args, "-n", "2", "--timeout", "0.3", "sh", "-c", sleepers)
		begin := time.Now()
		r := start(t, args...).want(124)
		if strings.Count(r.err(), "has not ended within 300ms\n") != 1 ||
			!strings.Contains(r.err(), "lapirun: task 1 has not called LAPI_Init") {
			t.Errorf("%q", r.err())
		}
		if time.Since(begin) < 300*time.Millisecond {
			t.Errorf("ended after %v", time.Since(begin))
		}
		gone(t, processes(pids(t, r.lines(0, "pid "))))
	}
	start(t, "--timeout", "60", "true").want(0)
	start(t, "--timeout", "60", "sh", "-c", "exit 3").want(3)
}

func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	write(t, filepath.Join(dir, "both.1"), "of before\n")
	const script = `echo out $MP_CHILD; echo err $MP_CHILD >&2; echo again`
	r := start(t, "-n", "2", "--output", dir+"/both.%t", "sh", "-c", script).want(0)
	for task, want := range map[string]string{"0": "out 0\nerr 0\nagain\n",
		"1": "out 1\nerr 1\nagain\n"} {
		if got := read("both." + task); got != want {
			t.Errorf("task %s: %q", task, got)
		}
	}
	if r.out()+r.err() != "" {
		t.Errorf("shown: %q%q", r.out(), r.err())
	}
	r = start(t, "-n", "2", "--error", dir+"/e%%.%t", "-l", "sh", "-c", script).want(0)
	if got := read("e%.0") + read("e%.1"); got != "err 0\nerr 1\n" {
		t.Errorf("standard error: %q", got)
	}
	if r.lines(1, "0:out 0"); r.err() != "" {
		t.Errorf("shown: %q", r.err())
	}
	start(t, "--output", dir+"/o", "--error", dir+"/e", "sh", "-c", script).want(0)
	if got := read("o") + read("e"); got != "out 0\nagain\nerr 0\n" {
		t.Errorf("two files: %q", got)
	}
	// a folder that is not there is no program that is not there
	for _, option := range []string{"--output", "--error"} {
		if r := start(t, option, dir+"/no/such", "true").want(1); !strings.Contains(r.err(),
			"task 0: "+option+": open "+dir+"/no/such") {
			t.Errorf("%q", r.err())
		}
	}
}

// Options that only POE has are reported and taken out; the program's own arguments stay.
func TestForeignOptions(t *testing.T) {
	r := start(t, "-rmpool", "1", "sh", "-c", `echo "got $*"`, "sh", "-resd", "no", "-x", "1",
		"-wait_mode", "poll", "-tracelevel", "9", "-tdir", "/tmp").want(0)
	if got := r.lines(1, "got "); got[0] != "-x 1" {
		t.Errorf("%q", got)
	}
	for _, option := range []string{"-rmpool 1", "-resd no", "-wait_mode poll", "-tracelevel 9",
		"-tdir /tmp"} {
		if !strings.Contains(r.err(), "POE's option "+option+" has no effect") {
			t.Errorf("%q lacks %s", r.err(), option)
		}
	}
	r = start(t, "--", "sh", "-c", `echo "got $*"`, "sh", "-resd", "no").want(0)
	if got := r.lines(1, "got "); got[0] != "-resd no" || r.err() != "" {
		t.Errorf("%q %q", got, r.err())
	}
	for _, name := range settings.POEOptions() {
		if find(name, true) != nil {
			t.Errorf("-%s is an option of lapirun's", name)
		}
	}
}
