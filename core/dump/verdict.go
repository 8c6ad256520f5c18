package dump

import (
	"fmt"
	"slices"
	"strings"
)

// verdictLines bounds the verdict, and textTasks how many tasks are described one by one.
const (
	verdictLines = 32
	textTasks    = 32
)

// collectives are calls that end when all tasks have made them.
var collectives = []string{"LAPI_Init", "LAPI_Gfence", "LAPI_Address_init"}

// main is the most telling thread of a task: the program's thread that waits longest in a call,
// else the first.
func (t *Task) main() *Thread {
	var best *Thread
	for i := range t.Threads {
		th := &t.Threads[i]
		if th.Call == "" || th.inside() {
			continue
		}
		if best == nil || best.Call == "lock" || th.Call != "lock" && th.Millis > best.Millis {
			best = th
		}
	}
	if best == nil && len(t.Threads) > 0 {
		best = &t.Threads[0]
	}
	return best
}

// in is the thread that waits in a call, nil: none does.
func (t *Task) in(call string) *Thread {
	for i := range t.Threads {
		if t.Threads[i].Call == call {
			return &t.Threads[i]
		}
	}
	return nil
}

// job is the tasks of one, in order.
type job struct {
	tasks []Task
	lines []string
	told  map[int]bool // tasks that some line is about
}

