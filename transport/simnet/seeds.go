package simnet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lapi/transport/memory"
)

// Seeds are the runs that the environment of a test asks for: SIM_SEEDS=n runs n seeds from
// SIM_FIRST (1) on, SIM_SEED=s one alone, and with SIM_LOG=file its packet log.
type Seeds struct {
	First, Count uint64
	Log          string // file; "": none
}

// AskedSeeds reads the environment; without SIM_SEEDS and SIM_SEED there are count seeds.
func AskedSeeds(count uint64) (s Seeds, err error) {
	s = Seeds{First: 1, Count: count, Log: os.Getenv("SIM_LOG")}
	for name, field := range map[string]*uint64{"SIM_SEEDS": &s.Count, "SIM_FIRST": &s.First} {
		if text := os.Getenv(name); text != "" {
			v, err := strconv.ParseUint(text, 10, 63)
			if err != nil || v == 0 {
				return s, fmt.Errorf("%s=%q: a number of seeds is wanted", name, text)
			}
			*field = v
		}
	}
	if text := os.Getenv("SIM_SEED"); text != "" {
		if s.First, err = strconv.ParseUint(text, 10, 63); err != nil {
			return s, fmt.Errorf("SIM_SEED=%q: one seed is wanted", text)
		}
		s.Count = 1
	}
	if s.Log != "" && s.Count != 1 {
		return s, errors.New("SIM_LOG is for a run alone: set SIM_SEED")
	}
	return s, nil
}

// maxFailures: after this many failing seeds the others are not run.
const maxFailures = 10

// Run runs each seed on one of as many goroutines as there are processors. progress gets a line now
// and then, report what went wrong with a seed and how to see it again. It returns how many seeds
// ran and how many failed.
func (s Seeds) Run(target string, progress io.Writer, run func(seed uint64, log io.Writer) error,
	report func(text string)) (ran, failed uint64) {
	var log io.Writer
	if s.Log != "" {
		f, err := os.Create(s.Log)
		if err != nil {
			report(err.Error())
			return 0, 1
		}
		defer f.Close()
		log = f
	}
	var wait sync.WaitGroup
	var next, done, bad atomic.Uint64
	var mu sync.Mutex // of report and progress
	began, shown := time.Now(), time.Now()
	for range min(uint64(runtime.GOMAXPROCS(0)), s.Count) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			memory.Guard()
			for bad.Load() < maxFailures {
				i := next.Add(1) - 1
				if i >= s.Count {
					return
				}
				err := contained(s.First+i, log, run)
				n := done.Add(1)
				mu.Lock()
				if err != nil {
					bad.Add(1)
					report(fmt.Sprintf("%v\nagain alone: make %s SEED=%d, with each packet: make %s SEED=%d LOG=file\n",
						err, target, s.First+i, target, s.First+i))
				}
				if time.Since(shown) > 2*time.Second {
					shown = time.Now()
					fmt.Fprintf(progress, "%s: %d of %d seeds, %d failed, %v\n", target, n, s.Count,
						bad.Load(), time.Since(began).Round(time.Second))
				}
				mu.Unlock()
			}
		}()
	}
	wait.Wait()
	fmt.Fprintf(progress, "%s: %d seeds ran, %d failed, %v\n", target, done.Load(), bad.Load(),
		time.Since(began).Round(time.Millisecond))
	return done.Load(), bad.Load()
}

// contained makes a panic of a run its error.
func contained(seed uint64, log io.Writer, run func(seed uint64, log io.Writer) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%vpanic: %v\n%s", NewScenario(seed), r, debug.Stack())
		}
	}()
	return run(seed, log)
}
