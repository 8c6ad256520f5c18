package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lapi/core/job"
)

// launcherFD is the descriptor of the socket in a task. High, because shell scripts use the lowest
// for themselves.
const launcherFD = 60

// defaultVariables are set for tasks unless the user has set them.
var defaultVariables = [][2]string{{"MP_MSG_API", "lapi"}, {"MP_EUILIB", "ip"},
	{"LAPI_USE_SHM", "yes"}}

// taskEnvironment returns the environment of a task: the launcher's with what POE would set.
func taskEnvironment(environ []string, o *options, n *node, task int, partition uint32,
	launcher string) []string {
	set := map[string]string{
		"MP_CHILD":           strconv.Itoa(task),
		"MP_PROCS":           strconv.Itoa(o.procs),
		"MP_PARTITION":       strconv.FormatUint(uint64(partition), 10),
		"MP_COMMON_TASKS":    commonTasks(task, n.first, n.procs),
		job.LauncherVariable: launcher,
	}
	for name, value := range o.set {
		if name != "MP_PROCS" {
			set[name] = value
		}
	}
	if n.addresses != "" {
		set["MP_LAPI_INET_ADDR"] = n.addresses
	}
	if o.wdir != "" {
		set["PWD"] = o.wdir
	}
	for _, d := range defaultVariables {
		if _, ok := set[d[0]]; !ok && lookup(environ, d[0]) == "" {
			set[d[0]] = d[1]
		}
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, ok := set[name]
		return ok
	})
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// commonTasks is MP_COMMON_TASKS: the number of other tasks on the node, which has procs tasks from
// first on, and their numbers.
func commonTasks(task, first, procs int) string {
	s := strconv.AppendInt(nil, int64(procs-1), 10)
	for t := first; t < first+procs; t++ {
		if t != task {
			s = fmt.Appendf(s, ":%d", t)
		}
	}
	return string(s)
}
