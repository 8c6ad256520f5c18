package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The command of each task. Usually all tasks run one program; MPMD jobs (MP_PGMMODEL=mpmd, or a
// commands file without that variable) read each task's command from a file, a line a task.

const (
	oneProgram    = "spmd"
	manyPrograms  = "mpmd"
	commandsLimit = 16 << 20 // bytes; a line that goes to a launcher must be much shorter anyway
)

// readFile is os.ReadFile but for tests that may not read.
var readFile = os.ReadFile

func applyModel(o *options, v string) error {
	o.model = strings.ToLower(v)
	if o.model != oneProgram && o.model != manyPrograms {
		return fmt.Errorf("%q is neither %s nor %s", v, oneProgram, manyPrograms)
	}
	return nil
}

// chooseProgram takes the program from rest, what follows the options, or from the commands file.
// As with POE, MP_CMDFILE is for jobs without a program on the command line.
func (o *options) chooseProgram(rest []string) error {
	if byVariable := o.set["MP_CMDFILE"] == ""; byVariable && o.commandFile != "" &&
		len(rest) > 0 && o.model != manyPrograms {
		o.commandFile = ""
		o.notes = append(o.notes, "MP_CMDFILE is not read, since a program is named")
	}
	switch {
	case o.model == manyPrograms && o.commandFile == "":
		return errors.New("MP_PGMMODEL=mpmd needs a commands file: -cmdfile or MP_CMDFILE, a line for each task")
	case o.commandFile == "" && len(rest) == 0:
		return errors.New("no program is named")
	case o.commandFile == "":
		o.program, o.args = rest[0], rest[1:]
		return nil
	case len(rest) > 0:
		return fmt.Errorf("both a program, %s, and a commands file, %s, are named", rest[0],
			o.commandFile)
	}
	text, err := readFile(o.commandFile)
	if err != nil {
		return fmt.Errorf("-cmdfile: %w", err)
	}
	lines, err := commandLines(text)
	if err != nil {
		return fmt.Errorf("%s, %w", o.commandFile, err)
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s names no program", o.commandFile)
	}
	o.program, o.args = lines[0][0], lines[0][1:]
	if o.model == oneProgram {
		return nil
	}
	o.commands = lines
	if !o.asked {
		o.procs = len(lines)
	}
	return nil
}

// programDivider stands between the programs of a job, as in "-n 1 a : -n 2 b".
const programDivider = ":"

// divide takes the further programs, each with its number of tasks, out of a command line that has
// dividers, and returns what comes before the first one. A -- makes all the rest the program's own.
func divide(args []string) (first []string, further [][]string) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == programDivider {
			rest := args[i+1:]
			for next := slices.Index(rest, programDivider); next >= 0; next = slices.Index(rest,
				programDivider) {
				further, rest = append(further, rest[:next]), rest[next+1:]
			}
			return args[:i], append(further, rest)
		}
	}
	return args, nil
}

// addPrograms makes the job one of several programs. further has the options and words of each but
// the first. Of options only the number of tasks may stand there.
func (o *options) addPrograms(further [][]string) error {
	if len(further) == 0 {
		return nil
	}
	if o.commandFile != "" || len(o.nodes) > 0 {
		return errors.New("programs with : between them go with neither a commands file nor --on")
	}
	commands := slices.Repeat([][]string{o.command(0)}, o.procs)
	for _, words := range further {
		procs := 1
		if len(words) > 0 && slices.Contains([]string{"-n", "-np", "-procs"}, words[0]) {
			if len(words) == 1 {
				return fmt.Errorf("%s needs a value", words[0])
			}
			var err error
			if procs, err = number(words[1], 1, maxProcs); err != nil {
				return fmt.Errorf("%s: %w", words[0], err)
			}
			words = words[2:]
		}
		switch {
		case len(words) == 0:
			return errors.New("a : without a program after it")
		case strings.HasPrefix(words[0], "-"):
			return fmt.Errorf("%s after : is not taken; only -n is, other options stand before the "+
				"first program", words[0])
		}
		commands = append(commands, slices.Repeat([][]string{words}, procs)...)
	}
	if o.commands, o.procs = commands, len(commands); o.procs > maxProcs {
		return fmt.Errorf("%d tasks in all; at most %d are possible", o.procs, maxProcs)
	}
	o.asked, o.counted = true, true
	return nil
}

