package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A job of several hosts is started by a launcher of the field: srun inside a Slurm allocation,
// else Hydra's mpiexec or Open MPI's mpirun. lapirun becomes that launcher, with its options
// translated to the launcher's, so the launcher handles signals, exit statuses and ends of jobs.
// With --timeout, which each launcher has in a form of its own or not at all, lapirun stays its
// parent (oversee.go).

// launcher is what starts tasks on other hosts.
type launcher struct {
	path    string
	command func(*delegation) error
}

// delegation is a command line and an environment in the making.
type delegation struct {
	o     *options
	dir   string            // the tasks' working directory
	set   map[string]string // variables for the tasks
	args  []string
	env   map[string]string // variables for the launcher
	notes []string          // what the launcher cannot do
}

// findLauncher takes the first that is there. output runs a program and returns what it prints.
func findLauncher(environ []string, lookPath func(string) (string, error),
	output func(path string) string) (launcher, error) {
	if lookup(environ, "SLURM_JOB_ID") != "" {
		if path, err := lookPath("srun"); err == nil {
			return launcher{path, slurm}, nil
		}
	}
	if path, err := lookPath("mpiexec.hydra"); err == nil {
		return launcher{path, hydra}, nil
	}
	path, err := lookPath("mpirun")
	if err != nil {
		return launcher{}, errors.New("to start tasks on other hosts lapirun needs a launcher, and finds none of srun (inside a Slurm allocation), mpiexec.hydra and " +
			"mpirun: install MPICH (Debian: mpich) or Open MPI (openmpi-bin)")
	}
	version := output(path)
	switch {
	case strings.Contains(version, "Open MPI") || strings.Contains(version, "OpenRTE"):
		return launcher{path, openMPI}, nil
	case strings.Contains(version, "HYDRA") || strings.Contains(version, "Intel(R) MPI"):
		return launcher{path, hydra}, nil
	}
	return launcher{}, fmt.Errorf("%s is the launcher of neither Open MPI nor MPICH: install one of them (Debian: openmpi-bin, mpich), or be inside a Slurm allocation",
		path)
}

func versionOf(path string) string {
	text, _ := exec.Command(path, "--version").CombinedOutput()
	return string(text)
}

// delegate becomes the launcher; it returns only if that fails.
func delegate(name string, o *options, environ []string) int {
	l, err := findLauncher(environ, exec.LookPath, versionOf)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return exitNotFound
	}
	d, err := newDelegation(o, environ)
	if err == nil {
		d.markJob()
		err = l.command(d)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return exitUsage
	}
	for _, note := range append(o.notes, d.notes...) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, note)
	}
	argv := append([]string{l.path}, d.args...)
	if o.infoLevel >= 2 {
		fmt.Fprintf(os.Stderr, "%s: %q\n", name, argv)
	}
	if o.stdin == stdinNone {
		if null, err := os.Open(os.DevNull); err == nil {
			_ = unix.Dup2(int(null.Fd()), 0)
		}
	}
	if o.timeout > 0 {
		return overseen(name, l, argv, d, environ)
	}
	err = unix.Exec(l.path, argv, d.environment(environ))
	fmt.Fprintf(os.Stderr, "%s: starting %s: %v\n", name, l.path, err)
	return startStatus(err)
}

// ownVariables are of one task, or of lapirun's way to start them: the launcher numbers the tasks.
var ownVariables = []string{"MP_CHILD", "MP_PROCS", "MP_PARTITION", "MP_COMMON_TASKS",
	"MP_NODES", "MP_TASKS_PER_NODE", "MP_HOSTFILE", "MP_PGMMODEL", "MP_CMDFILE",
	"LAPI_LAUNCHER_FD"}

