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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// trialTimeout ends a trial that hangs; the longest takes a few seconds.
const trialTimeout = 45 * time.Second

// program is one process, or one job, of a trial.
type program struct {
	who   string
	ours  bool
	name  string // in the folder of the programs, unless it is a path
	args  []string
	tasks int // of a job; 0: not a job
	// launcher starts a job, with options: lapirun if nil. "-n" and the number of tasks follow.
	launcher []string
	env      []string
	ordinary bool   // never at real-time priority
	op       string // what its results stand beside, for programs that make bench uses too
	// parse reads the output of a program that is not of this tree.
	parse func(out string) []Row
}

// runTrial runs one program, when the machine is quiet or patience has run out, and returns its
// rows. A program that fails is reported and has none; the run goes on.
func runTrial(ctx context.Context, o *options, pr program, round int) []Row {
	if !pr.realtime(o) {
		waitQuiet(ctx, &o.patience)
	}
	start, busy := time.Now(), busyTime()
	out, own, err := execute(ctx, o, pr)
	elapsed := time.Since(start)
	others := 0.0
	if !pr.realtime(o) { // then others run only where the trial does not
		others = othersCores(busyTime()-busy, own, elapsed)
	}
	parse := parseRows
	if pr.parse != nil {
		parse = pr.parse
	}
	// the same measurement as the bandwidth
	rows := slices.DeleteFunc(parse(out.printed), func(r Row) bool {
		return pr.op != "" && strings.HasSuffix(r.Op, "/time")
	})
	if err == nil && len(rows) == 0 {
		err = errors.New("no results")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\n  %s %s failed: %v\n", pr.name, pr.args[0], err)
		return nil
	}
	fmt.Fprintf(os.Stderr, "  %s %s %.1fs", pr.who, pr.args[0], elapsed.Seconds())
	if others > quietCores {
		fmt.Fprintf(os.Stderr, " (others: %.1f cores)", others)
	}
	if pr.args[0] == "startup" {
		rows = append(rows, Row{Key: Key{Op: "startup/job", Size: pr.tasks},
			Value: float64(elapsed.Microseconds()) / 1e3, Unit: "ms"})
	}
	for i := range rows {
		rows[i].Who, rows[i].Round, rows[i].Others = pr.who, round, others
		if pr.op != "" {
			rows[i].Op = pr.op
		}
		if pr.ours {
			rows[i].Route = routeTaken(out.errors, rows[i].Op, rows[i].Size)
		}
	}
	return rows
}

// routeLine is a line of LAPI_ROUTE=show.
var routeLine = regexp.MustCompile(`task 0: (put|get) from (\d+) bytes( in streams)?: (\w+), `)

// routeTaken is the route by which ours did an operation, at last, as it has said; "" if it has not.
// For bandwidth it counts what was found of streams, if that was.
func routeTaken(said, op string, size int) (route string) {
	least, known := 0, false
	for _, m := range routeLine.FindAllStringSubmatch(said, -1) {
		from, err := strconv.Atoi(m[2])
		streams := m[3] != ""
		if err != nil || !strings.HasPrefix(op, m[1]) || from < least || from > size ||
			2*from <= size || streams && !strings.HasSuffix(op, "-bandwidth") ||
			known && !streams && from == least {
			continue
		}
		least, route, known = from, m[4], streams
	}
	return route
}

// realtime says whether a program runs at real-time priority: not if its tasks have to share
// processors, as they poll.
func (pr program) realtime(o *options) bool {
	return o.realtime && !pr.ordinary && pr.tasks <= runtime.NumCPU()
}

// output is the output of a program.
type output struct{ printed, errors string }

// execute runs a program to its end and returns what it wrote and the processor time that it and
// its tasks used. The error carries its last words.
func execute(ctx context.Context, o *options, pr program) (said output, used time.Duration,
	err error) {
	path := pr.name
	if !strings.Contains(path, "/") {
		path = filepath.Join(o.bin, path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return output{}, 0, err
	}
	args, board := pr.args, ""
	if pr.tasks > 0 {
		if board, err = newBoard(o.out); err != nil {
			return output{}, 0, err
		}
		defer os.Remove(board)
		launcher := pr.launcher
		if launcher == nil {
			launcher = []string{o.lapirun}
		}
		args = slices.Concat(launcher[1:], []string{"-n", fmt.Sprint(pr.tasks), path}, pr.args,
			[]string{"--board=" + board})
		path = launcher[0]
	}
	if pr.realtime(o) { // inherited by all that it starts
		path, args = "chrt", slices.Concat([]string{"-r", "1", path}, args)
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(cleanEnvironment(), pr.env...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	// A group of its own, so that a hanging job goes as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	said = output{out.String(), words.String()}
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
		return said, used, fmt.Errorf("%w: %s", err, tail(words.String(), 600))
	}
	return said, used, nil
}

// newBoard makes the file that the tasks of a job share, in memory if the machine has such a file
// system.
func newBoard(out string) (string, error) {
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		dir = out
	}
	f, err := os.CreateTemp(dir, "lapi-bench-board-")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return filepath.Abs(f.Name())
}

// accounted is the processor time that the tasks of a job left on their board, its first word.
func accounted(board string) time.Duration {
	content, err := os.ReadFile(board)
	if err != nil || len(content) < 8 {
		return 0
	}
	return time.Duration(binary.NativeEndian.Uint64(content))
}

// cleanEnvironment is ours without variables that would change the measured libraries' behaviour.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		for _, prefix := range []string{"MP_", "LAPI_", "UCX_", "OMPI_", "PMIX_", "MPIR_", "MPICH_",
			"FI_"} {
			if strings.HasPrefix(e, prefix) {
				return true
			}
		}
		return false
	})
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "..." + s[len(s)-n:]
	}
	return s
}
