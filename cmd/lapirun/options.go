package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options is what the command line and the MP_ variables ask for.
type options struct {
	procs     int
	counted   bool    // procs was given as an option
	nodes     []*node // of --on, in order; without it one, without a command
	device    string  // MP_EUIDEVICE
	instances int     // MP_INSTANCES; 0: not set
	label     bool
	stdout    int // task whose output is shown, or unordered, ordered
	stdin     int // task that reads standard input, or stdinAll, stdinNone
	infoLevel int
	keepGoing bool
	grace     time.Duration
	set       map[string]string // variables that options set for the tasks
	program   string
	args      []string
}

const (
	stdinAll  = -1
	stdinNone = -2
	maxProcs  = 16384 // MAX_TASKS of the guide
)

// What the command line asks for instead of a job.
var errHelp = errors.New("help")

// option is one option with a value. POE's may follow the program.
type option struct {
	names    []string
	variable string // MP_ variable: read if the option is absent, set for the tasks if not ""
	poe      bool
	apply    func(o *options, value string) error
}

// valued are the options that lapirun looks at, and those that it only passes on.
var valued = append([]option{
	{[]string{"procs"}, "MP_PROCS", true, applyProcs},
	{[]string{"n", "np"}, "", false, applyProcs},
	{[]string{"on"}, "", false, applyOn},
	{[]string{"euidevice"}, "MP_EUIDEVICE", true, func(o *options, v string) error {
		o.device = v
		return nil
	}},
	{[]string{"instances"}, "MP_INSTANCES", true, func(o *options, v string) (err error) {
		o.instances, err = parseInstances(v)
		return err
	}},
	{[]string{"labelio"}, "MP_LABELIO", true, applyLabel},
	{[]string{"stdoutmode"}, "MP_STDOUTMODE", true, func(o *options, v string) (err error) {
		o.stdout, err = taskOr(v, "unordered", "ordered")
		return err
	}},
	{[]string{"stdinmode"}, "MP_STDINMODE", true, func(o *options, v string) (err error) {
		o.stdin, err = taskOr(v, "all", "none")
		return err
	}},
	{[]string{"infolevel", "ilevel"}, "MP_INFOLEVEL", true, func(o *options, v string) (err error) {
		o.infoLevel, err = number(v, 0, 6)
		return err
	}},
	{[]string{"grace"}, "", false, applyGrace},
}, passedOn("msg_api", "euilib", "udp_packet_size", "ack_thresh", "polling_interval",
	"retransmit_interval", "rexmit_buf_cnt", "rexmit_buf_size", "use_bulk_xfer",
	"bulk_min_msg_size")...)

// passedOn are options whose variables are only set for the tasks.
func passedOn(names ...string) (all []option) {
	for _, name := range names {
		all = append(all, option{[]string{name}, "MP_" + strings.ToUpper(name), true,
			func(*options, string) error { return nil }})
	}
	return all
}

func applyProcs(o *options, v string) error {
	n, err := number(v, 1, maxProcs)
	switch {
	case err != nil:
	case len(o.nodes) > 0:
		last := o.nodes[len(o.nodes)-1]
		if last.given {
			return fmt.Errorf("the number of tasks of --on '%s' is given twice", last.command)
		}
		last.procs, last.given = n, true
	default:
		o.procs, o.counted = n, true
	}
	return err
}

func applyLabel(o *options, v string) error {
	o.label = strings.EqualFold(v, "yes")
	if !o.label && !strings.EqualFold(v, "no") {
		return fmt.Errorf("%q is neither yes nor no", v)
	}
	return nil
}

// taskOr reads the number of a task, or one of two words: -1 or -2.
func taskOr(v, first, second string) (int, error) {
	switch {
	case strings.EqualFold(v, first):
		return -1, nil
	case strings.EqualFold(v, second):
		return -2, nil
	}
	task, err := number(v, 0, maxProcs-1)
	if err != nil {
		return 0, fmt.Errorf("%q is neither %s nor %s nor a task", v, first, second)
	}
	return task, nil
}

