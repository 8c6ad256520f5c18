package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lapi/core/job"
	"lapi/core/job/adapters"
	"lapi/core/settings"
)

// options is what the command line and the MP_ variables ask for.
type options struct {
	procs     int
	asked     bool    // procs was given, as an option or by MP_PROCS
	counted   bool    // procs was given as an option
	nodes     []*node // of --on, in order; without it one, without a command
	device    string  // MP_EUIDEVICE
	instances int     // MP_INSTANCES; 0: not set
	label     bool
	hosted    bool // labels name the host, too
	reported  bool // --report-bindings
	stdout    int  // task whose output is shown, or unordered, ordered
	stdin     int  // task that reads standard input, or stdinAll, stdinNone
	infoLevel int
	corrected string // what was wrong with infoLevel's value
	keepGoing bool
	grace     time.Duration
	timeout   time.Duration     // 0: none
	dump      string            // the job to explain; "": start one
	bind      string            // bindCore, bindNone
	wdir      string            // absolute; "": lapirun's
	output    string            // pattern for the files of standard output; "": none
	errors    string            // of standard error; "": those of output
	set       map[string]string // variables that options set for the tasks
	place     placement         // on which hosts
	notes     []string          // printed before the job starts
	program   string
	args      []string

	model       string     // MP_PGMMODEL; "": not set
	commandFile string     // MP_CMDFILE
	commands    [][]string // of each task, if they have their own
}

const (
	stdinAll  = -1
	stdinNone = -2
	maxProcs  = 16384 // MAX_TASKS of the guide

	maxSeconds = 31 * 86400
)

const defaultGrace = 5 * time.Second

// Requests of the command line other than a job.
var (
	errHelp    = errors.New("help")
	errVersion = errors.New("version")
)

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
		o.instances, err = adapters.ParseInstances(v)
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
	{[]string{"infolevel", "ilevel"}, "MP_INFOLEVEL", true, applyInfoLevel},
	{[]string{"grace"}, "", false, func(o *options, v string) (err error) {
		o.grace, err = seconds(v)
		return err
	}},
	{[]string{"timeout"}, "", false, func(o *options, v string) (err error) {
		o.timeout, err = seconds(v)
		return err
	}},
	{[]string{"dump"}, "", false, text(func(o *options) *string { return &o.dump })},
	{[]string{"bind"}, "", false, applyBind},
	{[]string{"wdir"}, "", false, text(func(o *options) *string { return &o.wdir })},
	{[]string{"output"}, "", false, text(func(o *options) *string { return &o.output })},
	{[]string{"error"}, "", false, text(func(o *options) *string { return &o.errors })},
	{[]string{"x"}, "", false, applyExport},
	{[]string{"pgmmodel"}, "MP_PGMMODEL", true, applyModel},
	{[]string{"cmdfile"}, "MP_CMDFILE", true,
		text(func(o *options) *string { return &o.commandFile })},
	{[]string{"H", "hosts"}, "", false, applyHosts},
	{[]string{"hostfile", "hfile"}, "MP_HOSTFILE", true,
		text(func(o *options) *string { return &o.place.file })},
	{[]string{"nodes"}, "MP_NODES", true, applyNodes},
	{[]string{"N"}, "", false, applyNodes}, // as srun's
	{[]string{"tasks_per_node"}, "MP_TASKS_PER_NODE", true, applyPerNode},
	{[]string{"ppn"}, "", false, applyPerNode}, // as Hydra's
}, passedOn("msg_api", "euilib", "udp_packet_size", "ack_thresh", "polling_interval",
	"retransmit_interval", "rexmit_buf_cnt", "rexmit_buf_size", "use_bulk_xfer",
	"bulk_min_msg_size", "debug_notimeout")...)

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
		o.procs, o.asked, o.counted = n, true, true
	}
	return err
}

// applyInfoLevel corrects a value as LAPI does.
func applyInfoLevel(o *options, v string) error {
	o.infoLevel, o.corrected = job.InfoLevel(v)
	return nil
}

// noteCorrection passes the corrected level to the tasks, so that they do not report it again.
func (o *options) noteCorrection() error {
	if o.corrected != "" {
		o.notes = append(o.notes, o.corrected)
		o.set["MP_INFOLEVEL"] = strconv.Itoa(o.infoLevel)
	}
	return nil
}

func applyLabel(o *options, v string) error {
	o.hosted = strings.EqualFold(v, "host")
	o.label = o.hosted || strings.EqualFold(v, "yes")
	if !o.label && !strings.EqualFold(v, "no") {
		return fmt.Errorf("%q is none of yes, no and host", v)
	}
	return nil
}

