package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"lapi/transport/arena"
	user "lapi/transport/memory"
	"lapi/transport/simnet"
)

const (
	// modelSeeds is how many seeds `go test` runs of each engine; SIM_SEEDS says otherwise,
	modelSeeds = 400
	// counted so that they take as long as the other simulations' seeds.
	perSeed = 10
)

// opener makes an engine between processes.
type opener func(settings) (driver, capabilities, error)

// engines are those that the model is for.
var engines = []struct {
	name string
	open opener
}{{"links", newLinks}, {"node", newNode}}

// TestSimulation runs the engines against the model: SIM_SEEDS and SIM_FIRST say which seeds,
// SIM_SEED which one, whose steps are shown if it fails. MODEL_WHOLE=1 shows them before any is
// left out.
func TestSimulation(t *testing.T) {
	seeds, err := simnet.AskedSeeds(modelSeeds / perSeed)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SIM_SEED") == "" {
		seeds.Count *= perSeed
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			user.Guard()
			began := time.Now()
			total := result{}
			for seed := seeds.First; seed < seeds.First+seeds.Count; seed++ {
				r := run(e.open, seed, nil)
				total.add(&r)
				if r.err == nil {
					continue
				}
				t.Errorf("seed %d: %v\n%s\nagain alone: SIM_SEED=%d go test -run "+
					"'TestSimulation/%s' ./core/dat/rc/model", seed, r.err,
					shrunk(e.open, seed, &r), seed, e.name)
				break
			}
			t.Logf("%d seeds, %v: %d requests complete, %d of them messages, %d failed",
				seeds.Count, time.Since(began).Round(time.Millisecond), total.done, total.messages,
				total.failed)
			if seeds.Count >= modelSeeds && (total.done < 1000 || total.failed < 20) {
				t.Error("the run tests less than it says")
			}
		})
	}
}

// result is what a run has shown.
type result struct {
	err                    error
	steps                  []string
	length                 int
	done, messages, failed int
}

func (r *result) add(o *result) {
	r.done += o.done
	r.messages += o.messages
	r.failed += o.failed
}

// shrunk leaves steps of a failing seed out as long as it fails, for a few seconds, and shows those
// that are left.
func shrunk(open opener, seed uint64, r *result) string {
	if os.Getenv("MODEL_WHOLE") != "" {
		return strings.Join(r.steps, "\n")
	}
	until := time.Now().Add(10 * time.Second)
	without := map[int]bool{}
	best := *r
	for chunk := r.length / 2; chunk > 0; chunk /= 2 {
		for at := 0; at < r.length && time.Now().Before(until); at += chunk {
			try := map[int]bool{}
			for k := range without {
				try[k] = true
			}
			for k := at; k < at+chunk; k++ {
				try[k] = true
			}
			if len(try) == len(without) {
				continue
			}
			if o := run(open, seed, try); o.err != nil {
				without, best = try, o
			}
		}
	}
	return fmt.Sprintf("without %d of %d steps: %v\n%s", len(without), r.length, best.err,
		strings.Join(best.steps, "\n"))
}

// run runs a seed, without some of its steps.
func run(open opener, seed uint64, without map[int]bool) (out result) {
	w := &world{settings: settings{seed: seed, random: rand.New(rand.NewPCG(seed, 5))}}
	w.core = w
	w.processes = 2 + w.random.IntN(4)/3
	w.profile = newProfile(w.random)
	var err error
	if w.driver, w.capabilities, err = open(w.settings); err != nil {
		return result{err: err}
	}
	defer w.tidy(&out)
	w.begin()
	for w.step = 0; w.step < w.length && w.err == nil; w.step++ {
		quiet := rand.New(rand.NewPCG(seed, uint64(1e6+w.step/blocks))).IntN(2 * w.processes)
		if !without[w.step] {
			w.oneStep(rand.New(rand.NewPCG(seed, uint64(1000+w.step))), quiet)
		}
	}
	w.finish()
	return result{err: w.err, steps: w.steps, length: w.length}
}

