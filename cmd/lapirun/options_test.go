package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"lapi/core/job/adapters"
)

func TestOptions(t *testing.T) {
	base := options{procs: 1, stdout: unordered, grace: 5 * time.Second, bind: bindNone,
		program: "prog"}
	with := func(change func(o *options)) options { o := base; change(&o); return o }
	cases := []struct {
		line    string
		environ []string
		want    options
	}{
		{"prog", nil, base},
		{"-n 3 prog a -b", nil, with(func(o *options) {
			o.procs = 3
			o.args = []string{"a",
				"-b"}
		})},
		{"-n 2 -N 2 -ppn 1 -labelio host --report-bindings prog", nil, with(func(o *options) {
			o.procs, o.label, o.hosted, o.reported = 2, true, true, true
			o.place.nodes, o.place.perNode, o.place.away = 2, 1, true
		})},
		{"-procs=3 --labelio yes prog", nil,
			with(func(o *options) { o.procs = 3; o.label = true })},
		{"prog x -procs 4 y -labelio yes -stdoutmode ordered -infolevel 2 -stdinmode none", nil,
			with(func(o *options) {
				o.procs, o.label, o.stdout, o.infoLevel, o.stdin = 4, true,
					ordered,
					2, stdinNone
				o.args = []string{"x", "y"}
			})},
		{"prog -n 3 -k -- -procs 9", nil, with(func(o *options) {
			o.args = []string{"-n", "3", "-k",
				"--", "-procs", "9"}
		})},
		{"-n 2 -- prog -procs 9", nil,
			with(func(o *options) { o.procs = 2; o.args = []string{"-procs", "9"} })},
		{"-k --grace 0.5 -l prog --procs 3", nil, with(func(o *options) {
			o.keepGoing, o.grace, o.label = true, 500*time.Millisecond, true
			o.args = []string{"--procs", "3"} // POE's options have one dash
		})},
		{"-timeout 1.5 --bind core -output o.%t -error e.%t prog -wdir /", nil,
			with(func(o *options) {
				o.timeout, o.bind = 1500*time.Millisecond, bindCore
				o.output, o.errors = "o.%t", "e.%t"
				o.args = []string{"-wdir", "/"}
			})},
		{"prog", []string{"MP_PROCS=5", "MP_LABELIO=yes", "MP_STDOUTMODE=3", "MP_INFOLEVEL=1",
			"MP_STDINMODE=all"}, with(func(o *options) {
			o.procs, o.label, o.stdout, o.infoLevel, o.stdin = 5, true, 3, 1,
				stdinAll
		})},
		{"-n 2 -labelio no prog -stdoutmode unordered", []string{"MP_PROCS=5", "MP_LABELIO=yes",
			"MP_STDOUTMODE=1"}, with(func(o *options) { o.procs = 2 })},
	}
	for _, k := range cases {
		got, err := parse(strings.Fields(k.line), k.environ)
		if err != nil {
			t.Errorf("%s: %v", k.line, err)
			continue
		}
		got.set, got.nodes, got.counted, got.asked = nil, nil, false, false
		if len(got.args) == 0 {
			got.args = nil
		}
		if !reflect.DeepEqual(*got, k.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", k.line, *got, k.want)
		}
	}
}

func TestNodes(t *testing.T) {
	line := []string{"--on", "ip netns exec 'a b'", "-n", "2", "-on=env X=Y", "-l", "--on", "",
		"-procs", "3", "-instances", "MAX", "prog", "-n", "x", "-euidevice", "sn_all"}
	o, err := parse(line, []string{"MP_PROCS=7", "MP_INSTANCES=3"})
	if err != nil {
		t.Fatal(err)
	}
	want := []*node{
		{command: "ip netns exec 'a b'", prefix: []string{"ip", "netns", "exec", "a b"}, procs: 2,
			given: true},
		{command: "env X=Y", prefix: []string{"env", "X=Y"}, procs: 1, first: 2},
		{procs: 3, given: true, first: 3},
	}
	if !reflect.DeepEqual(o.nodes, want) || o.procs != 6 || o.instances != adapters.All ||
		o.device != "sn_all" || !o.label {
		t.Errorf("%+v", o)
	}
	if !reflect.DeepEqual(o.args, []string{"-n", "x"}) {
		t.Errorf("arguments %q", o.args)
	}
	for _, k := range []struct {
		node          *node
		tasks, direct string
	}{{want[0], "tasks 0 to 1 under 'ip netns exec 'a b''", " under 'ip netns exec 'a b''"},
		{o.nodes[2], "tasks 3 to 5", ""}} {
		if k.node.tasks() != k.tasks || k.node.under() != k.direct {
			t.Errorf("%q, %q", k.node.tasks(), k.node.under())
		}
	}
	// LAPI ignores those beyond the first eight
	for _, value := range []string{"8", "9", "99999999999999999999"} {
		if o, err := parse([]string{"prog"}, []string{"MP_INSTANCES=" + value}); err != nil ||
			o.instances != 8 {
			t.Errorf("MP_INSTANCES=%s: %v", value, err)
		}
	}
}

