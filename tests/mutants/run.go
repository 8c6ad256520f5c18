package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lapi/invariant"
)

// An outcome is the result of a mutation.
type outcome uint8

const (
	killed   outcome = iota
	hung             // killed: the test did not end within its time
	survived         // the test has not noticed
	unbuilt          // it does not compile: that shows nothing
	mistaken         // the test fails, or runs nothing, without it
	broken           // the run itself went wrong
)

func (o outcome) String() string {
	return [...]string{"killed", "killed (hung)", "SURVIVED", "DOES NOT BUILD", "TEST IS BROKEN",
		"ERROR"}[o]
}

func (o outcome) good() bool { return o <= hung }

type result struct {
	outcome
	m    *mutation
	log  string
	took time.Duration
}

// A runner runs mutations in several copies of a tree at once.
type runner struct {
	ctx    context.Context
	trees  []*tree
	build  time.Duration // bounds a build
	most   time.Duration // bounds a test
	with   []string      // stands in front of each command
	mu     sync.Mutex
	well   map[string]time.Duration // commands that pass without a defect, and how long they take
	unwell map[string]string        // those that do not: their output
}

// each calls f for every item, with one goroutine for each copy of the tree.
func each[T any](r *runner, items []T, f func(t *tree, item T)) {
	queue := make(chan T)
	var wait invariant.Group
	for _, t := range r.trees {
		wait.Go(func() {
			for item := range queue {
				if r.ctx.Err() == nil {
					f(t, item)
				}
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	wait.Wait()
}

// rehearse runs every command without a defect.
func (r *runner) rehearse(kills []*kill, say func(*kill, time.Duration, string)) {
	each(r, kills, func(t *tree, k *kill) {
		began := time.Now()
		out, err := r.command(t, k.build(), t.root, nil, r.build)
		if err == nil {
			began = time.Now()
			argv, dir := k.run(t.root)
			out, err = r.command(t, argv, dir, k.environment(r.most), r.most)
			if err == nil && k.ranNothing(out) {
				err = errors.New("it runs nothing")
			}
		}
		took := time.Since(began)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil {
			r.well[k.text] = took
			out = ""
		} else {
			out = err.Error() + "\n" + out
			r.unwell[k.text] = out
		}
		say(k, took, out)
	})
}

// mutate runs one mutation.
func (r *runner) mutate(t *tree, m *mutation) (res result) {
	res.m = m
	k, err := parseKill(m.kill)
	if err == nil {
		r.mu.Lock()
		usual, ok := r.well[k.text]
		res.log = r.unwell[k.text]
		r.mu.Unlock()
		if !ok {
			res.outcome = mistaken
			return res
		}
		limit := min(r.most, 30*time.Second+20*usual)
		err = t.with(m, func() { r.judge(t, k, limit, &res) })
	}
	if err != nil {
		res.outcome, res.log = broken, err.Error()
	}
	return res
}

func (r *runner) judge(t *tree, k *kill, limit time.Duration, res *result) {
	var err error
	began := time.Now()
	if res.log, err = r.command(t, k.build(), t.root, nil, r.build); err != nil {
		res.outcome = unbuilt
		return
	}
	argv, dir := k.run(t.root)
	res.log, err = r.command(t, argv, dir, k.environment(limit), limit)
	res.took = time.Since(began)
	switch {
	case err == nil:
		res.outcome = survived
	case err == errTime:
		res.outcome = hung
	}
}

// environment has the variables that a test gets beyond this process's.
func (k *kill) environment(limit time.Duration) []string {
	hang := strconv.Itoa(int(limit.Seconds()) - 5)
	return append([]string{"CONFORM_HANG_SECONDS=" + hang}, k.env...)
}

// errTime says that a command took too long.
var errTime = errors.New("it did not end within its time")

// command runs argv in dir. All processes of its group end with it. The time that r.with lets it
// wait before it begins does not count.
func (r *runner) command(t *tree, argv []string, dir string, env []string,
	limit time.Duration) (string, error) {
	bounded := []string{"timeout", "-k", "5", strconv.Itoa(int(limit.Seconds()))}
	argv = slices.Concat(r.with, bounded, argv)
	c := exec.CommandContext(r.ctx, argv[0], argv[1:]...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "LAPI_CALIBRATION=off", "MAKEFLAGS="), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if code := c.ProcessState.ExitCode(); code == 124 || code == 137 {
		err = errTime
	}
	return out.String(), err
}
