package job_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

// kinds are the ways to start a job; every session test runs all.
var kinds = []struct {
	name  string
	start func(t *testing.T, n int, role string, env ...string) *tasks
}{{"lapirun", launch}, {"hand", byHand}, {"node", onOneNode},
	{"nodes", overNodes}}

func each(t *testing.T, test func(t *testing.T, start func(t *testing.T, n int, role string,
	env ...string) *tasks)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k.start) })
	}
}

type starter = func(t *testing.T, n int, role string, env ...string) *tasks

func TestExchange(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		for _, n := range []int{1, 2, 3, 8} {
			start(t, n, "exchange").succeed()
		}
	})
}

func TestExchange64(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		begin := time.Now()
		start(t, 64, "exchange").succeed()
		t.Logf("64 tasks from start to end: %v", time.Since(begin))
	})
}

func TestRepeatedSessions(t *testing.T) {
	each(t, func(t *testing.T, start starter) { start(t, 4, "repeat").succeed() })
}

func TestSeveralInstances(t *testing.T) {
	each(t, func(t *testing.T, start starter) { start(t, 3, "instances").succeed() })
}

func TestDeathIsTold(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		j := start(t, 3, "events")
		for _, k := range j.all {
			k.expect(t, "ready")
		}
		j.all[1].killHard(t)
		begin := time.Now()
		for _, i := range []int{0, 2} {
			rest := j.all[i].expect(t, "event ")
			if !strings.HasPrefix(rest, "1 1 ") {
				t.Errorf("task %d: event %s", i, rest)
			}
			t.Logf("after %v: %s", time.Since(begin), rest)
		}
	})
}

// A task that said Leave is not dead, whatever becomes of it; a task that exits with status 0
// without Leave is.
func TestLeave(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		j := start(t, 3, "events")
		for _, k := range j.all {
			k.expect(t, "ready")
		}
		j.all[1].say(t, "leave")
		j.all[1].expect(t, "left")
		j.all[1].killHard(t)
		<-j.all[1].ended
		j.all[2].say(t, "exit")
		if rest := j.all[0].expect(t, "event "); !strings.HasPrefix(rest, "1 2 ") {
			t.Errorf("event %s", rest)
		}
		j.all[0].say(t, "exit")
		<-j.all[0].ended
		if out := j.all[0].output(); strings.Contains(out, "event 1 1") {
			t.Errorf("a death of task 1, which had left, was reported:\n%s", out)
		}
	})
}

// When Leave returns the process may end: none of its threads has to pass it on any more.
func TestLeaveIsTold(t *testing.T) {
	for round := range 3 {
		t.Run(strconv.Itoa(round), func(t *testing.T) { each(t, leaveAndVanish) })
	}
}

func leaveAndVanish(t *testing.T, start starter) {
	j := start(t, 5, "events")
	for _, k := range j.all {
		k.expect(t, "ready")
	}
	leave := []int{0, 1, 3}
	for _, i := range leave {
		j.all[i].say(t, "leave and vanish")
	}
	for _, i := range leave {
		<-j.all[i].ended
	}
	quiet() // a false death is reported later than the end of the socket
	j.all[2].killHard(t)
	j.hear([]int{4}, 2)
}

func TestExchangeWithDead(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		j := start(t, 3, "events")
		for _, k := range j.all {
			k.expect(t, "ready")
		}
		j.all[0].say(t, "swap") // waits for task 1 when that dies
		j.all[1].killHard(t)
		j.all[2].say(t, "swap")
		for _, i := range []int{0, 2} {
			// The death may be reported before or after the exchange fails.
			if rest := j.all[i].expect(t, "swap: "); !strings.Contains(rest, "task 1 ") {
				t.Errorf("task %d: %s", i, rest)
			}
			j.all[i].await(t, "event 1 1 ")
		}
	})
}

func TestTaskThatNeverComes(t *testing.T) {
	j := launch(t, 3, "early", "EARLY=before")
	for _, i := range []int{0, 2} {
		rest := j.all[i].expect(t, "error: ")
		if !strings.Contains(rest, "task 1 ") || !strings.Contains(rest,
			"before it called LAPI_Init") {
			t.Errorf("task %d: %s", i, rest)
		}
	}
}

func TestTaskThatGoesBetweenRounds(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		j := start(t, 3, "early", "EARLY=between")
		for _, i := range []int{0, 2} {
			if rest := j.all[i].expect(t, "error: "); !strings.Contains(rest, "task 1 ") {
				t.Errorf("task %d: %s", i, rest)
			}
			if !strings.Contains(j.all[i].output(), "round 1") {
				t.Errorf("task %d did not finish the first round, to which all contributed", i)
			}
		}
	})
}

func TestProgramStartedByTask(t *testing.T) { launch(t, 2, "child").succeed() }