func (j *job) say(format string, args ...any) {
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// Verdict says in words why the tasks of one job do not go on.
func Verdict(tasks []Task) []string {
	j := &job{tasks: tasks, told: map[int]bool{}}
	for i := range tasks {
		if t := &tasks[i]; len(t.Locks) > 0 {
			j.say("%s %s", t.name(), j.describe(t))
			j.told[i] = true
		}
	}
	for _, call := range collectives {
		j.collective(call)
	}
	for i := range tasks {
		t := &tasks[i]
		if !j.told[i] {
			if s := j.describe(t); s != "" {
				j.say("%s %s", t.name(), s)
			}
		}
		j.ways(t)
	}
	if len(j.lines) == 0 {
		j.say("no task waits in a call: all of them compute, or wait for something else")
	}
	if len(j.lines) > verdictLines {
		more := len(j.lines) - verdictLines
		j.lines = append(j.lines[:verdictLines], fmt.Sprintf("%d more lines", more))
	}
	return j.lines
}

// collective is about a call that some tasks wait in for others.
func (j *job) collective(call string) {
	var here, missing []int
	longest := int64(0)
	for i := range j.tasks {
		if th := j.tasks[i].in(call); th != nil {
			here = append(here, j.tasks[i].Task)
			longest = max(longest, th.Millis)
			j.told[i] = true
		}
	}
	if len(here) == 0 {
		return
	}
	line := fmt.Sprintf("%s in %s for %s", taskList(here), call, period(longest))
	var parts []string
	for n := range j.size() {
		if slices.Contains(here, n) {
			continue
		}
		missing = append(missing, n)
		if len(missing) > verdictLines/4 {
			continue
		}
		if i := j.index(n); i >= 0 {
			j.told[i] = true
			parts = append(parts, fmt.Sprintf("task %d, %s", n, j.describeMissing(&j.tasks[i])))
		} else {
			parts = append(parts, fmt.Sprintf("task %d, which is not on the hosts that were asked "+
				"or has ended", n))
		}
	}
	switch {
	case len(missing) == 0:
		line += "; all have come"
	case len(missing) > verdictLines/4:
		line += fmt.Sprintf("; missing: %s, of which %s", taskList(missing),
			strings.Join(parts, "; "))
	default:
		line += "; missing: " + strings.Join(parts, "; ")
	}
	j.say("%s", line)
}

// size is how many tasks the job has.
func (j *job) size() (n int) {
	for i := range j.tasks {
		n = max(n, j.tasks[i].Tasks, j.tasks[i].Task+1)
	}
	return n
}

func (j *job) index(task int) int {
	return slices.IndexFunc(j.tasks, func(t Task) bool { return t.Task == task })
}

func (j *job) describeMissing(t *Task) string {
	if s := j.describe(t); strings.HasPrefix(s, "in ") || strings.HasPrefix(s, "waiting ") {
		return s
	} else if s != "" {
		return "which " + s
	}
	if th := t.main(); th != nil {
		return fmt.Sprintf("which waits in no call of LAPI and %s", doing(th.State))
	}
	return "which has ended"
}

// describe is what a task waits for, or why it cannot say; "" if it waits for nothing.
func (j *job) describe(t *Task) string {
	th := t.main()
	switch {
	case t.State == Stopped:
		return "is stopped, by a signal or a debugger"
	case t.State == Outside && th != nil:
		return "has not called LAPI_Init, or has called LAPI_Term, and " + doing(th.State)
	case t.State == Silent:
		return "does not answer"
	case len(t.Locks) > 0:
		return "makes no progress: " + t.lockText()
	case th == nil || th.Call == "":
		return ""
	}
	s := fmt.Sprintf("%s for %s", th.where(), period(th.Millis))
	if th.Counter != "" && !j.underWayTo(t.Task) {
		s += "; nothing under way to it"
	}
	return s
}

// underWayTo says whether any task has something under way to another, or that one waits for an
// answer, as far as the tasks have answered.
func (j *job) underWayTo(task int) bool {
	for i := range j.tasks {
		t := &j.tasks[i]
		for k := range t.Peers {
			if p := &t.Peers[k]; t.Task == task && p.Gets > 0 || p.Task == task && p.pending() {
				return true
			}
		}
		if t.Task != task && (t.State != Answered || len(t.Locks) > 0 || t.More > 0) {
			return true // it has not answered
		}
	}
	return false
}

// ways is about messages that wait for room and answers that are due.
func (j *job) ways(t *Task) {
	for i := range t.Peers {
		p := &t.Peers[i]
		switch {
		case p.State == "dead" || p.State == "failed":
			j.say("%s has lost task %d by %s", t.name(), p.Task, p.Link)
		case p.Rooms > 0 || p.Messages > 0:
			j.say("%s: %d messages (%d KiB) wait for room to task %d by %s, which %s", t.name(),
				p.Messages, (p.Bytes+1023)/1024, p.Task, p.Link, j.taker(p))
		case p.Sent != p.Acknowledged && p.SilentMillis > 0:
			j.say("%s gets no answer from task %d by %s for %s: %d of %d %s acknowledged",
				t.name(), p.Task, p.Link, period(p.SilentMillis), p.Acknowledged, p.Sent, p.Unit)
		case p.Sent != p.Acknowledged && p.Unit == "slots":
			j.say("%s has sent task %d by %s what that has not taken: %d of %d %s; task %d %s",
				t.name(), p.Task, p.Link, p.Sent-p.Acknowledged, p.Sent, p.Unit, p.Task, j.taker(p))
		}
	}
}

// taker is the activity of a peer that has to take something.
func (j *job) taker(p *Peer) string {
	i := j.index(p.Task)
	if i < 0 {
		return "is not on the hosts that were asked"
	}
	if s := j.describe(&j.tasks[i]); s != "" && j.tasks[i].State == Answered &&
		len(j.tasks[i].Locks) == 0 {
		return "is " + s
	} else if s != "" {
		return s
	}
	return "waits in no call of LAPI"
}

// Report is the verdict of each job, and its tasks one by one.
func Report(tasks []Task) string {
	var b strings.Builder
	for len(tasks) > 0 {
		n := 1
		for n < len(tasks) && tasks[n].Job == tasks[0].Job {
			n++
		}
		for _, line := range Verdict(tasks[:n]) {
			fmt.Fprintf(&b, "%s\n", line)
		}
		for i := range min(n, textTasks) {
			b.WriteString(tasks[i].Text())
		}
		if n > textTasks {
			fmt.Fprintf(&b, "%d more tasks\n", n-textTasks)
		}
		tasks = tasks[n:]
	}
	return b.String()
}
