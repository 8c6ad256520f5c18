package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// descriptorsNeeded is the least limit of open files: a task finds its socket at launcherFD.
const descriptorsNeeded = launcherFD + 1

// checkHost fails, in plain words, where this host lacks something that lapirun needs: its own
// file, as /proc shows it, and a number for the tasks' socket.
func checkHost(self string, descriptors uint64) error {
	if _, err := os.Stat(self); err != nil {
		return fmt.Errorf("/proc is not mounted, or does not show this process (%v); lapirun starts "+
			"itself from there, and finds there what tasks have started: mount -t proc proc /proc", err)
	}
	if descriptors < descriptorsNeeded {
		return fmt.Errorf("the limit of open files is %d; lapirun and its tasks need %d at least: "+
			"raise it (ulimit -n)", descriptors, descriptorsNeeded)
	}
	return nil
}

// descriptorLimit is the most descriptors that this process may have. The run-time has raised the
// soft limit to the hard one as it started.
func descriptorLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return descriptorsNeeded // starting a task gives a better error
	}
	return limit.Max
}
