package job

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"lapi/core/job/wire"
)

// A launcher's exchange waits for all tasks of the job, and does not say which are missing. Most
// launchers end the job when a task has ended before; those that let the others live (mpiexec.hydra
// -disable-auto-cleanup, srun) would have them wait for ever. So a task that waits looks which
// tasks have a process on its node, and gives up when one of them has no process any more. It sees
// nothing of other nodes: for those there is the limit.

// exchangeLimit is how long a launcher's exchange may take, without limit with MP_DEBUG_NOTIMEOUT:
// TIMEOUT's default. A variable for tests.
var exchangeLimit = 15 * time.Minute

// Between two looks. The first comes after what most jobs take to begin.
const (
	firstMates = time.Second
	lastMates  = 16 * time.Second
)

// slurmStarts is how long Slurm may take to start all tasks of a node, from the first on.
const slurmStarts = 5 * time.Second

// mates is what a task that waits knows of the tasks of its node.
type mates struct {
	task, numTasks int
	kind           *launcherKind
	job            string       // the value of kind.job
	daemon         int          // an ancestor of the tasks of this node; 0: the job's name will do
	seen           map[int]bool // tasks that have, or have had, a process here
	absent         map[int]bool // seen, and without a process at the last look
	begun, next    time.Time
	pause          time.Duration
	limit          time.Duration // 0: none
	processes      func(*launcherKind) []process
}

// launcherKind names the variables in which a launcher passes a process its task number.
type launcherKind struct {
	task, job string
	local     string // the number of tasks of this node
	// until all tasks of this node have been started: an mpiexec.hydra answers none before
	starts time.Duration
}

var launcherKinds = map[starter]*launcherKind{
	byPMI: {task: "PMI_RANK", job: "PMI_SIZE", local: "MPI_LOCALNRANKS"},
	byPMIx: {task: "PMIX_RANK", job: "PMIX_NAMESPACE", local: "OMPI_COMM_WORLD_LOCAL_SIZE",
		starts: 30 * time.Second},
}

// process is a process that a launcher has given a task's number, or that has inherited it.
type process struct {
	pid, task int
	job       string
}

// newMates begins a wait for the tasks of this node.
func newMates(c *Config, socket int) *mates {
	m := &mates{task: c.Task, numTasks: c.NumTasks, kind: launcherKinds[c.start],
		seen: make(map[int]bool), absent: make(map[int]bool), begun: time.Now(),
		pause: firstMates, limit: exchangeLimit, processes: processes}
	m.next = m.begun.Add(firstMates)
	if c.NoTimeout {
		m.limit = 0
	}
	if m.kind != nil {
		m.job = os.Getenv(m.kind.job)
	}
	if c.start == byPMI { // PMI_SIZE is no name of a job
		if m.daemon = wire.PeerPID(socket); m.daemon <= 1 {
			m.kind = nil
		}
	}
	return m
}

// look returns an error if waiting is in vain. It may be called at any rate.
func (m *mates) look() error {
	now := time.Now()
	if m.limit > 0 && now.Sub(m.begun) > m.limit {
		return fmt.Errorf("not all %d tasks came to LAPI_Init within %v, and the launcher does not "+
			"say which did not; MP_DEBUG_NOTIMEOUT=yes has LAPI_Init wait without limit", m.numTasks,
			m.limit)
	}
	if m.kind == nil || m.job == "" || now.Before(m.next) {
		return nil
	}
	m.next, m.pause = now.Add(m.pause), min(2*m.pause, lastMates)
	for _, t := range m.local(now.Sub(m.begun)) { // also those that ended before the first look
		m.seen[t] = true
	}
	return m.missed(m.processes(m.kind))
}

// local are the tasks of this node, as the launcher names them. Nil: it does not name them, or may
// not have started all of them by that time.
func (m *mates) local(waited time.Duration) (all []int) {
	if waited > m.kind.starts && os.Getenv(m.kind.local) == strconv.Itoa(m.numTasks) {
		for t := range m.numTasks {
			all = append(all, t)
		}
		return all
	}
	if waited > slurmStarts {
		return slurmTasks(m.task, m.numTasks)
	}
	return nil
}

// slurmTasks are the tasks of this node that Slurm names. Nil: it has not started this task, but a
// launcher inside of a step of Slurm, whose variables the tasks of that launcher inherit.
func slurmTasks(task, numTasks int) (all []int) {
	if os.Getenv("SLURM_PROCID") != strconv.Itoa(task) ||
		os.Getenv("SLURM_STEP_NUM_TASKS") != strconv.Itoa(numTasks) {
		return nil
	}
	for s := range strings.SplitSeq(os.Getenv("SLURM_GTIDS"), ",") {
		t, err := parseNumber(s)
		if err != nil || t >= numTasks {
			return nil
		}
		all = append(all, t)
	}
	if !slices.Contains(all, task) {
		return nil
	}
	return all
}

// missed is the error about a task that has ended. A task has ended if two looks in a row find no
// process of it; one look would not do, as a process that is in exec shows no environment.
func (m *mates) missed(all []process) error {
	running := map[int]bool{m.task: true}
	for _, p := range all {
		if p.job != m.job || p.task >= m.numTasks {
			continue
		}
		running[p.task] = true // or another job's: then it is not missed
		if !m.seen[p.task] && m.started(p.pid) {
			m.seen[p.task] = true
		}
	}
	for t := range m.numTasks {
		gone := m.seen[t] && !running[t]
		if gone && m.absent[t] {
			return fmt.Errorf("task %d has ended, and had not come to LAPI_Init", t)
		}
		m.absent[t] = gone
	}
	return nil
}

// started says whether the launcher's process is an ancestor of process pid.
func (m *mates) started(pid int) bool {
	for pid > 1 && pid != m.daemon && m.daemon != 0 {
		pid = parentOf(pid)
	}
	return pid > 1
}

// processes are those of this node with a task's number in their environment.
func processes(kind *launcherKind) (all []process) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/environ") // another user's cannot be read
		if err != nil {
			continue
		}
		if p, ok := processIn(b, kind); ok {
			p.pid = pid
			all = append(all, p)
		}
	}
	return all
}

// processIn reads an environment.
func processIn(environ []byte, kind *launcherKind) (p process, ok bool) {
	for _, v := range bytes.Split(environ, []byte{0}) {
		name, value, _ := bytes.Cut(v, []byte{'='})
		switch string(name) {
		case kind.task:
			n, err := parseNumber(string(value))
			p.task, ok = n, err == nil
		case kind.job:
			p.job = string(value)
		}
	}
	return p, ok && p.job != ""
}
