package main

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
)

// Key names a series of results over the rounds.
type Key struct {
	Who  string // "lapi", a peer's name, a raw limit's; in make bench "shm", "udp" and "raw"
	Op   string // with the test in front of it, unless that compares with peers
	Size int    // bytes; for gfence, barrier, startup and memory the number of tasks
}

// Row is one result of one trial.
type Row struct {
	Key
	Round     int
	Value     float64
	Unit      string
	Before    float64 // a cache line's way before the point, ns; 0: not measured
	After     float64
	Preempted int     // how often the measuring thread lost its core
	Others    float64 // processors that other programs used during the trial
	Route     string  // of ours: the one in use at the end (docs/dev/bulk.md); "": not known
}

// parseRow reads a line "row,test,op,size,value,unit,before,after,preempted"; false for any other
// line.
func parseRow(line string) (r Row, ok bool) {
	f := strings.Split(strings.TrimSpace(line), ",")
	if len(f) != 9 || f[0] != "row" {
		return Row{}, false
	}
	var err [5]error
	r.Op, r.Unit = f[1]+"/"+f[2], f[5]
	if f[1] == "compare" {
		r.Op = f[2]
	}
	r.Size, err[0] = strconv.Atoi(f[3])
	r.Value, err[1] = strconv.ParseFloat(f[4], 64)
	r.Before, err[2] = strconv.ParseFloat(f[6], 64)
	r.After, err[3] = strconv.ParseFloat(f[7], 64)
	r.Preempted, err[4] = strconv.Atoi(f[8])
	for _, e := range err {
		if e != nil {
			return Row{}, false
		}
	}
	return r, true
}

func parseRows(out string) (rows []Row) {
	for line := range strings.SplitSeq(out, "\n") {
		if r, ok := parseRow(line); ok {
			rows = append(rows, r)
		}
	}
	return rows
}

// disturbed says whether the machine was slower around the row than limit ns a cache line, or busy
// with others.
func (r *Row) disturbed(limit float64) bool { return r.slow(limit) || r.Others > quietCores }

// slow is the first half of disturbed.
func (r *Row) slow(limit float64) bool { return r.Before > limit || r.After > limit }

// writeRaw writes every row, with a flag for those that summarise drops under the limit wanted, ns.
func writeRaw(path string, rows []Row, wanted float64) error {
	limit := stateLimit(rows, wanted)
	all := [][]string{{"round", "who", "op", "size", "value", "unit", "state_before_ns",
		"state_after_ns", "preempted", "others_cores", "undisturbed"}}
	for i := range rows {
		r := &rows[i]
		all = append(all, []string{strconv.Itoa(r.Round), r.Who, r.Op, strconv.Itoa(r.Size),
			number(r.Value), r.Unit,
			number(r.Before), number(r.After), strconv.Itoa(r.Preempted), number(r.Others),
			strconv.FormatBool(!r.disturbed(limit))})
	}
	return writeCSV(path, all)
}

func writeCSV(path string, all [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(all); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// number prints a value with four significant digits, without an exponent.
func number(v float64) string { return significant(v, 4) }

// brief prints three significant digits: what a table needs.
func brief(v float64) string { return significant(v, 3) }

// significant prints v with that many significant digits, all digits before the point, and at most
// six behind it.
func significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	before := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	return strconv.FormatFloat(v, 'f', max(0, min(6, digits-before)), 64)
}
