package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Values of --bind. A core is all hardware threads of one: a task and the threads that LAPI has in
// it may use them.
const (
	bindNone = "none"
	bindCore = "core"
)

func applyBind(o *options, v string) error {
	if v != bindNone && v != bindCore {
		return fmt.Errorf("%q is neither %s nor %s", v, bindCore, bindNone)
	}
	o.bind = v
	return nil
}

// cores lists the processors that this process may use, those of a core together, in the order of
// their first.
func cores() ([]unix.CPUSet, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	return groupCores(&allowed, func(cpu int) string {
		text, _ := os.ReadFile(fmt.Sprintf(
			"/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		return string(text)
	}), nil
}

// groupCores makes cores of the allowed processors. siblings gives the hardware threads of the core
// of a processor, as in 0,4-5; a processor that it does not list is a core by itself.
func groupCores(allowed *unix.CPUSet, siblings func(cpu int) string) (all []unix.CPUSet) {
	var done unix.CPUSet
	for cpu := range len(allowed) * 64 {
		if !allowed.IsSet(cpu) || done.IsSet(cpu) {
			continue
		}
		var core unix.CPUSet
		core.Set(cpu)
		for _, sibling := range cpuList(siblings(cpu)) {
			if allowed.IsSet(sibling) && !done.IsSet(sibling) {
				core.Set(sibling)
			}
		}
		for i := range core {
			done[i] |= core[i]
		}
		all = append(all, core)
	}
	return all
}

// cpuList reads a list of processors as the kernel writes it. Entries that are no processors are
// left out.
func cpuList(text string) (all []int) {
	for _, part := range strings.Split(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to >= maxCPUs {
			continue
		}
		for cpu := from; cpu <= to; cpu++ {
			all = append(all, cpu)
		}
	}
	return all
}

// processorList writes a set as in "processors 0-3,8".
func processorList(set *unix.CPUSet) string {
	var parts []string
	for cpu := 0; cpu < maxCPUs; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		first := cpu
		for cpu+1 < maxCPUs && set.IsSet(cpu+1) {
			cpu++
		}
		part := strconv.Itoa(first)
		if cpu > first {
			part += "-" + strconv.Itoa(cpu)
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 && !strings.Contains(parts[0], "-") {
		return "processor " + parts[0]
	}
	return "processors " + strings.Join(parts, ",")
}

// maxCPUs is how many processors a unix.CPUSet has room for.
const maxCPUs = 1024

// bindTo runs f with this thread on the processors of set; what f starts inherits them. The caller
// is locked to its thread.
func bindTo(set *unix.CPUSet, f func()) error {
	if set == nil {
		f()
		return nil
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, set); err != nil {
		return err
	}
	f()
	return unix.SchedSetaffinity(0, &before)
}
