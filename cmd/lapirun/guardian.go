package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardianName is argument 0 of the guardian, and its name in ps, so that killing by the name lapirun spares it.
const guardianName = "lapi-guardian"

// guardian is lapirun's end of the guardian: it hears of each task, and of the end of the job.
type guardian struct {
	pipe    *os.File
	process *os.Process
}

func startGuardian() (*guardian, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{guardianName}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null, r},
		Sys: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal's signals
	})
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the guardian: %w", err)
	}
	return &guardian{w, p}, nil
}

// expect names the mark by which a task's environment can be told, before the task is started: lapirun may be killed before it
// has told the task's number.
func (g *guardian) expect(mark string) { fmt.Fprintf(g.pipe, "mark %s\n", mark) }

// watch adds a task's process group. A guardian that was killed is missed by nobody as long as lapirun lives.
func (g *guardian) watch(pid int) { fmt.Fprintf(g.pipe, "group %d\n", pid) }

// dismiss ends the guardian; the tasks have ended.
func (g *guardian) dismiss() {
	fmt.Fprintf(g.pipe, "end\n")
	g.pipe.Close()
	_, _ = g.process.Wait()
}

// guard is the guardian process: it remembers tasks until the pipe ends, and kills them unless "end" came before.
func guard(pipe *os.File) {
	_ = os.WriteFile("/proc/self/comm", []byte(guardianName), 0) // only a name; all works without it
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	groups, marks, ended := readTasks(pipe)
	if ended {
		return
	}
	for _, pgid := range groups {
		_ = unix.Kill(-pgid, unix.SIGKILL) // ESRCH: nobody is left in it
	}
	killMarked(marks)
}

// readTasks reads what expect, watch and dismiss write.
func readTasks(r io.Reader) (groups []int, marks map[string]bool, ended bool) {
	marks = make(map[string]bool)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		what, value, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "end":
			return groups, marks, true
		case "mark":
			marks[value] = true
		case "group":
			if pid, err := strconv.Atoi(value); err == nil && pid > 1 {
				groups = append(groups, pid)
			}
		}
	}
	return groups, marks, false
}
