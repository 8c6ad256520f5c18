package lapi

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/wireup"
	"lapi/transport/layout"
	"lapi/transport/simnet"
	"lapi/transport/udp"
)

// simSeeds is how many seeds `go test` runs; SIM_SEEDS says otherwise.
const simSeeds = 200

// TestSimulation runs whole jobs over simulated networks: puts, gets, active messages and
// read-modify-writes of random lengths, fences and collective calls, and LAPI_Term, while packets
// are lost, damaged and delayed, paths fail and tasks sleep. This does with everything above the
// links what transport/simnet does with links alone.
func TestSimulation(t *testing.T) {
	seeds, err := simnet.AskedSeeds(simSeeds)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var counts simnet.Counts
	var free []*simJob
	one := func(seed uint64, log io.Writer) error {
		mu.Lock()
		j := newSimJob(&free)
		mu.Unlock()
		err := j.simulate(simnet.NewScenario(seed), log)
		mu.Lock()
		counts.Add(&j.net.Counts)
		free = append(free, j)
		mu.Unlock()
		return err
	}
	ran, _ := seeds.Run("sim", os.Stderr, one, func(text string) { t.Error(text) })
	t.Logf("%d seeds; network %+v", ran, counts)
	if ran >= simSeeds &&
		(counts.Lost == 0 || counts.Cut == 0 || counts.Damaged == 0 || counts.Overflowed == 0) {
		t.Error("the simulation tests less than it says")
	}
}

// simArena is the user memory of a job, in bytes.
const simArena = 96 << 20

// simJob is a job over a simulated network. All its tasks are driven by one goroutine.
type simJob struct {
	sc     *simnet.Scenario
	net    *simnet.Net
	random *rand.Rand
	tasks  []*simTask

	arena []byte
	used  int
	ops   []*simOp
	quota int // operations of each task between two collectives
	words []uint64Word
	ended int // tasks that have left

	failures []error
}

// simTask is one task of a simJob.
type simTask struct {
	*testTask
	j        *simJob
	me       int
	link     *simnet.Link
	issued   int // operations since the latest collective
	phase    int // collectives that are over
	ticket   uint64
	waits    waiting
	before   []*simOp // operations that the fence under way covers
	table    []byte
	open     []*simOp // not complete
	finished bool     // LAPI_Term's ticket is done
}

// waiting is what a task waits for before its user goes on.
type waiting uint8

const (
	waitsForNothing waiting = iota
	waitsForFence
	waitsForGfence
	waitsForTable
	waitsForTerm
	hasLeft
)

// Phases between collectives, and codes of Net.Schedule, which name a task in their lower bits.
const (
	simPhases         = 5 // the last ends with a Gfence, as the guide has it before LAPI_Term
	simUser     int32 = 0 << 8
	simDisturb  int32 = 1 << 8
	simLongest        = int64(4 * time.Hour)
	simOpenMost       = 64 // operations of a task that may be under way
)

