package dump

import (
	"strings"
	"testing"
)

// task is a task that has answered, with a main thread.
func task(id, of int, answer string) Task {
	t := Task{Job: "4711", Task: id, Tasks: of, Process: 100 + id, Host: "h", Program: "p",
		State: Answered, Threads: []Thread{{ID: 100 + id, Name: "p", State: 'S'}}}
	t.take(answer)
	return t
}

// TestVerdictNamesTheCause has a job for each kind of hang.
func TestVerdictNamesTheCause(t *testing.T) {
	const inGfence = "thread tid=101 api=lapi context=1 call=LAPI_Gfence ms=4000 wanted=1\n"
	const inGfence2 = "thread tid=102 api=lapi context=1 call=LAPI_Gfence ms=3000 wanted=1\n"
	const inWait = "thread tid=100 api=lapi context=1 call=LAPI_Waitcntr ms=9000 wanted=1 " +
		"counter=0x10 value=0\n"
	stopped := task(0, 3, "")
	stopped.State = Stopped
	outside := task(0, 3, "")
	outside.State = Outside
	silent := task(0, 3, "")
	silent.State = Silent
	for name, c := range map[string]struct {
		tasks []Task
		want  []string
	}{
		"missing member": {[]Task{task(0, 3, inWait), task(1, 3, inGfence), task(2, 3, inGfence2)},
			[]string{"tasks 1 and 2 in LAPI_Gfence for 4.0 s; missing: task 0, in LAPI_Waitcntr " +
				"on 0x10 (0 of 1) for 9.0 s; nothing under way to it"}},
		"something is under way to it": {[]Task{task(0, 2, inWait),
			task(1, 2, inGfence+"peer task=0 link=UDP state=open unit=packets sent=2 acknowledged=1\n")},
			[]string{"task 1 in LAPI_Gfence for 4.0 s; missing: task 0, in " +
				"LAPI_Waitcntr on 0x10 (0 of 1) for 9.0 s"}},
		"stopped": {[]Task{stopped, task(1, 3, inGfence), task(2, 3, inGfence2)},
			[]string{"tasks 1 and 2 in LAPI_Gfence for 4.0 s; missing: task 0, which is stopped, " +
				"by a signal or a debugger"}},
		"no answer": {[]Task{silent, task(1, 3, inGfence), task(2, 3, inGfence2)},
			[]string{"tasks 1 and 2 in LAPI_Gfence for 4.0 s; missing: task 0, which does not " +
				"answer"}},
		"not in LAPI_Init": {[]Task{outside, task(1, 3,
			"thread tid=101 call=LAPI_Init ms=700000\n"), task(2, 3,
			"thread tid=102 call=LAPI_Init ms=1000\n")},
			[]string{"tasks 1 and 2 in LAPI_Init for 12 min; missing: task 0, which has not called " +
				"LAPI_Init, or has called LAPI_Term, and sleeps"}},
		"process is gone": {[]Task{task(1, 3, inGfence), task(2, 3, inGfence2)},
			[]string{"tasks 1 and 2 in LAPI_Gfence for 4.0 s; missing: task 0, which is not on " +
				"the hosts that were asked or has ended"}},
		"a handler computes": {[]Task{task(0, 1, "lock context=1 tid=100 handler=1 same=1 ms=300\n")},
			[]string{"task 0 makes no progress: LAPI's lock is held by a handler of the program's " +
				"in thread 100 (p), which sleeps"}},
		"waits for room": {[]Task{task(0, 2, "thread tid=100 call=LAPI_Put ms=2000\n"+
			"peer task=1 link=shared-memory state=open unit=slots sent=64 acknowledged=0 "+
			"messages=7 bytes=4194304 rooms=1\n"), task(1, 2, "")},
			[]string{"task 0 in LAPI_Put for 2.0 s", "task 0: 7 messages (4096 KiB) wait for room " +
				"to task 1 by shared memory, which waits in no call of LAPI"}},
		"no answer over UDP": {[]Task{task(0, 2, inWait+"peer task=1 link=UDP state=open "+
			"unit=packets sent=5 acknowledged=3 silent_ms=4000\n")},
			[]string{"task 0 in LAPI_Waitcntr on 0x10 (0 of 1) for 9.0 s; nothing under way to it",
				"task 0 gets no answer from task 1 by UDP for 4.0 s: 3 of 5 packets acknowledged"}},
		"nothing": {[]Task{task(0, 1, "")},
			[]string{"no task waits in a call: all of them compute, or wait for something else"}},
	} {
		got := Verdict(c.tasks)
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"),
				strings.Join(c.want, "\n"))
		}
	}
}

// TestReportIsBounded: neither many tasks nor many threads make it long.
func TestReportIsBounded(t *testing.T) {
	var all []Task
	for i := range 16384 {
		k := task(i, 16384, "thread tid=1 call=LAPI_Waitcntr ms=1 counter=0x1 value=0\n")
		if i < 40 {
			for n := range 500 {
				k.Threads = append(k.Threads, Thread{ID: 1000 + n, State: 'R'})
			}
		}
		all = append(all, k)
	}
	if n := len(Report(all)); n > 64<<10 {
		t.Errorf("%d bytes", n)
	}
}

func TestTaskListGroupsRanges(t *testing.T) {
	for want, all := range map[string][]int{"task 3": {3}, "tasks 1 and 2": {1, 2},
		"tasks 0, 2 and 5 to 9": {0, 2, 5, 6, 7, 8, 9}, "tasks 0 to 3": {0, 1, 2, 3}} {
		if got := taskList(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}

// TestChoosesOneProcessForEachTask: of a script and what it has started, that with a socket, or the
// youngest; of the job of a launcher those below it alone.
func TestChoosesOneProcessForEachTask(t *testing.T) {
	found := map[int]*process{
		10: {id: 10},
		11: {id: 11, parent: 10, job: "a", task: 0, started: 1},
		12: {id: 12, parent: 11, job: "a", task: 0, started: 2},
		13: {id: 13, parent: 12, job: "a", task: 0, started: 3},
		14: {id: 14, parent: 10, job: "a", task: 1, started: 1},
		15: {id: 15, parent: 14, job: "a", task: 1, started: 2},
		20: {id: 20, job: "b", task: 0, started: 9},
	}
	names := map[int]string{12: "@lapi-dump.0.12.1"}
	for _, f := range []Filter{{Process: 10}, {Job: "a"}, {Process: 13}} {
		got := map[int]bool{}
		for _, p := range choose(found, names, f) {
			got[p.id] = true
		}
		if len(got) != 2 || !got[12] || !got[15] {
			t.Errorf("%+v: %v", f, got)
		}
	}
}

// TestMergeKeepsTheAnswer: of a task that two hosts show the entry that has answered stays.
func TestMergeKeepsTheAnswer(t *testing.T) {
	all := Merge([]Task{{Job: "a", Task: 1, State: Outside, Host: "m"}, {Job: "a", Task: 0,
		State: Outside}, {Job: "a", Task: 1, State: Answered, Host: "n"}})
	if len(all) != 2 || all[0].Task != 0 || all[1].Host != "n" {
		t.Errorf("%+v", all)
	}
}