func newDelegation(o *options, environ []string) (*delegation, error) {
	d := &delegation{o: o, dir: o.wdir, set: make(map[string]string), env: make(map[string]string)}
	if d.dir == "" {
		var err error
		if d.dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	for name, value := range o.set {
		if !slices.Contains(ownVariables, name) {
			d.set[name] = value
		}
	}
	for _, v := range defaultVariables {
		if _, ok := d.set[v[0]]; !ok && lookup(environ, v[0]) == "" {
			d.set[v[0]] = v[1]
		}
	}
	d.names(environ)
	if o.grace != defaultGrace {
		d.notes = append(d.notes, "--grace has no effect: the launcher has a grace of its own")
	}
	if o.stdout != unordered {
		d.notes = append(d.notes,
			"-stdoutmode has no effect: the launcher shows the lines of all tasks as they come")
	}
	return d, nil
}

// names adds those variables of LAPI that stand in the environment, and those of -x, to set, so
// that each launcher can name what it is to carry over.
func (d *delegation) names(environ []string) {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		wanted := strings.HasPrefix(name, "MP_") || strings.HasPrefix(name, "LAPI_") ||
			slices.Contains(d.o.place.exports, name)
		if _, ok := d.set[name]; wanted && !ok && !slices.Contains(ownVariables, name) {
			d.set[name] = value
		}
	}
}

// environment is the launcher's.
func (d *delegation) environment(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, set := d.set[name]
		_, own := d.env[name]
		return set || own || slices.Contains(ownVariables, name)
	})
	for _, all := range []map[string]string{d.set, d.env} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			env = append(env, name+"="+all[name])
		}
	}
	return env
}

func (d *delegation) add(words ...string) { d.args = append(d.args, words...) }

// programs adds what tasks run. In an MPMD job tasks in a row that run the same make one part.
func (d *delegation) programs(count string, each ...string) {
	for first := 0; first < d.o.procs; {
		command, next := d.o.command(first), first+1
		for next < d.o.procs && (d.o.commands == nil ||
			slices.Equal(d.o.command(next), command)) {
			next++
		}
		if first > 0 {
			d.add(":")
		}
		d.add(count, strconv.Itoa(next-first))
		d.add(each...)
		d.add(command...)
		first = next
	}
}

// hydra writes the job as options of MPICH's mpiexec.
func hydra(d *delegation) error {
	o := d.o
	if o.place.hosts == nil {
		return errNoHosts
	}
	d.add("-hosts", o.place.hostList(), "-genvall", "-bind-to", o.bind)
	switch {
	case o.hosted:
		d.add("-prepend-pattern", "%h:%r:")
	case o.label:
		d.add("-prepend-rank")
	}
	if o.reported {
		d.env["HYDRA_TOPO_DEBUG"] = "1"
	}
	if o.output != "" {
		d.add("-outfile-pattern="+pattern(o.output, "%r"),
			"-errfile-pattern="+pattern(o.errorFiles(), "%r"))
	} else if o.errors != "" {
		d.add("-errfile-pattern=" + pattern(o.errors, "%r"))
	}
	if o.stdin != stdinNone && o.stdin != 0 {
		d.add("-s", taskOrAll(o.stdin))
	}
	if o.keepGoing {
		d.add("-disable-auto-cleanup")
	}
	d.add("-wdir", d.dir)
	d.programs("-n")
	return nil
}

// openMPI writes the job as options of Open MPI's mpirun, which passes on only the variables that
// -x names.
func openMPI(d *delegation) error {
	o := d.o
	if o.place.hosts == nil {
		return errNoHosts
	}
	if o.output != "" || o.errors != "" {
		return errors.New("mpirun writes no file for each task: leave out -output and -error, or install MPICH")
	}
	d.add("-H", o.place.hostList(), "--map-by", "slot", "--bind-to", o.bind)
	if o.label {
		d.add("--tag-output")
	}
	d.noHostLabels()
	if o.reported {
		d.add("--report-bindings")
	}
	if o.stdin != 0 {
		d.add("--stdin", taskOrAll(o.stdin))
	}
	if o.keepGoing {
		d.add("--mca", "orte_abort_on_non_zero_status", "0")
	}
	each := []string{"-wdir", d.dir}
	for _, name := range slices.Sorted(maps.Keys(d.set)) {
		each = append(each, "-x", name)
	}
	d.programs("-n", each...)
	return nil
}