// TestInfoLevelIsCorrected: a level that is out of range, or no number, is used as LAPI uses it, with
// one notice, and the tasks get the level in force.
func TestInfoLevelIsCorrected(t *testing.T) {
	for _, k := range []struct {
		line, variable string
		level          int
		notice, set    string
	}{
		{"prog", "7", 6, "MP_INFOLEVEL=7 is out of range; 6 is used", "6"},
		{"-infolevel 99999999999 prog", "", 6, "6 is used", "6"},
		{"prog -ilevel high", "", 0, `MP_INFOLEVEL="high" is not a number; 0 is used`, "0"},
		{"-infolevel 2 prog", "high", 2, "", "2"},
		{"prog", "3", 3, "", ""},
	} {
		o, err := parse(strings.Fields(k.line), []string{"MP_INFOLEVEL=" + k.variable})
		if err != nil {
			t.Errorf("%s: %v", k.line, err)
			continue
		}
		notes := strings.Join(o.notes, "; ")
		if o.infoLevel != k.level || (notes == "") != (k.notice == "") ||
			!strings.Contains(notes, k.notice) || o.set["MP_INFOLEVEL"] != k.set {
			t.Errorf("%s, %q: level %d, notes %q, tasks get %q", k.line, k.variable, o.infoLevel, notes,
				o.set["MP_INFOLEVEL"])
		}
	}
}

func TestBadOptions(t *testing.T) {
	for line, says := range map[string]string{
		"":                                 "no program",
		"-n 2":                             "no program",
		"-n":                               "needs a value",
		"-n 0 prog":                        "1 to 16384",
		"-n 16385 prog":                    "1 to 16384",
		"-n two prog":                      `"two"`,
		"-n +2 prog":                       `"+2"`,
		"-stdoutmode -0 prog":              `"-0"`,
		"-q prog":                          "unknown option -q",
		"-labelio maybe prog":              "none of yes, no and host",
		"-stdoutmode 4 -n 4 prog":          "only 4 tasks",
		"-stdoutmode x prog":               "stdoutmode",
		"-stdinmode 4 -n 4 prog":           "only 4 tasks",
		"-stdinmode x prog":                "stdinmode",
		"-grace -1 prog":                   "seconds",
		"-grace NaN prog":                  "seconds",
		"prog -procs":                      "needs a value",
		"prog -procs x":                    `"x"`,
		"prog -labelio yes -stdoutmode 1":  "only 1 tasks",
		"-n 1 prog -stdoutmode unorderedx": "stdoutmode",
		"-on":                              "needs a value",
		"--on 'a prog":                     "not closed",
		"--on a -n 0 prog":                 "1 to 16384",
		"--on a -n 1 -n 2 prog":            "'a' is given twice",
		"-n 2 --on a prog":                 "each --on is followed by its own",
		"-procs 2 --on a -n 2 prog":        "each --on is followed by its own",
		"--on a -n 2 prog -procs 2":        "follows each --on",
		"--on a -n 9999 --on b -n 9999 p":  "19998 tasks in all",
		"--on a --on b -stdinmode 2 prog":  "only 2 tasks",
		"-instances 0 prog":                `"0"`,
		"-instances 00 prog":               `"00"`,
		"-instances -1 prog":               `"-1"`,
		"-instances all prog":              "from 1 on nor max",
		"prog -instances 1x":               `"1x"`,
		"--bind socket prog":               "neither core nor none",
		"--timeout -1 prog":                "seconds",
		"-n 2 --output file prog":          "%t stands for",
		"-n 2 --error f%%t prog":           "%t stands for",
		"-wdir /no/such prog":              "no such",
		"-wdir /dev/null prog":             "is no directory",
		"-pgmmodel mpmd prog":              "needs a commands file",
		"-pgmmodel both prog":              "neither spmd nor mpmd",
		"-cmdfile /no/such":                "no such file",
		"-cmdfile /dev/null":               "names no program",
		"-cmdfile /dev/null prog":          "both a program, prog",
		"-x =1 prog":                       "neither NAME",
		"-retry":                           "needs a value",
		"-timout 3 prog":                   "unknown option -timout; did you mean --timeout?",
		"-labelo yes prog":                 "did you mean -labelio?",
		"--report-binding prog":            "did you mean --report-bindings?",
		"-genv A":                          "-genv needs a name and a value",
		"-genv = 1 prog":                   "neither NAME",
		"-N 0 prog":                        "not a number from 1",
		"-ppn x prog":                      "not a number from 1",
		"prog -resd":                       "needs a value",
	} {
		if o, err := parse(strings.Fields(line), nil); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want %q", line, o, err, says)
		}
	}
	if _, err := parse([]string{"prog"}, []string{"MP_LABELIO=perhaps"}); err == nil ||
		!strings.Contains(err.Error(), "MP_LABELIO") {
		t.Errorf("bad variable: %v", err)
	}
	if _, err := parse([]string{"prog"}, []string{"MP_INSTANCES=0"}); err == nil ||
		!strings.Contains(err.Error(), "MP_INSTANCES") {
		t.Errorf("bad variable: %v", err)
	}
	for _, help := range []string{"-h", "--help", "-help"} {
		if _, err := parse([]string{help}, nil); !errors.Is(err, errHelp) {
			t.Errorf("%s: %v", help, err)
		}
	}
}

