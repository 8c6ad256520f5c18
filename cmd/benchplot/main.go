// Command benchplot runs the benchmark programs of tests/c/bench beside the raw limits of the machine and reports
// on them.
//
//	benchplot run   [-quick] [-rounds n] [-only text] [-raw-only] -bin build/bench -lapirun build/bin/lapirun -out build/bench
//	benchplot table -out build/bench
//	benchplot plot  -out build/bench
//	benchplot peers [-udp] [-quick] [-rounds n] [-rows put8,get*] -bin build/bench -lapirun build/bin/lapirun -out build/bench/peers
//
// run writes raw.csv (every result of every trial), then what table writes: results.csv (medians, spread, ratios),
// expected.csv (the expected figures and what was reached), table.txt; it prints table.txt. plot draws latency and bandwidth
// against size, one PNG each for a medium, with gnuplot. peers does all three for the comparison with other libraries; peers-table
// and peers-plot repeat the last two from its raw.csv.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	quick, rawOnly bool
	realtime       bool // see startOn
	rounds, offset int
	only, rowNames string
	udp            bool // the comparison over UDP/IP
	stateLimit     float64
	bin, lapirun   string
	out            string
	patience       time.Duration // left: see plan
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	var o options
	fs := flag.NewFlagSet("benchplot "+os.Args[1], flag.ExitOnError)
	fs.StringVar(&o.out, "out", "build/bench", "folder of the results")
	fs.Float64Var(&o.stateLimit, "state-limit", defaultStateLimit, "drop results around which a cache-line ping-pong took longer, ns")
	if os.Args[1] == "run" || os.Args[1] == "peers" {
		fs.BoolVar(&o.quick, "quick", false, "few sizes and rounds, about a minute")
		fs.BoolVar(&o.rawOnly, "raw-only", false, "measure the raw limits only")
		fs.IntVar(&o.rounds, "rounds", 0, "how often everything is repeated (default 7, quick 3)")
		fs.StringVar(&o.only, "only", "", "only groups whose name contains this text")
		fs.StringVar(&o.bin, "bin", "build/bench", "folder of the benchmark programs")
		fs.StringVar(&o.lapirun, "lapirun", "build/bin/lapirun", "the launcher")
	}
	if strings.HasPrefix(os.Args[1], "peers") {
		fs.IntVar(&o.offset, "offset", 0, "bytes from a page boundary at which buffers start, ours, MPI's and the bare pipeline's: malloc's have 16")
		fs.BoolVar(&o.realtime, "realtime", false, "run trials of no more tasks than processors at real-time priority (root): for busy machines")
		fs.BoolVar(&o.udp, "udp", false, "over UDP/IP, beside others over TCP, instead of shared memory")
		fs.StringVar(&o.rowNames, "rows", "", "only these rows of the comparison with peers: names or patterns, separated by commas")
	}
	fs.Parse(os.Args[2:])
	if err := command(os.Args[1], &o); err != nil {
		fmt.Fprintln(os.Stderr, "benchplot:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: benchplot run|table|plot|peers|peers-table|peers-plot [flags]; -h after the command lists its flags")
	os.Exit(2)
}

func command(name string, o *options) error {
	switch name {
	case "run":
		// so that an interrupt ends the trial under way, which has a process group of its own
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		rows, err := runAll(ctx, o)
		if err != nil {
			return err
		}
		if err := writeRaw(filepath.Join(o.out, "raw.csv"), rows, o.stateLimit); err != nil {
			return err
		}
		if err := report(o, rows); err != nil {
			return err
		}
		return complete(o, rows)
	case "table":
		rows, err := readRaw(filepath.Join(o.out, "raw.csv"))
		if err != nil {
			return err
		}
		return report(o, rows)
	case "plot":
		rows, err := readRaw(filepath.Join(o.out, "raw.csv"))
		if err != nil {
			return err
		}
		return plotAll(o, pictures(), summarise(rows, o.stateLimit))
	case "peers", "peers-table", "peers-plot":
		return comparePeers(name, o)
	}
	usage()
	return nil
}
