package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// trialTimeout ends a trial that hangs; the longest takes a few seconds.
const trialTimeout = 45 * time.Second

// runAll measures every group in every round, ours and raw in turn, and reports progress on stderr. A program that fails is
// reported and leaves no rows; the run goes on.
func runAll(ctx context.Context, o *options) ([]Row, error) {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	p := planOf(o)
	o.patience = p.patience
	var rows []Row
	start := time.Now()
	for round := 1; round <= p.rounds; round++ {
		for _, g := range p.groups() {
			if !strings.Contains(g.name, o.only) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%5.1fs round %d/%d %-14s", time.Since(start).Seconds(), round, p.rounds, g.name)
			for _, pr := range inTurn(g.programs, round) {
				if pr.side == Ours && o.rawOnly {
					continue
				}
				rows = append(rows, runTrial(ctx, o, pr, round)...)
			}
			fmt.Fprintln(os.Stderr)
			if ctx.Err() != nil {
				return nil, errors.New("interrupted")
			}
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("nothing was measured")
	}
	return rows, nil
}

// inTurn reverses the order in every other round, so that neither side always runs first.
func inTurn(p []program, round int) []program {
	if round%2 == 1 {
		return p
	}
	r := make([]program, len(p))
	for i := range p {
		r[len(p)-1-i] = p[i]
	}
	return r
}

// runTrial runs one program, when the machine is quiet or patience has run out, and returns its rows.
func runTrial(ctx context.Context, o *options, pr program, round int) []Row {
	if !pr.realtime(o) {
		waitQuiet(ctx, &o.patience)
	}
	start, busy := time.Now(), busyTime()
	rows, own, err := results(ctx, o, pr)
	elapsed := time.Since(start)
	others := 0.0
	if !pr.realtime(o) { // then others run only where the trial does not
		others = othersCores(busyTime()-busy, own, elapsed)
	}
	for i := range rows {
		rows[i].Round, rows[i].Side, rows[i].Medium = round, pr.side, pr.medium
	}
	if err == nil && len(rows) == 0 {
		err = errors.New("no results")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\n  %s %s failed: %v\n", pr.name, pr.args[0], err)
		return nil
	}
	fmt.Fprintf(os.Stderr, "  %s %s %.1fs", pr.label(), pr.args[0], elapsed.Seconds())
	if others > quietCores {
		fmt.Fprintf(os.Stderr, " (others: %.1f cores)", others)
	}
	if pr.args[0] == "startup" {
		rows = append(rows, Row{Round: round, Side: Ours, Medium: pr.medium, Test: "startup", Op: "job", Size: pr.tasks,
			Value: float64(elapsed.Microseconds()) / 1e3, Unit: "ms"})
	}
	for i := range rows {
		rows[i].Others = others
	}
	return rows
}

// results runs a program and returns its rows and the processor time it used.
func results(ctx context.Context, o *options, pr program) ([]Row, time.Duration, error) {
	if pr.foreign != nil {
		return pr.foreign(ctx, o)
	}
	out, used, err := execute(ctx, o, pr)
	var rows []Row
	for _, line := range strings.Split(out, "\n") {
		if r, ok := parseRow(line); ok {
			rows = append(rows, r)
		}
	}
	return rows, used, err
}

// realtime says whether a program runs at real-time priority: not if its tasks have to share processors, as they poll.
func (pr program) realtime(o *options) bool {
	return o.realtime && !pr.ordinary && pr.tasks <= runtime.NumCPU()
}

func (pr program) label() string {
	if pr.side == Raw {
		return "raw"
	}
	return pr.medium
}

// execute runs a program to its end and returns what it printed and the processor time that it and its tasks used; the error
// carries its last words.
func execute(ctx context.Context, o *options, pr program) (printed string, used time.Duration, err error) {
	path, err := filepath.Abs(filepath.Join(o.bin, pr.name))
	if err != nil {
		return "", 0, err
	}
	args, board := pr.args, ""
	env := cleanEnvironment()
	if pr.tasks > 0 {
		if board, err = newBoard(o.out); err != nil {
			return "", 0, err
		}
		defer os.Remove(board)
		launcher := pr.launcher
		if launcher == nil {
			launcher = []string{o.lapirun}
			env = append(env, mediumEnvironment(pr.medium)...)
		}
		args = append(append(append([]string{}, launcher[1:]...), "-n", fmt.Sprint(pr.tasks), path), append(pr.args, "--board="+board)...)
		path = launcher[0]
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(env, pr.env...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	// A group of its own, so that a hanging job goes as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err = startOn(cmd, anyCore, pr.realtime(o)); err == nil {
		err = cmd.Wait()
	}
	if s := cmd.ProcessState; s != nil {
		used = s.UserTime() + s.SystemTime()
	}
	if board != "" { // the launcher's own time may hold its tasks' or not
		used = max(used, accounted(board))
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("ended by the harness (%w)", ctx.Err())
		}
		return out.String(), used, fmt.Errorf("%w: %s", err, tail(words.String(), 600))
	}
	return out.String(), used, nil
}

// newBoard makes the file that the tasks of a job share, in memory if the machine has such a file system.
func newBoard(out string) (string, error) {
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		dir = out
	}
	f, err := os.CreateTemp(dir, "lapi-bench-board-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(f.Name())
}

// accounted is the processor time that the tasks of a job left on their board, its first word.
func accounted(board string) time.Duration {
	f, err := os.Open(board)
	if err != nil {
		return 0
	}
	defer f.Close()
	var ns int64
	if binary.Read(f, binary.NativeEndian, &ns) != nil {
		return 0
	}
	return time.Duration(ns)
}

// cleanEnvironment is ours without what would change the measured libraries' behaviour.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		for _, prefix := range []string{"MP_", "LAPI_", "UCX_", "OMPI_", "PMIX_", "MPIR_", "MPICH_", "FI_"} {
			if strings.HasPrefix(e, prefix) {
				return true
			}
		}
		return false
	})
}

func mediumEnvironment(medium string) []string {
	if medium == "udp" {
		return []string{"MP_EUILIB=ip", "LAPI_USE_SHM=no"}
	}
	return []string{"MP_EUILIB=ip", "LAPI_USE_SHM=only"}
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "..." + s[len(s)-n:]
	}
	return s
}

// complete is an error if a group that should have results has none: a benchmark that ran nothing did not pass.
func complete(o *options, rows []Row) error {
	have := map[string]bool{}
	for _, r := range rows {
		have[string(r.Side)+r.Medium+r.Test] = true
	}
	var missing []string
	for _, g := range planOf(o).groups() {
		for _, pr := range g.programs {
			if pr.side == Raw || o.rawOnly || !strings.Contains(g.name, o.only) {
				continue
			}
			if test := strings.TrimSuffix(pr.args[0], "-busy"); !have[string(Ours)+pr.medium+test] {
				missing = append(missing, g.name+"/"+pr.args[0])
			}
		}
	}
	if missing != nil {
		return fmt.Errorf("no results for %s", strings.Join(missing, ", "))
	}
	return nil
}
