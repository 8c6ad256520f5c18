package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The comparison with peers: other libraries that do the same on this machine, in the same run, pinned the same way, in turn with
// ours. What was measured in a disturbed state of the machine is measured again, a few times.

// What waiting for a good state of the machine may take in all, besides what waiting for other programs does.
const statePatience, statePatienceQuick = 5 * time.Minute, 30 * time.Second

// repeats is how often a trial is measured again in a round for the sake of its disturbed results; repeatsShare is how much of the
// run's time that may take.
const (
	repeats      = 3
	repeatsShare = 0.4
)

// peersPlan says how long and how often. limit is how long the run may last before it starts nothing new; what it has
// measured by then is reported.
func peersPlan(o *options) (p plan, limit time.Duration) {
	p = plan{seconds: "0.06", rounds: 7, patience: 4 * time.Minute}
	limit = 26 * time.Minute
	if o.quick {
		p = plan{seconds: "0.03", rounds: 3, patience: 20 * time.Second}
		limit = 4 * time.Minute
	}
	if o.rounds > 0 {
		p.rounds = o.rounds
	}
	p.offset = o.offset
	return p, limit
}

// comparePeers is the commands peers, peers-table and peers-plot.
func comparePeers(command string, o *options) error {
	chosen, err := chooseRows(o.world().rows, o.rowNames)
	if err != nil {
		return err
	}
	raw := filepath.Join(o.out, "raw.csv")
	if command == "peers" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		rows, err := measurePeers(ctx, o, chosen)
		if err != nil {
			return err
		}
		if err := writeRaw(raw, rows, o.stateLimit); err != nil {
			return err
		}
	}
	rows, err := readRaw(raw)
	if err != nil {
		return err
	}
	s := summarise(rows, o.stateLimit)
	if command != "peers-plot" {
		if err := reportPeers(o, chosen, s); err != nil {
			return err
		}
	}
	if command == "peers-table" {
		return nil
	}
	if err := plotAll(o, peerPictures(), s); err != nil {
		fmt.Fprintln(os.Stderr, "benchplot: no pictures:", err)
	}
	if command == "peers-plot" {
		return nil
	}
	return oursComplete(chosen, rows)
}

// measurePeers runs all rounds.
func measurePeers(ctx context.Context, o *options, chosen []comparison) ([]Row, error) {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	p, limit := peersPlan(o)
	o.patience = p.patience
	if o.realtime {
		if err := mayRealtime(); err != nil {
			return nil, fmt.Errorf("real-time priority: %w", err)
		}
	}
	c := &campaign{o: o, start: time.Now(), limit: limit, patience: statePatience}
	if o.quick {
		c.patience = statePatienceQuick
	}
	for _, q := range o.world().participants(p) {
		if why := q.missing(o); why != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", q.name, why)
			continue
		}
		c.all = append(c.all, q)
	}
	groups := peerGroups(chosen, o.rowNames == "" && !o.quick)
	for round := 1; round <= p.rounds && !c.over(); round++ {
		for _, g := range groups {
			if c.over() {
				fmt.Fprintf(os.Stderr, "time is up in round %d of %d\n", round, p.rounds)
				break
			}
			fmt.Fprintf(os.Stderr, "%5.1fs round %d/%d %-14s", time.Since(c.start).Seconds(), round, p.rounds, g.op)
			c.measure(ctx, &g, round)
			fmt.Fprintln(os.Stderr)
			if ctx.Err() != nil {
				return nil, errors.New("interrupted")
			}
		}
	}
	if len(c.rows) == 0 {
		return nil, errors.New("nothing was measured")
	}
	return c.rows, nil
}

// oursComplete is an error if ours has no result for a row: peers may be missing, ours may not.
func oursComplete(chosen []comparison, rows []Row) error {
	var missing []string
	for _, c := range chosen {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Side == Ours && r.Op == c.ourOp() && r.Size == c.size }) {
			missing = append(missing, c.name)
		}
	}
	if missing != nil {
		return fmt.Errorf("no results of ours for %s", strings.Join(missing, ", "))
	}
	return nil
}

// campaign is a run under way.
type campaign struct {
	o     *options
	all   []participant
	start time.Time
	limit time.Duration
	again time.Duration // spent on repeating
	// patience is how long the run will still wait for a good state of the machine
	patience time.Duration
	rows     []Row
}

func (c *campaign) over() bool { return time.Since(c.start) > c.limit }

// measure lets everybody do a group's operation, in the other order in every other round.
func (c *campaign) measure(ctx context.Context, g *peerGroup, round int) {
	all := slices.Clone(c.all)
	if round%2 == 0 {
		slices.Reverse(all)
	}
	for _, q := range all {
		left := g.sizes
		for attempt := 0; attempt <= repeats && len(left) > 0 && ctx.Err() == nil; attempt++ {
			if attempt > 0 && c.again > time.Duration(repeatsShare*float64(time.Since(c.start))) {
				break
			}
			start := time.Now()
			var disturbed []int
			for _, pr := range q.programs(g, left) {
				disturbed = append(disturbed, c.trial(ctx, q, g, pr, round)...)
			}
			left = disturbed
			if attempt > 0 {
				c.again += time.Since(start)
			}
		}
	}
}

// trial runs one program, keeps its rows under the names of the comparison, and returns the sizes to be measured again.
func (c *campaign) trial(ctx context.Context, q participant, g *peerGroup, pr program, round int) (disturbed []int) {
	limit := stateLimit(c.rows, c.o.stateLimit)
	pr.medium = q.name
	before := c.waitGood(ctx, limit)
	rows := runTrial(ctx, c.o, pr, round)
	after := 0.0
	if pr.foreign != nil {
		after = c.state(ctx)
	}
	for _, r := range rows {
		if pr.foreign != nil {
			r.Before, r.After = before, after
		}
		if q.side == Raw && r.Op == "time" {
			continue // the same measurement as the bandwidth
		}
		r.Side, r.Medium = q.side, q.name
		if r.Test != "compare" { // programs that make bench uses too
			r.Test, r.Op = "compare", g.op
		}
		c.rows = append(c.rows, r)
		if r.disturbed(limit) && pr.realtime(c.o) == c.o.realtime { // else others are known to be at work, and stay
			disturbed = append(disturbed, r.Size)
		}
	}
	slices.Sort(disturbed)
	return slices.Compact(disturbed)
}

// waitGood waits until a cache line takes no longer than limit ns, or an eighth of the patience left has gone, and returns what it took.
func (c *campaign) waitGood(ctx context.Context, limit float64) float64 {
	start, most := time.Now(), c.patience/8
	for {
		ns := c.state(ctx)
		if ns <= limit || time.Since(start) > most || ctx.Err() != nil {
			c.patience -= time.Since(start)
			return ns
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// state checks the machine: for before trials, and for after those of programs that cannot do it themselves. 0 if the check fails.
func (c *campaign) state(ctx context.Context) float64 {
	rows, _, err := results(ctx, c.o, program{side: Raw, name: "rawbench", args: []string{"state"}})
	if err != nil || len(rows) != 1 {
		fmt.Fprintf(os.Stderr, "\n  the state check failed: %v\n", err)
		return 0
	}
	return rows[0].Value
}
