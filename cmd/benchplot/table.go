package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"text/tabwriter"
)

// report writes results.csv, expected.csv and table.txt, and prints the last.
func report(o *options, rows []Row) error {
	s := summarise(rows, o.stateLimit)
	if err := writeCSV(filepath.Join(o.out, "results.csv"), s.resultLines()); err != nil {
		return err
	}
	if err := writeCSV(filepath.Join(o.out, "expected.csv"), s.expectedLines()); err != nil {
		return err
	}
	var b bytes.Buffer
	s.print(&b)
	os.Stdout.Write(b.Bytes())
	return os.WriteFile(filepath.Join(o.out, "table.txt"), b.Bytes(), 0o644)
}

// size prints bytes as programs' users do.
func size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " B"
}

func (s *Summaries) sorted() []*Summary {
	var all []*Summary
	for _, v := range s.All {
		all = append(all, v)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i].Key, all[j].Key
		switch {
		case a.Side != b.Side:
			return a.Side < b.Side
		case a.Medium != b.Medium:
			return a.Medium < b.Medium
		case a.Test != b.Test:
			return a.Test < b.Test
		case a.Op != b.Op:
			return a.Op < b.Op
		}
		return a.Size < b.Size
	})
	return all
}

func (s *Summaries) resultLines() [][]string {
	lines := [][]string{{"side", "medium", "test", "op", "size", "median", "quartile1", "quartile3", "unit", "kept", "dropped", "disturbed",
		"raw_limit", "raw_limit_is", "ratio"}}
	for _, v := range s.sorted() {
		l := []string{string(v.Side), v.Medium, v.Test, v.Op, strconv.Itoa(v.Size), number(v.Median), number(v.Low), number(v.High), v.Unit,
			strconv.Itoa(v.Kept), strconv.Itoa(v.Dropped), strconv.FormatBool(v.Disturbed)}
		limit, what, ok := 0.0, "", false
		if v.Side == Ours {
			limit, what, ok = s.rawLimit(v)
		}
		if ok {
			l = append(l, number(limit), what, number(v.Median/limit))
		} else {
			l = append(l, "", "", "")
		}
		lines = append(lines, l)
	}
	return lines
}

func (s *Summaries) expectedLines() [][]string {
	lines := [][]string{{"figure", "bound_is", "bound", "formula", "reached", "unit", "verdict"}}
	for _, e := range s.expectations() {
		lines = append(lines, []string{e.What, kind(e.AtLeast), number(e.Bound), e.Formula, number(e.Reached), e.Unit, e.Verdict()})
	}
	return lines
}

func kind(atLeast bool) string {
	if atLeast {
		return "at least"
	}
	return "at most"
}

// print writes the whole report for people.
func (s *Summaries) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "Medians over the rounds, quartiles in brackets; x: ratio to the raw limit of the same run.\n")
	fmt.Fprintf(b, "Cache line one way, median of all checks: %s ns; %d results kept, %d dropped: a check above %s ns, or other programs at work.\n",
		number(s.Usual), s.Kept, s.Dropped, number(s.Limit))
	fmt.Fprintf(b, "A * marks series that were never undisturbed.\n")
	s.printRaw(b)
	for _, m := range []string{"shm", "udp"} {
		s.printSizes(b, m, "latency", []string{"put", "am", "get", "put-completed"}, m+": latency, us (put and am one way; get and put-completed until the origin may go on)")
		s.printSizes(b, m, "bandwidth", []string{"put", "get"}, m+": bandwidth, GB/s")
		s.printSizes(b, m, "vector", vectorOps, m+": data in blocks, GB/s (put, get and am: as many bytes in one block)")
		s.printSingles(b, m)
	}
	s.printExpected(b)
}

// vectorOps are the columns of the table of data in blocks; a number is the length of a block, with a gap of as many bytes behind it.
var vectorOps = []string{"put", "putv-1024", "putv-32768", "get", "getv-1024", "getv-32768", "getv-16-pieces", "am", "dgsp-1024", "dgsp-32768",
	"dgsp-to-blocks-1024", "dgsp-to-blocks-32768"}

func (s *Summaries) printRaw(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nRaw limits\n")
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, v := range s.sorted() {
		if v.Side == Raw && (v.Test == "cacheline" || v.Test == "crossing" || v.Test == "queue" || v.Test == "barrier" || v.Op == "rate") {
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\n", v.Test, v.Op, sizeOrTasks(v), v.Unit, cell(v, 0))
		}
	}
	w.Flush()
}

