package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

// A process that a task has started may have left the task's process group: shells with job control, timeout(1) and setsid(1) make groups of
// their own. Its environment still holds the task's LAPI_LAUNCHER_FD, whose inode no other socket of this machine has.

// Bounds of killMarked, which looks again for processes that were just being made, or were in the midst of an exec.
const (
	passes = 200
	pause  = time.Millisecond // between passes that have found nothing to kill
)

// killMarked kills every process of this user whose LAPI_LAUNCHER_FD is in marks, until there is none.
func killMarked(marks map[string]bool) {
	for range passes {
		all, hidden := marked(marks)
		killed := false
		for _, pid := range all {
			killed = unix.Kill(pid, unix.SIGKILL) == nil || killed
		}
		switch {
		case killed:
		case !hidden:
			return
		default:
			time.Sleep(pause)
		}
	}
}

// marked returns the processes that run with one of marks. Zombies have no environment, and those of other users cannot be read.
// hidden: some process has none to show for the moment, so it may be one of them.
func marked(marks map[string]bool) (all []int, hidden bool) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, false
	}
	for _, name := range files {
		environ, err := os.ReadFile(name)
		switch {
		case err != nil:
		case len(environ) == 0:
			hidden = hidden || inExec(filepath.Dir(name))
		case marks[markOf(environ)]:
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err == nil && pid != os.Getpid() {
				all = append(all, pid)
			}
		}
	}
	return all, hidden
}

// Fields of /proc/*/stat behind the name: proc_pid_stat(5) counts from 1, these from 0 and from the state on, which is its third.
const (
	statState  = 0
	statVSize  = 23 - 3
	statEnvEnd = 51 - 3
)

// inExec says whether a process, given by its folder in /proc and without an environment, has memory but has not been given its arguments
// and environment there yet: the kernel shows such a place as 0. A process that was given an empty environment has a place for it.
func inExec(folder string) bool {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > statEnvEnd && fields[statState] != "Z" && fields[statVSize] != "0" && fields[statEnvEnd] == "0"
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
