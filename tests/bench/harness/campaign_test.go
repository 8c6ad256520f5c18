package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func rowNames(all []comparison) (names []string) {
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

func chooseRows(names string) ([]comparison, error) {
	return choose(comparisons(), names, func(c comparison) string { return c.name })
}

func TestChoose(t *testing.T) {
	some, err := chooseRows("put8, get*k,am8")
	if got := rowNames(some); err != nil || !slices.Equal(got,
		[]string{"am8", "put8", "get4k", "get64k", "get-bandwidth64k"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"put9", "am8,", "[", "am8,nothing*"} {
		if _, err := chooseRows(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// Each row of either table is there once, ours has one program for it, and something stands beside
// it, with another tree's build in place of the peers too.
func TestRowsAreMeasured(t *testing.T) {
	for _, o := range []options{{peers: true}, {udp: true}, {peers: true, before: "/x"},
		{udp: true, before: "/x"}} {
		o.out = t.TempDir()
		rows, all := o.world()
		names := map[string]bool{}
		for _, c := range rows {
			if names[c.name] {
				t.Errorf("%s is there twice", c.name)
			}
			names[c.name] = true
			ours, others := 0, 0
			for _, q := range all {
				op := operation{op: c.op, ours: c.ourOps(), sizes: []int{c.size}}
				for _, pr := range q.programs(plan{seconds: "1"}, &o, &op, op.sizes) {
					if pr.who == c.ourKey().Who {
						ours++
					}
					if c.beside == "" && slices.Contains(peerNames, pr.who) || c.beside == pr.who {
						others++ // one program of ours may have both
					}
				}
			}
			if ours != 1 || others == 0 {
				t.Errorf("%+v: %s: %d programs of ours, %d of others", o, c.name, ours, others)
			}
		}
	}
}

func TestOperations(t *testing.T) {
	rows, err := chooseRows("am8,am-probe8,put-completed*,gfence*")
	if err != nil {
		t.Fatal(err)
	}
	want := []operation{
		{"am", []string{"am", "am-probe"}, []int{8}},
		{"put-completed", []string{"put-completed"}, []int{8, 4096, 65536, 1 << 20}},
		{"barrier", []string{"barrier"}, []int{2}},
		{"barrier", []string{"barrier"}, []int{4}},
		{"barrier", []string{"barrier"}, []int{8}},
	}
	same := func(a, b operation) bool {
		return a.op == b.op && slices.Equal(a.ours, b.ours) && slices.Equal(a.sizes, b.sizes)
	}
	if got := operations(rows, false); !slices.EqualFunc(got, want, same) {
		t.Errorf("got %+v", got)
	}
	for _, g := range operations(rows, true) {
		if drawn := len(g.sizes) > 4; drawn != (g.op != "barrier") {
			t.Errorf("%s has sizes %v", g.op, g.sizes)
		}
	}
}

func TestPrograms(t *testing.T) {
	o := &options{out: t.TempDir()}
	programs := func(name, op string, sizes ...int) []program {
		all := overMemory()
		q := all[slices.IndexFunc(all, func(q participant) bool { return q.name == name })]
		return q.programs(plan{seconds: "0.5"}, o, &operation{op: op, ours: []string{op}}, sizes)
	}
	for _, name := range []string{"lapi", "mpich"} {
		if pr := programs(name, "barrier", 4)[0]; pr.tasks != 4 {
			t.Errorf("%s: %d tasks in a barrier of 4", name, pr.tasks)
		}
	}
	if got := strings.Join(programs("lapi", "am", 8, 64)[0].args,
		" "); got != "compare --ops=am --sizes=8,64 --seconds=0.5" {
		t.Errorf("ours: %s", got)
	}
	pr := programs("openmpi-ucx", "am", 8)[0]
	if got := strings.Join(pr.launcher, " "); !strings.Contains(got,
		"--mca osc ucx --oversubscribe --bind-to none") ||
		!slices.Contains(pr.env, "UCX_TLS=posix,cma,self") {
		t.Errorf("openmpi-ucx: %s, %v", got, pr.env)
	}
	if programs("mpich", "put", 8) != nil || programs("ucx", "put", 8)[0].parse == nil {
		t.Error("a put's arrival at the target is UCX's alone")
	}
}

func compareRun() []Row {
	return slices.Concat(
		series("lapi", "am", 8, "us", 0.09), series("ucx", "am", 8, "us", 0.15),
		series("mpich", "am", 8, "us", 0.10),
		series("lapi", "put-rate", 8, "M/s", 25), series("lapi", "put-fence-rate", 8, "M/s", 5),
		series("ucx", "put-rate", 8, "M/s", 8), series("mpich", "put-rate", 8, "M/s", 10),
		series("lapi", "put-cold", 64<<20, "GB/s", 9), series("mpich", "put-cold", 64<<20, "GB/s",
			100),
		series("pipeline", "put-cold", 64<<20, "GB/s", 10), series("lapi", "get", 8, "us", 1))
}

// Everything that a run writes, with its state flags; a row without results is named, and an error.
func TestReport(t *testing.T) {
	o := &options{out: t.TempDir(), stateLimit: 110}
	rows := compareRun()
	rows[0].Before = 300
	if err := writeRaw(filepath.Join(o.out, "raw.csv"), rows, 110); err != nil {
		t.Fatal(err)
	}
	rows[0].Before = 60
	if err := report(o, comparisons(), summarise(rows, 110)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"raw.csv":     "1,lapi,am,8,0.09000,us,300.0,60.00,0,0,false\n1,ucx,am,8,0.1500,us,60.00,60.00,0,0,true\n",
		"rows.csv":    "am8,us,0.0900,[0.0900 0.0900],0.150,,,,0.100,,,mpich,0.90,<= 0.75,no,,,,1/0 2/0\n",
		"table.txt":   "0.90   <= 0.75  no ",
		"results.csv": "pipeline,put-cold,67108864,10.00",
	} {
		text, err := os.ReadFile(filepath.Join(o.out, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q (%v):\n%s", file, want, err, text)
		}
	}
	rowsCSV, _ := os.ReadFile(filepath.Join(o.out, "rows.csv"))
	if !strings.Contains(string(rowsCSV), "gfence8,no result") {
		t.Errorf("a row without results is not named:\n%s", rowsCSV)
	}
	c := &campaign{o: o, rows: rows, ours: map[string]int{"shm gfence": 0, "shm rate": 2}}
	err := c.complete(comparisons())
	if err == nil || !strings.Contains(err.Error(), "gfence8") ||
		!strings.Contains(err.Error(), "shm gfence") ||
		strings.Contains(err.Error(), "am8") || strings.Contains(err.Error(), "shm rate") {
		t.Errorf("got %v", err)
	}
}

// scriptCampaign has one participant, a shell script in place of rawbench.
func scriptCampaign(t *testing.T, text string) (*campaign, *group) {
	was := quietCores
	quietCores = 1e6 // what else runs on the test's machine shall not count
	t.Cleanup(func() { quietCores = was })
	o := &options{bin: t.TempDir(), out: t.TempDir(), stateLimit: 110}
	script(t, o.bin, text)
	g := &group{name: "am", sizes: []int{8, 64}, turns: []turn{func(sizes []int) []program {
		return []program{{who: "p", name: "rawbench", args: []string{"x", joinSizes(sizes)}}}
	}}}
	return &campaign{o: o, start: time.Now().Add(-time.Hour), ours: map[string]int{}}, g
}

func TestDisturbedIsRepeated(t *testing.T) {
	// The state check is good; size 8 is always disturbed, size 64 never.
	c, g := scriptCampaign(t, `case $1 in state) echo row,state,oneway,0,60,ns,60,60,0; exit;; esac
case $2 in *64*) echo row,compare,am,64,2,us,60,60,0;; esac
echo row,compare,am,8,1,us,60,300,0
`)
	c.measure(context.Background(), g, 1)
	count := map[Key]int{}
	for _, r := range c.rows {
		count[r.Key]++
	}
	if len(count) != 2 || count[Key{"p", "am", 8}] != 1+repeats || count[Key{"p", "am", 64}] != 1 {
		t.Errorf("measured %v times", count)
	}
}

func TestRepeatingEnds(t *testing.T) {
	c, g := scriptCampaign(t, "echo row,compare,am,8,1,us,300,300,0\n")
	c.again = time.Hour // all of the time so far
	c.measure(context.Background(), g, 1)
	if len(c.rows) != 1 {
		t.Errorf("%d results", len(c.rows))
	}
	c.again, g.sizes, c.rows = 0, nil, nil // the programs know their sizes
	if c.measure(context.Background(), g, 1); len(c.rows) != 1 {
		t.Errorf("%d results", len(c.rows))
	}
}

func TestStateStandsAroundForeignPrograms(t *testing.T) {
	c, _ := scriptCampaign(t, "echo row,state,oneway,0,77,ns,77,77,0\n")
	pr := program{who: "p", name: "rawbench", args: []string{"x"}, parse: func(string) []Row {
		return []Row{{Key: Key{Op: "am", Size: 8}, Value: 1, Unit: "us"}}
	}}
	c.trial(context.Background(), pr, 1)
	if len(c.rows) != 1 || c.rows[0].Before != 77 || c.rows[0].After != 77 {
		t.Errorf("got %+v", c.rows)
	}
	// A failed trial leaves no rows, and does not end the run.
	pr.parse = func(string) []Row { return nil }
	if c.trial(context.Background(), pr, 1); len(c.rows) != 1 {
		t.Errorf("a failed trial left rows: %+v", c.rows)
	}
}

func TestWaitGoodEnds(t *testing.T) {
	c, _ := scriptCampaign(t, "echo row,state,oneway,0,300,ns,300,300,0\n")
	c.plan.state = 400 * time.Millisecond
	if ns := c.waitGood(context.Background(), 110); ns != 300 ||
		c.plan.state >= 400*time.Millisecond {
		t.Errorf("%v ns, %v left", ns, c.plan.state)
	}
}

// The script of pairs gives both ends a core, waits for the server, and says why one has failed.
func TestPair(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("skip: no python3 to listen")
	}
	t.Chdir("../../..")
	o := &options{bin: ".", out: t.TempDir()}
	const server = `python3 -c 'import socket; s = socket.create_server(("127.0.0.1", @)); c, _ = s.accept(); c.send(b"from a server"); %s'`
	const client = `python3 -c 'import os, socket; print(len(os.sched_getaffinity(0)), socket.create_connection(("127.0.0.1", @)).recv(99).decode())'`
	run := func(server, client string) (string, error) {
		out, _, err := execute(context.Background(), o, pair("p", "x", nil, nil, server, client))
		return out.printed, err
	}
	if out, err := run(strings.Replace(server, "%s", "", 1), client); err != nil ||
		out != "1 from a server\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := run(strings.Replace(server, "%s", `raise SystemExit("bad end")`, 1),
		client); err == nil || !strings.Contains(err.Error(), "bad end") {
		t.Errorf("a server that fails late: %v", err)
	}
	if _, err := run("echo this server has failed", client); err == nil ||
		!strings.Contains(err.Error(), "this server has failed") {
		t.Errorf("got %v", err)
	}
}
