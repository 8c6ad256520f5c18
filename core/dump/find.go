package dump

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lapi/invariant"
)

// JobVariable names a job of several hosts, for tasks that a launcher of the field starts for
// lapirun.
const JobVariable = "LAPI_LAUNCHER_JOB"

// process is a process of this user that belongs to a job, or has a socket.
type process struct {
	id, parent int
	state      byte
	started    uint64
	environ    map[string]string
	job        string
	task       int
	tasks      int
}

// Filter says which tasks are meant: of a job, or of the job of a process that has started them or
// is one of them. Neither: all.
type Filter struct {
	Job     string
	Process int
}

// Collect asks the tasks of this node. Each is bounded, and all are asked at once.
func Collect(filter Filter) ([]Task, error) {
	found, err := processes()
	if err != nil {
		return nil, err
	}
	names, err := sockets(os.Getpid())
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	var wait invariant.Group
	chosen := choose(found, names, filter)
	all := make([]Task, len(chosen))
	for i, p := range chosen {
		wait.Go(func() { all[i] = p.look(names[p.id], host) })
	}
	wait.Wait()
	Sort(all)
	return all, nil
}

// Sort is by job, and in it by task.
func Sort(all []Task) {
	slices.SortStableFunc(all, func(a, b Task) int {
		if c := strings.Compare(a.Job, b.Job); c != 0 {
			return c
		}
		return a.Task - b.Task
	})
}

// processes are those of this user.
func processes() (map[int]*process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]*process{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		var s unix.Stat_t
		if unix.Stat("/proc/"+e.Name(), &s) != nil || int(s.Uid) != os.Geteuid() {
			continue
		}
		if p := readProcess(id); p != nil {
			all[id] = p
		}
	}
	return all, nil
}

func readProcess(id int) *process {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return nil
	}
	p := &process{id: id, task: -1, tasks: -1}
	// the name, in parentheses, may hold anything
	after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(after) < 20 || after[0] == "Z" || after[0] == "X" {
		return nil
	}
	p.state = after[0][0]
	p.parent, _ = strconv.Atoi(after[1])
	p.started, _ = strconv.ParseUint(after[19], 10, 64)
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id))
	p.environ = map[string]string{}
	for _, e := range strings.Split(string(environ), "\x00") {
		if name, value, ok := strings.Cut(e, "="); ok {
			p.environ[name] = value
		}
	}
	p.identify()
	return p
}

// identities are the variables of launchers: the task, the number of tasks, and what names the job.
// The first whose task and job are set counts.
var identities = []struct {
	task, tasks string
	job         []string
}{
	{"MP_CHILD", "MP_PROCS", []string{"MP_PARTITION"}},
	{"PMI_RANK", "PMI_SIZE", []string{JobVariable, "PMI_PORT", "SLURM_JOB_ID"}},
	{"PMIX_RANK", "OMPI_COMM_WORLD_SIZE", []string{JobVariable, "PMIX_NAMESPACE"}},
	{"SLURM_PROCID", "SLURM_NTASKS", []string{JobVariable, "SLURM_JOB_ID"}},
}

func (p *process) identify() {
	for _, i := range identities {
		task, err := strconv.Atoi(p.environ[i.task])
		if err != nil {
			continue
		}
		p.task = task
		if n, err := strconv.Atoi(p.environ[i.tasks]); err == nil {
			p.tasks = n
		}
		for _, name := range i.job {
			if p.job = p.environ[name]; p.job != "" {
				return
			}
		}
		p.job = fmt.Sprintf("of-process-%d", p.parent)
		return
	}
}

// choose picks one process for each task: that with a socket, else the youngest, which a script has
// started.
func choose(found map[int]*process, names map[int]string, filter Filter) (chosen []*process) {
	type place struct {
		job  string
		task int
	}
	best := map[place]*process{}
	if p := found[filter.Process]; p != nil && filter.Job == "" {
		filter.Job = jobOf(found, filter.Process)
	}
	for _, p := range found {
		named := names[p.id] != ""
		switch {
		case p.job == "" && !named, filter.Job != "" && p.job != filter.Job,
			filter.Job == "" && filter.Process != 0 && !descends(found, p, filter.Process):
			continue
		case p.job == "": // of uDAPL, or started by hand without a number
			chosen = append(chosen, p)
			continue
		}
		at := place{p.job, p.task}
		other := best[at]
		if other == nil || named && names[other.id] == "" ||
			named == (names[other.id] != "") && p.started > other.started {
			best[at] = p
		}
	}
	for _, p := range best {
		chosen = append(chosen, p)
	}
	return chosen
}

// jobOf is the job of a process: its own, or that of tasks below it.
func jobOf(found map[int]*process, id int) string {
	if p := found[id]; p != nil && p.job != "" {
		return p.job
	}
	for _, p := range found {
		if p.job != "" && descends(found, p, id) {
			return p.job
		}
	}
	return ""
}

func descends(found map[int]*process, p *process, from int) bool {
	for n := 0; p != nil && n < len(found)+1; n++ {
		if p.id == from {
			return true
		}
		p = found[p.parent]
	}
	return false
}

// look is the task that p is; name: of its socket.
func (p *process) look(name, host string) Task {
	t := Task{Job: p.job, Task: p.task, Tasks: p.tasks, Process: p.id, Host: host, State: Outside}
	if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.id)); err == nil {
		program, _, _ := strings.Cut(string(command), "\x00")
		t.Program = filepath.Base(program)
	}
	t.Threads = threads(p.id)
	if p.state == 'T' || p.state == 't' {
		t.State = Stopped
		return t
	}
	if name == "" {
		return t
	}
	text, err := ask(name)
	t.take(text)
	t.State = Answered
	if err != nil {
		t.State = Silent
		t.Notes = append(t.Notes, err.Error())
	}
	return t
}

// threads are those that the kernel shows.
func threads(id int) (all []Thread) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", id))
	for _, e := range entries {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", id, e.Name()))
		if err != nil {
			continue
		}
		from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if from < 0 || to < from || to+2 >= len(stat) {
			continue
		}
		number, _ := strconv.Atoi(e.Name())
		all = append(all, Thread{ID: number, Name: string(stat[from+1 : to]), State: stat[to+2]})
	}
	slices.SortFunc(all, func(a, b Thread) int { return a.ID - b.ID }) // the main thread first
	return all
}

// Merge is Sort, and keeps one entry of a task that several hosts show, as nodes with common
// process numbers do: the entry that has answered.
func Merge(all []Task) []Task {
	Sort(all)
	from := slices.Clone(all)
	return slices.DeleteFunc(all, func(t Task) bool {
		return t.Task >= 0 && t.State == Outside && slices.ContainsFunc(from, func(o Task) bool {
			return o.Job == t.Job && o.Task == t.Task && o.State != Outside && o.State != ""
		})
	})
}

// HostsVariable is, in the environment of a launcher of several hosts, their names.
const HostsVariable = "LAPI_LAUNCHER_HOSTS"

// Hosts are the job that filter means and its hosts, where lapirun had another launcher start it;
// none: all its tasks are here.
func Hosts(filter Filter) (job string, hosts []string) {
	found, err := processes()
	if err != nil {
		return "", nil
	}
	for _, p := range found {
		names := p.environ[HostsVariable]
		meant := filter.Job != "" && p.environ[JobVariable] == filter.Job ||
			filter.Process != 0 && descends(found, p, filter.Process)
		if names != "" && meant {
			return p.environ[JobVariable], strings.Split(names, ",")
		}
	}
	return "", nil
}
