package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "run those whose name, file or test this pattern matches")
	copies := flag.Int("j", 1, "copies of the tree to work in at once")
	build := flag.Duration("build", 10*time.Minute, "the longest time of a build")
	most := flag.Duration("test", 5*time.Minute, "the longest time of a test")
	other := flag.String("kill", "", "a test to run in place of the table's, to look for one")
	doc := flag.Bool("doc", false, "print the table of all mutants, and end")
	with := flag.String("with", "", "a command in front of each build and test, such as nice")
	logs := flag.Bool("v", false, "show the output of each failing test")
	flag.Parse()
	if *doc {
		document(os.Stdout)
		return
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		exit("%v", err)
	}
	var chosen []*mutation
	all := table()
	for i, m := range all {
		if pattern.MatchString(m.name) || pattern.MatchString(m.file) ||
			pattern.MatchString(m.kill) {
			if *other != "" {
				all[i].kill = *other
			}
			chosen = append(chosen, &all[i])
		}
	}
	if wrong := check(".", all); len(wrong) > 0 {
		for _, err := range wrong {
			fmt.Fprintln(os.Stderr, err)
		}
		exit("the table does not fit the sources")
	}
	if len(chosen) == 0 || *copies < 1 {
		exit("nothing to run")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{ctx: ctx, build: *build, most: *most, with: strings.Fields(*with),
		well: map[string]time.Duration{}, unwell: map[string]string{}}
	good, err := r.all(chosen, min(*copies, len(chosen)), *logs)
	if err != nil {
		exit("%v", err)
	}
	if !good {
		os.Exit(1)
	}
}

func exit(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "mutants: "+format+"\n", arguments...)
	os.Exit(2)
}

// all rehearses the tests, and then runs the mutations.
func (r *runner) all(chosen []*mutation, copies int, logs bool) (good bool, err error) {
	tmp, err := os.MkdirTemp("", "lapi-mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	for range copies {
		t, err := newTree(".", tmp)
		if err != nil {
			return false, err
		}
		r.trees = append(r.trees, t)
	}
	var kills []*kill
	seen := map[string]bool{}
	for _, m := range chosen {
		if k, _ := parseKill(m.kill); !seen[k.text] {
			seen[k.text] = true
			kills = append(kills, k)
		}
	}
	fmt.Printf("%d tests without a defect\n", len(kills))
	r.rehearse(kills, func(k *kill, took time.Duration, wrong string) {
		if wrong != "" {
			fmt.Printf("FAILS without a defect: %s\n%s\n", k.text, tail(wrong, 20))
			return
		}
		fmt.Printf("  %-60s %6.1f s\n", k.text, took.Seconds())
	})
	fmt.Printf("%d mutations\n", len(chosen))
	results := make([]result, len(chosen))
	places := make([]int, len(chosen))
	for i := range places {
		places[i] = i
	}
	var done atomic.Int32
	each(r, places, func(t *tree, i int) {
		res := r.mutate(t, chosen[i])
		results[i] = res
		fmt.Printf("%3d/%d %-14s %s (%.1f s)\n", done.Add(1), len(chosen), res.outcome, res.m.name,
			res.took.Seconds())
		if !res.good() && res.outcome != mistaken || logs {
			fmt.Println(tail(res.log, 20))
		}
	})
	if r.ctx.Err() != nil {
		return false, r.ctx.Err()
	}
	return summary(os.Stdout, results), nil
}
