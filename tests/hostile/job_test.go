package hostile

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds waits that should end at once.
const patience = 2 * time.Minute

// job is a job under lapirun, of two tasks if nothing else is said, that runs traffic.c.
type job struct {
	t       testing.TB
	run     []*exec.Cmd
	ended   []chan error
	mu      sync.Mutex
	out     bytes.Buffer
	until   string // the file that a job of the mode check waits for before it ends
	launch  int    // lapirun's process id
	tasks   []int  // process ids
	overUDP bool
	ports   []uint16
}

// built is a file below the build folder.
func built(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("BUILD")
	if dir == "" {
		t.Skip("BUILD is not set: run this by make hostile-test")
	}
	return filepath.Join(dir, name)
}

func newJob(t testing.TB, tasks int) *job {
	return &job{t: t, until: filepath.Join(t.TempDir(), "over"), tasks: make([]int, tasks),
		ports: make([]uint16, tasks)}
}

// start calls startTasks with two tasks.
func start(t testing.TB, mode string, d time.Duration, env ...string) *job {
	t.Helper()
	return startTasks(t, 2, mode, d, env...)
}

// startTasks starts a job over UDP that lasts for d at least, and until it is waited for, with these
// variables beside, and waits until its tasks are there.
func startTasks(t testing.TB, tasks int, mode string, d time.Duration, env ...string) *job {
	t.Helper()
	j := newJob(t, tasks)
	j.overUDP = !slices.Contains(env, "LAPI_USE_SHM=only")
	command := append([]string{built(t, "bin/lapirun"), "-n", fmt.Sprint(tasks)},
		strings.Fields(os.Getenv("HOSTILE_PREFIX"))...)
	command = append(command, built(t, "hostile/traffic"), mode, fmt.Sprint(d.Seconds()))
	j.begin(append([]string{"LAPI_USE_SHM=no"}, env...), command...)
	j.launch = j.run[0].Process.Pid
	for task := range tasks {
		j.await(fmt.Sprintf("task %d ready", task))
	}
	j.find()
	return j
}

// startByHandShared starts the two tasks of a job that share memory, without a launcher, and waits
// until they are there.
func startByHandShared(t testing.TB, d time.Duration) *job {
	t.Helper()
	env := func(other int) []string {
		return []string{"LAPI_USE_SHM=only", fmt.Sprint("MP_COMMON_TASKS=1:", other)}
	}
	j := startByHand(t, d, env(1), env(0))
	j.await("task 0 ready")
	j.await("task 1 ready")
	return j
}

// startByHand starts the two tasks of a job over UDP without a launcher, each with variables of its
// own; it does not wait.
func startByHand(t testing.TB, d time.Duration, env ...[]string) *job {
	t.Helper()
	j := newJob(t, 2)
	j.ports = []uint16{freePort(t), freePort(t)}
	for task := range j.tasks {
		vars := []string{"MP_MSG_API=lapi", fmt.Sprint("MP_CHILD=", task), "MP_PROCS=2",
			fmt.Sprint("MP_PARTITION=", os.Getpid()),
			"MP_LAPI_INET_ADDR=@1:127.0.0.1,lo", fmt.Sprintf("TRAFFIC_PORTS=%d,%d", j.ports[0],
				j.ports[1])}
		j.begin(append(vars, env[task]...), built(t, "hostile/traffic"), "check",
			fmt.Sprint(d.Seconds()))
		j.tasks[task] = j.run[task].Process.Pid
	}
	return j
}

func freePort(t testing.TB) uint16 {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

// freeze stops all processes of the job, so that it does not end while the test reads them; they go
// on when the returned function is called, or the test ends.
func (j *job) freeze() (thaw func()) {
	all := slices.Clone(j.tasks)
	if j.launch != 0 {
		all = append(all, j.launch)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range all {
			_ = syscall.Kill(pid, s)
		}
	}
	signal(syscall.SIGSTOP)
	thaw = func() { signal(syscall.SIGCONT) }
	j.t.Cleanup(thaw)
	return thaw
}

// sockets are the names of the job's abstract sockets: the tasks', and those of lapirun and of its
// watchdog, which is the tasks' parent.
func (j *job) sockets() (names []string) {
	j.t.Helper()
	var dirs []string
	for _, pid := range j.tasks {
		dirs = append(dirs, fmt.Sprint("/proc/", pid))
	}
	if j.launch != 0 {
		dirs = append(dirs, fmt.Sprint("/proc/", j.launch), "/proc/"+parentOf(dirs[0]))
	}
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		j.t.Fatal(err)
	}
	for _, dir := range dirs {
		links := linksOf(dir)
		for line := range strings.Lines(string(b)) {
			const inode, name = 6, 7
			if f := strings.Fields(line); len(f) > name && f[name][0] == '@' &&
				slices.Contains(links, "socket:["+f[inode]+"]") {
				names = append(names, f[name])
			}
		}
	}
	return names
}

