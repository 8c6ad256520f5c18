package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlacement(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	poe := write(t, filepath.Join(dir, "poe"), "! POE's\na\na\nb\n* comment\nc\n")
	open := write(t, filepath.Join(dir, "open"), "# Open MPI's\na slots=2 max_slots=4\nb slots=3 # big\n")
	own := write(t, filepath.Join(dir, "own"), name+"\nlocalhost:2\n")
	for line, want := range map[string]struct {
		procs int
		hosts string
		nodes int
		away  bool
	}{
		"-H a:2,b p":                                 {3, "a:2,b:1", 0, true},
		"-H a,b -n 5 p":                              {5, "a:3,b:2", 0, true},
		"-H a:4,b:4 -n 5 p":                          {5, "a:4,b:1", 0, true},
		"-H a:4,b:4 -n 4 p":                          {4, "a:4", 0, true},
		"-H a,b,c p -nodes 2 -tasks_per_node 3":      {6, "a:3,b:3", 2, true},
		"-H a,b,c -n 4 p -nodes 2":                   {4, "a:2,b:2", 2, true},
		"-H a,b,c -n 3 p -tasks_per_node 2":          {3, "a:2,b:1", 0, true},
		"-hostfile " + poe + " p":                    {4, "a:2,b:1,c:1", 0, true},
		"-n 3 p -hfile " + poe:                       {3, "a:2,b:1", 0, true},
		"-n 6 -nodes 3 -hostfile " + poe + " p":      {6, "a:2,b:2,c:2", 3, true},
		"-hostfile " + open + " p":                   {5, "a:2,b:3", 0, true},
		"-hostfile " + own + " p":                    {3, name + ":1,localhost:2", 0, false},
		"-H localhost p -hostfile " + poe:            {1, "localhost:1", 0, false},
		"-H 127.0.0.1:2 p":                           {2, "127.0.0.1:2", 0, false},
		"-hostfile NULL -n 2 p":                      {2, "", 0, false},
		"-nodes 2 -tasks_per_node 3 p":               {6, "", 2, true},
		"-nodes 2 -n 6 -tasks_per_node 3 p":          {6, "", 2, true},
		"-nodes 3 p":                                 {3, "", 3, true},
		"-nodes 1 -n 4 p":                            {4, "", 1, false},
		"-tasks_per_node 4 p":                        {4, "", 1, false},
		"-tasks_per_node 4 -n 8 p":                   {8, "", 2, true},
		"p":                                          {1, "", 0, false},
		"-H a p -- -nodes 7":                         {1, "a:1", 0, true},
		"--on x -n 2 p -use_bulk_xfer yes":           {2, "", 0, false},
		"-H n1.example.org:2,10.0.0.1:1 -n 2 a.out ": {2, "n1.example.org:2", 0, true},
	} {
		o, err := parse(strings.Fields(line), nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if p := o.place; o.procs != want.procs || p.hostList() != want.hosts ||
			p.nodes != want.nodes || p.away != want.away {
			t.Errorf("%s: %d tasks, %+v", line, o.procs, p)
		}
	}
	for line, says := range map[string]string{
		"-H a:2,b:2 -n 5 p":                   "room for 4 tasks, but 5",
		"-H a,b -nodes 3 p":                   "only 2 hosts for 3 nodes",
		"-H a:x p":                            `"x"`,
		"-H -x p":                             "not the name of a host",
		"-H a,,b p":                           "not the name of a host",
		"-H a:9000,b:9000 p":                  "at most 16384",
		"-hostfile /no/such p":                "no such file",
		"-hostfile /dev/null p":               "names no host",
		"-nodes 2 -tasks_per_node 2 -n 5 p":   "make 4 tasks, but 5",
		"-n 5 -tasks_per_node 2 p":            "5 tasks cannot be 2",
		"-n 2 -nodes 3 p":                     "3 nodes for 2 tasks",
		"--on x -H a p":                       "none of -H",
		"--on x p -nodes 2":                   "none of -H",
		"-nodes 200 -tasks_per_node 200 p":    "at most 16384",
		"-H a:2 -nodes 1 -tasks_per_node 3 p": "",
	} {
		if o, err := parse(strings.Fields(line), nil); says != "" && (err == nil ||
			!strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %+v, %v; want %q", line, o, err, says)
		}
	}
	if o, err := parse([]string{"p"}, []string{"MP_HOSTFILE=" + poe, "MP_NODES=2",
		"MP_TASKS_PER_NODE=2"}); err != nil || o.place.hostList() != "a:2,b:2" || !o.place.away {
		t.Errorf("by variables: %+v, %v", o, err)
	}
	if o, err := parse([]string{"--on", "x", "p"}, []string{"MP_HOSTFILE=" + poe}); err != nil ||
		o.place.away {
		t.Errorf("variables beside --on: %+v, %v", o, err)
	}
}
