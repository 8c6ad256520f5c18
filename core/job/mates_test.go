package job

import (
	"os"
	"strings"
	"testing"
	"time"
)

// waiting is task 0 of three, whose look sees these tasks' processes.
func waiting(tasks *[]int) *mates {
	return &mates{numTasks: 3, kind: &launcherKind{local: "LAPI_TEST_LOCAL"}, job: "j",
		seen: make(map[int]bool), absent: make(map[int]bool), begun: time.Now(),
		processes: func(*launcherKind) (all []process) {
			for _, t := range *tasks {
				all = append(all, process{pid: os.Getpid(), task: t, job: "j"})
			}
			return append(all, process{pid: os.Getpid(), task: 2, job: "another"})
		}}
}

// TestEndedBeforeExchange: a task that has had a process here and has none at two looks.
func TestEndedBeforeExchange(t *testing.T) {
	running := []int{0, 1}
	m := waiting(&running)
	again := func() error { m.next = time.Time{}; return m.look() }
	if err := again(); err != nil {
		t.Fatal(err)
	}
	running = []int{0}
	if err := again(); err != nil {
		t.Error("after one look:", err)
	}
	running = []int{0, 1} // it was in exec
	if err := again(); err != nil {
		t.Error(err)
	}
	running = []int{0}
	if err := again(); err != nil {
		t.Error("after one look:", err)
	}
	if err := again(); err == nil || !strings.Contains(err.Error(), "task 1 has ended") {
		t.Error("after two looks:", err)
	}
}

// TestEndedBeforeFirstLook: where all tasks are of this node none need have been seen.
func TestEndedBeforeFirstLook(t *testing.T) {
	for _, here := range []string{"", "2", "3"} {
		t.Setenv("LAPI_TEST_LOCAL", here)
		running := []int{0, 1}
		m := waiting(&running)
		err := m.look()
		m.next = time.Time{}
		if err == nil {
			err = m.look()
		}
		if (err != nil) != (here == "3") {
			t.Errorf("%q tasks here: %v", here, err)
		}
	}
}

// TestSlurmNamesTasksOfNode: of its own step only, and no task is missed before all have been started.
func TestSlurmNamesTasksOfNode(t *testing.T) {
	for _, c := range []struct {
		rank, size, tasks string
		waited            time.Duration
		missed            bool
	}{
		{"0", "3", "0,1,2", time.Minute, true},
		{"0", "3", "0,2", time.Minute, true},
		{"0", "3", "0,1", time.Minute, false},
		{"0", "3", "0,1,2", time.Second, false},
		{"1", "3", "0,1,2", time.Minute, false}, // of a launcher's daemon
		{"0", "2", "0,1,2", time.Minute, false},
		{"0", "3", "1,2", time.Minute, false},
		{"0", "3", "0,1,7", time.Minute, false},
		{"0", "3", "0,1,x", time.Minute, false},
		{"0", "3", "", time.Minute, false},
	} {
		t.Setenv("SLURM_PROCID", c.rank)
		t.Setenv("SLURM_STEP_NUM_TASKS", c.size)
		t.Setenv("SLURM_GTIDS", c.tasks)
		m := waiting(&[]int{0, 1})
		m.begun = time.Now().Add(-c.waited)
		err := m.look()
		m.next = time.Time{}
		if err == nil {
			err = m.look()
		}
		if (err != nil) != c.missed || c.missed && !strings.Contains(err.Error(), "task 2 has ended") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestExchangeLimit(t *testing.T) {
	m := waiting(new([]int))
	m.begun = time.Now().Add(-time.Hour)
	if err := m.look(); err != nil {
		t.Error("without a limit:", err)
	}
	m.limit = time.Minute
	if err := m.look(); err == nil || !strings.Contains(err.Error(), "within 1m0s") {
		t.Error(err)
	}
}

func TestProcessIn(t *testing.T) {
	for _, c := range []struct {
		environ string
		want    process
		ok      bool
	}{
		{"A=1\x00PMI_RANK=7\x00PMI_SIZE=9\x00", process{task: 7, job: "9"}, true},
		{"PMI_SIZE=9\x00PMI_RANK=0", process{job: "9"}, true},
		{"PMI_RANK=7\x00", process{}, false},
		{"PMI_SIZE=7\x00", process{}, false},
		{"PMI_RANK=x\x00PMI_SIZE=9", process{}, false},
		{"XPMI_RANK=7\x00PMI_SIZE=9", process{}, false},
		{"", process{}, false},
	} {
		got, ok := processIn([]byte(c.environ), launcherKinds[byPMI])
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %+v, %v", c.environ, got, ok)
		}
	}
}
