package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passed are the signals that go to the tasks. SIGPIPE is caught so that a closed standard output
// does not end lapirun: the tasks' writes fail then, as they would without it.
var passed = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2,
	syscall.SIGTSTP, syscall.SIGCONT,
}

// catch sends signals to c, but for those that are ignored: under nohup, in background jobs of scripts.
func catch(c chan os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// catchSignals sends the signals for tasks to c.
func catchSignals(c chan os.Signal) {
	catch(c, passed...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// signalled passes a signal on and does what it asks of lapirun.
func (j *launch) signalled(s syscall.Signal) {
	switch s {
	case syscall.SIGTSTP:
		j.killTasks(s)
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // go on with SIGCONT
		return
	case syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2:
		j.killTasks(s)
		return
	case syscall.SIGINT:
		j.interrupt++
		if j.interrupt > 1 { // the tasks had their chance
			j.asked = s
			j.end()
			return
		}
	}
	j.forwarded[int(s)] = true
	j.killTasks(s)
	if s != syscall.SIGINT && j.kill == nil {
		j.asked = s
		j.hub.Quiet()
		j.kill = time.After(j.o.grace)
	}
}

// String says how the process ended, to follow its name.
func (d death) String() string {
	if d.Signal == 0 {
		return fmt.Sprintf("exited with status %d", d.Status)
	}
	s := syscall.Signal(d.Signal)
	text := fmt.Sprintf("was killed by signal %d (%s, %s)", d.Signal, unix.SignalName(s), s)
	if d.Core {
		text += ", core dumped"
	}
	return text
}

// code is the exit status that a shell would give.
func (d death) code() int {
	if d.Signal != 0 {
		return 128 + d.Signal
	}
	return d.Status
}
