package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// compared is a row of the table: what the run says about a comparison.
type compared struct {
	comparison
	ours   *Summary
	others map[string]*Summary // by name; also raw limits
	best   *Summary            // best of others; nil: nobody else has the operation
	ratio  float64             // of medians, ours to the best; 0 without one
}

// peerNames are the columns of the table.
var peerNames = []string{"ucx", "ucx-tag", "openmpi", "openmpi-ucx", "mpich", "libfabric"}

// rawNames are raw limits that stand in for a peer where there is none.
var rawNames = map[string]string{"put-cold": "pipeline", "put-computing": "process_vm_writev"}

func (s *Summaries) compare(c comparison) compared {
	medium := "lapi"
	if c.as != "" {
		medium = c.as
	}
	r := compared{comparison: c, ours: s.get(Ours, medium, "compare", c.ourOp(), c.size), others: map[string]*Summary{}}
	more := r.ours != nil && moreIsBetter(r.ours.Unit)
	for _, name := range peerNames {
		v := s.get(Peer, name, "compare", c.op, c.size)
		if v == nil {
			continue
		}
		r.others[name] = v
		if r.best == nil || (v.Median > r.best.Median) == more {
			r.best = v
		}
	}
	if raw, ok := rawNames[c.op]; ok { // what the row is about; peers are shown beside it
		r.best = s.get(Raw, raw, "compare", c.op, c.size)
		r.others[raw] = r.best
	}
	switch c.beside {
	case "":
	case "lapi":
		r.best = s.get(Ours, "lapi", "compare", c.ourOp(), c.size)
	default:
		r.best = s.get(Raw, c.beside, "compare", c.op, c.size)
	}
	if r.ours != nil && r.best != nil && r.best.Median > 0 {
		r.ratio = r.ours.Median / r.best.Median
	}
	return r
}

// verdict says whether the ratio is as wanted: "yes", "no", or "" where none is wanted or there is none; with a question mark if the
// machine was disturbed whenever one of the two was measured.
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

// reportPeers writes table.txt, rows.csv and results.csv, and prints the first.
func reportPeers(o *options, chosen []comparison, s *Summaries) error {
	var rows []compared
	for _, c := range chosen {
		rows = append(rows, s.compare(c))
	}
	if err := writeCSV(filepath.Join(o.out, "results.csv"), s.resultLines()); err != nil {
		return err
	}
	if err := writeCSV(filepath.Join(o.out, "rows.csv"), rowLines(rows)); err != nil {
		return err
	}
	var b bytes.Buffer
	printPeers(&b, s, rows)
	os.Stdout.Write(b.Bytes())
	return os.WriteFile(filepath.Join(o.out, "table.txt"), b.Bytes(), 0o644)
}

func rowLines(rows []compared) [][]string {
	lines := [][]string{append(append([]string{"row", "what", "unit", "ours", "quartile1", "quartile3", "kept", "dropped", "disturbed"}, peerNames...),
		"raw", "best", "best_is", "ratio", "wanted", "reached")}
	for i := range rows {
		r := &rows[i]
		if r.ours == nil {
			continue
		}
		l := []string{r.name, r.what, r.ours.Unit, number(r.ours.Median), number(r.ours.Low), number(r.ours.High), fmt.Sprint(r.ours.Kept),
			fmt.Sprint(r.ours.Dropped), fmt.Sprint(r.ours.Disturbed)}
		for _, name := range append(append([]string{}, peerNames...), rawNames[r.op]) {
			if v := r.others[name]; v != nil {
				l = append(l, number(v.Median))
			} else {
				l = append(l, "")
			}
		}
		if r.best != nil {
			l = append(l, number(r.best.Median), r.best.Medium, number(r.ratio), r.wantedText(), r.verdict())
		} else {
			l = append(l, "", "", "", r.wantedText(), "")
		}
		lines = append(lines, l)
	}
	return lines
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

func printPeers(b *bytes.Buffer, s *Summaries, rows []compared) {
	fmt.Fprintf(b, "Medians over the rounds; ratio: ours to the best of the others. Times in us: less is better; rates in M/s and GB/s: more is.\n")
	fmt.Fprintf(b, "Cache line one way, median of all checks: %s ns; %d results kept, %d dropped: a check above %s ns, or other programs at work.\n",
		number(s.Usual), s.Kept, s.Dropped, number(s.Limit))
	fmt.Fprintf(b, "* or ?: the machine was never undisturbed. Kept and dropped: ours, then all others'.\n\n")
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "row\tunit\tours\tquartiles\t%s\traw\tbest\tratio\twanted\treached\tkept/dropped\n", strings.Join(peerNames, "\t"))
	for i := range rows {
		r := &rows[i]
		if r.ours == nil {
			fmt.Fprintf(w, "%s\tno result\n", r.name)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t[%s %s]", r.name, r.ours.Unit, mark(r.ours), brief(r.ours.Low), brief(r.ours.High))
		kept, dropped := 0, 0
		for _, name := range append(append([]string{}, peerNames...), rawNames[r.op]) {
			fmt.Fprintf(w, "\t%s", mark(r.others[name]))
		}
		for _, v := range r.others {
			if v != nil {
				kept, dropped = kept+v.Kept, dropped+v.Dropped
			}
		}
		best, ratio := "", ""
		if r.best != nil {
			best, ratio = r.best.Medium, fmt.Sprintf("%.2f", r.ratio)
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\t%d/%d %d/%d\n", best, ratio, r.wantedText(), r.verdict(), r.ours.Kept, r.ours.Dropped, kept, dropped)
	}
	w.Flush()
	fmt.Fprintln(b)
	w = tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i := range rows {
		fmt.Fprintf(w, "%s\t%s\n", rows[i].name, rows[i].what)
	}
	w.Flush()
}

// peerPictures draws an operation each, ours and everybody who has it.
func peerPictures() []picture {
	var all []picture
	add := func(op, title, unit string, ours ...string) {
		p := picture{"peers-" + op, title, unit, "outside right top", nil}
		lapi := func(name string) {
			p.curves = append(p.curves, curve{Key{Ours, "lapi", "compare", name, 0}, "LAPI " + name, 1, false, false})
		}
		lapi(ours[0])
		for _, name := range peerNames {
			p.curves = append(p.curves, curve{Key{Peer, name, "compare", op, 0}, name, 1, false, false})
		}
		for _, name := range ours[1:] { // last, so that everybody's colour is the same in all pictures
			lapi(name)
		}
		p.curves = append(p.curves, curve{Key{Raw, "pipeline", "compare", op, 0}, "raw: bare double copy", 1, true, false})
		all = append(all, p)
	}
	add("am", "Active message or send, one way, user memory, both poll", "microseconds", "am", "am-probe")
	add("put", "Put, one way, user memory, both poll", "microseconds", "put")
	add("put-completed", "Put until completed, user memory, both poll", "microseconds", "put-completed")
	add("get", "Get, user memory, both poll", "microseconds", "get")
	add("put-bandwidth", "Puts, 64 outstanding to 64 KiB, 16 above", "GB/s", "put-bandwidth")
	add("get-bandwidth", "Gets, 64 outstanding to 64 KiB, 16 above", "GB/s", "get-bandwidth")
	return all
}
