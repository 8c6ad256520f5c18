package main

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestUCXBatch(t *testing.T) {
	batches := ucxTests["fetch-and-add"].batch(8) + ucxTests["fetch-and-add"].batch(4<<20)
	lines := strings.Split(strings.TrimSpace(batches), "\n")
	if len(lines) != ucxRepetitions(8)+ucxRepetitions(4<<20) ||
		lines[0] != "8 -t ucp_fadd -O 1 -s 8 -n 20000 -w 2000" ||
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
		{"put", []Row{{Key: Key{Op: "put", Size: 8}, Value: 0.25, Unit: "us"},
			{Key: Key{Op: "put", Size: 1 << 20}, Value: 100, Unit: "us"}}},
		{"put-rate", []Row{{Key: Key{Op: "put-rate", Size: 8}, Value: 4, Unit: "M/s"},
			{Key: Key{Op: "put-rate", Size: 1 << 20}, Value: 0.01, Unit: "M/s"}}},
		{"put-bandwidth", []Row{{Key: Key{Op: "put-bandwidth", Size: 8}, Value: 0.032,
			Unit: "GB/s"}, {Key: Key{Op: "put-bandwidth", Size: 1 << 20}, Value: 10.48576,
			Unit: "GB/s"}}},
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
	rows := parsePingpong("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n8       20k     =20k     312k        0.06s      5.63       1.42       0.70\n", 8)
	if len(rows) != 1 || rows[0].Value != 1.42 || rows[0].Size != 8 {
		t.Errorf("got %v", rows)
	}
	for _, bad := range []string{"",
		"bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec",
		"no route"} {
		if parsePingpong(bad, 8) != nil {
			t.Errorf("%q was taken for a result", bad)
		}
	}
}

func TestCompare(t *testing.T) {
	s := summarise(compareRun(), 110)
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
			best = r.best.Who
		}
		if best != want.best || math.Abs(r.ratio-want.ratio) > 1e-9 || r.verdict() != want.verdict {
			t.Errorf("%s: best %s, ratio %v, %q", c.name, best, r.ratio, r.verdict())
		}
	}
}

func TestVerdictOfDisturbed(t *testing.T) {
	rows := append(series("lapi", "am", 8, "us", 0.05), series("ucx", "am", 8, "us", 0.1)...)
	rows[1].Before = 300
	chosen, _ := chooseRows("am8")
	if r := summarise(rows, 110).compare(chosen[0]); r.verdict() != "yes?" {
		t.Errorf("got %q", r.verdict())
	}
}

func TestFallbackPrefersGoodState(t *testing.T) {
	rows := series("lapi", "am", 8, "us", 1, 2, 900)
	rows[0].Others, rows[1].Others, rows[2].After = 1, 1, 300
	if v := summarise(rows, 110).All[Key{"lapi", "am", 8}]; v.Median != 1.5 || !v.Disturbed ||
		v.Dropped != 3 {
		t.Errorf("got %+v", v)
	}
}

func TestMissingIsNamed(t *testing.T) {
	o := &options{bin: t.TempDir()}
	debian["no-such-program"] = "a-package"
	q := participant{bench: "no-such-program"}
	if got := q.missing(o); !strings.Contains(got, "no-such-program") ||
		!strings.Contains(got, "a-package") {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(filepath.Join(o.bin, "no-such-program"), []byte("#!/bin/sh\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if got := q.missing(o); got != "" {
		t.Errorf("a program of ours is missing: %q", got)
	}
}

// TestLimit: the limit of a row is the fastest bare route of its size, and ours stands beside it
// with the route that it took.
func TestLimit(t *testing.T) {
	var rows []Row
	for _, r := range [][]Row{series("lapi", "get", 4096, "us", 0.6),
		series("bare pipeline", "get", 4096, "us", 0.5), series("bare read", "get", 4096, "us", 2),
		series("lapi", "put-bandwidth", 1<<20, "GB/s", 18),
		series("bare pipeline", "put-bandwidth", 1<<20, "GB/s", 12),
		series("bare halves", "put-bandwidth", 1<<20, "GB/s", 20)} {
		rows = append(rows, r...)
	}
	rows[0].Route = "origin"
	s := summarise(rows, 110)
	chosen, _ := chooseRows("get4k,put-bandwidth1m,get8")
	for i, want := range [][]string{{}, {"0.500 pipeline", "1.20", "origin"},
		{"20.0 halves", "0.90", ""}} {
		r := s.compare(chosen[i])
		if len(want) == 0 {
			if r.limit != nil {
				t.Errorf("%s has limit %+v", r.name, r.limit)
			}
			continue
		}
		limit, ratio := r.limitText()
		if limit != want[0] || ratio != want[1] || r.ours.Route != want[2] {
			t.Errorf("%s: limit %q, ratio %q, route %q", r.name, limit, ratio, r.ours.Route)
		}
	}
}

func TestRouteTaken(t *testing.T) {
	const said = "noise\nLAPI: task 0: put from 4096 bytes: origin, 10 transfers; origin 0.5 us\n" +
		"LAPI: task 0: put from 6144 bytes: halves, 10 transfers;\n" +
		"LAPI: task 1: get from 4096 bytes: target, 10 transfers;\n" +
		"LAPI: task 0: get from 1048576 bytes: pipeline, 10 transfers;\n" +
		"LAPI: task 0: put from 65536 bytes: string, 10 transfers;\n" +
		"LAPI: task 0: put from 65536 bytes in streams: halves, 10 stretches;\n"
	for _, c := range []struct {
		op    string
		size  int
		route string
	}{{"put-completed", 4096, "origin"}, {"put", 6143, "origin"}, {"put-bandwidth", 6144, "halves"},
		{"put", 1 << 20, ""}, {"get", 4096, ""}, {"get-bandwidth", 1 << 20, "pipeline"},
		{"am", 4096, ""}, {"put", 8, ""}, {"put", 65536, "string"},
		{"put-bandwidth", 65536, "halves"}} {
		if got := routeTaken(said, c.op, c.size); got != c.route {
			t.Errorf("%s of %d bytes: %q, want %q", c.op, c.size, got, c.route)
		}
	}
}

// TestBareRoutes: completed operations and bandwidths have bare routes, of the right direction and
// of sizes where they make sense; others have none.
func TestBareRoutes(t *testing.T) {
	p, o := plan{seconds: "1"}, &options{}
	for op, want := range map[string]string{
		"put-completed": "each-pipeline@4096 each-write@4096 each-halves@4096 each-lines@8",
		"get":           "each-pipeline@4096 each-read@4096 each-halves@4096 each-lines@8",
		"fetch-and-add": "each-lines@8",
		"put-bandwidth": "many-pipeline@4096 many-write@4096 many-halves@4096",
		"get-bandwidth": "many-pipeline@4096 many-read@4096 many-halves@4096",
		"am":            "", "barrier": "",
	} {
		var got []string
		for _, q := range overMemory() {
			if q.route == "" {
				continue
			}
			for _, pr := range q.programs(p, o, &operation{op: op}, []int{8, 4096}) {
				got = append(got, pr.args[0]+"@"+strings.TrimPrefix(pr.args[1], "--sizes="))
				if pr.op != op || pr.who != bareRoute(q.route) {
					t.Errorf("%s: %+v", op, pr)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", op, got, want)
		}
	}
}