func applyGrace(o *options, v string) error {
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || !(s >= 0 && s <= 86400) {
		return fmt.Errorf("%q is not a number of seconds from 0 to 86400", v)
	}
	o.grace = time.Duration(s * float64(time.Second))
	return nil
}

func number(v string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(v)
	// no sign, as in tasks
	if err != nil || n < lo || n > hi || strings.Trim(v, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number from %d to %d", v, lo, hi)
	}
	return n, nil
}

// parse reads args (without the command's name) and the variables that stand for absent options.
func parse(args, environ []string) (*options, error) {
	o := &options{procs: 1, stdout: unordered, grace: 5 * time.Second, set: make(map[string]string)}
	if err := o.readVariables(environ); err != nil {
		return nil, err
	}
	rest, all, err := o.leading(args)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, errors.New("no program is named")
	}
	o.program, o.args = rest[0], rest[1:]
	if !all {
		if err := o.trailing(rest[1:]); err != nil {
			return nil, err
		}
	}
	if err := o.finishNodes(); err != nil {
		return nil, err
	}
	for name, task := range map[string]int{"stdoutmode": o.stdout, "stdinmode": o.stdin} {
		if task >= o.procs {
			return nil, fmt.Errorf("%s names task %d, but there are only %d tasks", name, task,
				o.procs)
		}
	}
	return o, nil
}

func (o *options) readVariables(environ []string) error {
	for _, opt := range valued {
		value := lookup(environ, opt.variable)
		if opt.variable == "" || value == "" {
			continue
		}
		if err := opt.apply(o, value); err != nil {
			return fmt.Errorf("%s: %w", opt.variable, err)
		}
	}
	o.counted = false
	return nil
}

// leading reads the options before the program. all: a -- says that the rest is the program's
// alone.
func (o *options) leading(args []string) (rest []string, all bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return args[1:], true, nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			return args, false, nil
		}
		name := strings.TrimPrefix(arg[1:], "-")
		args = args[1:]
		switch name {
		case "h", "help", "?":
			return nil, false, errHelp
		case "k", "keep-going":
			o.keepGoing = true
			continue
		case "l":
			o.label = true
			continue
		}
		name, value, given := strings.Cut(name, "=")
		opt := find(name, false)
		if opt == nil {
			return nil, false, fmt.Errorf("unknown option %s", arg)
		}
		if !given {
			if len(args) == 0 {
				return nil, false, fmt.Errorf("%s needs a value", arg)
			}
			value, args = args[0], args[1:]
		}
		if err := o.use(opt, arg, value); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// trailing takes POE's options out of the program's arguments.
func (o *options) trailing(args []string) error {
	o.args = nil
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			o.args = append(o.args, args[i:]...)
			return nil
		}
		name, dash := strings.CutPrefix(args[i], "-")
		opt := find(name, true)
		if !dash || opt == nil {
			o.args = append(o.args, args[i])
			continue
		}
		if i+1 == len(args) {
			return fmt.Errorf(
				"%s needs a value (put -- before the program if this is the program's own option)",
				args[i])
		}
		if opt.variable == "MP_PROCS" && len(o.nodes) > 0 {
			return fmt.Errorf(
				"%s after the program: with --on, the number of tasks follows each --on", args[i])
		}
		if err := o.use(opt, args[i], args[i+1]); err != nil {
			return err
		}
		i++
	}
	return nil
}

func (o *options) use(opt *option, shown, value string) error {
	if err := opt.apply(o, value); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	if opt.variable != "" {
		o.set[opt.variable] = value
	}
	return nil
}

func find(name string, poe bool) *option {
	for i := range valued {
		if slices.Contains(valued[i].names, name) && (valued[i].poe || !poe) {
			return &valued[i]
		}
	}
	return nil
}

// lookup returns the value of a variable in environ, "" if it is unset.
func lookup(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
