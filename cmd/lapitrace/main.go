// Command lapitrace merges the traces that the tasks of a job wrote (MP_LAPI_TRACE_LEVEL) into one
// file that Perfetto and chrome://tracing show. See docs/tracing.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "lapi/cmd/narrow"
	"lapi/core/trace"
	"lapi/core/version"
	_ "lapi/invariant/thrown"
)

const usage = `usage: lapitrace [-o FILE] [-partition NAME] [FILE or FOLDER ...]
       lapitrace -html [-o FILE] [-partition NAME] [FILE or FOLDER ...]
       lapitrace -summary [-rows N] [-o FILE] [-partition NAME] [FILE or FOLDER ...]

Merges the traces of a LAPI job into one trace in the Chrome format, for https://ui.perfetto.dev or chrome://tracing, and
prints what it found on the standard error. With -html it makes one page of it, which any browser shows without a network. With -summary it prints tables instead: the time of each task, of each call,
for whom tasks waited, and the data between tasks. Without FILE it takes every lapi-trace.* of the current folder.

`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is lapitrace with its arguments; it returns the exit status: 0, 1 if there is nothing to
// show, 2 for bad arguments.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("lapitrace", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "", "write to `FILE` instead of the standard output")
	partition := flags.String("partition", "", "only traces of the job `NAME` (its MP_PARTITION)")
	summary := flags.Bool("summary", false, "print tables in place of the trace")
	page := flags.Bool("html", false, "make a page that a browser shows without a network")
	rows := flags.Int("rows", 20, "of each table at most `N` lines; 0: all")
	shown := flags.Bool("version", false, "print the version")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *shown {
		fmt.Fprint(stdout, version.Line("lapitrace"))
		return 0
	}
	if *rows < 0 {
		fmt.Fprintf(stderr, "lapitrace: -rows %d: it must not be negative\n", *rows)
		return 2
	}
	traces, err := collect(flags.Args(), *partition, stderr)
	var merged *trace.Merged
	if err == nil {
		merged, err = trace.Merge(traces)
	}
	if err == nil {
		err = write(*out, stdout, func(w io.Writer) error {
			switch {
			case *summary:
				return trace.Digests(traces).WriteText(w, *rows)
			case *page:
				return trace.WritePage(w, traces)
			}
			return merged.WriteJSON(w)
		})
	}
	if err != nil {
		fmt.Fprintln(stderr, "lapitrace:", err)
		return 1
	}
	report(&merged.Summary, !*summary, stderr)
	return 0
}

// collect reads what the arguments name. Files that are no traces are named and passed over.
func collect(args []string, partition string, stderr io.Writer) ([]*trace.Trace, error) {
	paths, err := files(args)
	if err != nil {
		return nil, err
	}
	var traces []*trace.Trace
	found := map[string]bool{}
	for _, path := range paths {
		t, err := read(path)
		if err != nil {
			fmt.Fprintf(stderr, "lapitrace: %s: %v\n", path, err)
			continue
		}
		if partition == "" || t.Partition == partition {
			traces = append(traces, t)
			found[t.Partition] = true
		}
	}
	if len(traces) == 0 {
		return nil, errors.New(
			"no traces; run the job with MP_LAPI_TRACE_LEVEL=5, and name its files or their folder")
	}
	if len(found) > 1 {
		var names []string
		for name := range found {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("traces of several jobs; choose one with -partition: %s",
			strings.Join(names, ", "))
	}
	return traces, nil
}

// files lists the files that the arguments name; a folder stands for the traces in it.
func files(args []string) (paths []string, err error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), trace.Prefix) && e.Type().IsRegular() {
				paths = append(paths, filepath.Join(arg, e.Name()))
			}
		}
	}
	return paths, nil
}

func read(path string) (*trace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.Read(f)
}

func write(path string, stdout io.Writer, what func(io.Writer) error) error {
	if path == "" {
		return what(stdout)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = what(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// report says what the trace shows, if counts says so, and what it lacks.
func report(s *trace.Summary, counts bool, w io.Writer) {
	if counts {
		countsOf(s, w)
	}
	if s.Lost > 0 {
		fmt.Fprintf(w, "lapitrace: %d records are missing: the files were full; trace less (MP_LAPI_TRACE_LEVEL) or raise LAPI_TRACE_SIZE\n", s.Lost)
	}
	if s.Broken > 0 {
		fmt.Fprintf(w, "lapitrace: %d records are incomplete, as when a task is killed\n", s.Broken)
	}
}

func countsOf(s *trace.Summary, w io.Writer) {
	fmt.Fprintf(w, "%d tasks, %d records; messages: %d sent, %d received, %d refused, %d arrows\n",
		s.Tasks, s.Records, s.Sent, s.Received, s.Refused, s.Arrows)
	var names []string
	for name := range s.Calls {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%8d %s\n", s.Calls[name], name)
	}
}
