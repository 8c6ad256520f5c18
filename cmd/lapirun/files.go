package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// fileName is a pattern of -output or -error with the task's number in place of %t, and % for %%.
func fileName(pattern string, task int) string {
	return strings.NewReplacer("%%", "%", "%t", strconv.Itoa(task)).Replace(pattern)
}

// checkFiles: two tasks may not write over each other's files.
func (o *options) checkFiles() error {
	for option, pattern := range map[string]string{"-output": o.output, "-error": o.errors} {
		if pattern != "" && o.procs > 1 && fileName(pattern, 0) == fileName(pattern, 1) {
			return fmt.Errorf("%s %s: several tasks would write one file; %%t stands for the number of a task, as in %s.%%t",
				option, pattern, pattern)
		}
	}
	return nil
}

// outputs are what a task has as standard output and error: pipes whose lines lapirun passes on, or
// the files of -output and -error. Without -error the file of -output gets both.
func (j *launch) outputs(task int) (stdout, stderr *os.File, err error) {
	if stdout, err = j.outputTo(task, "--output", j.o.output, j.stdout); err != nil {
		return nil, nil, err
	}
	if j.o.errors == "" {
		stderr, err = j.outputTo(task, "--output", j.o.output, j.stderr)
	} else {
		stderr, err = j.outputTo(task, "--error", j.o.errors, j.stderr)
	}
	if err != nil {
		stdout.Close()
	}
	return stdout, stderr, err
}

// outputTo opens a task's file, or makes a pipe to k if there is no pattern for files. Each end
// appends, so that standard output and error may be one file. A file is emptied when it is opened
// for the first time.
func (j *launch) outputTo(task int, option, pattern string, k *sink) (*os.File, error) {
	if pattern == "" {
		return j.pipe(task, k)
	}
	name := fileName(pattern, task)
	mode := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if !j.emptied[name] {
		mode |= os.O_TRUNC
		j.emptied[name] = true
	}
	f, err := os.OpenFile(name, mode, 0o666)
	if err != nil {
		// without %w: startStatus would take it for a program that is not there
		return nil, fmt.Errorf("%s: %v", option, err)
	}
	return f, nil
}