func sizeOrTasks(v *Summary) string {
	switch v.Test {
	case "gfence", "barrier", "startup", "memory":
		return strconv.Itoa(v.Size) + " tasks"
	case "cacheline", "crossing", "call", "lock":
		return ""
	}
	return size(v.Size)
}

// brief prints three significant digits: what a table needs.
func brief(v float64) string { return significant(v, 3) }

// cell prints a series, with its ratio if limit is not 0.
func cell(v *Summary, limit float64) string {
	if v == nil {
		return "-"
	}
	text := fmt.Sprintf("%s [%s %s]", brief(v.Median), brief(v.Low), brief(v.High))
	if limit > 0 {
		text += fmt.Sprintf(" %.2fx", v.Median/limit)
	}
	if v.Disturbed {
		text += " *"
	}
	return text
}

// rawColumns names the raw series that stand beside a table of sizes.
func rawColumns(medium, test string) []Key {
	switch {
	case medium == "shm" && test == "latency":
		return []Key{{Raw, "", "memcpy", "time", 0}, {Raw, "", "writev", "time", 0}}
	case medium == "shm":
		return []Key{{Raw, "", "memcpy", "bandwidth", 0}, {Raw, "", "writev", "bandwidth", 0}}
	case test == "latency":
		return []Key{{Raw, "", "udp", "oneway", 0}}
	}
	return []Key{{Raw, "", "udp", "bandwidth", 0}}
}

func (s *Summaries) printSizes(b *bytes.Buffer, medium, test string, ops []string, title string) {
	sizes := s.sizes(Ours, medium, test, "put")
	raw := rawColumns(medium, test)
	if sizes == nil {
		sizes = s.sizes(Raw, "", raw[0].Test, raw[0].Op)
	}
	if sizes == nil {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "size")
	for _, op := range ops {
		fmt.Fprint(w, "\t", op)
	}
	for _, k := range raw {
		fmt.Fprint(w, "\traw ", k.Test)
	}
	fmt.Fprintln(w)
	for _, n := range sizes {
		fmt.Fprint(w, size(n))
		for _, op := range ops {
			v := s.get(Ours, medium, test, op, n)
			limit := 0.0
			if v != nil {
				limit, _, _ = s.rawLimit(v)
			}
			fmt.Fprint(w, "\t", cell(v, limit))
		}
		for _, k := range raw {
			k.Size = n
			fmt.Fprint(w, "\t", cell(inUnit(s.All[k], test), 0))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// inUnit returns a raw series in the unit of the table that it stands in: us where ours are latencies.
func inUnit(v *Summary, test string) *Summary {
	if v == nil || test != "latency" || v.Unit != "ns" {
		return v
	}
	c := *v
	c.Unit = "us"
	c.Median, c.Low, c.High = v.Median/1e3, v.Low/1e3, v.High/1e3
	return &c
}

// printSingles prints the series that are not tables of sizes.
func (s *Summaries) printSingles(b *bytes.Buffer, medium string) {
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	title := fmt.Sprintf("\n%s: the rest\n", medium)
	for _, v := range s.sorted() {
		single := v.Test != "bandwidth" && v.Test != "vector" && (v.Test != "latency" || v.Op == "fetch-and-add")
		if v.Side != Ours || v.Medium != medium || !single {
			continue
		}
		limit, what, _ := s.rawLimit(v)
		if what != "" {
			what = "of " + what
		}
		fmt.Fprintf(w, "%s%s %s\t%s\t%s\t%s\t%s\n", title, v.Test, v.Op, sizeOrTasks(v), v.Unit, cell(v, limit), what)
		title = ""
	}
	w.Flush()
}

func (s *Summaries) printExpected(b *bytes.Buffer) {
	all := s.expectations()
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\nExpected figures (for information)\n")
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "figure\tbound\treached\t\tbound is\n")
	for _, e := range all {
		fmt.Fprintf(w, "%s\t%s %s %s\t%s %s\t%s\t%s\n", e.What, kind(e.AtLeast), brief(e.Bound), e.Unit, brief(e.Reached), e.Unit, e.Verdict(), e.Formula)
	}
	w.Flush()
}
