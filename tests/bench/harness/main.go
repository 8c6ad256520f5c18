// Command harness runs the benchmark programs of tests/bench in turn with the raw limits of the
// machine, or with other libraries, and reports on them.
//
//	harness [flags]          ours beside raw limits: make bench
//	harness -peers [flags]   beside other libraries, over shared memory: make bench-peers
//	harness -udp [flags]     over UDP/IP, others over TCP: make bench-udp
//
// It writes raw.csv (every result of every trial), results.csv (medians, quartiles, raw limits,
// ratios of each series), rows.csv (the table, of -peers and -udp) and table.txt, which it also
// prints. plot.sh draws results.csv.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	peers, udp     bool
	quick          bool
	realtime       bool // see execute
	rounds, offset int
	rowNames       string
	stateLimit     float64
	bin, lapirun   string
	out            string
	before         string        // the build folder of another tree
	patience       time.Duration // left for waiting until other programs leave the machine alone
}

func main() {
	var o options
	flag.BoolVar(&o.peers, "peers", false, "beside other libraries, over shared memory")
	flag.BoolVar(&o.udp, "udp", false, "over UDP/IP, beside bare sockets, and others over TCP")
	flag.BoolVar(&o.quick, "quick", false, "few sizes and rounds")
	flag.BoolVar(&o.realtime, "realtime", false,
		"run trials of no more tasks than processors at real-time priority (root): for busy machines")
	flag.IntVar(&o.rounds, "rounds", 0, "how often everything is repeated (default 7, quick 3)")
	flag.IntVar(&o.offset, "offset", 0,
		"bytes from a page boundary at which buffers start: malloc's have 16")
	flag.StringVar(&o.rowNames, "rows", "",
		"only these rows (make bench: groups): names or patterns, separated by commas")
	flag.Float64Var(&o.stateLimit, "state-limit", defaultStateLimit,
		"drop results around which a cache line's way took longer, ns")
	flag.StringVar(&o.bin, "bin", "build/bench", "folder of the benchmark programs")
	flag.StringVar(&o.lapirun, "lapirun", "build/bin/lapirun", "the launcher")
	flag.StringVar(&o.out, "out", "build/bench", "folder of the results")
	flag.StringVar(&o.before, "before", "",
		"build folder of another tree, which ours is compared with instead of the peers (-peers, -udp)")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "harness:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	// An interrupt ends the trial under way, which has a process group of its own.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, chosen, err := newCampaign(o)
	if err != nil {
		return err
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	if err := writeRaw(filepath.Join(o.out, "raw.csv"), c.rows, o.stateLimit); err != nil {
		return err
	}
	if err := report(o, chosen, summarise(c.rows, o.stateLimit)); err != nil {
		return err
	}
	return c.complete(chosen)
}
