package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzOptions: whatever the command line and the variables are, they are refused or within their
// ranges, no argument of the program is lost, and the environment made of them says what was asked
// for. Arguments are separated by newlines.
func FuzzOptions(f *testing.F) {
	for _, s := range []string{"-n\n4\nprog", "--procs=2\n-labelio\nyes\na.out\n-x",
		"prog\n-procs\n3\n--\n-infolevel", "-stdoutmode\n1\n-n\n2\np", "-h", "-grace\nNaN\np",
		"-np\n16385\np", "--on\nchroot '/x y'\n-n\n2\n--on\n\nprog", "--on=a\n-n\n3\np\n-procs\n7",
		"prog\n-euilib", "-H\na:2,b\nprog\n-tasks_per_node\n3", "-cmdfile\nf", "p\n-nodes\n2",
		"-x\nA=b\n-timeout\n3\n-bind\ncore\np\n-retry\n5", "--\n-n", "-stdinmode=7\nx", ""} {
		f.Add(s, "MP_PROCS=2\nMP_LABELIO=yes")
		f.Add(s, "MP_STDOUTMODE=0\nMP_INFOLEVEL=9\nMP_PROCS")
	}
	readFile = func(string) ([]byte, error) { return nil, os.ErrNotExist }
	f.Cleanup(func() { readFile = os.ReadFile })
	f.Fuzz(func(t *testing.T, command, variables string) {
		args, environ := strings.Split(command, "\n"), strings.Split(variables, "\n")
		o, err := parse(slices.Clone(args), environ)
		if err != nil {
			return
		}
		if o.procs < 1 || o.procs > maxProcs || o.infoLevel < 0 || o.infoLevel > 6 || o.grace < 0 ||
			o.stdin < stdinNone || o.stdin >= o.procs ||
			o.stdout < ordered || o.stdout >= o.procs {
			t.Errorf("%q, %q: %+v", args, environ, o)
		}
		if !slices.Contains(args, o.program) || len(o.args) >= len(args) {
			t.Errorf("%q: program %q, arguments %q", args, o.program, o.args)
		}
		for _, a := range o.args {
			if !slices.Contains(args, a) {
				t.Errorf("%q: the argument %q is new", args, a)
			}
		}
		if o.procs > 100 {
			return
		}
		tasks := 0
		for _, n := range o.nodes {
			if tasks += n.procs; n.procs < 1 || n.first+n.procs != tasks {
				t.Errorf("%q: %d tasks begin at %d, %d in all", args, n.procs, n.first, tasks)
			}
		}
		if tasks != o.procs {
			t.Errorf("%q: the nodes have %d tasks, the job %d", args, tasks, o.procs)
		}
		env := taskEnvironment(environ, o, o.nodes[len(o.nodes)-1], o.procs-1, 5, "60:1")
		for _, want := range []string{"MP_CHILD=", "MP_PROCS=", "MP_PARTITION=5",
			"MP_COMMON_TASKS="} {
			if n := strings.Count("\n"+strings.Join(env, "\n"), "\n"+want); n != 1 {
				t.Errorf("%q, %q: %s is there %d times", args, environ, want, n)
			}
		}
	})
}

// FuzzFiles: host lists and commands files are refused, or name hosts and commands.
func FuzzFiles(f *testing.F) {
	for _, s := range []string{"a\nb\n", "a:3\n# c\nb slots=2 max_slots=4\n", "* x\n!y\n\na",
		"./prog 'a b'\n\n# none\nother", "'", "a:0", "-x", "@pool 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := parseHostFile([]byte(text))
		for _, h := range merge(hosts) {
			if err == nil && (h.name == "" || h.name[0] == '-' || h.tasks < 1) {
				t.Errorf("%q: host %+v", text, h)
			}
		}
		commands, err := commandLines([]byte(text))
		for _, c := range commands {
			if err == nil && len(c) == 0 {
				t.Errorf("%q: a command without words", text)
			}
		}
	})
}

// FuzzStat: whatever name a process has given itself, it is a child of the process that the kernel
// says.
func FuzzStat(f *testing.F) {
	f.Add([]byte("cat"), uint32(12))
	f.Add([]byte(") R 1 (x) S 2"), uint32(0))
	f.Fuzz(func(t *testing.T, name []byte, parent uint32) {
		line := fmt.Appendf(nil, "7 (%s) S %d 1 1 0", name, parent)
		if !isChild(line, fmt.Append(nil, parent)) || isChild(line, fmt.Append(nil, parent+1)) {
			t.Errorf("%q is not a child of %d only", line, parent)
		}
		isChild(name, []byte("1")) // a line of another form
	})
}
