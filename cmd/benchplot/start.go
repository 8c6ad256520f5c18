package main

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// anyCore leaves a program where it likes to run: those that pin themselves.
const anyCore = -1

// startOn starts a program on the index-th core that this one may use, or on anyCore, at real-time priority if wanted: it inherits
// both from the thread that starts it.
func startOn(c *exec.Cmd, index int, realtime bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if index != anyCore {
		var all unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return err
		}
		one := nthCore(&all, index%all.Count())
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return err
		}
		defer unix.SchedSetaffinity(0, &all)
	}
	if realtime {
		if err := setPolicy(unix.SCHED_RR, 1); err != nil {
			return err
		}
		defer setPolicy(unix.SCHED_NORMAL, 0)
	}
	return c.Start()
}

// nthCore returns the set of one: the n-th of all.
func nthCore(all *unix.CPUSet, n int) (one unix.CPUSet) {
	for cpu := range len(all) * 64 {
		if !all.IsSet(cpu) {
			continue
		}
		if n == 0 {
			one.Set(cpu)
			return one
		}
		n--
	}
	return one
}

// setPolicy changes the calling thread's scheduling.
func setPolicy(policy, priority uint32) error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}

// mayRealtime says whether programs can be started at real-time priority.
func mayRealtime() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := setPolicy(unix.SCHED_RR, 1); err != nil {
		return err
	}
	return setPolicy(unix.SCHED_NORMAL, 0)
}
