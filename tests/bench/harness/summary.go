package main

import (
	"math"
	"sort"
)

// defaultStateLimit is the one-way cache-line time, ns, above which the test machine is in its slow
// state.
const defaultStateLimit = 110

// Summary is the result of the rounds for one Key.
type Summary struct {
	Key
	Unit      string
	Median    float64
	Low, High float64 // quartiles
	// results; if all had to be dropped they are used after all, and Disturbed says so
	Kept, Dropped int
	Disturbed     bool
	Route         string // of the last round that had one
}

// Summaries is the whole run.
type Summaries struct {
	All           map[Key]*Summary
	Limit         float64 // state limit applied, ns
	Usual         float64 // median of all state checks, ns
	Kept, Dropped int
}

// stateLimit returns the limit to use: the wanted one or, on a machine whose lines simply take
// longer, 1.5 times what is usual for the faster half of the run's checks.
func stateLimit(rows []Row, wanted float64) float64 {
	v := states(rows)
	if len(v) == 0 {
		return wanted
	}
	return math.Max(wanted, 1.5*quantile(v, 0.25))
}

// states returns all state checks of the rows, sorted.
func states(rows []Row) []float64 {
	var v []float64
	for _, r := range rows {
		if r.Before > 0 && r.After > 0 {
			v = append(v, r.Before, r.After)
		}
	}
	sort.Float64s(v)
	return v
}

// quantile returns the p-th fraction of sorted values, between neighbours by interpolation; 0 for
// none.
func quantile(v []float64, p float64) float64 {
	if len(v) == 0 {
		return 0
	}
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// summarise takes medians and quartiles of each series, without the results that the state of the
// machine or other programs spoilt.
func summarise(rows []Row, wanted float64) *Summaries {
	s := &Summaries{All: map[Key]*Summary{}, Limit: stateLimit(rows, wanted),
		Usual: quantile(states(rows), 0.5)}
	good, beside, bad := map[Key][]float64{}, map[Key][]float64{}, map[Key][]float64{}
	units, routes := map[Key]string{}, map[Key]string{}
	for i := range rows {
		r := &rows[i]
		k := r.Key
		units[k] = r.Unit
		if r.Route != "" {
			routes[k] = r.Route
		}
		if r.disturbed(s.Limit) {
			bad[k] = append(bad[k], r.Value)
			s.Dropped++
			if !r.slow(s.Limit) {
				beside[k] = append(beside[k], r.Value)
			}
		} else {
			good[k] = append(good[k], r.Value)
			s.Kept++
		}
	}
	for k, unit := range units {
		v := good[k]
		disturbed := len(v) == 0
		if disturbed { // if it must be, rather beside other programs than in a slow state
			v = beside[k]
		}
		if len(v) == 0 {
			v = bad[k]
		}
		sort.Float64s(v)
		s.All[k] = &Summary{Key: k, Unit: unit, Median: quantile(v, 0.5), Low: quantile(v, 0.25),
			High: quantile(v, 0.75),
			Kept: len(good[k]), Dropped: len(bad[k]), Disturbed: disturbed, Route: routes[k]}
	}
	return s
}
