package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lapi/core/dump"
)

// A dump of a job on several hosts: the launcher that has started the job starts lapirun once on
// each of them, which asks the tasks there.

// dumpHereName is argument 1 of that process; the job is argument 2.
const dumpHereName = "--lapi-dump-here"

// markJob gives the job a name, by which its tasks are found on all hosts.
func (d *delegation) markJob() {
	var names []string
	for _, h := range d.o.place.hosts {
		names = append(names, h.name)
	}
	d.set[dump.JobVariable] = fmt.Sprintf("%08x", rand.Uint32())
	if len(names) > 0 {
		d.env[dump.HostsVariable] = strings.Join(names, ",")
	}
}

// collectHosts asks the tasks of a job on all hosts.
func collectHosts(l launcher, job string, hosts, environ []string) ([]dump.Task, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &options{procs: len(hosts), stdin: stdinNone, bind: bindNone, grace: defaultGrace,
		stdout: unordered, set: map[string]string{}, program: own,
		args: []string{dumpHereName, job}}
	for _, name := range hosts {
		o.place.hosts = append(o.place.hosts, host{name: name, tasks: 1, given: true})
	}
	d, err := newDelegation(o, nil)
	if err == nil {
		err = l.command(d)
	}
	if err != nil {
		return nil, err
	}
	if filepath.Base(l.path) == "srun" { // the job has the processors of the allocation
		d.args = append([]string{"--overlap"}, d.args...)
	}
	limit, cancel := context.WithTimeout(context.Background(), dumpLimit)
	defer cancel()
	cmd := exec.CommandContext(limit, l.path, d.args...)
	cmd.Env = d.environment(environ)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	var all []dump.Task
	for from := json.NewDecoder(bytes.NewReader(text)); from.More(); {
		var t dump.Task
		if from.Decode(&t) != nil {
			break
		}
		all = append(all, t)
	}
	if err != nil && len(all) == 0 {
		return nil, withOutput(fmt.Sprintf("%s: %v", l.path, err), said.String())
	}
	return dump.Merge(all), nil
}

// collectMeant asks the tasks of a running job, wherever they are.
func collectMeant(filter dump.Filter) ([]dump.Task, error) {
	job, hosts := dump.Hosts(filter)
	if len(hosts) == 0 {
		return dump.Collect(filter)
	}
	l, err := findLauncher(os.Environ(), exec.LookPath, versionOf)
	if err != nil {
		return nil, err
	}
	return collectHosts(l, job, hosts, os.Environ())
}
