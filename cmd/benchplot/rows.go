package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Side says whose result a row is.
type Side string

// The two sides of every comparison.
const (
	Ours Side = "ours"
	Raw  Side = "raw"
	Peer Side = "peer" // another library; Medium names it
)

// Row is one result of one trial: what a benchmark program printed, and where in the run that was.
type Row struct {
	Round     int
	Side      Side
	Medium    string // "shm", "udp"; "" for raw limits that belong to no medium; when peers are compared: who
	Test, Op  string
	Size      int // bytes; for gfence, barrier, startup and memory the number of tasks
	Value     float64
	Unit      string
	Before    float64 // cache-line ping-pong before the point, ns; 0: not measured
	After     float64
	Preempted int     // how often the measuring thread lost its core
	Others    float64 // processors that other programs used during the trial
}

var rawHeader = []string{"round", "side", "medium", "test", "op", "size", "value", "unit", "state_before_ns", "state_after_ns", "preempted", "others_cores", "undisturbed"}

// parseRow reads a line "row,test,op,size,value,unit,before,after,preempted"; false for any other line.
func parseRow(line string) (Row, bool) {
	f := strings.Split(strings.TrimSpace(line), ",")
	if len(f) != 9 || f[0] != "row" {
		return Row{}, false
	}
	r := Row{Test: f[1], Op: f[2], Unit: f[5]}
	var err [5]error
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

// disturbed says whether the machine was slower around the row than limit ns a cache line, or busy with other programs.
func (r *Row) disturbed(limit float64) bool {
	return r.slow(limit) || r.Others > quietCores
}

// slow is the first half of disturbed.
func (r *Row) slow(limit float64) bool {
	return r.Before > limit || r.After > limit
}

// writeRaw writes every row, with a flag for those that summarise drops under the limit wanted, ns.
func writeRaw(path string, rows []Row, wanted float64) error {
	limit := stateLimit(rows, wanted)
	all := [][]string{rawHeader}
	for i := range rows {
		r := &rows[i]
		all = append(all, []string{strconv.Itoa(r.Round), string(r.Side), r.Medium, r.Test, r.Op, strconv.Itoa(r.Size), number(r.Value), r.Unit,
			number(r.Before), number(r.After), strconv.Itoa(r.Preempted), number(r.Others), strconv.FormatBool(!r.disturbed(limit))})
	}
	return writeCSV(path, all)
}

// readRaw reads what writeRaw wrote.
func readRaw(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (make bench writes it)", err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, c := range all {
		if i == 0 {
			continue
		}
		if len(c) != len(rawHeader) {
			return nil, fmt.Errorf("%s: line %d has %d columns, want %d", path, i+1, len(c), len(rawHeader))
		}
		r, ok := parseRow(strings.Join([]string{"row", c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10]}, ","))
		round, err := strconv.Atoi(c[0])
		others, err2 := strconv.ParseFloat(c[11], 64)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("%s: line %d does not parse", path, i+1)
		}
		r.Round, r.Side, r.Medium, r.Others = round, Side(c[1]), c[2], others
		rows = append(rows, r)
	}
	return rows, nil
}

func writeCSV(path string, all [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	w.WriteAll(all)
	if err := w.Error(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// number prints a value with four significant digits, without an exponent.
func number(v float64) string { return significant(v, 4) }

// significant prints so many significant digits, all digits before the point, and at most six behind it.
func significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	before := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	return strconv.FormatFloat(v, 'f', max(0, min(6, digits-before)), 64)
}
