package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
	"lapi/core/job/hub"
	"lapi/core/job/wire"
	"lapi/invariant"
)

// drainTime is how long output is awaited once all tasks have ended, when something that they
// started holds it open.
const drainTime = time.Second

// reapDelay is the hub's where it is not 0: a variable for tests, on machines that are too busy for
// the default.
var reapDelay time.Duration

// launch is the job as lapirun sees it. Only the main goroutine uses it, but for copying.
type launch struct {
	name      string
	o         *options
	paths     map[string]string // of the programs of tasks that are started without a command
	cores     []unix.CPUSet     // by --bind, one task each; none: they are not bound
	emptied   map[string]bool   // files of -output and -error
	environ   []string
	partition uint32
	hub       *hub.Hub
	watchdog  *watchdog
	stdout    *sink
	stderr    *sink
	copying   invariant.Group
	signals   chan os.Signal

	tasks     []*process
	running   int
	ending    bool
	forwarded map[int]bool   // signals that this lapirun got and passed on
	interrupt int            // SIGINTs so far
	asked     syscall.Signal // that asked this lapirun to end the job; 0: none
	kill      <-chan time.Time
	killed    bool             // the grace is over
	timeout   <-chan time.Time // of --timeout
	status    int              // of the first task that failed
}

// process is one task.
type process struct {
	pid     int
	started time.Time
	node    *node
	ended   bool
}

func newJob(name string, o *options, environ []string) (*launch, error) {
	paths, err := o.lookUpAll()
	if err != nil {
		return nil, err
	}
	var bound []unix.CPUSet
	if o.bind == bindCore {
		if bound, err = cores(); err != nil {
			return nil, err
		}
	}
	key, err := job.NewKey()
	if err != nil {
		return nil, err
	}
	h := hub.New(o.procs, key)
	if reapDelay != 0 {
		h.SetReapDelay(reapDelay)
	}
	return &launch{
		name: name, o: o, paths: paths, cores: bound, environ: environ, hub: h,
		emptied:   make(map[string]bool),
		partition: rand.Uint32() >> 1,
		stdout:    newSink(os.Stdout, o.stdout), stderr: newSink(os.Stderr, unordered),
		signals: make(chan os.Signal, 16), forwarded: make(map[int]bool),
	}, nil
}

// startStatus is the exit status for a program that could not be started.
func startStatus(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		return exitNotFound
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) ||
		errors.Is(err, syscall.EISDIR):
		return exitNotRunnable
	}
	return exitFailure
}

func (j *launch) say(format string, args ...any) {
	j.stderr.say(fmt.Sprintf("%s: %s\n", j.name, fmt.Sprintf(format, args...)))
}

// run starts the job and returns lapirun's exit status when it is over.
func (j *launch) run() int {
	catchSignals(j.signals)
	var err error
	if j.watchdog, err = startWatchdog(j.o.procs); err != nil {
		j.say("%v", err)
		return exitFailure
	}
	for _, note := range j.o.notes {
		j.say("%s", note)
	}
	if err := j.chooseAddresses(); err != nil {
		j.say("%v", err)
		j.status = startStatus(err)
	} else if err := j.startTasks(); err != nil {
		j.say("%v", err)
		j.status = startStatus(err)
		j.ending = true
		j.killTasks(unix.SIGKILL)
	} else {
		j.started()
	}
	if j.o.timeout > 0 {
		j.timeout = time.After(j.o.timeout)
	}
	for j.running > 0 {
		j.step()
	}
	j.cleanUp()
	return j.status
}

// started reports what runs where, if that is asked for.
func (j *launch) started() {
	if j.o.infoLevel >= 2 {
		j.say("%d tasks of %s, MP_PARTITION %d", j.o.procs, j.o.programs(), j.partition)
	}
	if !j.o.reported {
		return
	}
	for task := range j.tasks {
		set := j.core(task)
		bound := "bound to"
		if set == nil {
			set, bound = new(unix.CPUSet), "not bound:"
			_ = unix.SchedGetaffinity(0, set)
		}
		j.say("task %d: %s %s", task, bound, processorList(set))
	}
}

// step handles one event.
func (j *launch) step() {
	select {
	case r, ok := <-j.watchdog.deaths:
		if !ok {
			j.unwatched()
			return
		}
		p := j.tasks[r.Task]
		p.ended = true
		j.running--
		j.ended(r.Task, p, r.Death)
	case s := <-j.signals:
		j.signalled(s.(syscall.Signal))
	case <-j.kill:
		j.kill, j.killed = nil, true
		if j.o.infoLevel >= 1 {
			j.say("killing the tasks that have not ended within %v", j.o.grace)
		}
		j.killTasks(unix.SIGKILL)
	case <-j.timeout:
		j.timedOut()
	}
}

// timedOut: the time of --timeout is over. --keep-going is for tasks that fail.
func (j *launch) timedOut() {
	j.timeout = nil
	if !j.ending && j.running > 0 {
		j.say("the job has not ended within %v", j.o.timeout)
		j.explain()
		j.say("ending its tasks")
	}
	j.fail(exitTimeout)
	j.end()
}

