package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// compared is a row of the table: the run's result of a comparison.
type compared struct {
	comparison
	ours   *Summary
	others map[string]*Summary // by name; also raw limits
	best   *Summary            // of others; nil: nobody else has the operation
	ratio  float64             // of medians, ours to the best; 0 without one
	limit  *Summary            // the fastest bare route; nil: none was measured
}

func (s *Summaries) compare(c comparison) compared {
	r := compared{comparison: c, ours: s.All[c.ourKey()], others: map[string]*Summary{}}
	more := r.ours != nil && moreIsBetter(r.ours.Unit)
	for _, name := range peerNames {
		v := s.All[Key{name, c.op, c.size}]
		if v == nil {
			continue
		}
		r.others[name] = v
		if r.best == nil || (v.Median > r.best.Median) == more {
			r.best = v
		}
	}
	if c.beside != "" { // what the row is about; peers are shown beside it
		op := c.op
		if c.beside == "before" {
			op = c.ourOp()
		}
		r.best = s.All[Key{c.beside, op, c.size}]
		r.others[c.beside] = r.best
	}
	for _, route := range bareRoutes {
		v := s.All[Key{bareRoute(route), c.op, c.size}]
		if v != nil && (r.limit == nil || (v.Median > r.limit.Median) == more) {
			r.limit = v
		}
	}
	if r.ours != nil && r.best != nil && r.best.Median > 0 {
		r.ratio = r.ours.Median / r.best.Median
	}
	return r
}

// verdict says whether the ratio is as wanted: "yes", "no", or "" where none is wanted or there is
// none. It has a question mark if the machine was disturbed whenever one of the two was measured.
func (r *compared) verdict() string {
	if r.wanted == 0 || r.ratio == 0 {
		return ""
	}
	answer := "no"
	if r.ratio == r.wanted || moreIsBetter(r.ours.Unit) == (r.ratio > r.wanted) {
		answer = "yes"
	}
	if r.ours.Disturbed || r.best.Disturbed {
		answer += "?"
	}
	return answer
}

func (r *compared) wantedText() string {
	if r.wanted == 0 {
		return ""
	}
	bound := "<="
	if r.ours != nil && moreIsBetter(r.ours.Unit) {
		bound = ">="
	}
	return fmt.Sprintf("%s %.2f", bound, r.wanted)
}

// report writes results.csv, table.txt and, of a comparison, rows.csv. It prints the table.
func report(o *options, chosen []comparison, s *Summaries) error {
	results := s.resultLines()
	if err := writeCSV(filepath.Join(o.out, "results.csv"), results); err != nil {
		return err
	}
	table := results
	if chosen != nil {
		table = s.tableLines(chosen)
		if err := writeCSV(filepath.Join(o.out, "rows.csv"), table); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Medians over the rounds; ratio: ours to the best of the others. Times in us: less is better; rates in M/s and GB/s: more is.\n")
	fmt.Fprintf(&b, "Cache line one way, median of all checks: %s ns; %d results kept, %d dropped: a check above %s ns, or other programs at work.\n",
		number(s.Usual), s.Kept, s.Dropped, number(s.Limit))
	fmt.Fprintf(&b,
		"* or ?: the machine was never undisturbed. Kept and dropped: ours, then all others'.\n\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, line := range table {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	fmt.Fprintln(w)
	for _, c := range chosen {
		fmt.Fprintf(w, "%s\t%s\n", c.name, c.what)
	}
	w.Flush()
	os.Stdout.Write(b.Bytes())
	return os.WriteFile(filepath.Join(o.out, "table.txt"), b.Bytes(), 0o644)
}

// resultLines is a line for each series.
func (s *Summaries) resultLines() [][]string {
	lines := [][]string{{"who", "op", "size", "median", "quartile1", "quartile3", "unit", "kept",
		"dropped", "disturbed", "raw_limit", "raw_limit_is", "ratio"}}
	keys := slices.SortedFunc(maps.Keys(s.All), func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Who, b.Who), strings.Compare(a.Op, b.Op), a.Size-b.Size)
	})
	for _, k := range keys {
		v := s.All[k]
		l := []string{k.Who, k.Op, strconv.Itoa(k.Size), number(v.Median), number(v.Low),
			number(v.High), v.Unit,
			strconv.Itoa(v.Kept), strconv.Itoa(v.Dropped), strconv.FormatBool(v.Disturbed), "", "",
			""}
		if limit, what := s.rawLimit(k); limit > 0 {
			l[10], l[11], l[12] = number(limit), what, number(v.Median/limit)
		}
		lines = append(lines, l)
	}
	return lines
}

// tableLines is a line for each row of a comparison; the first names the columns.
func (s *Summaries) tableLines(chosen []comparison) [][]string {
	table := [][]string{slices.Concat([]string{"row", "unit", "ours", "quartiles"}, peerNames,
		[]string{"raw", "best", "ratio", "wanted", "reached", "limit", "of limit", "route",
			"kept/dropped"})}
	for _, c := range chosen {
		r := s.compare(c)
		if r.ours == nil {
			line := make([]string, len(table[0]))
			line[0], line[1] = r.name, "no result"
			table = append(table, line)
			continue
		}
		line := []string{r.name, r.ours.Unit, mark(r.ours), fmt.Sprintf("[%s %s]",
			brief(r.ours.Low), brief(r.ours.High))}
		for _, name := range append(slices.Clone(peerNames), c.beside) {
			line = append(line, mark(r.others[name]))
		}
		best, ratio := "", ""
		if r.best != nil {
			best, ratio = r.best.Who, fmt.Sprintf("%.2f", r.ratio)
		}
		kept, dropped := 0, 0
		for _, v := range r.others {
			if v != nil {
				kept, dropped = kept+v.Kept, dropped+v.Dropped
			}
		}
		limit, ofLimit := r.limitText()
		table = append(table, append(line, best, ratio, r.wantedText(), r.verdict(), limit, ofLimit,
			r.ours.Route, fmt.Sprintf("%d/%d %d/%d", r.ours.Kept, r.ours.Dropped, kept, dropped)))
	}
	return table
}

// limitText is the fastest bare route with its name, and the ratio of ours to it.
func (r *compared) limitText() (limit, ratio string) {
	if r.limit == nil || r.limit.Median <= 0 {
		return "", ""
	}
	return mark(r.limit) + strings.TrimPrefix(r.limit.Who, "bare"),
		fmt.Sprintf("%.2f", r.ours.Median/r.limit.Median)
}

// mark is a median for people, with a * if the machine was never undisturbed.
func mark(v *Summary) string {
	if v == nil {
		return ""
	}
	if v.Disturbed {
		return brief(v.Median) + "*"
	}
	return brief(v.Median)
}