// tidy ends a run whatever has become of it.
func (w *world) tidy(out *result) {
	if err := w.driver.close(); err != nil && w.err == nil && out.err == nil {
		out.err = err
	}
	for _, c := range w.conns {
		for _, e := range c.ends {
			arena.Unmap(e.all)
		}
	}
	for _, p := range w.procs {
		arena.Unmap(p.memory)
	}
	out.done, out.messages, out.failed = w.total.done, w.total.messages, w.total.failed
}

// finish completes what may complete, ends all connections, and checks what is left.
func (w *world) finish() {
	for i := range w.procs {
		for k := range w.procs {
			w.noticeDead(i, k)
		}
	}
	for _, c := range w.conns {
		for _, e := range c.ends {
			w.openEnd(e)
		}
	}
	for i := range w.procs {
		for k := range w.procs {
			if w.procs[k].dead && !w.procs[i].dead {
				w.notice(i, k)
			}
		}
	}
	if w.complete {
		w.completeAll()
	}
	w.endAll()
	whole := true
	for len(w.conns) > 0 && w.err == nil {
		c := w.conns[0]
		if !w.forgetOver(c) {
			w.errorf("connection %d is not over", c.index)
		}
	}
	for i, p := range w.procs {
		whole = whole && !p.dead
		if p.shared != nil && !p.dead && w.err == nil && w.unshared(i) != len(p.shared.waiting) {
			w.errorf("process %d: its shared queue has %d receives, %d are not complete", i,
				w.unshared(i), len(p.shared.waiting))
		}
	}
	w.commonCheck(whole && w.total.failed == 0)
}

// rounds is how often all processes have a turn until something must have happened.
const rounds = 400

// isQuiet says whether nothing of an end is under way.
func (w *world) isQuiet(e *end) bool {
	if w.isDead(e) || e.forgotten || e.ended {
		return true
	}
	requests, _ := w.pending(e)
	return requests == 0
}

// lacks says whether there is no receive for some message to an end.
func (w *world) lacks(e *end) bool {
	if !e.shared {
		return len(e.receives) < len(e.peer().messages)
	}
	wanted := 0
	for _, c := range w.conns {
		for _, o := range c.ends {
			if o.shared && o.process == e.process {
				wanted += len(o.peer().messages) - o.arrived
			}
		}
	}
	return len(w.procs[e.process].shared.waiting) < wanted
}

// turns gives all processes turns, and receives where some are needed, until done.
func (w *world) turns(done func() bool) bool {
	random := rand.New(rand.NewPCG(w.seed, 8))
	for i := range rounds {
		if w.err != nil || done() {
			return true
		}
		for _, c := range w.conns {
			for _, e := range c.ends {
				if !w.isDead(e) && !e.ended && w.lacks(e) {
					w.postAReceive(random, e, false)
				}
			}
		}
		for k, p := range w.procs {
			if !p.dead {
				w.turn(k)
			}
		}
		w.collectAll()
		w.pass(i%16 == 15)
	}
	return done()
}

// completeAll: all that was posted completes, where nothing is wrong, as soon as there are
// receives.
func (w *world) completeAll() {
	w.note("all is to complete")
	quiet := func() bool {
		for _, c := range w.conns {
			for _, e := range c.ends {
				if !w.isQuiet(e) {
					return false
				}
			}
		}
		return true
	}
	if w.turns(quiet) {
		return
	}
	for _, c := range w.conns {
		for _, e := range c.ends {
			if !w.isQuiet(e) {
				requests, receives := w.pending(e)
				w.errorf("%v: %d requests, %d receives do not complete; %v is next", e, requests,
					receives, e.requests[e.done])
			}
		}
	}
}

// endAll ends all connections.
func (w *world) endAll() {
	random := rand.New(rand.NewPCG(w.seed, 7))
	for _, c := range w.conns {
		e := c.ends[random.IntN(2)]
		if !w.isDead(e) && !w.isDead(e.peer()) {
			w.endBy(e, random.IntN(2) == 0)
		}
	}
	over := func() bool {
		for _, c := range w.conns {
			for _, e := range c.ends {
				if !e.ended && !w.isDead(e) {
					return false
				}
			}
		}
		return true
	}
	if !w.turns(over) {
		for _, c := range w.conns {
			for _, e := range c.ends {
				if !e.ended && !w.isDead(e) {
					w.errorf("%v does not end", e)
				}
			}
		}
	}
}
