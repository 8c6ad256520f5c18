package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"lapi/core/dump"
)

// overseen runs a launcher of the field, ends it after --timeout, and returns its status, or
// exitTimeout. Signals that lapirun gets are passed on. Those of the terminal reach the launcher
// anyway, which is in lapirun's process group: they are caught, not ignored, since the launcher would
// inherit that. Should lapirun be killed, so is the launcher.
func overseen(name string, l launcher, argv []string, d *delegation, environ []string) int {
	o, path := d.o, l.path
	cmd := &exec.Cmd{Path: path, Args: argv, Env: d.environment(environ), Stdin: os.Stdin, Stdout: os.Stdout,
		Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}}
	signals := make(chan os.Signal, 16)
	catch(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	terminal := make(chan os.Signal, 1) // it is not read
	catch(terminal, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	defer signal.Stop(terminal)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: starting %s: %v\n", name, path, err)
		return startStatus(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit, grace := time.After(o.timeout), (<-chan time.Time)(nil)
	for late := false; ; {
		select {
		case err := <-ended:
			if late {
				return exitTimeout
			}
			return statusOf(err)
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case <-limit:
			say := func(format string, args ...any) {
				fmt.Fprintf(os.Stderr, "%s: %s\n", name, fmt.Sprintf(format, args...))
			}
			say("the job has not ended within %v", o.timeout)
			explain(say, func() ([]dump.Task, error) {
				job, hosts := d.set[dump.JobVariable], d.env[dump.HostsVariable]
				switch {
				case job == "":
					return nil, errors.New("the job has no name")
				case hosts == "":
					return dump.Collect(dump.Filter{Job: job})
				}
				return collectHosts(l, job, strings.Split(hosts, ","), environ)
			})
			say("ending its tasks")
			late, grace = true, time.After(o.grace)
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-grace:
			_ = cmd.Process.Kill()
		}
	}
}

// statusOf is a process's exit status as shells have it.
func statusOf(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			return exitFailure
		}
		return 0
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return exit.ExitCode()
}
