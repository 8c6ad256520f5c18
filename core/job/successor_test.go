package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// heard is the tasks' ends that a task has printed, in the order of the tasks' numbers.
func (k *task) heard() (all []string) {
	for line := range strings.Lines(k.output()) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "event" {
			all = append(all, f[1]+" "+f[2])
		}
	}
	slices.Sort(all)
	return all
}

// ready starts five tasks, 0 to 2 on one node and 3 and 4 on another, that have a session.
func ready(t *testing.T) *tasks {
	t.Helper()
	j := overNodes(t, 5, "events")
	for _, k := range j.all {
		k.expect(t, "ready")
	}
	return j
}

// hear waits until tasks have reported the deaths of others, each once and no further one.
func (j *tasks) hear(who []int, dead ...int) {
	j.t.Helper()
	var want []string
	for _, d := range dead {
		want = append(want, fmt.Sprintf("1 %d", d))
	}
	for _, i := range who {
		end := time.Now().Add(guard)
		for ; len(j.all[i].heard()) < len(want); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				j.t.Fatalf("task %d has heard %v, not %v", i, j.all[i].heard(), want)
			}
		}
	}
	for _, i := range who {
		if got := j.all[i].heard(); !slices.Equal(got, want) {
			j.t.Errorf("task %d has heard %v, not %v", i, got, want)
		}
	}
}

// quiet leaves false notices a moment to come.
func quiet() { time.Sleep(700 * time.Millisecond) }

// The end of the hub's task is reported, and the ends after it, whichever task has the hub then.
func TestSuccessor(t *testing.T) {
	t.Parallel()
	j := ready(t)
	for i, step := range []struct {
		dies int
		live []int
		dead []int
	}{{0, []int{1, 2, 3, 4}, []int{0}}, // the first node's hub
		{4, []int{1, 2, 3}, []int{0, 4}},   // has no hub
		{1, []int{2, 3}, []int{0, 1, 4}},   // the successor
		{3, []int{2}, []int{0, 1, 3, 4}}} { // the last of its node
		j.all[step.dies].killHard(t)
		j.hear(step.live, step.dead...)
		if t.Failed() {
			t.Fatalf("step %d", i)
		}
	}
	quiet()
	j.hear([]int{2}, 0, 1, 3, 4)
}

// Tasks that end at the same time as the hub's are reported as well: the other node's hub, the
// successor, a whole node.
func TestSuccessorOfSeveral(t *testing.T) {
	for _, c := range []struct{ dead, live []int }{
		{[]int{0, 3}, []int{1, 2, 4}},
		{[]int{0, 1}, []int{2, 3, 4}},
		{[]int{0, 1, 3}, []int{2, 4}},
		{[]int{0, 2, 4}, []int{1, 3}},
		{[]int{0, 1, 2}, []int{3, 4}},
		{[]int{3, 4}, []int{0, 1, 2}},
	} {
		t.Run(fmt.Sprint(c.dead), func(t *testing.T) {
			t.Parallel()
			j := ready(t)
			for _, i := range c.dead {
				j.all[i].killHard(t)
			}
			j.hear(c.live, c.dead...)
			quiet()
			j.hear(c.live, c.dead...)
		})
	}
}

// A task that has left is not dead, though all hubs that know of it end with it.
func TestSuccessorAfterLeave(t *testing.T) {
	for _, leave := range [][]int{{0}, {0, 3}, {0, 2, 3}, {2, 4}} {
		t.Run(fmt.Sprint(leave), func(t *testing.T) {
			t.Parallel()
			j := ready(t)
			for _, i := range leave {
				j.all[i].say(t, "leave")
			}
			for _, i := range leave {
				j.all[i].expect(t, "left")
				j.all[i].say(t, "exit")
			}
			for _, i := range leave {
				<-j.all[i].ended
			}
			quiet()
			var live []int
			for i := range j.all {
				if !slices.Contains(leave, i) && i != 1 {
					live = append(live, i)
				}
			}
			j.all[1].killHard(t)
			j.hear(live, 1)
			quiet()
			j.hear(live, 1)
		})
	}
}

// An exchange that waits when the hub ends, or that begins later, fails, and says for which task.
func TestSuccessorInExchange(t *testing.T) {
	t.Parallel()
	j := ready(t)
	for _, i := range []int{1, 2, 3} {
		j.all[i].say(t, "swap")
	}
	time.Sleep(50 * time.Millisecond) // the test holds without it too
	j.all[0].killHard(t)
	j.all[4].say(t, "swap")
	for _, i := range []int{1, 2, 3, 4} {
		if rest := j.all[i].expect(t, "swap: "); !strings.HasPrefix(rest, "task 0 ") {
			t.Errorf("task %d: %s", i, rest)
		}
	}
	j.hear([]int{1, 2, 3, 4}, 0)
	for _, i := range []int{1, 2, 3, 4} {
		j.all[i].say(t, "again")
		if rest := j.all[i].expect(t, "again: "); !strings.HasPrefix(rest, "task 0 ") {
			t.Errorf("task %d: %s", i, rest)
		}
	}
	j.hear([]int{1, 2, 3, 4}, 0)
}
