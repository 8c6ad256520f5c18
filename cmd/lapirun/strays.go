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
	patience = 20 * time.Second // on a busy machine an exec may be interrupted for long
	pause    = time.Millisecond // between passes that have found nothing to kill
)

// killMarked kills every process of this user whose LAPI_LAUNCHER_FD is in marks, until there is none.
func killMarked(marks map[string]bool) {
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
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
	buffer := make([]byte, 1<<16)
	for _, name := range files {
		var environ []byte
		environ, buffer = readAtOnce(name, buffer)
		switch {
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

// readAtOnce reads a file of /proc by one system call, because an exec between two would cut it off; into buffer, or a larger one, which it
// returns too. Empty: it cannot be read.
func readAtOnce(name string, buffer []byte) (content, used []byte) {
	for {
		f, err := os.Open(name)
		if err != nil {
			return nil, buffer
		}
		n, err := f.Read(buffer)
		f.Close()
		if err != nil {
			return nil, buffer
		}
		if n < len(buffer) {
			return buffer[:n], buffer
		}
		buffer = make([]byte, 2*len(buffer))
	}
}

// Fields of /proc/*/stat behind the name: proc_pid_stat(5) counts from 1, these from 0 and from the state on, which is its third.
const (
	statState    = 0
	statStart    = 22 - 3
	statVSize    = 23 - 3
	statEnvStart = 50 - 3
	statEnvEnd   = 51 - 3
)

// statOf reads those fields of a process, given by its folder in /proc; nil if it is gone.
func statOf(folder string) []string {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) <= statEnvEnd {
		return nil
	}
	return fields
}

// inExec says whether a process that had no environment to show may be one of a task's in the midst of an exec: it is this user's, no older
// than this one, has memory, and has a place for arguments and environment either not yet (0), or by now one that is not empty. Only who was given an
// empty environment has an empty place.
func inExec(folder string) bool {
	var owner unix.Stat_t
	p, own := statOf(folder), statOf("/proc/self")
	if unix.Stat(folder, &owner) != nil || int(owner.Uid) != os.Geteuid() || p == nil || own == nil || p[statState] == "Z" || p[statVSize] == "0" || ticks(p[statStart]) < ticks(own[statStart]) {
		return false
	}
	return p[statEnvEnd] == "0" || p[statEnvEnd] != p[statEnvStart]
}

// ticks is a time in /proc/*/stat.
func ticks(field string) uint64 {
	n, _ := strconv.ParseUint(field, 10, 64) // the kernel wrote it
	return n
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
