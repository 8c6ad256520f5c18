package main

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestChooseRows(t *testing.T) {
	all, err := chooseRows(comparisons(), "")
	if err != nil || len(all) != len(comparisons()) {
		t.Fatalf("all: %d, %v", len(all), err)
	}
	some, err := chooseRows(comparisons(), "put8, get*k,am8")
	if got := rowNames(some); err != nil || !reflect.DeepEqual(got, []string{"am8", "put8", "get4k", "get64k", "get-bandwidth64k"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"put9", "am8,", "[", "am8,nothing*"} {
		if _, err := chooseRows(comparisons(), bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestRowsAreDistinctAndMeasured(t *testing.T) {
	type key struct {
		op   string
		size int
	}
	names, keys := map[string]bool{}, map[key]bool{}
	for _, c := range comparisons() {
		k := key{c.ourOp(), c.size}
		if names[c.name] || keys[k] {
			t.Errorf("%s is there twice", c.name)
		}
		names[c.name], keys[k] = true, true
		others := 0
		g := peerGroup{op: c.op, ours: []string{c.ourOp()}, sizes: []int{c.size}}
		for _, q := range participants(plan{seconds: "1"}) {
			if n := len(q.programs(&g, g.sizes)); q.side == Ours && n != 1 {
				t.Errorf("%s: %d programs of ours", c.name, n)
			} else if q.side != Ours {
				others += n
			}
		}
		if others == 0 {
			t.Errorf("%s is compared with nothing", c.name)
		}
	}
}

func TestPeerGroups(t *testing.T) {
	rows, err := chooseRows(comparisons(), "am8,am-probe8,put-completed*,gfence*")
	if err != nil {
		t.Fatal(err)
	}
	got := peerGroups(rows, false)
	want := []peerGroup{
		{"am", []string{"am", "am-probe"}, []int{8}},
		{"put-completed", []string{"put-completed"}, []int{8, 4096, 65536}},
		{"barrier", []string{"barrier"}, []int{2}},
		{"barrier", []string{"barrier"}, []int{4}},
		{"barrier", []string{"barrier"}, []int{8}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, g := range peerGroups(rows, true) {
		if drawn := len(g.sizes) > 4; drawn != (g.op != "barrier") {
			t.Errorf("%s has sizes %v", g.op, g.sizes)
		}
	}
}

func TestProgramsOfGroups(t *testing.T) {
	p := plan{seconds: "0.5"}
	byName := map[string]participant{}
	for _, q := range participants(p) {
		byName[q.name] = q
	}
	barrier := peerGroup{op: "barrier", ours: []string{"barrier"}, sizes: []int{4}}
	for _, name := range []string{"lapi", "mpich"} {
		if pr := byName[name].programs(&barrier, barrier.sizes)[0]; pr.tasks != 4 {
			t.Errorf("%s: %d tasks in a barrier of 4", name, pr.tasks)
		}
	}
	am := peerGroup{op: "am", ours: []string{"am", "am-probe"}}
	pr := byName["lapi"].programs(&am, []int{8, 64})[0]
	if got := strings.Join(pr.args, " "); got != "compare --ops=am,am-probe --sizes=8,64 --seconds=0.5" {
		t.Errorf("ours: %s", got)
	}
	pr = byName["openmpi-ucx"].programs(&am, []int{8})[0]
	if got := strings.Join(pr.launcher, " "); !strings.Contains(got, "--mca osc ucx --oversubscribe --bind-to none") || !strings.Contains(strings.Join(pr.env, " "), "UCX_TLS=posix,cma,self") {
		t.Errorf("openmpi-ucx: %s, %v", got, pr.env)
	}
	put := peerGroup{op: "put"}
	if byName["mpich"].programs(&put, []int{8}) != nil || byName["ucx"].programs(&put, []int{8}) == nil {
		t.Error("a put's arrival at the target is UCX's alone")
	}
}

func TestUCXBatch(t *testing.T) {
	batches := ucxTests["fetch-and-add"].batch(8) + ucxTests["fetch-and-add"].batch(4<<20)
	lines := strings.Split(strings.TrimSpace(batches), "\n")
	if len(lines) != ucxRepetitions(8)+ucxRepetitions(4<<20) || lines[0] != "8 -t ucp_fadd -O 1 -s 8 -n 20000 -w 2000" ||
		lines[len(lines)-1] != "4194304 -t ucp_fadd -O 1 -s 4194304 -n 16 -w 2" {
		t.Errorf("got %q", lines)
	}
}

const ucxOutput = `x.batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
8,5000,0.266,0.487,0.487,15.65,15.65,2000000,2000000
8,5000,0.271,0.277,0.277,27.58,27.58,4000000,4000000
8,5000,0.271,0.280,0.280,27.27,27.27,3000000,5000000
1048576,20,1,1,1,1,1,1,10000
other words, of all kinds
`

func TestParseUCX(t *testing.T) {
	for _, c := range []struct {
		op   string
		want []Row
	}{
		{"put", []Row{{Test: "compare", Op: "put", Size: 8, Value: 0.25, Unit: "us"}, {Test: "compare", Op: "put", Size: 1 << 20, Value: 100, Unit: "us"}}},
		{"put-rate", []Row{{Test: "compare", Op: "put-rate", Size: 8, Value: 4, Unit: "M/s"}, {Test: "compare", Op: "put-rate", Size: 1 << 20, Value: 0.01, Unit: "M/s"}}},
		{"put-bandwidth", []Row{{Test: "compare", Op: "put-bandwidth", Size: 8, Value: 0.032, Unit: "GB/s"}, {Test: "compare", Op: "put-bandwidth", Size: 1 << 20, Value: 10.48576, Unit: "GB/s"}}},
	} {
		if got := parseUCX(ucxOutput, c.op); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v", c.op, got)
		}
	}
	if got := parseUCX("", "put"); got != nil {
		t.Errorf("nothing gave %+v", got)
	}
}

func TestParsePingpong(t *testing.T) {
	us, ok := parsePingpong("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n8       20k     =20k     312k        0.06s      5.63       1.42       0.70\n")
	if !ok || us != 1.42 {
		t.Errorf("got %v, %v", us, ok)
	}
	for _, bad := range []string{"", "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec", "no route"} {
		if _, ok := parsePingpong(bad); ok {
			t.Errorf("%q was taken for a result", bad)
		}
	}
}

func compareRun() *Summaries {
	var rows []Row
	add := func(side Side, who, op string, size int, unit string, v ...float64) {
		rows = append(rows, series(side, who, "compare", op, size, unit, v...)...)
	}
	add(Ours, "lapi", "am", 8, "us", 0.09)
	add(Peer, "ucx", "am", 8, "us", 0.15)
	add(Peer, "mpich", "am", 8, "us", 0.10)
	add(Ours, "lapi", "put-rate", 8, "M/s", 25)
	add(Ours, "lapi", "put-fence-rate", 8, "M/s", 5)
	add(Peer, "ucx", "put-rate", 8, "M/s", 8)
	add(Peer, "mpich", "put-rate", 8, "M/s", 10)
	add(Ours, "lapi", "put-cold", 64<<20, "GB/s", 9)
	add(Peer, "mpich", "put-cold", 64<<20, "GB/s", 100)
	add(Raw, "pipeline", "put-cold", 64<<20, "GB/s", 10)
	add(Ours, "lapi", "get", 8, "us", 1)
	return summarise(rows, 110)
}

func TestCompare(t *testing.T) {
	s := compareRun()
	for _, c := range comparisons() {
		want, ok := map[string]struct {
			best    string
			ratio   float64
			verdict string
		}{
			"am8":             {"mpich", 0.9, "no"},
			"put-rate8":       {"mpich", 2.5, "yes"},
			"put-fence-rate8": {"mpich", 0.5, ""},
			"put-cold64m":     {"pipeline", 0.9, ""},
			"get8":            {"", 0, ""},
		}[c.name]
		if !ok {
			continue
		}
		r := s.compare(c)
		best := ""
		if r.best != nil {
			best = r.best.Medium
		}
		if best != want.best || math.Abs(r.ratio-want.ratio) > 1e-9 || r.verdict() != want.verdict {
			t.Errorf("%s: best %s, ratio %v, %q", c.name, best, r.ratio, r.verdict())
		}
	}
}

func TestVerdictOfDisturbed(t *testing.T) {
	rows := append(series(Ours, "lapi", "compare", "am", 8, "us", 0.05), series(Peer, "ucx", "compare", "am", 8, "us", 0.1)...)
	rows[1].Before = 300
	chosen, _ := chooseRows(comparisons(), "am8")
	if r := summarise(rows, 110).compare(chosen[0]); r.verdict() != "yes?" {
		t.Errorf("got %q", r.verdict())
	}
}

func TestFallbackPrefersGoodState(t *testing.T) {
	rows := series(Ours, "lapi", "compare", "am", 8, "us", 1, 2, 900)
	rows[0].Others, rows[1].Others, rows[2].After = 1, 1, 300
	if v := summarise(rows, 110).get(Ours, "lapi", "compare", "am", 8); v.Median != 1.5 || !v.Disturbed || v.Dropped != 3 {
		t.Errorf("got %+v", v)
	}
}

func TestReportPeers(t *testing.T) {
	o := &options{out: t.TempDir()}
	if err := reportPeers(o, comparisons(), compareRun()); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"rows.csv":    "am8,\"active message 8 B, one way, target counter\",us,0.09000,0.09000,0.09000,1,0,false,0.1500,,,,0.1000,,,0.1000,mpich,0.9000,<= 0.75,no",
		"table.txt":   "0.90   <= 0.75  no ",
		"results.csv": "raw,pipeline,compare,put-cold,67108864,10.00",
	} {
		text, err := os.ReadFile(filepath.Join(o.out, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q (%v):\n%s", file, want, err, text)
		}
	}
	table, _ := os.ReadFile(filepath.Join(o.out, "table.txt"))
	if !lineWith(string(table), "gfence8", "no result") {
		t.Errorf("a row without results is not named:\n%s", table)
	}
}

// lineWith says whether text has a line with both words.
func lineWith(text, a, b string) bool {
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, a) && strings.Contains(line, b) {
			return true
		}
	}
	return false
}

func TestPeerPictures(t *testing.T) {
	s := summarise(append(series(Ours, "lapi", "compare", "put", 8, "us", 1), series(Ours, "lapi", "compare", "put", 64, "us", 2)...), 110)
	drawn := 0
	for _, p := range peerPictures() {
		script, n := p.script(s, "x.png")
		drawn += n
		if n == 1 && !strings.Contains(string(script), "8 1 1 1\n64 2 2 2\n") {
			t.Errorf("%s:\n%s", p.name, script)
		}
	}
	if drawn != 1 {
		t.Errorf("%d curves", drawn)
	}
}

func TestOursComplete(t *testing.T) {
	chosen, _ := chooseRows(comparisons(), "am8,am-probe8")
	rows := series(Ours, "lapi", "compare", "am", 8, "us", 1)
	if err := oursComplete(chosen, rows); err == nil || !strings.Contains(err.Error(), "am-probe8") || strings.Contains(err.Error(), "am8,") {
		t.Errorf("got %v", err)
	}
}

func TestMissingIsNamed(t *testing.T) {
	o := &options{bin: t.TempDir()}
	q := participant{needs: "no-such-program", debian: "a-package"}
	if got := q.missing(o); !strings.Contains(got, "no-such-program") || !strings.Contains(got, "a-package") {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(filepath.Join(o.bin, "no-such-program"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := q.missing(o); got != "" {
		t.Errorf("a program of ours is missing: %q", got)
	}
}

// A campaign with one participant, a shell script in place of rawbench.
func scriptCampaign(t *testing.T, text string) (*campaign, participant) {
	was := quietCores
	quietCores = 1e6 // what else runs on the test's machine shall not count
	t.Cleanup(func() { quietCores = was })
	o := &options{bin: t.TempDir(), out: t.TempDir(), stateLimit: 110}
	script(t, o.bin, text)
	q := participant{side: Peer, name: "p", programs: func(g *peerGroup, sizes []int) []program {
		return []program{{side: Peer, name: "rawbench", args: []string{"x", joinSizes(sizes)}}}
	}}
	return &campaign{o: o, all: []participant{q}, start: time.Now().Add(-time.Hour), limit: 2 * time.Hour}, q
}

func TestDisturbedIsRepeated(t *testing.T) {
	// the state check is good; size 8 is always disturbed, size 64 never
	c, _ := scriptCampaign(t, `case $1 in state) echo row,state,oneway,0,60,ns,60,60,0; exit;; esac
case $2 in *64*) echo row,compare,am,64,2,us,60,60,0;; esac
echo row,compare,am,8,1,us,60,300,0
`)
	c.measure(context.Background(), &peerGroup{op: "am", sizes: []int{8, 64}}, 1)
	count := map[int]int{}
	for _, r := range c.rows {
		count[r.Size]++
		if r.Side != Peer || r.Medium != "p" {
			t.Errorf("row %+v", r)
		}
	}
	if count[8] != 1+repeats || count[64] != 1 {
		t.Errorf("measured %v times", count)
	}
}

func TestRepeatingEnds(t *testing.T) {
	c, _ := scriptCampaign(t, "echo row,compare,am,8,1,us,300,300,0\n")
	c.again = time.Hour // all of the time so far
	c.measure(context.Background(), &peerGroup{op: "am", sizes: []int{8}}, 1)
	if len(c.rows) != 1 {
		t.Errorf("%d results", len(c.rows))
	}
}

func TestStateStandsAroundForeignPrograms(t *testing.T) {
	c, q := scriptCampaign(t, "echo row,state,oneway,0,77,ns,77,77,0\n")
	pr := program{side: Peer, name: "foreign", args: []string{"x"}, foreign: func(context.Context, *options) ([]Row, time.Duration, error) {
		return []Row{{Test: "compare", Op: "am", Size: 8, Value: 1, Unit: "us"}}, 0, nil
	}}
	c.trial(context.Background(), q, &peerGroup{op: "am"}, pr, 1)
	if len(c.rows) != 1 || c.rows[0].Before != 77 || c.rows[0].After != 77 {
		t.Errorf("got %+v", c.rows)
	}
	// one that fails leaves nothing, and ends nothing
	pr.foreign = func(context.Context, *options) ([]Row, time.Duration, error) { return nil, 0, errors.New("no") }
	c.trial(context.Background(), q, &peerGroup{op: "am"}, pr, 1)
	if len(c.rows) != 1 {
		t.Errorf("a failed trial left rows: %+v", c.rows)
	}
}

func TestWaitGoodEnds(t *testing.T) {
	c, _ := scriptCampaign(t, "echo row,state,oneway,0,300,ns,300,300,0\n")
	c.patience = 400 * time.Millisecond
	if ns := c.waitGood(context.Background(), 110); ns != 300 || c.patience >= 400*time.Millisecond {
		t.Errorf("%v ns, %v left", ns, c.patience)
	}
}

func TestStartOnPins(t *testing.T) {
	for index := range min(2, runtime.NumCPU()) {
		cmd := exec.Command("sh", "-c", "read x < /proc/self/stat; grep Cpus_allowed_list /proc/self/status")
		var out strings.Builder
		cmd.Stdout = &out
		if err := startOn(cmd, index, false); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out.String(), "Cpus_allowed_list:"))); err != nil {
			t.Errorf("not on one core: %q", out.String())
		}
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() != runtime.NumCPU() {
		t.Errorf("the harness itself was left on %d cores of %d", all.Count(), runtime.NumCPU())
	}
}

func TestWaitListening(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("skip: no loopback: ", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if !waitListening(context.Background(), port) {
		t.Error("a listening socket was not found")
	}
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if waitListening(ctx, port) {
		t.Error("a closed socket was found listening")
	}
}

func TestRunPair(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // for the server to say so, on a busy machine too
	defer cancel()
	_, _, err := runPair(ctx, &options{}, nil, func(int) (server, client []string) {
		return []string{"sh", "-c", "echo this server has failed; exit 3"}, []string{"true"}
	})
	if err == nil || !strings.Contains(err.Error(), "this server has failed") {
		t.Errorf("got %v", err)
	}
}
