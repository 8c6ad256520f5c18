package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"lapi/core/dump"
	"lapi/core/version"
)

// Dumps of the waits of tasks: lapirun --dump, lapi_dump, which is lapirun by another name, and the
// report of --timeout before it ends a job. docs/dev/dump.md has the rest.

// dumpName is lapirun's name as the command that needs no lapirun's job.
const dumpName = "lapi_dump"

// dumpLimit bounds how long the tasks of a job are asked, on all hosts.
const dumpLimit = 20 * time.Second

// dumpFilter reads what --dump names: a process, or a job.
func dumpFilter(what string) dump.Filter {
	if id, err := strconv.Atoi(what); err == nil && id > 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", id)); err == nil {
			return dump.Filter{Process: id}
		}
	}
	return dump.Filter{Job: what}
}

// dumpOptions are those of lapi_dump.
type dumpOptions struct {
	what string // "": all jobs of this user
	json bool
}

const dumpUsage = `Usage: lapi_dump [--json] [PROCESS|JOB]

Says what the tasks of a LAPI job on this host wait for, whichever launcher has
started them: of the launcher or task with that process number, or of the job
with that name (MP_PARTITION, or the launcher's name for it). Without either:
all jobs of this user here, and processes that use uDAPL.

  --json                 one task a line, as JSON
  -h, --help             this text
  -V, --version          the version
`

func parseDump(args []string) (o dumpOptions, err error) {
	for _, arg := range args {
		switch {
		case arg == "-h" || arg == "--help":
			return o, errHelp
		case arg == "-V" || arg == "--version":
			return o, errVersion
		case arg == "--json":
			o.json = true
		case strings.HasPrefix(arg, "-"):
			return o, fmt.Errorf("unknown option %s", arg)
		case o.what != "":
			return o, errors.New("more than one job is named")
		default:
			o.what = arg
		}
	}
	return o, nil
}

// lapiDump is the command lapi_dump.
func lapiDump(args []string) int {
	o, err := parseDump(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Print(dumpUsage)
		return 0
	case errors.Is(err, errVersion):
		fmt.Print(version.Line(dumpName))
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\nTry '%s -h' for the options.\n", dumpName, err, dumpName)
		return exitUsage
	}
	return dumpJob(dumpName, o)
}

// dumpJob prints what the tasks of a running job on this host wait for.
func dumpJob(name string, o dumpOptions) int {
	collect := collectMeant
	if o.json || o.what == "" {
		collect = dump.Collect // of this host alone
	}
	tasks, err := collect(dumpFilter(o.what))
	if err == nil && len(tasks) == 0 && !o.json {
		err = errors.New("no task of this user runs here")
		if o.what != "" {
			err = fmt.Errorf("no task of %s runs here: name a lapirun's process, a task's, or "+
				"the job (MP_PARTITION)", o.what)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return exitFailure
	}
	if !o.json {
		fmt.Print(dump.Report(tasks))
		return 0
	}
	to := json.NewEncoder(os.Stdout)
	for i := range tasks {
		if err := to.Encode(&tasks[i]); err != nil {
			return exitFailure
		}
	}
	return 0
}

// explain reports by say why a job does not end, before it is ended: collect asks its tasks. Its
// time is bounded in any case.
func explain(say func(format string, args ...any), collect func() ([]dump.Task, error)) {
	done := make(chan string, 1)
	go func() {
		tasks, err := collect()
		if err != nil {
			done <- fmt.Sprintf("no dump of the tasks: %v", err)
			return
		}
		done <- dump.Report(tasks)
	}()
	select {
	case text := <-done:
		for line := range strings.Lines(text) {
			say("%s", strings.TrimSuffix(line, "\n"))
		}
	case <-time.After(dumpLimit):
		say("no dump of the tasks within %v", dumpLimit)
	}
}

// explain says why the tasks do not end.
func (j *launch) explain() {
	explain(j.say, func() ([]dump.Task, error) {
		return dump.Collect(dump.Filter{Job: fmt.Sprint(j.partition)})
	})
}
