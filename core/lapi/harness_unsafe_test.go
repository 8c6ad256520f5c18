package lapi

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/wire"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// testJob is a whole job in one process: a context for each task, driven by one goroutine, with
// real links between them.
type testJob struct {
	t      testing.TB
	tasks  []*testTask
	fabric *fake.Fabric // RDMA adapters

	mu      sync.Mutex
	devices [][]*fake.Device // by task
	started bool             // what is opened from now on was gone
	plugged bool             // and is there again
}

// openPort is LAPI_Init's way to one, but for tasks that are to have none.
func (j *testJob) openPort(vars map[string]string) wireup.OpenPort {
	return func(device string, _ int) (ibv.Device, error) {
		task := vars["MP_CHILD"]
		if have, some := vars["TEST_ADAPTERS"]; some && !strings.Contains(have, task) {
			return nil, errors.New("there is no adapter")
		}
		d, err := j.fabric.Device()
		if err != nil {
			return nil, err
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.started && !j.plugged {
			return nil, errors.Join(ibv.ErrGone, d.Close())
		}
		j.devices[task[0]-'0'] = append(j.devices[task[0]-'0'], d)
		if vars["TEST_NATIVE"] != "" {
			return usedByC{d}, nil
		}
		return d, nil
	}
}

// listPorts: everybody has two.
func listPorts() ([]job.Port, error) {
	return []job.Port{{Device: "a", Number: 1}, {Device: "b", Number: 1}}, nil
}

// ddmFunction is what a test registers as a DDM function: the parameters are those of LAPI's.
type ddmFunction func(in, inout transport.Addr, n uint64, operand, operation int32) int64

// testTask is the Host of one context and its handlers by their made-up addresses.
type testTask struct {
	*Context
	mu          sync.Mutex
	headers     map[transport.Addr]func(h *headerCall, r *HeaderResult)
	handlers    map[transport.Addr]func(info transport.Addr)
	ddms        map[transport.Addr]ddmFunction
	messages    []string
	levels      []int // of the messages
	exited      string
	exitNotices int // calls of ExitNotice
	call        headerCall
	ended       bool // the test itself called TermEnd
	lenient     bool // handlers that were never registered do nothing: peers name any
	sends       map[transport.Addr]func(info transport.Addr, tgt int32, reason codes.Code)
}

func newTestTask() *testTask {
	return &testTask{headers: map[transport.Addr]func(*headerCall, *HeaderResult){},
		handlers: map[transport.Addr]func(transport.Addr){},
		sends:    map[transport.Addr]func(transport.Addr, int32, codes.Code){}}
}

type headerCall struct {
	HeaderCall
	uhdr []byte
}

func (k *testTask) HeaderHandler(call *HeaderCall, r *HeaderResult) {
	k.call = headerCall{*call, memory.Bytes(call.Uhdr, uint64(call.UhdrLen))}
	if h := k.headers[call.Handler]; h != nil || !k.lenient {
		h(&k.call, r)
	}
}

func (k *testTask) SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code) {
	k.sends[handler](info, tgt, reason)
}
func (k *testTask) CompletionHandler(handler, info transport.Addr) { k.handlers[handler](info) }
func (k *testTask) DDM(handler, in, inout transport.Addr, n uint64,
	operand, operation int32) int64 {
	return k.ddms[handler](in, inout, n, operand, operation)
}
func (k *testTask) Message(level int, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.messages, k.levels = append(k.messages, text), append(k.levels, level)
}
func (k *testTask) ExitNotice(_ []byte, sockets []int) {
	k.exitNotices++
}
func (k *testTask) Print(text string) { k.Message(0, text) }
func (k *testTask) Exit(text string)  { k.exited = text }

// meeting is a job.Session among the tasks of one testJob.
type meeting struct {
	mu     sync.Mutex
	cond   *sync.Cond
	parts  []job.Part
	round  []int
	events [][]job.Event
}

type seat struct {
	*meeting
	me, n, rounds int
}

func (s *seat) Exchange(p job.Part) ([]job.Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Files = dup(p.Files)
	s.parts[s.me] = p
	s.rounds++
	s.round[s.me] = s.rounds
	s.cond.Broadcast()
	for {
		all := true
		for _, r := range s.round {
			all = all && r >= s.rounds
		}
		if all {
			break
		}
		s.cond.Wait()
	}
	out := make([]job.Part, s.n)
	for i, p := range s.parts {
		if i != s.me {
			out[i] = job.Part{Data: p.Data, Files: dup(p.Files)}
		}
	}
	return out, nil
}
func (s *seat) Tasks() (ids []int) {
	for i := range s.n {
		ids = append(ids, i)
	}
	return ids
}
func (s *seat) Descriptor() int { return -1 }
func (s *seat) Poll() (e job.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events[s.me]) == 0 {
		return e, false
	}
	e = s.events[s.me][0]
	s.events[s.me] = s.events[s.me][1:]
	return e, true
}
func (s *seat) Publish(address []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.events {
		if i != s.me {
			s.events[i] = append(s.events[i], job.Event{Kind: job.TaskMoved, Task: s.me,
				Part: job.Part{Data: address}})
		}
	}
}
func (s *seat) Leave() {}

