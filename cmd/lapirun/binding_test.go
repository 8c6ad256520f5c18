package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func cpuSet(cpus ...int) (set unix.CPUSet) {
	for _, c := range cpus {
		set.Set(c)
	}
	return set
}

func TestGroupCores(t *testing.T) {
	siblings := map[int]string{0: "0,4\n", 4: "0,4\n", 1: "1,5\n", 5: "1,5", 2: "2-3", 3: "2-3\n"}
	for name, k := range map[string]struct {
		allowed unix.CPUSet
		want    []unix.CPUSet
	}{
		"all": {cpuSet(0, 1, 2, 3, 4, 5), []unix.CPUSet{cpuSet(0, 4), cpuSet(1, 5),
			cpuSet(2, 3)}},
		"some":      {cpuSet(3, 4, 5), []unix.CPUSet{cpuSet(3), cpuSet(4), cpuSet(5)}},
		"untold":    {cpuSet(1, 900), []unix.CPUSet{cpuSet(1), cpuSet(900)}},
		"hyper two": {cpuSet(0, 1, 4), []unix.CPUSet{cpuSet(0, 4), cpuSet(1)}},
	} {
		allowed := k.allowed
		got := groupCores(&allowed, func(cpu int) string { return siblings[cpu] })
		if !slices.Equal(got, k.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := cpuList("0,x,-1,3-2,9999,5-7"); !slices.Equal(got, []int{0, 5, 6, 7}) {
		t.Errorf("%v", got)
	}
}

// Bound tasks are on one node still, each on a core of its own as long as there are enough.
func TestBind(t *testing.T) {
	own, err := cores()
	if err != nil {
		t.Fatal(err)
	}
	const script = `echo "$MP_CHILD $MP_COMMON_TASKS $(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)"`
	procs := fmt.Sprint(len(own) + 1)
	r := start(t, "-n", procs, "--bind", "core", "-stdoutmode", "ordered", "sh", "-c",
		script).want(0)
	for task, line := range strings.Split(strings.TrimSpace(r.out()), "\n") {
		var set unix.CPUSet
		fields := strings.Fields(line)
		for _, cpu := range cpuList(fields[2]) {
			set.Set(cpu)
		}
		if set != own[task%len(own)] {
			t.Errorf("task %d is on %s", task, fields[2])
		}
		if !strings.HasPrefix(fields[1], fmt.Sprint(len(own), ":")) {
			t.Errorf("task %d has %s on its node", task, fields[1])
		}
	}
	before := startedOn(t)
	if got := start(t, "--bind", "none", "sh", "-c", script).lines(1, "0 0 "); got[0] != before {
		t.Errorf("unbound: on %s, not on %s", got[0], before)
	}
}

// startedOn is where this process may run, in the kernel's words.
func startedOn(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(list)
}

func TestProcessorList(t *testing.T) {
	for want, cpus := range map[string][]int{"processor 7": {7}, "processors 0-1": {0, 1},
		"processors 0,2-4,9": {0, 2, 3, 4, 9}, "processors 1022-1023": {1022, 1023}} {
		var set unix.CPUSet
		for _, cpu := range cpus {
			set.Set(cpu)
		}
		if got := processorList(&set); got != want {
			t.Errorf("%v: %s, not %s", cpus, got, want)
		}
	}
}