// TestGenvSetsVariables: -genv and -env take a name and a value, as mpiexec's.
func TestGenvSetsVariables(t *testing.T) {
	o, err := parse(strings.Fields("-genv A 1 -env B b=c -n 2 prog"), nil)
	if err != nil || o.set["A"] != "1" || o.set["B"] != "b=c" || o.program != "prog" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestUnlikeOptionsGetNoSuggestion: a suggestion that is far from what was typed does not help.
func TestUnlikeOptionsGetNoSuggestion(t *testing.T) {
	for _, name := range []string{"z", "qq", "quorum", "mca"} {
		if got := suggestion(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Every option is in the usage text.
func TestUsageIsComplete(t *testing.T) {
	text := usage("lapirun")
	for _, opt := range valued {
		for _, name := range opt.names {
			if !strings.Contains(text, "-"+name) {
				t.Errorf("no -%s", name)
			}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
}

func TestTaskEnvironment(t *testing.T) {
	o, err := parse(strings.Fields(
		"-n 3 prog -infolevel 2 -udp_packet_size 2048 -use_bulk_xfer yes -bulk_min_msg_size 8K"),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"HOME=/home", "MP_PROCS=77", "MP_CHILD=77", "MP_PARTITION=77",
		"LAPI_LAUNCHER_FD=7:7", "MP_INFOLEVEL=1"}
	get := func(env []string, name string) string {
		n := 0
		for _, e := range env {
			if strings.HasPrefix(e, name+"=") {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%s is set %d times", name, n)
		}
		return lookup(env, name)
	}
	n := &node{procs: 3, addresses: "@1:10.0.0.1,eth0"}
	env := taskEnvironment(environ, o, n, 1, 99, "60:123")
	for name, want := range map[string]string{
		"HOME": "/home", "MP_CHILD": "1", "MP_PROCS": "3", "MP_PARTITION": "99",
		"MP_COMMON_TASKS": "2:0:2", "MP_MSG_API": "lapi",
		"MP_EUILIB": "ip", "LAPI_USE_SHM": "yes", "MP_LAPI_INET_ADDR": "@1:10.0.0.1,eth0",
		"LAPI_LAUNCHER_FD": "60:123",
		"MP_INFOLEVEL":     "2", "MP_UDP_PACKET_SIZE": "2048", "MP_USE_BULK_XFER": "yes",
		"MP_BULK_MIN_MSG_SIZE": "8K",
	} {
		if got := get(env, name); got != want {
			t.Errorf("%s=%s, not %s", name, got, want)
		}
	}
	n.addresses = ""
	own := []string{"MP_MSG_API=mpi_lapi", "MP_EUILIB=us", "LAPI_USE_SHM=no",
		"MP_LAPI_NETWORK=@1:164,sn0"}
	env = taskEnvironment(own, o, n, 0, 99, "60:123")
	for _, e := range own {
		name, want, _ := strings.Cut(e, "=")
		if got := get(env, name); got != want {
			t.Errorf("%s=%s, not the user's %s", name, got, want)
		}
	}
	if got := get(env, "MP_LAPI_INET_ADDR"); got != "" {
		t.Errorf("MP_LAPI_INET_ADDR=%s beside the user's MP_LAPI_NETWORK", got)
	}
	n = &node{first: 1, procs: 2}
	for task, want := range map[int]string{1: "1:2", 2: "1:1"} {
		if got := get(taskEnvironment(nil, o, n, task, 99, "60:123"),
			"MP_COMMON_TASKS"); got != want {
			t.Errorf("task %d of the node of tasks 1 and 2: MP_COMMON_TASKS=%s", task, got)
		}
	}
}