func (s *seat) ExitNotice() ([]byte, []int) { return nil, nil }
func (s *seat) Close() error                { return nil }

// paths are the environments that make all tasks meet over one link.
var paths = map[string]map[string]string{
	"shm": {"LAPI_USE_SHM": "only"},
	"udp": {"LAPI_USE_SHM": "no"},
	"us":  {"LAPI_USE_SHM": "no", "MP_EUILIB": "us", "LAPI_US": "only"},
}

func newJob(t testing.TB, n int, env map[string]string) *testJob {
	t.Helper()
	m := &meeting{parts: make([]job.Part, n), round: make([]int, n), events: make([][]job.Event, n)}
	m.cond = sync.NewCond(&m.mu)
	j := &testJob{t: t, tasks: make([]*testTask, n), fabric: fake.NewRandom(1),
		devices: make([][]*fake.Device, n)}
	var wait sync.WaitGroup
	result := make([]codes.Code, n)
	for i := range n {
		k := newTestTask()
		j.tasks[i] = k
		vars := map[string]string{
			"MP_MSG_API": "lapi", "MP_CHILD": fmt.Sprint(i), "MP_PROCS": fmt.Sprint(n),
			"MP_PARTITION": "test", "MP_LAPI_INET_ADDR": "@1:127.0.0.1,lo"}
		if n > 1 {
			vars["MP_COMMON_TASKS"] = commonTasks(i, n)
		}
		maps.Copy(vars, env)
		wait.Add(1)
		go func() {
			defer wait.Done()
			k.Context, result[i] = New(&Options{
				Shared: new(layout.Context), Host: k, Instance: 1, ErrHandler: 1,
				Commits: vars["TEST_COMMITS"] != "",
				Getenv:  func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
				Hooks: wireup.Hooks{
					OpenPort: j.openPort(vars), ListPorts: listPorts,
					Key: func(*job.Config) ([]byte, bool, error) {
						return []byte("a key that all tasks of this job have"), true, nil
					},
					OpenSession: func(c *job.Config, _ int) (job.Session, error) {
						c.Launched = true // addresses come by the exchange
						return &seat{meeting: m, me: i, n: n}, nil
					},
				},
			})
		}()
	}
	wait.Wait()
	j.mu.Lock()
	j.started = true
	j.mu.Unlock()
	for i, code := range result {
		if code != codes.Success {
			t.Fatalf("LAPI_Init of task %d: %s %q", i, codes.Name(code), j.tasks[i].messages)
		}
	}
	t.Cleanup(func() {
		for _, k := range j.tasks {
			if !k.ended {
				k.TermEnd()
			}
		}
	})
	return j
}

func commonTasks(me, n int) string {
	s := fmt.Sprint(n - 1)
	for i := range n {
		if i != me {
			s += fmt.Sprint(":", i)
		}
	}
	return s
}

// until dispatches in all tasks until done; it fails after a generous time.
func (j *testJob) until(what string, done func() bool) {
	j.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for turn := 0; !done(); turn++ {
		for _, k := range j.tasks {
			k.Dispatch(0)
			for {
				handler, info, id, ok := k.NextCompletion()
				if !ok {
					break
				}
				k.handlers[handler](info)
				k.CompletionDone(id)
			}
		}
		if turn%1024 == 0 && time.Now().After(deadline) {
			j.t.Fatalf("waiting for %s: still not there", what)
		}
	}
}

// at is the address of a Go variable used as a task's memory. It moves the variable to the heap,
// where it stays put; the caller keeps it reachable.
func at[T any](p *T) transport.Addr {
	escape = p
	return transport.Addr(uintptr(unsafe.Pointer(p)))
}

var escape any

func (j *testJob) ok(code codes.Code) {
	j.t.Helper()
	if code != codes.Success {
		j.t.Fatalf("%s (%d)", codes.Name(code), code)
	}
}

