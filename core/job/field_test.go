package job

import (
	"errors"
	"strings"
	"testing"
)

func environment(pairs string) func(string) (string, bool) {
	all := make(map[string]string)
	for _, p := range strings.Fields(pairs) {
		name, value, _ := strings.Cut(p, "=")
		all[name] = value
	}
	return func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

// TestStarter: which launcher wins where several have left their variables.
func TestStarter(t *testing.T) {
	const slurm = " SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2"
	const hydra = " PMI_FD=9 PMI_RANK=2 PMI_SIZE=3"
	const pmix = " PMIX_NAMESPACE=x PMIX_RANK=0"
	const hand = " MP_MSG_API=lapi MP_CHILD=1 MP_PROCS=2 MP_PARTITION=7"
	for _, c := range []struct {
		env        string
		task, size int
		says       string // the error names it
	}{
		{env: hand + hydra + pmix + slurm, task: 1, size: 2},
		{env: hand + " LAPI_RENDEZVOUS=h:1" + hydra + pmix + slurm, task: 1, size: 2},
		{env: hydra + pmix + slurm, task: 2, size: 3},
		{env: hydra + " MP_PROCS=4", task: 2, size: 3},
		{env: hydra + " MP_MSG_API=mpi", says: "MP_MSG_API"},
		{env: pmix + slurm, says: "--mpi=pmix"},
		{env: slurm, says: "--mpi=pmi2"},
		{env: slurm, says: "--mpi=pmix"},
		{env: " PMI_PORT=127.0.0.1:1 PMI_ID=x", says: "PMI_ID"},
		{env: " PMI_PORT=127.0.0.1:1 PMI_ID=0", says: "cannot be asked"},
		{env: " PMI_FD=9 PMI_SIZE=3", says: "PMI_RANK"},
		{env: " PMI_FD=x PMI_RANK=0 PMI_SIZE=3", says: "PMI_FD"},
		{env: " PMI_FD=9 PMI_RANK=3 PMI_SIZE=3", says: "PMI_SIZE"},
		{env: " PMI_FD=9 PMI_RANK=0 PMI_SIZE=16385", says: "PMI_SIZE"},
		{env: "", says: "without a job"},
	} {
		got, err := FromEnv(environment(c.env), nil)
		var e *EnvError
		switch {
		case c.says != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%q: %v, which does not say %q", c.env, err, c.says)
		case c.says == "" && err != nil:
			t.Errorf("%q: %v", c.env, err)
		case c.says == "" && (got.Task != c.task || got.NumTasks != c.size):
			t.Errorf("%q: task %d of %d", c.env, got.Task, got.NumTasks)
		}
	}
}

// TestFieldDefaults: shared memory is on, and what only tasks started by hand need is not needed.
func TestFieldDefaults(t *testing.T) {
	const hydra = "PMI_FD=9 PMI_RANK=0 PMI_SIZE=3 "
	for env, want := range map[string]ShmMode{"": ShmYes, "LAPI_USE_SHM=no": ShmNo,
		"LAPI_USE_SHM=only": ShmOnly, "MP_COMMON_TASKS=nonsense": ShmYes} {
		c, err := FromEnv(environment(hydra+env), nil)
		if err != nil || c.Shm != want || !c.Gathered() {
			t.Errorf("%q: %+v, %v", env, c, err)
		}
	}
	if _, err := FromEnv(environment(hydra+"LAPI_AUTH=mac"), nil); err != nil {
		t.Error(err) // task 0 makes a key
	}
}

// TestLauncherPatience: a task without a launcher that ends jobs does not wait for one.
func TestLauncherPatience(t *testing.T) {
	for start, waits := range map[starter]bool{byHand: false, byAddress: false, byPMI: true,
		byPort: true, byPMIx: true} {
		if p := (&Config{start: start}).LauncherPatience(); p > 0 != waits {
			t.Errorf("started in way %d: %v", start, p)
		}
	}
}

// TestLauncherSocket: a task that fails before it has asked the launcher can still report that to
// it.
func TestLauncherSocket(t *testing.T) {
	for env, want := range map[string]int{
		"PMI_FD=9 PMI_RANK=0 PMI_SIZE=2":                      9,
		"PMI_FD=9 PMI_RANK=0 PMI_SIZE=2 MP_PROCS=2 MP_CHILD=": 9,
		"PMI_FD=9 MP_PROCS=2 MP_CHILD=0":                      -1, // of another job
		"PMI_FD=x":                                            -1,
		"SLURM_STEP_ID=0 SLURM_PROCID=0":                      -1,
		"":                                                    -1,
	} {
		if fd, asked := LauncherSocket(environment(env)); fd != want || asked {
			t.Errorf("%q: %d %v", env, fd, asked)
		}
	}
}
