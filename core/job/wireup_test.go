package job_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

func init() {
	roles["early forker"] = earlyForkerRole
	roles["second try"] = secondTryRole
}

// earlyForkerRole leaves a process behind that holds its listening socket, while it waits for the
// others.
func earlyForkerRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	go exchangeRole()
	for !listens(job.SlotName(c, 0, c.Task)) {
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

// A task whose MP_PROCS differs from that of a lower one hears so, whoever has come first; the
// lower one waits for another.
func TestNumbersThatDiffer(t *testing.T) {
	for _, first := range []int{0, 1} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			j := &tasks{t: t}
			for i := range 2 {
				task := first ^ i
				j.startByHand(task, 3-task, "missing")
				time.Sleep(100 * time.Millisecond)
			}
			if first == 1 {
				slices.Reverse(j.all)
			}
			if rest := j.all[1].expect(t, "error: "); !strings.Contains(rest, "MP_PROCS") {
				t.Errorf("task 1: %s", rest)
			}
			if !j.all[0].alive() {
				t.Errorf("task 0: %s", j.all[0].output())
			}
		})
	}
}

// A task that another one does not list hears so, be it the higher or the lower.
func TestListsThatDiffer(t *testing.T) {
	for _, other := range []int{0, 1} {
		t.Run(fmt.Sprint(other), func(t *testing.T) {
			j := &tasks{t: t}
			j.startByHand(1-other, 3, "missing", lookVariable+"=yes")
			time.Sleep(200 * time.Millisecond) // time to find nobody; the test holds without it too
			j.startByHand(other, 3, "missing", "MP_COMMON_TASKS=1:2")
			want := fmt.Sprintf("MP_COMMON_TASKS of task %d does not list task %d", other, 1-other)
			if rest := j.all[0].expect(t, "error: "); !strings.Contains(rest, want) {
				t.Errorf("task %d: %s", 1-other, rest)
			}
		})
	}
}

// What was dialed may end before it looks, and a process that it has forked keep the socket: then
// its successor is dialed.
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
