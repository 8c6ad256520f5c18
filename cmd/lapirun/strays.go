package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

// A process that a task has started may have left the task's process group: shells with job control, timeout(1) and setsid(1) make groups of
// their own. Its environment still holds the task's LAPI_LAUNCHER_FD, whose inode no other socket of this machine has.

// passes bounds how often killMarked looks again, for processes that were just being made.
const passes = 10

// killMarked kills every process of this user whose LAPI_LAUNCHER_FD is in marks, until there is none.
func killMarked(marks map[string]bool) {
	for range passes {
		found := false
		for _, pid := range marked(marks) {
			found = unix.Kill(pid, unix.SIGKILL) == nil || found
		}
		if !found {
			return
		}
	}
}

// marked returns the processes that run with one of marks. Zombies have no environment, and those of other users cannot be read.
func marked(marks map[string]bool) []int {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range files {
		environ, err := os.ReadFile(name)
		if err != nil || !marks[markOf(environ)] {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && pid != os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

// markOf returns the value of LAPI_LAUNCHER_FD in an environment as /proc shows it; "" if it is not set.
func markOf(environ []byte) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(job.LauncherVariable+"=")); ok {
			return string(value)
		}
	}
	return ""
}