// begin starts one process of the job.
func (j *job) begin(env []string, command ...string) {
	j.t.Helper()
	run := exec.Command(command[0], command[1:]...)
	run.Env = append(append(os.Environ(), "TRAFFIC_UNTIL="+j.until), env...)
	run.Stdout, run.Stderr = (*sink)(j), (*sink)(j)
	if err := run.Start(); err != nil {
		j.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	j.run, j.ended = append(j.run, run), append(j.ended, ended)
	// lapirun's watchdog ends the tasks; a process that was waited for is left alone
	j.t.Cleanup(func() { _ = run.Process.Kill() })
}

// wait lets the job end, waits for that and returns the errors of its processes.
func (j *job) wait() (errs []error) {
	j.t.Helper()
	if err := os.WriteFile(j.until, nil, 0o600); err != nil {
		j.t.Fatal(err)
	}
	limit := time.After(patience)
	for _, ended := range j.ended {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-limit:
			j.t.Fatalf("the job hangs; the output is\n%s", j.output())
		}
	}
	return errs
}

// sink collects what a job writes.
type sink job

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (j *job) output() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.String()
}

func (j *job) await(text string) {
	j.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(j.output(),
		text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			j.t.Fatalf("no %q; the output is\n%s", text, j.output())
		}
	}
}

// finish waits for the end of the job, which must succeed and print only its own lines.
func (j *job) finish() {
	j.t.Helper()
	for _, err := range j.wait() {
		if err != nil {
			j.t.Fatalf("%v; the output is\n%s", err, j.output())
		}
	}
	for line := range strings.Lines(j.output()) {
		if !strings.HasPrefix(line, "task ") && !strings.HasPrefix(line, "rate ") ||
			strings.Contains(line, "LAPI") {
			j.t.Errorf("the job says %q", line)
		}
	}
}

// counts are what task prints at its end.
func (j *job) counts(task int) (c struct{ rounds, ghosts, duplicates, retransmitted int }) {
	j.t.Helper()
	for line := range strings.Lines(j.output()) {
		var k int
		n, _ := fmt.Sscanf(line, "task %d rounds %d ghosts %d duplicates %d retransmitted %d", &k,
			&c.rounds, &c.ghosts, &c.duplicates, &c.retransmitted)
		if n == 5 && k == task {
			return c
		}
	}
	j.t.Fatalf("task %d has printed no counts:\n%s", task, j.output())
	return c
}

// rate is what task 0 prints.
func (j *job) rate() (rate float64) {
	j.t.Helper()
	for line := range strings.Lines(j.output()) {
		if n, _ := fmt.Sscanf(line, "rate %f", &rate); n == 1 {
			return rate
		}
	}
	j.t.Fatalf("no rate:\n%s", j.output())
	return 0
}

// find looks for the tasks' processes and UDP ports in /proc, as any user may.
func (j *job) find() {
	j.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		j.t.Fatal(err)
	}
	for _, dir := range all {
		// the watchdog is the tasks' parent, and lapirun the watchdog's
		if parentOf("/proc/"+parentOf(dir)) != strconv.Itoa(j.launch) {
			continue
		}
		// of others it might block, while they are kept from running
		environ, _ := os.ReadFile(dir + "/environ")
		for _, v := range bytes.Split(environ, []byte{0}) {
			if task, ok := strings.CutPrefix(string(v), "MP_CHILD="); ok && len(task) == 1 &&
				int(task[0]-'0') < len(j.tasks) {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				j.tasks[task[0]-'0'], j.ports[task[0]-'0'] = pid, portOf(pid)
			}
		}
	}
	for task, port := range j.ports {
		if j.tasks[task] == 0 || port == 0 && j.overUDP {
			j.t.Fatalf("task %d, process %d, has no UDP port", task, j.tasks[task])
		}
	}
}

// parentOf is the parent of a process, given by its folder in /proc; "" if it is gone.
func parentOf(dir string) string {
	stat, _ := os.ReadFile(dir + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

// portOf is the port of a process's UDP socket; 0: it has none.
func portOf(pid int) uint16 {
	inodes := map[string]uint16{}
	f, err := os.Open(fmt.Sprintf("/proc/%d/net/udp", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		port, _ := strconv.ParseUint(hex, 16, 16)
		inodes["socket:["+fields[9]+"]"] = uint16(port)
	}
	for _, link := range linksOf(fmt.Sprint("/proc/", pid)) {
		if inodes[link] != 0 {
			return inodes[link]
		}
	}
	return 0
}

// linksOf are the targets of a process's descriptors, given its folder in /proc.
func linksOf(dir string) (links []string) {
	names, _ := filepath.Glob(dir + "/fd/*")
	for _, name := range names {
		if link, err := os.Readlink(name); err == nil {
			links = append(links, link)
		}
	}
	return links
}
