package job

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"lapi/core/job/pmi"
	"lapi/core/job/wire"
)

// A launcher of the field, such as mpiexec.hydra, knows nothing of LAPI. It tells a task who it is,
// and lets tasks exchange one card each (package pmi). From there on they go on as tasks started by
// hand: each knows the others of its node, and has a name for the job that no other job has.

// starter is who has started a task, as far as its environment says.
type starter uint8

const (
	byHand starter = iota // or by lapirun
	byPMI
	byPMIx
)

// OpenPMIx connects to the PMIx server that has started this process, or finds the connection that
// there is. The library's C part has it, which core does not import: whoever links both sets it,
// before any FromEnv. Nil: such tasks are refused.
var OpenPMIx func() (pmi.Launcher, error)

const pmiVariable = "PMI_FD"

// starter looks for whoever has started this task. Whoever sets both MP_PROCS and MP_CHILD knows
// better than a launcher around it. An MPI's launcher inside of a step of Slurm leaves Slurm's
// variables, which are those of its own daemons: so Slurm comes last.
func (r *reader) starter() (starter, error) {
	both := func(a, b string) bool {
		_, first := r.get(a)
		_, second := r.get(b)
		return first && second
	}
	refuse := func(variable, text string) (starter, error) {
		return byHand, &EnvError{variable, codeNoEnvVar, text}
	}
	const instead = "Start the program with mpiexec.hydra, mpirun, srun --mpi=pmi2 or lapirun, " +
		"or set MP_PROCS and MP_CHILD for each task"
	switch {
	case both("MP_PROCS", "MP_CHILD"):
		return byHand, nil
	case r.any([]string{pmiVariable}):
		return byPMI, nil
	case both("PMI_PORT", "PMI_ID"):
		return refuse("PMI_PORT", "it is set, by mpiexec.hydra -pmi-port, which this release "+
			"cannot ask. "+instead)
	case both("PMIX_NAMESPACE", "PMIX_RANK"):
		if OpenPMIx == nil {
			return refuse("PMIX_NAMESPACE", "it is set, by a launcher with PMIx (mpirun, prun, "+
				"srun --mpi=pmix), which this program cannot ask. "+instead)
		}
		return byPMIx, nil
	case both("SLURM_STEP_ID", "SLURM_PROCID"):
		return refuse("SLURM_STEP_ID", "Slurm has started this task, but lets it exchange nothing "+
			"with the others. Use srun --mpi=pmi2 or srun --mpi=pmix")
	}
	return byHand, nil
}

// fieldIdentity reads what a launcher of the field tells of this task.
func (r *reader) fieldIdentity(c *Config) error {
	if c.start == byPMIx {
		return pmixIdentity(c)
	}
	numbers := make(map[string]int)
	for _, name := range []string{pmiVariable, "PMI_RANK", "PMI_SIZE"} {
		s, _ := r.get(name)
		n, err := parseNumber(s)
		if err != nil {
			return &EnvError{name, codeNoEnvVar,
				fmt.Sprintf("the value %q of the launcher's variable is %v", s, err)}
		}
		numbers[name] = n
	}
	c.Task, c.NumTasks = numbers["PMI_RANK"], numbers["PMI_SIZE"]
	if err := checkIdentity(c, "PMI_SIZE"); err != nil {
		return err
	}
	c.openField = func() (pmi.Launcher, int, error) {
		fd := numbers[pmiVariable]
		l, err := pmi.Open(fd, c.Task, c.NumTasks)
		return l, fd, err
	}
	return nil
}

// pmixIdentity asks the server, as only it knows the number of tasks.
func pmixIdentity(c *Config) error {
	l, err := OpenPMIx()
	if err != nil {
		return &EnvError{"PMIX_NAMESPACE", codeNoEnvVar,
			fmt.Sprintf("it is set, but the launcher cannot be asked: %v", err)}
	}
	c.Task, c.NumTasks = l.Rank(), l.Size()
	if err := checkIdentity(c, "PMIX_RANK"); err != nil {
		return err
	}
	c.openField = func() (pmi.Launcher, int, error) { return l, -1, nil }
	return nil
}

// checkIdentity holds what a launcher says, by that variable among others, against what is possible.
func checkIdentity(c *Config, variable string) error {
	if c.NumTasks < 1 || c.NumTasks > maxTasks || c.Task < 0 || c.Task >= c.NumTasks {
		return &EnvError{variable, codeNoEnvVar, fmt.Sprintf("the launcher says task %d of %d; "+
			"1 to %d tasks are possible", c.Task, c.NumTasks, maxTasks)}
	}
	return nil
}

// Gathered says whether a launcher brings the tasks together: the session reaches all of them, and
// nobody has to be told addresses.
func (c *Config) Gathered() bool { return c.Launched || c.start != byHand }

