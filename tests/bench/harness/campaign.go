package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A run measures every group in every round: ours and the programs compared with it in turn, in the
// opposite order in every other round. Results from a disturbed state of the machine are measured
// again, a few times.

// repeats is how often a trial is measured again in a round for the sake of its disturbed results.
// repeatsShare is how much of the run's time that may take.
const (
	repeats      = 3
	repeatsShare = 0.4
)

// plan says how long and how often.
type plan struct {
	seconds  string // for each point
	rounds   int
	sizes    string        // of make bench
	patience time.Duration // for other programs to leave the machine alone
	state    time.Duration // for a good state of the machine, besides
	// when the run starts nothing new; what it has measured by then is reported
	limit  time.Duration
	offset int // see board.h
}

func planOf(o *options) plan {
	p := plan{seconds: "0.06", rounds: 7, patience: 4 * time.Minute, state: 5 * time.Minute,
		limit: 26 * time.Minute,
		sizes: "8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576,2097152,4194304"}
	if o.quick {
		p = plan{seconds: "0.03", rounds: 3, patience: 20 * time.Second, state: 30 * time.Second,
			limit: 4 * time.Minute,
			sizes: "8,1024,65536,1048576,4194304"}
	}
	if o.rounds > 0 {
		p.rounds = o.rounds
	}
	p.offset = o.offset
	return p
}

// group is a set of measurements that are made in turn.
type group struct {
	name  string
	sizes []int  // bytes; nil: the programs know, and nothing is measured again
	turns []turn // of one participant each
}

// turn lists the programs by which a participant measures a group at sizes.
type turn func(sizes []int) []program

// campaign is a run under way.
type campaign struct {
	o      *options
	plan   plan
	groups []group
	start  time.Time
	again  time.Duration // spent on repeating
	rows   []Row
	ours   map[string]int // how many results each program of ours has given
}

func newCampaign(o *options) (c *campaign, chosen []comparison, err error) {
	c = &campaign{o: o, plan: planOf(o), start: time.Now(), ours: map[string]int{}}
	o.patience = c.plan.patience
	if o.realtime {
		if said, err := exec.Command("chrt", "-r", "1", "true").CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("real-time priority: %w: %s", err, said)
		}
	}
	if !o.peers && !o.udp {
		all := c.plan.benchGroups(o)
		c.groups, err = choose(all, o.rowNames, func(g group) string { return g.name })
		return c, nil, err
	}
	rows, all := o.world()
	if chosen, err = choose(rows, o.rowNames,
		func(c comparison) string { return c.name }); err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(q participant) bool {
		why := q.missing(o)
		if why != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", q.name, why)
		}
		return why != ""
	})
	for _, op := range operations(chosen, o.rowNames == "" && !o.quick) {
		g := group{name: op.op, sizes: op.sizes}
		for _, q := range all {
			g.turns = append(g.turns, func(sizes []int) []program {
				return q.programs(c.plan, o,
					&op, sizes)
			})
		}
		c.groups = append(c.groups, g)
	}
	return c, chosen, nil
}

func (c *campaign) run(ctx context.Context) error {
	if err := os.MkdirAll(c.o.out, 0o755); err != nil {
		return err
	}
	for round := 1; round <= c.plan.rounds; round++ {
		for i := range c.groups {
			if time.Since(c.start) > c.plan.limit {
				fmt.Fprintf(os.Stderr, "time is up in round %d of %d\n", round, c.plan.rounds)
				return nil
			}
			fmt.Fprintf(os.Stderr, "%5.1fs round %d/%d %-14s", time.Since(c.start).Seconds(), round,
				c.plan.rounds, c.groups[i].name)
			c.measure(ctx, &c.groups[i], round)
			fmt.Fprintln(os.Stderr)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
		}
	}
	return nil
}

// measure has all participants do a group's operation.
func (c *campaign) measure(ctx context.Context, g *group, round int) {
	turns := slices.Clone(g.turns)
	if round%2 == 0 {
		slices.Reverse(turns)
	}
	for _, t := range turns {
		left := g.sizes
		for attempt := 0; attempt == 0 || attempt <= repeats && len(left) > 0; attempt++ {
			if ctx.Err() != nil || attempt > 0 &&
				c.again > time.Duration(repeatsShare*float64(time.Since(c.start))) {
				break
			}
			start := time.Now()
			var disturbed []int
			for _, pr := range t(left) {
				disturbed = append(disturbed, c.trial(ctx, pr, round)...)
			}
			if left = disturbed; g.sizes == nil {
				left = nil
			}
			if attempt > 0 {
				c.again += time.Since(start)
			}
		}
	}
}

// trial runs one program, keeps its rows, and returns the sizes to be measured again.
func (c *campaign) trial(ctx context.Context, pr program, round int) (disturbed []int) {
	limit := stateLimit(c.rows, c.o.stateLimit)
	before, after := c.waitGood(ctx, limit), 0.0
	rows := runTrial(ctx, c.o, pr, round)
	if pr.parse != nil {
		after = c.state(ctx)
	}
	if pr.ours {
		c.ours[pr.who+" "+pr.args[0]] += len(rows)
	}
	for _, r := range rows {
		if pr.parse != nil {
			r.Before, r.After = before, after
		}
		c.rows = append(c.rows, r)
		// else others are known to be at work, and stay
		if r.disturbed(limit) && pr.realtime(c.o) == c.o.realtime {
			disturbed = append(disturbed, r.Size)
		}
	}
	slices.Sort(disturbed)
	return slices.Compact(disturbed)
}

// waitGood waits until a cache line takes no longer than limit ns, or an eighth of the patience
// left has gone, and returns what it took.
func (c *campaign) waitGood(ctx context.Context, limit float64) float64 {
	start, most := time.Now(), c.plan.state/8
	for {
		ns := c.state(ctx)
		if ns <= limit || time.Since(start) > most || ctx.Err() != nil {
			c.plan.state -= time.Since(start)
			return ns
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// state checks the machine: before trials, and after those of programs that cannot do it
// themselves. 0 if the check fails.
func (c *campaign) state(ctx context.Context) float64 {
	out, _, err := execute(ctx, c.o, program{name: "rawbench", args: []string{"state"}})
	rows := parseRows(out.printed)
	if err != nil || len(rows) != 1 {
		fmt.Fprintf(os.Stderr, "\n  the state check failed: %v\n", err)
		return 0
	}
	return rows[0].Value
}

// complete returns an error if one of our series has no results: peers may be missing, ours may
// not.
func (c *campaign) complete(chosen []comparison) error {
	var missing []string
	for label, n := range c.ours {
		if n == 0 {
			missing = append(missing, label)
		}
	}
	for _, w := range chosen {
		if !slices.ContainsFunc(c.rows, func(r Row) bool { return r.Key == w.ourKey() }) {
			missing = append(missing, w.name)
		}
	}
	if missing != nil || len(c.rows) == 0 {
		slices.Sort(missing)
		return fmt.Errorf("no results of ours for %s", strings.Join(missing, ", "))
	}
	return nil
}
