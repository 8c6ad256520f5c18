package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// taskFiles is how many files come with an order to start a task: standard input, output and error,
// and the task's end of the socket to the hub.
const taskFiles = 4

// Bounds of killChildren.
const (
	patience = 20 * time.Second // a process that the kernel holds dies late
	pause    = time.Millisecond // between passes
)

// reaper is the watchdog process. It is the parent of the tasks and a child subreaper, so each
// process that descends from a task and loses its parent becomes its child: neither a process group
// or session of its own nor a cleared environment takes a process out of its reach. When lapirun
// ends without dismissing it, it kills them all.
type reaper struct {
	reports *gob.Encoder
	tasks   map[int]int  // process of each task
	ended   map[int]bool // processes of tasks that have ended
	adopted bool         // a child has ended that is not a task, and was not collected
}

// reap is the main function of the watchdog process. It stays on the main thread, because
// PR_SET_PDEATHSIG is tied to the thread that starts a task.
func reap(socket *os.File) {
	// only a name; all works without it
	_ = os.WriteFile("/proc/self/comm", []byte(watchdogName), 0)
	// Signals that would end the watchdog are caught and not ignored, since the tasks would inherit
	// that.
	catchSignals(make(chan os.Signal, 1))
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	conn, err := net.FileConn(socket)
	socket.Close()
	if err != nil || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return // lapirun finds it gone
	}
	w := &reaper{
		reports: gob.NewEncoder(conn),
		tasks:   make(map[int]int), ended: make(map[int]bool),
	}
	orders := make(chan received)
	go receive(conn.(*net.UnixConn), orders)
	tidy := time.NewTicker(time.Second)
	for {
		select {
		case o, ok := <-orders:
			if !ok {
				w.killAll()
				return
			}
			if o.Verb == letGo {
				return
			}
			w.obey(o)
		case <-children:
			w.collectTasks()
			w.adopted = true
		case <-tidy.C:
			w.collectAdopted()
		}
	}
}

func (w *reaper) obey(o received) {
	var answer report
	switch o.Verb {
	case startTask:
		answer = w.start(o.order, o.files)
	case killAll:
		w.killAll()
	}
	_ = w.reports.Encode(answer) // the reader notices if lapirun is gone
}

func (w *reaper) start(o order, fds []int) report {
	if len(fds) != taskFiles {
		return report{Errno: unix.EMFILE} // the kernel drops what finds no room
	}
	files := make([]*os.File, launcherFD+1)
	for i, at := range []int{0, 1, 2, launcherFD} {
		files[at] = os.NewFile(uintptr(fds[i]), "")
		defer files[at].Close()
	}
	var p *os.Process
	var err error
	bindErr := bindTo(o.Processors, func() {
		p, err = os.StartProcess(o.Path, o.Args, &os.ProcAttr{
			Dir: o.Dir, Env: o.Env, Files: files,
			Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
	})
	if p == nil && err == nil {
		err = bindErr
	}
	if err != nil {
		var number syscall.Errno
		if !errors.As(err, &number) {
			number = unix.EINVAL
		}
		return report{Errno: number}
	}
	w.tasks[p.Pid] = o.Task
	pid := p.Pid
	_ = p.Release() // it is waited for by number
	return report{Pid: pid}
}

// collectTasks reports the tasks that have ended since.
func (w *reaper) collectTasks() {
	for pid, task := range w.tasks {
		if w.ended[pid] {
			continue
		}
		if d, ok := peekDeath(pid); ok {
			w.ended[pid] = true
			_ = w.reports.Encode(report{Ended: true, Task: task, Death: d})
		}
	}
}

// collectAdopted collects those of the adopted children that have ended.
func (w *reaper) collectAdopted() {
	if !w.adopted {
		return
	}
	w.adopted = false
	for _, pid := range ownChildren() {
		if _, task := w.tasks[pid]; !task {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// killAll kills every process that descends from the watchdog.
func (w *reaper) killAll() {
	for pid := range w.tasks {
		_ = unix.Kill(-pid, unix.SIGKILL) // ESRCH: its group is empty
	}
	killChildren(w.ended, func() {
		w.collectTasks()
		w.adopted = true
		w.collectAdopted()
	})
}

// killChildren kills every process that descends from this one, which is a child subreaper. When a
// process dies its children become this one's before it counts as dead, so nothing is left after a
// pass that has found no child but those known to have ended before. Children that it may not kill
// are left. After each pass, collect collects those that have ended.
func killChildren(ended map[int]bool, collect func()) {
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(pause) {
		found := false
		for _, pid := range ownChildren() {
			if !ended[pid] && unix.Kill(pid, unix.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
		collect()
	}
}

// Fields of /proc/*/stat behind the name: proc_pid_stat(5) counts from 1, and the first of these is
// its third.
const statParent = 4 - 3

// ownChildren lists the processes whose parent is this one, also those that have ended and were not
// collected.
func ownChildren() (all []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := proc.Readdirnames(-1)
	proc.Close()
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it is gone
		}
		if isChild(stat, self) {
			all = append(all, pid)
		}
	}
	return all
}

// isChild says whether a line of /proc/PID/stat names a process as the parent.
func isChild(stat, parent []byte) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > statParent && bytes.Equal(fields[statParent], parent)
}