func TestDeathOfTaskThatForked(t *testing.T) {
	each(t, func(t *testing.T, start starter) {
		j := start(t, 3, "forker")
		for _, k := range j.all {
			k.expect(t, "ready")
		}
		j.all[1].killHard(t)
		if rest := j.all[0].expect(t, "event "); !strings.HasPrefix(rest, "1 1 ") {
			t.Errorf("event %s", rest)
		}
	})
}

func TestTasksStartedLate(t *testing.T) {
	j := &tasks{t: t}
	for _, i := range []int{2, 0, 1} {
		j.startByHand(i, 3, "exchange")
		time.Sleep(300 * time.Millisecond)
	}
	j.succeed()
}

// A task that ended while the others still waited may be started again.
func TestTaskRestartedDuringWireUp(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(1, 3, "exchange")
	j.startByHand(2, 3, "exchange")
	time.Sleep(200 * time.Millisecond) // time to wire up; the test holds without it too
	j.all[1].killHard(t)
	<-j.all[1].ended
	j.all = j.all[:1]
	j.startByHand(2, 3, "exchange")
	j.startByHand(0, 3, "exchange")
	j.succeed()
}

// The task with the hub may end, too. The next hub gets what the others have given to the exchange.
func TestHubEndsDuringWireUp(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(2, 3, "exchange")
	j.untilHub()
	j.startByHand(1, 3, "slow exchange")
	j.all[1].expect(t, "gives its part")
	time.Sleep(100 * time.Millisecond) // time to do so; the test holds without it too
	j.all[0].killHard(t)
	<-j.all[0].ended
	j.all = j.all[1:]
	j.startByHand(2, 3, "exchange")
	j.startByHand(0, 3, "exchange")
	j.succeed()
}

// A hub whose process is stopped is named, as only the hub knows which tasks are missing.
func TestStoppedHub(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(0, 2, "missing")
	j.untilHub()
	if err := unix.Kill(j.all[0].cmd.Process.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.startByHand(1, 2, "second try")
	if rest := j.all[1].expect(t, "failed: "); !strings.Contains(rest, "is its process stopped?") {
		t.Error(rest)
	}
}

// Tasks of one MP_PARTITION whose lists have none in common, as of two nodes, are two sessions.
func TestTwoLists(t *testing.T) {
	j := &tasks{t: t}
	lists := []string{"2:1:2", "2:0:2", "2:0:1", "1:4", "1:3"}
	for i, list := range lists {
		j.startByHand(i, 5, "members", "MP_COMMON_TASKS="+list)
	}
	for i, want := range []string{"0 1 2", "0 1 2", "0 1 2", "3 4", "3 4"} {
		if got := j.all[i].expect(t, "with "); got != want {
			t.Errorf("task %d is in a session with %s", i, got)
		}
	}
	j.succeed()
}

// Until all have met, a task's name is taken; a second process of the same task must get that as
// its error.
func TestSecondProcessOfOneTask(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(1, 2, "missing") // waits for task 0
	j.startByHand(1, 2, "missing")
	var rest string
	limit := time.After(guard)
	select {
	case <-j.all[0].ended:
		rest = j.all[0].expect(t, "error: ")
	case <-j.all[1].ended:
		rest = j.all[1].expect(t, "error: ")
	case <-limit:
		t.Fatal("neither of the two was refused")
	}
	if !strings.Contains(rest, "already") {
		t.Errorf("error %s", rest)
	}
}

func TestMissingTasksAreNamed(t *testing.T) {
	env := map[string]string{"MP_MSG_API": "lapi", "MP_CHILD": "1", "MP_PROCS": "4",
		"MP_PARTITION": "missing" + strconv.Itoa(os.Getpid()),
		"LAPI_USE_SHM": "yes", "MP_COMMON_TASKS": "3:0:2:3"}
	c, err := job.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		nil)
	if err != nil {
		t.Fatal(err)
	}
	err = job.WireUpWithin(c, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "tasks 0, 2 and 3 did not come") ||
		!strings.Contains(err.Error(), env["MP_PARTITION"]) {
		t.Errorf("error %v", err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
}

// Another user can keep a job from starting, but cannot get into it.
func TestNameTakenByAnotherUser(t *testing.T) {
	needRoot(t)
	for name, want := range map[string]string{"hub": "user 65534", "task": "user 65534"} {
		t.Run(name, func(t *testing.T) {
			j := &tasks{t: t}
			j.startByHand(2, 3, "squatter", "SQUAT="+name)
			j.all[0].expect(t, "ready")
			j.startByHand(0, 3, "missing")
			if rest := j.all[1].expect(t, "error: "); !strings.Contains(rest, want) {
				t.Errorf("task 0: %s", rest)
			}
		})
	}
}

func TestStrangerIsNotAnswered(t *testing.T) {
	needRoot(t)
	j := &tasks{t: t}
	j.startByHand(0, 2, "exchange")
	j.startByHand(1, 2, "attacker")
	if rest := j.all[1].expect(t, "answer: "); rest != "0 EOF" {
		t.Errorf("answer %s", rest)
	}
	j.startByHand(1, 2, "exchange")
	j.succeed()
}