// dup gives the receiver of an exchange descriptors of its own.
func dup(files []int) (out []int) {
	for _, f := range files {
		d, err := unix.FcntlInt(uintptr(f), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		out = append(out, d)
	}
	return out
}

// compute makes all tasks look as if their users did not poll, so that large data goes directly.
func (j *testJob) compute() *testJob {
	for _, k := range j.tasks {
		if a, ok := untraced(k.net.Shm).(interface{ SetAway(bool) }); ok {
			a.SetAway(true)
		}
	}
	return j
}

// refusedAt is the word in a task's segment that says which peer has given up the barrier.
func (k *testTask) refusedAt(task int) uint64 {
	offset := unsafe.Offsetof(layout.SegmentHead{}.Barrier) +
		unsafe.Offsetof(layout.Barriers{}.Refused)
	return wire.Order.Uint64(memory.Bytes(
		transport.Addr(k.lane.node(task).OutHead)+transport.Addr(offset), 8))
}

// The calls that move data, by their own arguments.

func (k *testTask) Put(tgt uint32, n uint64,
	tgtAddr, orgAddr, tgtCntr, orgCntr, cmplCntr transport.Addr) codes.Code {
	return k.Xfer(XferPut, &Transfer{Tgt: tgt, N: n, TgtAddr: tgtAddr, OrgAddr: orgAddr,
		TgtCntr: tgtCntr, OrgCntr: orgCntr, CmplCntr: cmplCntr})
}

func (k *testTask) Get(tgt uint32, n uint64,
	tgtAddr, orgAddr, tgtCntr, orgCntr transport.Addr) codes.Code {
	return k.Xfer(XferGet, &Transfer{Tgt: tgt, N: n, TgtAddr: tgtAddr, OrgAddr: orgAddr,
		TgtCntr: tgtCntr, OrgCntr: orgCntr})
}

func (k *testTask) Rmw(width uint8, op, tgt uint32,
	tgtVar, inVal, prevVal, orgCntr transport.Addr) codes.Code {
	return k.Xfer(XferRmw, &Transfer{Tgt: tgt, Op: op, Size: 8 * uint32(width), TgtAddr: tgtVar,
		OrgAddr: inVal, PrevVal: prevVal, OrgCntr: orgCntr})
}

func (k *testTask) Amsend(tgt uint32, hdrHdl, uhdr transport.Addr, uhdrLen uint32,
	udata transport.Addr, n uint64, tgtCntr, orgCntr, cmplCntr transport.Addr) codes.Code {
	return k.Xfer(XferAm, &Transfer{Tgt: tgt, HdrHdl: hdrHdl, Uhdr: uhdr, UhdrLen: uhdrLen,
		OrgAddr: udata, N: n, TgtCntr: tgtCntr, OrgCntr: orgCntr, CmplCntr: cmplCntr})
}

// flagsOf says whether the target's vector is a lapi_lvec_t.
func flagsOf(long bool) uint32 {
	if long {
		return 0
	}
	return UseTgtVecType
}

func (k *testTask) Putv(tgt uint32, tgtVec, orgVec transport.Addr, long bool,
	tgtCntr, orgCntr, cmplCntr transport.Addr, done handlers.Callback) codes.Code {
	return k.Xfer(XferPutv,
		&Transfer{Tgt: tgt, TgtAddr: tgtVec, OrgAddr: orgVec, TgtCntr: tgtCntr, OrgCntr: orgCntr,
			CmplCntr: cmplCntr, Handler: done.Handler, Info: done.Info, Flags: flagsOf(long)})
}

func (k *testTask) Getv(tgt uint32, tgtVec, orgVec transport.Addr, long bool,
	tgtCntr, orgCntr transport.Addr, done handlers.Callback) codes.Code {
	return k.Xfer(XferGetv, &Transfer{Tgt: tgt, TgtAddr: tgtVec, OrgAddr: orgVec, TgtCntr: tgtCntr,
		OrgCntr: orgCntr, Handler: done.Handler, Info: done.Info, Flags: flagsOf(long)})
}

func (k *testTask) Amsendv(tgt uint32, hdrHdl, uhdr transport.Addr, uhdrLen uint32,
	orgVec, tgtCntr, orgCntr, cmplCntr transport.Addr, done handlers.Callback) codes.Code {
	return k.Xfer(XferAmv, &Transfer{Tgt: tgt, HdrHdl: hdrHdl, Uhdr: uhdr,
		UhdrLen: uhdrLen, OrgAddr: orgVec, TgtCntr: tgtCntr, OrgCntr: orgCntr, CmplCntr: cmplCntr,
		Handler: done.Handler, Info: done.Info})
}

// setCheck sets ERROR_CHK.
func (k *testTask) setCheck(check bool) { k.Senv(qErrorChk, int32(flag(check))) }

// events takes all errors that no handler has seen.
func (k *testTask) events() (all []faults.Event) {
	for {
		e, ok := k.NextError()
		if !ok {
			return all
		}
		all = append(all, e)
	}
}
