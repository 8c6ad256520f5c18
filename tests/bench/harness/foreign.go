package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Programs that are not made for this harness: a server and a client, which pair.sh starts on a
// core each.

// pairScript is where the harness finds pair.sh: in the tree, from which make runs it.
const pairScript = "tests/bench/pair.sh"

// pair is a program of a server and a client, on a core each; @ in their words stands for a port.
func pair(who, test string, parse func(string) []Row, env []string, server, client string) program {
	return program{who: who, name: pairScript, args: []string{test, server, client}, env: env,
		parse: parse}
}

// ucxTest is how ucx_perftest measures an operation. Times and rates come from its column of
// messages per second, as its percentiles are coarse.
type ucxTest struct {
	test string
	// flags: -O 1 for operations that are waited for one by one
	flags string
	// messages in one repetition, at most; less for large ones
	messages int
}

// Not here: ucp_get -O 1, which only ever measures the 1 ms timer of a peer that makes no progress.
var ucxTests = map[string]ucxTest{
	"am":            {"ucp_am_lat", "", 20000},
	"put":           {"ucp_put_lat", "", 20000},
	"fetch-and-add": {"ucp_fadd", "-O 1", 20000},
	"put-rate":      {"ucp_put_bw", "", 100000},
	"am-rate":       {"ucp_am_bw", "", 200000},
	"put-bandwidth": {"ucp_put_bw", "", 20000},
	"get-bandwidth": {"ucp_get", "-O 16", 20000},
	"tag am":        {"tag_lat", "", 20000},
	"tag am-rate":   {"tag_bw", "", 200000},
}

// ucxRepetitions of each size in one start of the program; their median is the result. Less from 1
// MiB, where some tests fall to a hundredth of what they reach with small messages.
func ucxRepetitions(size int) int {
	if size >= 1<<20 {
		return 3
	}
	return 5
}

// ucx has one start for each size, so that the state of the machine is checked around each.
func (q *participant) ucx(o *options, op string, sizes []int) (all []program) {
	t, ok := ucxTests[strings.TrimPrefix(q.test+" "+op, " ")]
	if !ok {
		return nil
	}
	// heap: user memory, not memory that the peer has allocated and mapped at both sides
	env := append([]string{"UCX_ALLOC_PRIO=heap", "UCX_WARN_UNUSED_ENV_VARS=n"}, q.env...)
	for _, size := range sizes {
		batch := filepath.Join(o.out, fmt.Sprintf("ucx-%s-%d.batch", t.test, size))
		if err := os.WriteFile(batch, []byte(t.batch(size)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return nil
		}
		common := fmt.Sprintf("-p @ -b '%s'", batch)
		parse := func(out string) []Row { return parseUCX(out, op) }
		all = append(all, pair(q.name, t.test, parse, env, "ucx_perftest "+common,
			"ucx_perftest localhost -f -v "+common))
	}
	return all
}

// batch is the list of tests that ucx_perftest runs: the same several times.
func (t ucxTest) batch(size int) string {
	n := min(t.messages, max(16, 64<<20/size))
	test := fmt.Sprintf("%d -t %s %s -s %d -n %d -w %d\n", size, t.test, t.flags, size, n,
		max(2, n/10))
	return strings.Repeat(test, ucxRepetitions(size))
}

// parseUCX reads lines "size,iterations,...,messages per second" and takes the median of each
// size's repetitions.
func parseUCX(out, op string) []Row {
	rates := map[int][]float64{}
	for line := range strings.SplitSeq(out, "\n") {
		c := strings.Split(strings.TrimSpace(line), ",")
		if len(c) != 9 {
			continue
		}
		size, err := strconv.Atoi(c[0])
		rate, err2 := strconv.ParseFloat(c[8], 64)
		if err == nil && err2 == nil && rate > 0 {
			rates[size] = append(rates[size], rate)
		}
	}
	var rows []Row
	for size, v := range rates {
		slices.Sort(v)
		rate := quantile(v, 0.5)
		r := Row{Key: Key{Op: op, Size: size}}
		switch {
		case strings.HasSuffix(op, "-rate"):
			r.Value, r.Unit = rate/1e6, "M/s"
		case strings.HasSuffix(op, "-bandwidth"):
			r.Value, r.Unit = rate*float64(size)/1e9, "GB/s"
		default:
			r.Value, r.Unit = 1e6/rate, "us"
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Row) int { return a.Size - b.Size })
	return rows
}

// pingpong is libfabric's, over its shm provider: of its programs Debian has only that.
func (q *participant) pingpong(sizes []int) (all []program) {
	for _, size := range sizes {
		common := fmt.Sprintf("fi_pingpong -p shm -e rdm -S %d -I %d", size,
			min(20000, max(100, 64<<20/size)))
		parse := func(out string) []Row { return parsePingpong(out, size) }
		all = append(all, pair(q.name, "shm", parse, nil, common+" -B @", common+" -P @ localhost"))
	}
	return all
}

// parsePingpong finds the column usec/xfer in the last line.
func parsePingpong(out string, size int) []Row {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	c := strings.Fields(lines[len(lines)-1])
	if len(c) != 8 {
		return nil
	}
	us, err := strconv.ParseFloat(c[6], 64)
	if err != nil || !(us > 0) {
		return nil
	}
	return []Row{{Key: Key{Op: "am", Size: size}, Value: us, Unit: "us"}}
}