func (j *launch) startTasks() error {
	in, err := newInputs(j.o.stdin, j.say)
	if err != nil {
		return err
	}
	defer in.started()
	for _, n := range j.o.nodes {
		for task := n.first; task < n.first+n.procs; task++ {
			stdin, err := in.of(task, j.o.stdin)
			if err == nil {
				err = j.startTask(n, task, stdin)
			}
			if err != nil {
				return fmt.Errorf("task %d%s: %w", task, n.under(), err)
			}
		}
	}
	return nil
}

func (j *launch) startTask(n *node, task int, stdin *os.File) error {
	path, args, err := j.commandLine(n, task)
	if err != nil {
		return err
	}
	mine, theirs, err := wire.Pair()
	if err != nil {
		return err
	}
	control := os.NewFile(uintptr(theirs), "control")
	defer control.Close()
	if err := j.hub.Serve(task, mine); err != nil {
		return err
	}
	launcher, err := job.LauncherValue(launcherFD, theirs)
	if err != nil {
		return err
	}
	stdout, stderr, err := j.outputs(task)
	if err != nil {
		return err
	}
	defer stdout.Close()
	defer stderr.Close()
	pid, err := j.watchdog.start(order{
		Task: task, Path: path, Args: args,
		Env: taskEnvironment(j.environ, j.o, n, task, j.partition, launcher), Dir: j.o.wdir,
		Processors: j.core(task),
	}, stdin, stdout, stderr, control)
	if err != nil {
		return err
	}
	j.tasks = append(j.tasks, &process{pid: pid, started: time.Now(), node: n})
	j.running++
	return nil
}

// core is what a task is bound to, nil if it is not. More tasks than cores share them.
func (j *launch) core(task int) *unix.CPUSet {
	if len(j.cores) == 0 {
		return nil
	}
	return &j.cores[task%len(j.cores)]
}

// pipe makes a pipe for what a task writes to k, and begins to copy it.
func (j *launch) pipe(task int, k *sink) (*os.File, error) {
	r, w, err := os.Pipe()
	if err == nil {
		j.copying.Go(func() { newStream(k, task, j.o).copyFrom(r) })
	}
	return w, err
}

// unwatched: something has killed the watchdog, and the kernel the tasks with it.
func (j *launch) unwatched() {
	j.say("the watchdog is gone, and the tasks with it")
	j.fail(exitFailure)
	j.killTasks(unix.SIGKILL)
	for _, p := range j.tasks {
		p.ended = true
	}
	j.running = 0
}

func (j *launch) ended(task int, p *process, d death) {
	abandoned := len(p.node.prefix) > 0 && d.code() == 0 && j.hub.Abandoned(task)
	j.hub.TaskEnded(task, d.String())
	if abandoned {
		j.abandoned(task, p)
	}
	if d.code() == 0 {
		return
	}
	text := fmt.Sprintf("task %d (%s%s, process %d) %s after %s", task, j.o.command(task)[0],
		p.node.under(), p.pid, d, time.Since(p.started).Round(time.Millisecond))
	first := j.status == 0
	killed := j.killed && d.Signal == int(unix.SIGKILL) // by lapirun
	status := d.code()
	if killed && j.asked != 0 {
		status = death{Signal: int(j.asked)}.code()
	}
	expected := j.ending || killed || j.forwarded[d.Signal]
	if !expected && first && j.running > 0 && !j.o.keepGoing {
		text += "; ending the other tasks"
	}
	if !expected && (first || j.o.keepGoing) || j.o.infoLevel >= 2 {
		j.say("%s", text)
	}
	j.fail(status)
}

// abandoned: the command of --on has ended, and left a process behind that lapirun can neither wait
// for nor send signals to.
func (j *launch) abandoned(task int, p *process) {
	if !j.ending {
		j.say("task %d: '%s' has ended, but what it has started goes on. The command must stay until the program ends, or become it; setsid does so "+
			"with -w", task, p.node.command)
	}
	j.fail(exitFailure)
}

// fail notes the status of a job that has failed, and ends it unless it is to go on.
func (j *launch) fail(status int) {
	if j.status == 0 {
		j.status = status
	}
	if !j.o.keepGoing {
		j.end()
	}
}

// end asks all tasks to end; after the grace they are killed.
func (j *launch) end() {
	if j.ending || j.running == 0 {
		return
	}
	j.ending = true
	j.hub.Quiet()
	j.killTasks(unix.SIGTERM)
	j.killTasks(unix.SIGCONT) // a stopped task could not end
	j.kill = time.After(j.o.grace)
}

// killTasks sends a signal to the process groups of the tasks that run.
func (j *launch) killTasks(s syscall.Signal) {
	for _, p := range j.tasks {
		if !p.ended {
			_ = unix.Kill(-p.pid, s)
		}
	}
}

// cleanUp ends what tasks have left behind, and waits for their output. Only a process that a task
// of a job without failure has put into a group of its own, with output of its own, is left alone:
// it was started so on purpose.
func (j *launch) cleanUp() {
	copied := make(chan struct{})
	go func() {
		j.copying.Wait()
		close(copied)
	}()
	complete := await(copied, drainTime)
	for _, p := range j.tasks {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
	if !complete || j.status != 0 {
		j.watchdog.killAll()
		await(copied, drainTime)
	}
	j.watchdog.dismiss()
	signal.Reset()
}

// await says whether done came within the limit.
func await(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}