// slurm writes the job as options of srun. PMI-2 is in every Slurm, PMIx only where it was built
// in.
func slurm(d *delegation) error {
	o := d.o
	d.add("--mpi=pmi2", "--export=ALL", "--unbuffered")
	if o.keepGoing {
		d.add("--kill-on-bad-exit=0")
	} else {
		d.add("--kill-on-bad-exit=1")
	}
	verbose := ""
	if o.reported {
		verbose = "verbose,"
	}
	d.add("--cpu-bind=" + verbose + map[string]string{bindCore: "cores", bindNone: "none"}[o.bind])
	if o.label {
		d.add("--label")
	}
	d.noHostLabels()
	if o.output != "" {
		d.add("--output=" + o.output)
	}
	if o.errors != "" {
		d.add("--error=" + o.errors)
	}
	if o.stdin != stdinAll {
		d.add("--input=" + taskOrAll(o.stdin))
	}
	d.add("--chdir="+d.dir, "-n", strconv.Itoa(o.procs))
	d.slurmHosts()
	if o.commands == nil {
		d.add(o.command(0)...)
	} else {
		d.add("sh", "-c", byRank(o.commands))
	}
	return nil
}

// slurmHosts adds the nodes. Where they have different numbers of tasks each stands in the list
// once for each task; the layout arbitrary keeps that order, and newer srun refuses it with -N.
func (d *delegation) slurmHosts() {
	p := &d.o.place
	var names []string
	same := true
	for _, h := range p.hosts {
		names = append(names, slices.Repeat([]string{h.name}, h.tasks)...)
		same = same && h.tasks == p.hosts[0].tasks
	}
	switch {
	case len(p.hosts) == 0:
		d.add("-N", strconv.Itoa(p.nodes), "--distribution=block")
		if p.perNode > 0 {
			d.add("--ntasks-per-node=" + strconv.Itoa(p.perNode))
		}
	case same:
		d.add("-N", strconv.Itoa(len(p.hosts)), "--distribution=block",
			"--ntasks-per-node="+strconv.Itoa(p.hosts[0].tasks),
			"--nodelist="+strings.Join(slices.Compact(names), ","))
	default:
		d.add("--distribution=arbitrary", "--nodelist="+strings.Join(names, ","))
	}
}

// byRank is a script that becomes the command of a task of Slurm's.
func byRank(commands [][]string) string {
	var b strings.Builder
	b.WriteString("case $SLURM_PROCID in ")
	for task, words := range commands {
		fmt.Fprintf(&b, "%d) exec", task)
		for _, w := range words {
			b.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
		}
		b.WriteString(";; ")
	}
	return b.String() + "esac"
}

func (d *delegation) noHostLabels() {
	if d.o.hosted {
		d.notes = append(d.notes, "-labelio host: the launcher labels lines by the task alone")
	}
}

var errNoHosts = errors.New("-nodes and -tasks_per_node need -hostfile or -H, or a Slurm allocation (other resource managers write a file with the hosts, such as $PBS_NODEFILE)")

// taskOrAll is the option value for the task that reads standard input, the same for all three.
func taskOrAll(stdin int) string {
	switch stdin {
	case stdinAll:
		return "all"
	case stdinNone:
		return "none"
	}
	return strconv.Itoa(stdin)
}

// errorFiles is the pattern for standard error.
func (o *options) errorFiles() string {
	if o.errors != "" {
		return o.errors
	}
	return o.output
}

// pattern puts a launcher's sign for the number of a task in place of %t.
func pattern(ours, sign string) string {
	return strings.NewReplacer("%%", "%%", "%t", sign).Replace(ours)
}