func applyNodes(o *options, v string) (err error) {
	o.place.nodes, err = number(v, 1, maxProcs)
	return err
}

func applyPerNode(o *options, v string) (err error) {
	o.place.perNode, err = number(v, 1, maxProcs)
	return err
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

// text is what keeps the value of an option as it is.
func text(of func(o *options) *string) func(*options, string) error {
	return func(o *options, v string) error {
		*of(o) = v
		return nil
	}
}

// applyExport is -x: NAME=value sets a variable for the tasks, NAME passes on lapirun's value.
func applyExport(o *options, v string) error {
	name, value, set := strings.Cut(v, "=")
	if name == "" {
		return fmt.Errorf("%q is neither NAME nor NAME=value", v)
	}
	o.place.exports = append(o.place.exports, name)
	if set {
		o.set[name] = value
	}
	return nil
}

func seconds(v string) (time.Duration, error) {
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || !(s >= 0 && s <= maxSeconds) {
		return 0, fmt.Errorf("%q is not a number of seconds from 0 to %d", v, maxSeconds)
	}
	return time.Duration(s * float64(time.Second)), nil
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
	o := &options{procs: 1, stdout: unordered, grace: defaultGrace, bind: bindNone,
		set: make(map[string]string)}
	if err := o.readVariables(environ); err != nil {
		return nil, err
	}
	args, further := divide(args)
	rest, all, err := o.leading(args)
	if err != nil || o.dump != "" {
		return o, err
	}
	if !all && len(rest) > 0 {
		own, err := o.trailing(rest[1:])
		if err != nil {
			return nil, err
		}
		rest = append(rest[:1:1], own...)
	}
	for _, finish := range []func() error{func() error { return o.chooseProgram(rest) },
		func() error { return o.addPrograms(further) }, o.chooseHosts,
		o.finishNodes, o.checkCommands, o.checkFiles, o.directory, o.noteCorrection} {
		if err := finish(); err != nil {
			return nil, err
		}
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
		case "V", "version":
			return nil, false, errVersion
		case "k", "keep-going":
			o.keepGoing = true
			continue
		case "l":
			o.label = true
			continue
		case "report-bindings":
			o.reported = true
			continue
		case "genv", "env": // as Hydra's: two words
			if len(args) < 2 {
				return nil, false, fmt.Errorf("%s needs a name and a value", arg)
			}
			if err := applyExport(o, args[0]+"="+args[1]); err != nil {
				return nil, false, fmt.Errorf("%s: %w", arg, err)
			}
			args = args[2:]
			continue
		}
		name, value, given := strings.Cut(name, "=")
		opt := find(name, false)
		if opt == nil && !poeAlone(name) {
			return nil, false, fmt.Errorf("unknown option %s%s", arg, suggestion(name))
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

// suggestion is the option that a misspelt name is close to, as a question.
func suggestion(name string) string {
	names := []string{"help", "version", "keep-going", "report-bindings", "genv"}
	for _, opt := range valued {
		names = append(names, opt.names...)
	}
	near, ok := settings.Nearest(name, names)
	switch {
	case !ok || len(name) < 3:
		return ""
	case len(near) > 2 && strings.Contains(usageText, "--"+near):
		return "; did you mean --" + near + "?"
	}
	return "; did you mean -" + near + "?"
}

// trailing takes POE's options out of the program's arguments, and returns the others.
func (o *options) trailing(args []string) (own []string, err error) {
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(own, args[i:]...), nil
		}
		name, dash := strings.CutPrefix(args[i], "-")
		opt := find(name, true)
		if !dash || opt == nil && !poeAlone(name) {
			own = append(own, args[i])
			continue
		}
		if i+1 == len(args) {
			return nil, fmt.Errorf(
				"%s needs a value (put -- before the program if this is the program's own option)",
				args[i])
		}
		if opt != nil && opt.variable == "MP_PROCS" && len(o.nodes) > 0 {
			return nil, fmt.Errorf(
				"%s after the program: with --on, the number of tasks follows each --on", args[i])
		}
		if err := o.use(opt, args[i], args[i+1]); err != nil {
			return nil, err
		}
		i++
	}
	return own, nil
}

// use does what an option says; opt is nil for an option that POE has and lapirun does not.
func (o *options) use(opt *option, shown, value string) error {
	if opt == nil {
		o.notes = append(o.notes, fmt.Sprintf("POE's option %s %s has no effect here (put -- before the program if it is the program's own)",
			shown, value))
		return nil
	}
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