// meeting is what the one exchange of a process has told it.
type meeting struct {
	done      bool
	asked     bool // the launcher has answered
	err       error
	socket    int    // the launcher's
	node      []int  // the other tasks of this node
	partition string // a name for the job
	key       []byte // its key, in secret memory
}

// met is this process's. The launcher's space is there once, so every LAPI_Init has to do with it.
var met struct {
	sync.Mutex
	meeting
}

// Meet completes the Config of a task that a launcher of the field has started: CommonTasks,
// Partition, the job key, and addresses if the user gave none. It waits until all tasks of the job
// call it; in other jobs it does nothing. Only a process's first Meet asks the launcher.
func (c *Config) Meet() error {
	if c.start == byHand {
		return nil
	}
	met.Lock()
	defer met.Unlock()
	if !met.done {
		met.done = true
		met.err = met.hold(c)
	}
	if met.err != nil {
		return met.err
	}
	c.CommonTasks, c.Partition = slices.Clone(met.node), met.partition
	if c.Adapters == nil && len(met.node) == c.NumTasks-1 {
		c.Adapters = []Adapter{{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Device: "lo"}}
	}
	return nil
}

// hold is the exchange.
func (m *meeting) hold(c *Config) error {
	l, socket, err := c.openField()
	if err != nil {
		return fmt.Errorf("the launcher cannot be asked: %w", err)
	}
	m.asked, m.socket = true, socket
	mine, err := ownCard(c.Task == 0)
	if err != nil {
		return err
	}
	encoded := mine.encode()
	cards, err := l.Exchange(encoded)
	wire.Wipe(encoded)
	if err != nil {
		return fmt.Errorf("the launcher's exchange: %w", err)
	}
	return m.read(c.Task, cards)
}

// read draws the conclusions from all tasks' cards, and wipes them.
func (m *meeting) read(task int, cards [][]byte) error {
	all := make([]fieldCard, len(cards))
	for i, b := range cards {
		var err error
		if all[i], err = decodeFieldCard(b); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
	}
	if len(all[0].secret) == 0 {
		return fmt.Errorf("task 0: %w", errCard)
	}
	m.partition = fmt.Sprintf("%x", all[0].secret[:nameSize])
	var err error
	if m.key, err = secretMemory(KeySize); err != nil {
		return err
	}
	copy(m.key, all[0].secret[nameSize:])
	wire.Wipe(cards[0])
	elsewhere := make(map[string]bool)
	for i, card := range all {
		switch {
		case card.node != all[task].node:
			elsewhere[card.host] = true
		case i != task:
			m.node = append(m.node, i)
		}
	}
	if len(elsewhere) > 0 {
		elsewhere[all[task].host] = true
		hosts := slices.Sorted(maps.Keys(elsewhere))
		return fmt.Errorf("its tasks are on several nodes (%s), which this release cannot bring "+
			"together by itself. Start all on one, or set MP_PROCS, MP_CHILD and addresses for "+
			"each task (docs/network.md)", strings.Join(hosts, ", "))
	}
	return nil
}

// copyKey gives c a copy of the job key, which ForgetKey wipes.
func (m *meeting) copyKey(c *Config) error {
	if m.key == nil {
		return fmt.Errorf("the tasks have not met")
	}
	key, err := secretMemory(KeySize)
	if err != nil {
		return err
	}
	copy(key, m.key)
	c.key = key
	return nil
}

// LauncherSocket is the socket of the launcher that has started this process, -1: none; asked: the
// process has begun with it, so it must take leave.
func LauncherSocket(getenv func(string) (string, bool)) (fd int, asked bool) {
	met.Lock()
	defer met.Unlock()
	if met.asked {
		return met.socket, true // -1: its client sees to the process's end by itself
	}
	r := &reader{getenv: getenv, warn: func(int, string) {}}
	if start, err := r.starter(); err != nil || start != byPMI {
		return -1, false
	}
	s, _ := r.get(pmiVariable)
	if fd, err := parseNumber(s); err == nil {
		return fd, false
	}
	return -1, false
}

// nodeText is what the tasks of one node have in common, and no two nodes: they can share memory,
// and see each other's sockets. Namespaces on one machine differ in one of the last two.
func nodeText() (text, host string, err error) {
	host, err = os.Hostname()
	if err != nil {
		return "", "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil // the others say enough
	}
	var shm, network unix.Stat_t
	for path, st := range map[string]*unix.Stat_t{"/dev/shm": &shm, "/proc/self/ns/net": &network} {
		if unix.Stat(path, st) != nil {
			*st = unix.Stat_t{} // in a container without it all tasks lack it
		}
	}
	return fmt.Sprintf("%s\n%s\n%d\n%d", host, boot, shm.Dev, network.Ino), host, nil
}
