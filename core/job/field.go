package job

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"lapi/core/job/adapters"
	"lapi/core/job/pmi"
	"lapi/core/job/rendezvous"
)

// A launcher of the field, such as mpiexec.hydra, knows nothing of LAPI. It gives a task its
// number, and lets tasks exchange one card each (package pmi). From there on they work as tasks
// started by hand: each knows the others of its node, and has a name for the job that no other job
// has.

// starter is what has started a task, as far as the task's environment says.
type starter uint8

const (
	byHand starter = iota // or by lapirun
	byPMI
	byPort // likewise PMI, by a socket of the task's own
	byPMIx
	byAddress // by hand, with the address of task 0
)

// OpenPMIx connects to the PMIx server that has started this process, or finds the connection that
// there is. The library's C part has it, which core does not import: the package that links both
// sets it, before any FromEnv. Nil: such tasks are refused.
var OpenPMIx func() (pmi.Launcher, error)

// MPIIsUsed says whether MPI is in this process and initialised. Likewise set by the package that
// links both; nil: it is not.
var MPIIsUsed func() bool

// EndsAnswered is called when it is certain that an end of this process, without LAPI_Term, will be
// answered, once the other nodes know of it. Likewise set by the package that links both.
var EndsAnswered func()

// EndAnswered is called for each answer, of which each session gets one. Likewise.
var EndAnswered func()

const pmiVariable = "PMI_FD"

// starter finds out what has started this task. A user or launcher that sets both MP_PROCS and
// MP_CHILD knows better than a launcher around it. An MPI's launcher inside of a step of Slurm
// leaves Slurm's variables, which are those of its own daemons: so Slurm comes last.
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
		if r.any([]string{rendezvous.Variable}) && !r.any([]string{LauncherVariable}) {
			return byAddress, nil
		}
		return byHand, nil
	case r.any([]string{pmiVariable}):
		return byPMI, nil
	case both("PMI_PORT", "PMI_ID"):
		return byPort, nil
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

// fieldIdentity reads what a launcher of the field says about this task.
func (r *reader) fieldIdentity(c *Config) error {
	if err := r.adapterWishes(c); err != nil {
		return err
	}
	switch c.start {
	case byPMIx:
		return r.pmixIdentity(c)
	case byPort:
		return r.portIdentity(c)
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

// adapterWishes reads what lapirun does for its tasks (guide, Chapter 14, Table 12).
func (r *reader) adapterWishes(c *Config) (err error) {
	device, _ := r.get("MP_EUIDEVICE")
	euilib, _ := r.get("MP_EUILIB")
	c.device = DeviceForIP(euilib, device)
	c.say = func(text string) { r.warnf(0, "%s", text) }
	if s, ok := r.get("MP_INSTANCES"); ok {
		if c.instances, err = adapters.ParseInstances(s); err != nil {
			return &EnvError{"MP_INSTANCES", codeNoNetstrSet, fmt.Sprintf("the value %v", err)}
		}
	}
	return nil
}

// portSession is this process's session with the launcher at PMI_PORT, which accepts only one from
// it.
var portSession struct {
	sync.Once
	client *pmi.Client
	err    error
}

// portIdentity asks the launcher at PMI_PORT, as only it knows rank and size.
func (r *reader) portIdentity(c *Config) error {
	address, _ := r.get("PMI_PORT")
	text, _ := r.get("PMI_ID")
	id, err := parseNumber(text)
	if err != nil {
		return &EnvError{"PMI_ID", codeNoEnvVar,
			fmt.Sprintf("the value %q of the launcher's variable is %v", text, err)}
	}
	portSession.Do(func() {
		if MPIIsUsed != nil && MPIIsUsed() {
			portSession.err = errors.New("with -pmi-port MPI_Init takes the only session; call " +
				"LAPI_Init before it, or leave -pmi-port out")
			return
		}
		portSession.client, portSession.err = pmi.Dial(address, id)
	})
	if portSession.err != nil {
		return &EnvError{"PMI_PORT", codeNoEnvVar,
			fmt.Sprintf("it is set, but the launcher cannot be asked: %v", portSession.err)}
	}
	l := portSession.client
	c.Task, c.NumTasks = l.Rank(), l.Size()
	c.openField = func() (pmi.Launcher, int, error) { return l, l.Socket(), nil }
	return checkIdentity(c, "PMI_PORT")
}

// pmixIdentity asks the server, as only it knows the number of tasks.
func (r *reader) pmixIdentity(c *Config) error {
	l, err := OpenPMIx()
	if err != nil {
		return &EnvError{"PMIX_NAMESPACE", codeNoEnvVar,
			fmt.Sprintf("it is set, but the launcher cannot be asked: %v", err)}
	}
	c.Task, c.NumTasks = l.Rank(), l.Size()
	if err := checkIdentity(c, "PMIX_RANK"); err != nil {
		return err
	}
	c.serverPort = r.pmixPort()
	c.openField = func() (pmi.Launcher, int, error) { return l, -1, nil }
	return nil
}

// meetByAddress lets tasks started by hand exchange their cards by way of task 0.
func (r *reader) meetByAddress(c *Config) {
	address, _ := r.get(rendezvous.Variable)
	c.openField = func() (pmi.Launcher, int, error) {
		cfg := rendezvous.Config{Address: address, Task: c.Task, NumTasks: c.NumTasks,
			Partition: c.Partition, Timeout: wireUpLimit,
			Say: func(level int, text string) { r.warnf(level, "%s", text) }}
		if c.NoTimeout {
			cfg.Timeout = 0
		}
		if c.keyFile != "" {
			var err error
			if cfg.Key, err = readKeyFile(c.keyFile); err != nil {
				return nil, -1, err
			}
			defer freeSecret(cfg.Key)
		}
		l, err := rendezvous.Open(cfg)
		return l, -1, err
	}
}

// checkIdentity checks a launcher's values, of that variable among others.
func checkIdentity(c *Config, variable string) error {
	if c.NumTasks < 1 || c.NumTasks > maxTasks || c.Task < 0 || c.Task >= c.NumTasks {
		return &EnvError{variable, codeNoEnvVar, fmt.Sprintf("the launcher says task %d of %d; "+
			"1 to %d tasks are possible", c.Task, c.NumTasks, maxTasks)}
	}
	return nil
}

// Gathered says whether the tasks are brought together, by a launcher or at an address: the session
// reaches all of them, and no addresses have to be given.
func (c *Config) Gathered() bool { return c.Launched || c.start != byHand }

// launcherPatience is much longer than launchers take to end a job's tasks.
const launcherPatience = 2 * time.Second

// LauncherPatience is how long a task that has to end, because another is lost, waits for its
// launcher to end it. It is 0 where no launcher would do so.
func (c *Config) LauncherPatience() time.Duration {
	switch c.start {
	case byPMI, byPort, byPMIx:
		return launcherPatience
	}
	return 0
}

// LauncherSocket is the socket of the launcher that has started this process, -1: none; asked: the
// process has begun a session with it, which it must end.
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