// commandLines splits a commands file: a line a command, into words as splitWords does. Empty lines
// and those that begin with # or ! say nothing.
func commandLines(text []byte) (all [][]string, err error) {
	if len(text) > commandsLimit {
		return nil, fmt.Errorf("longer than %d bytes", commandsLimit)
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		words, err := splitWords(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	return all, nil
}

// checkCommands: a commands file has a line for each task.
func (o *options) checkCommands() error {
	if o.commands != nil && len(o.commands) != o.procs {
		return fmt.Errorf("%s has %d commands for %d tasks", o.commandFile, len(o.commands),
			o.procs)
	}
	return nil
}

// command is what a task runs: the program and its arguments.
func (o *options) command(task int) []string {
	if o.commands != nil {
		return o.commands[task]
	}
	return append([]string{o.program}, o.args...)
}

// directory makes -wdir absolute, and sees that it is there.
func (o *options) directory() error {
	if o.wdir == "" {
		return nil
	}
	dir, err := filepath.Abs(o.wdir)
	if err != nil {
		return err
	}
	o.wdir = dir
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("-wdir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("-wdir: %s is no directory", dir)
	}
	return nil
}

// lookUp finds a program as the tasks would: a relative path starts at their working directory.
func (o *options) lookUp(program string) (string, error) {
	if o.wdir != "" && strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(o.wdir, program)
	}
	path, err := exec.LookPath(program)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", notFound(program, err)
	}
	if o.wdir != "" {
		return filepath.Abs(path)
	}
	return path, nil
}

// notFound says in plain words why a program cannot be run. startStatus knows its cause.
func notFound(program string, err error) error {
	var failed *exec.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	_, here := os.Stat("./" + program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return plainError{fmt.Sprintf("there is no program %s", program), err}
	case errors.Is(err, exec.ErrNotFound) && here == nil:
		return plainError{fmt.Sprintf("there is no program %s in PATH; for the file in this folder "+
			"write ./%s", program, program), err}
	case errors.Is(err, exec.ErrNotFound):
		return plainError{fmt.Sprintf("there is no program %s in PATH", program), err}
	case errors.Is(err, fs.ErrPermission):
		return plainError{fmt.Sprintf("%s cannot be run: it is not marked as a program "+
			"(chmod +x %s)", program, program), err}
	case errors.Is(err, syscall.EISDIR):
		return plainError{fmt.Sprintf("%s cannot be run: it is a folder", program), err}
	}
	return plainError{fmt.Sprintf("%s cannot be run: %v", program, err), err}
}

// plainError is a cause in a user's words.
type plainError struct {
	text  string
	cause error
}

func (e plainError) Error() string { return e.text }
func (e plainError) Unwrap() error { return e.cause }

// lookUpAll finds the programs of the tasks that are started without a command.
func (o *options) lookUpAll() (map[string]string, error) {
	paths := make(map[string]string)
	for _, n := range o.nodes {
		if len(n.prefix) > 0 {
			continue
		}
		for task := n.first; task < n.first+n.procs; task++ {
			program := o.command(task)[0]
			if paths[program] != "" {
				continue
			}
			path, err := o.lookUp(program)
			if err != nil {
				return nil, err
			}
			paths[program] = path
		}
	}
	return paths, nil
}

// programs names what the job runs, for messages.
func (o *options) programs() string {
	if o.commands == nil {
		return o.program
	}
	var names []string
	for _, c := range o.commands {
		if !slices.Contains(names, c[0]) {
			names = append(names, c[0])
		}
	}
	return strings.Join(names, ", ")
}