func newSimJob(free *[]*simJob) *simJob {
	if n := len(*free); n > 0 {
		j := (*free)[n-1]
		*free = (*free)[:n-1]
		return j
	}
	arena, err := syscall.Mmap(-1, 0, simArena, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	return &simJob{arena: arena}
}

func (j *simJob) fail(format string, a ...any) {
	err := fmt.Errorf("%v: %w", time.Duration(j.net.Now()), fmt.Errorf(format, a...))
	j.net.Note("FAILURE %v", err)
	if len(j.failures) < 20 {
		j.failures = append(j.failures, err)
	}
}

// simulate runs a job; the error says which promise was broken.
func (j *simJob) simulate(sc *simnet.Scenario, log io.Writer) error {
	sc.Restarts, sc.Unannounced, sc.Timeout = 0, false, defaultTimeout*time.Second
	clear(j.arena[:j.used])
	*j = simJob{sc: sc, net: simnet.New(sc, log), random: rand.New(rand.NewPCG(sc.Seed, 4)),
		arena: j.arena}
	j.quota = sc.Messages/sc.Tasks/simPhases + 1
	j.net.Happen = j.happen
	j.net.Note("%v", sc)
	if err := j.start(); err != nil {
		return fmt.Errorf("%v%w", sc, err)
	}
	for i := range j.tasks {
		j.net.Schedule(sc.Think, simUser|int32(i))
	}
	span := time.Duration(sc.Messages/sc.Tasks)*sc.Think + 20*time.Millisecond
	for range sc.Disturbances {
		j.net.Schedule(time.Duration(j.random.Int64N(int64(span))), simDisturb)
	}
	for j.ended < len(j.tasks) && len(j.failures) == 0 {
		if !j.net.Step() && len(j.failures) == 0 {
			j.fail("nothing happens any more; %s", j.state())
		} else if j.net.Now() > simLongest {
			j.fail("no end; %s", j.state())
		}
		j.leaveDone()
	}
	if len(j.failures) == 0 {
		j.checkEnd()
	}
	for _, k := range j.tasks {
		if k.waits != hasLeft {
			k.link.Abandon()
			k.TermEnd()
		}
	}
	err := errors.Join(append(j.failures, j.net.Err())...)
	j.net.Close()
	if err != nil {
		err = fmt.Errorf("%v%w", sc, err)
	}
	return err
}

// start is LAPI_Init in all tasks.
func (j *simJob) start() error {
	n := j.sc.Tasks
	m := &meeting{parts: make([]job.Part, n), round: make([]int, n), events: make([][]job.Event, n)}
	m.cond = sync.NewCond(&m.mu)
	result := make([]codes.Code, n)
	var wait sync.WaitGroup
	for i := range n {
		k := &simTask{testTask: newTestTask(), j: j, me: i}
		j.tasks = append(j.tasks, k)
		wait.Add(1)
		go func() {
			defer wait.Done()
			k.Context, result[i] = New(k.options(m, n))
		}()
	}
	wait.Wait()
	for i, code := range result {
		if code != codes.Success {
			return fmt.Errorf("LAPI_Init of task %d: %s %q",
				i, codes.Name(code), j.tasks[i].messages)
		}
		k := j.tasks[i]
		k.setSimHandlers()
		j.net.Node(i).Attach(k.turn, k.nextTimeout)
	}
	j.makeWords()
	return nil
}

// options are those of a task of a simulated job of n.
func (k *simTask) options(m *meeting, n int) *Options {
	node, sc := k.j.net.Node(k.me), k.j.sc
	addresses := fmt.Sprintf("@%d", sc.Addresses[k.me])
	for _, a := range node.Locals() {
		addresses += fmt.Sprintf(":%v,sim", a.Addr.Addr())
	}
	vars := map[string]string{
		"MP_MSG_API": "lapi", "MP_CHILD": fmt.Sprint(k.me),
		"MP_PROCS": fmt.Sprint(n), "MP_PARTITION": "test", "MP_LAPI_INET_ADDR": addresses,
		"LAPI_USE_SHM": "no", "LAPI_JOB_KEY_FILE": "not looked at",
		"LAPI_AUTH": sc.Level.String(), "MP_UDP_PACKET_SIZE": fmt.Sprint(sc.PacketSize),
		"MP_ACK_THRESH":       fmt.Sprint(sc.AckThreshold),
		"MP_REXMIT_BUF_CNT":   fmt.Sprint(sc.RexmitBufCount),
		"MP_POLLING_INTERVAL": fmt.Sprint(sc.PollingInterval.Microseconds()),
	}
	return &Options{
		Shared: new(layout.Context), Host: k.testTask, Instance: 1, ErrHandler: 1,
		Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Hooks: wireup.Hooks{Clock: k.j.net.Now, Key: func(*job.Config) ([]byte, bool, error) {
			return []byte("a key that all tasks of this job have, long enough for every level"),
				true, nil
		},
			OpenSession: func(c *job.Config, _ int) (job.Session, error) {
				c.Launched = true // addresses come by the exchange
				return &seat{meeting: m, me: k.me, n: n}, nil
			},
			OpenUDP: func(c udp.Config) (wireup.UDPLink, error) {
				var err error
				c.Discover = sc.Discover
				k.link, err = simnet.NewLink(node, c)
				return k.link, err
			}},
	}
}

// turn is a turn of the dispatcher, as a thread that waits or the service thread gives it.
func (k *simTask) turn() {
	k.Dispatch(0)
	for {
		handler, info, id, ok := k.NextCompletion()
		if !ok {
			break
		}
		k.handlers[handler](info)
		k.CompletionDone(id)
	}
	for e, ok := k.NextError(); ok; e, ok = k.NextError() {
		// a task that waits for a task which left in good order may report its silence
		if !k.j.hasLeft(e.Of) || k.waits != waitsForTerm {
			k.j.fail("task %d: error handler: %s", k.me, e.Text)
		}
	}
	k.look()
}

func (j *simJob) hasLeft(task int) bool { return j.tasks[task].waits == hasLeft }

func (j *simJob) happen(code int32) {
	if code == simDisturb {
		j.net.Disturb(j.sc.Disturbance(j.random))
		return
	}
	k := j.tasks[code&255]
	if k.waits == hasLeft {
		return
	}
	if k.waits == waitsForNothing && len(k.open) < simOpenMost {
		k.user()
		k.look()
		j.net.Node(k.me).Touch()
	}
	j.net.Schedule(time.Duration(j.random.ExpFloat64()*float64(j.sc.Think))+time.Microsecond, code)
}

// leaveDone ends the contexts whose LAPI_Term is done. It is outside of all turns, because links
// let time pass when they close.
func (j *simJob) leaveDone() {
	for _, k := range j.tasks {
		if k.finished && k.waits == waitsForTerm {
			j.net.Note("task %d ends", k.me)
			k.waits = hasLeft
			j.ended++
			k.TermEnd()
		}
	}
}

func (j *simJob) state() string {
	text := ""
	for i, k := range j.tasks {
		text += fmt.Sprintf(
			"\n  task %d: phase %d, waits for %d, %d operations are open; its link: %+v",
			i, k.phase, k.waits, len(k.open), k.link.Usage())
		for _, o := range k.open[:min(len(k.open), 3)] {
			text += fmt.Sprintf("\n    %v", o)
		}
	}
	return text
}
