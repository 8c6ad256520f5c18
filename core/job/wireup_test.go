package job_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

func init() {
	roles["early forker"] = earlyForkerRole
	roles["second try"] = secondTryRole
	roles["corrected"] = correctedRole
}

// earlyForkerRole leaves a process behind that holds all sockets of the hub, while it waits for the
// others.
func earlyForkerRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	go exchangeRole()
	for !listens(job.HubName(c)) {
		time.Sleep(time.Millisecond)
	}
	if err := leaveSleeper(); err != nil {
		return err
	}
	fmt.Println("forked")
	time.Sleep(guard)
	return nil
}

func listens(name string) bool {
	b, _ := os.ReadFile("/proc/net/unix")
	return strings.Contains(string(b), name+"\n")
}

// secondTryRole does not wait long enough for the others at first, and leaves a process behind that
// holds its connections to those that have come.
func secondTryRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() { failed <- job.WireUpWithin(c, 600*time.Millisecond) }()
	time.Sleep(300 * time.Millisecond)
	if err := leaveSleeper(); err != nil {
		return err
	}
	fmt.Println("failed:", <-failed)
	return exchangeRole()
}

// correctedRole is refused, and tries again on a command.
func correctedRole() error {
	if err := missingRole(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return exchangeRole()
}

// A task that was refused as another one was wrong may try again in the same process.
func TestRefusedAndRight(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(0, 3, "missing", "MP_COMMON_TASKS=1:2")
	j.untilHub()
	j.startByHand(1, 3, "corrected")
	if rest := j.all[1].expect(t, "error: "); !strings.Contains(rest, "does not list task 1") {
		t.Error(rest)
	}
	j.all[0].killHard(t)
	<-j.all[0].ended
	j.all = j.all[1:]
	j.startByHand(0, 3, "exchange")
	j.startByHand(2, 3, "exchange")
	j.all[0].say(t, "again")
	j.succeed()
}

// A task whose MP_PROCS differs from that of the task with the hub gets an error; the task with the
// hub waits for another.
func TestNumbersThatDiffer(t *testing.T) {
	for _, first := range []int{0, 1} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			j := &tasks{t: t}
			j.startByHand(first, 3-first, "missing")
			j.untilHub()
			j.startByHand(1-first, 2+first, "missing")
			want := fmt.Sprintf("MP_PROCS is %d for task %d and %d for task %d", 3-first, first,
				2+first, 1-first)
			if rest := j.all[1].expect(t, "error: "); rest != want {
				t.Errorf("task %d: %s", 1-first, rest)
			}
			if !j.all[0].alive() {
				t.Errorf("task %d: %s", first, j.all[0].output())
			}
		})
	}
}

// untilHub waits until some task has the hub.
func (j *tasks) untilHub() {
	j.t.Helper()
	for limit := time.Now().Add(guard); !listens(fmt.Sprintf("/%s/hub0", j.partition())); {
		if time.Now().After(limit) {
			j.t.Fatal("nobody has the hub")
		}
		time.Sleep(time.Millisecond)
	}
}

// A task whose list differs from that of the task with the hub gets an error that says how.
func TestListsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		first, second int
		lists         [2]string
		want          string
	}{
		{0, 1, [2]string{"1:2", "2:0:2"}, "MP_COMMON_TASKS of task 0 does not list task 1"},
		{2, 1, [2]string{"2:0:1", "1:0"}, "MP_COMMON_TASKS of task 1 does not list task 2"},
		{0, 1, [2]string{"1:1", "2:0:2"},
			"MP_COMMON_TASKS of task 0 and of task 1 do not list the same tasks"},
	} {
		t.Run(c.want, func(t *testing.T) {
			j := &tasks{t: t}
			j.startByHand(c.first, 3, "missing", "MP_COMMON_TASKS="+c.lists[0])
			j.untilHub()
			j.startByHand(c.second, 3, "missing", "MP_COMMON_TASKS="+c.lists[1])
			if rest := j.all[1].expect(t, "error: "); rest != c.want {
				t.Errorf("task %d: %s", c.second, rest)
			}
			if !j.all[0].alive() {
				t.Errorf("task %d: %s", c.first, j.all[0].output())
			}
		})
	}
}

// Where not even the lowest task is the same a task gets the error when it has waited long enough.
func TestListsWithoutLowest(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(1, 3, "missing", "MP_COMMON_TASKS=1:2")
	j.startByHand(0, 3, "second try")
	rest := j.all[1].expect(t, "failed: ")
	if !strings.Contains(rest, "tasks 1 and 2 did not come") ||
		!strings.Contains(rest, "task 1 runs, with another list") {
		t.Error(rest)
	}
}

// The task with the hub may end, and a process that it has forked keep its sockets: then another
// task gets the hub.
func TestDeathOfTaskThatWasDialed(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(0, 2, "early forker")
	first := j.all[0]
	first.expect(t, "forked")
	if err := unix.Kill(first.cmd.Process.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.startByHand(1, 2, "exchange")
	time.Sleep(300 * time.Millisecond) // time to dial; the test holds without it too
	first.killHard(t)
	<-first.ended
	j.startByHand(0, 2, "exchange")
	j.all = j.all[1:]
	j.succeed()
}

// A task that has given up waiting may try again, although a process that it has forked keeps what
// connected it.
func TestSecondTryBesideForkedProcess(t *testing.T) {
	j := &tasks{t: t}
	j.startByHand(0, 3, "exchange")
	j.startByHand(1, 3, "second try")
	if rest := j.all[1].expect(t, "failed: "); !strings.Contains(rest, "task 2 did not come") {
		t.Error(rest)
	}
	j.startByHand(2, 3, "exchange")
	j.succeed()
}
