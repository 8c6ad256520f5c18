package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// variables are all that FromEnv looks at and a user may have set on purpose. None of them set: the
// program was simply started.
var variables = []string{
	"MP_MSG_API", "MP_CHILD", "MP_PROCS", "MP_PARTITION", "MP_COMMON_TASKS", "MP_LAPI_INET_ADDR",
	"MP_LAPI_NETWORK",
	"MP_EUILIB", "MP_INFOLEVEL", "MP_DEBUG_NOTIMEOUT", "MP_UDP_PACKET_SIZE", "MP_ACK_THRESH",
	"MP_POLLING_INTERVAL",
	"MP_RETRANSMIT_INTERVAL", "MP_REXMIT_BUF_CNT", "MP_REXMIT_BUF_SIZE", "MP_USE_BULK_XFER",
	"MP_BULK_MIN_MSG_SIZE",
}

// FromEnv is FromSettings without settings files.
func FromEnv(getenv func(string) (string, bool), warn func(level int, text string)) (*Config,
	error) {
	return FromSettings(getenv, getenv, warn)
}

// FromSettings reads the settings of a task. getenv looks them up in the C library's environment,
// because a program may have called setenv before LAPI_Init, and then in the settings files; own has
// the environment alone, which shows whether the program was started as a task. A variable set to the
// empty string counts as unset. The error is an *EnvError.
//
// warn gets a sentence for each value that was corrected and the MP_INFOLEVEL from which it is
// worth printing; it is called only for levels up to the task's own. It may be nil. FromSettings
// changes nothing in the process.
func FromSettings(getenv, own func(string) (string, bool),
	warn func(level int, text string)) (*Config, error) {
	if warn == nil {
		warn = func(int, string) {}
	}
	r := &reader{getenv: getenv, warn: warn}
	start, err := r.starter()
	if err != nil {
		return nil, err
	}
	if start == byHand && !(&reader{getenv: own}).any(variables) {
		return nil, &EnvError{"MP_CHILD", codeNoEnvVar,
			"no MP_ variable is set, so this program was started without a job. " +
				"Start it with \"lapirun -n N program\", mpiexec.hydra or mpirun, or, to start tasks by hand, set MP_MSG_API=lapi, MP_CHILD, MP_PROCS and MP_PARTITION for each"}
	}
	c := &Config{start: start}
	r.level(c)
	steps := []func(*Config) error{r.messageAPI, r.userSpace, r.identity, r.launcher, r.network,
		r.sharedMemory, r.udpPacketSize, r.udpLoss, r.authentication, r.munge}
	for _, step := range steps {
		if err := step(c); err != nil {
			return nil, err
		}
	}
	r.tuning(c)
	r.bulk(c)
	r.registration(c)
	return c, nil
}

// authentication reads LAPI_AUTH and LAPI_JOB_KEY_FILE, which are this library's own. A level that
// cannot be had is an error, not a weaker level.
func (r *reader) authentication(c *Config) error {
	c.keyFile, _ = r.get(KeyFileVariable)
	s, ok := r.get(authVariable)
	switch {
	case !ok || s == "cookie":
	case s == "none":
		c.Auth = AuthNone
	case s != "mac":
		return &EnvError{authVariable, codeNoEnvVar,
			fmt.Sprintf("the value %q is not valid; set it to cookie, mac or none (in lower case), the same for all tasks", s)}
	case (!c.Gathered() || c.start == byAddress) && c.keyFile == "":
		return &EnvError{KeyFileVariable, codeNoEnvVar, "it is not set, and " + authVariable +
			"=mac needs a job key; " +
			"set it to a file with a secret that all tasks of the job share, or start the program with lapirun"}
	default:
		c.Auth = AuthMAC
	}
	return nil
}

// reader looks up variables and reports what it corrects.
type reader struct {
	getenv    func(string) (string, bool)
	warn      func(int, string)
	infoLevel int
}

func (r *reader) get(name string) (string, bool) {
	s, ok := r.getenv(name)
	return s, ok && s != ""
}

func (r *reader) any(names []string) bool {
	for _, name := range names {
		if _, ok := r.get(name); ok {
			return true
		}
	}
	return false
}

func (r *reader) warnf(level int, format string, args ...any) {
	if level <= r.infoLevel {
		r.warn(level, fmt.Sprintf(format, args...))
	}
}

// number returns a variable's value, brought into lo to hi; a correction is always worth a message,
// whatever the level.
func (r *reader) number(name string, lo, hi, unset int) (value int, set bool) {
	s, ok := r.get(name)
	if !ok {
		return unset, false
	}
	n, err := parseNumber(s)
	huge := errors.Is(err, errHuge)
	if huge {
		n = math.MaxInt32
	} else if err != nil {
		r.warnf(0, "%s=%q is %v; %d is used. Set it to a whole number from %d to %d", name, s, err,
			unset, lo, hi)
		return unset, false
	}
	if used := min(max(n, lo), hi); used != n || huge {
		r.warnf(0, "%s=%s is out of range; %d is used. Set it to a whole number from %d to %d",
			name, s, used, lo, hi)
		n = used
	}
	return n, true
}

// infoLevelVariable is how much the library, and lapirun, report.
const infoLevelVariable = "MP_INFOLEVEL"

// InfoLevel is what LAPI makes of a value of MP_INFOLEVEL; notice says what was corrected, "":
// nothing.
func InfoLevel(value string) (level int, notice string) {
	r := reader{getenv: func(string) (string, bool) { return value, true },
		warn: func(_ int, text string) { notice = text }}
	c := &Config{}
	r.level(c)
	return c.InfoLevel, notice
}

func (r *reader) level(c *Config) {
	c.InfoLevel, _ = r.number(infoLevelVariable, 0, maxInfoLevel, 0)
	r.infoLevel = c.InfoLevel
}

func (r *reader) messageAPI(c *Config) error {
	const remedy = "set it to lapi (or lapi,mpi, mpi,lapi or mpi_lapi)"
	s, ok := r.get("MP_MSG_API")
	if !ok && c.start != byHand {
		return nil
	}
	if !ok {
		return &EnvError{"MP_MSG_API", codeMsgAPI, "it is not set; " + remedy +
			", or start the program with lapirun"}
	}
	switch strings.ToLower(s) {
	case "lapi", "lapi,mpi", "mpi,lapi", "mpi_lapi":
		return nil
	case "mpi":
		return &EnvError{"MP_MSG_API", codeMsgAPI, "the value mpi leaves LAPI out; " + remedy}
	}
	return &EnvError{"MP_MSG_API", codeMsgAPI, fmt.Sprintf("the value %q is not valid; %s", s,
		remedy)}
}

func (r *reader) identity(c *Config) error {
	switch c.start {
	case byHand:
	case byAddress:
		if err := r.adapterWishes(c); err != nil {
			return err
		}
		r.meetByAddress(c)
	default:
		return r.fieldIdentity(c)
	}
	procs, err := r.required("MP_PROCS", "the number of tasks of the job", 1, maxTasks)
	if err != nil {
		return err
	}
	child, err := r.required("MP_CHILD", "the id of this task", 0, procs-1)
	if err != nil {
		return err
	}
	c.Task, c.NumTasks = child, procs
	c.Partition, _ = r.get("MP_PARTITION")
	return nil
}

// CheckPartition fails where tasks started by hand need MP_PARTITION to find each other, and it is
// not set: to share memory, or where neither LAPI_RENDEZVOUS nor the program (listed) says where
// they are. An address says as much: no other job has it.
func (c *Config) CheckPartition(listed bool) error {
	if c.Partition != "" || c.NumTasks == 1 || c.Launched || c.start != byHand ||
		listed && !c.sharesByHand() {
		return nil
	}
	return &EnvError{"MP_PARTITION", codeNoEnvVar,
		"it is not set; set it to a number that all tasks of this job share and no other job has"}
}

func (r *reader) required(name, what string, lo, hi int) (int, error) {
	s, ok := r.get(name)
	if !ok {
		return 0, &EnvError{name, codeNoEnvVar,
			fmt.Sprintf("it is not set; set it to %s, or start the program with lapirun", what)}
	}
	n, err := parseNumber(s)
	if err != nil {
		return 0, &EnvError{name, codeNoEnvVar,
			fmt.Sprintf("the value %q is %v; set it to %s, from %d to %d", s, err, what, lo, hi)}
	}
	if n < lo || n > hi {
		return 0, &EnvError{name, codeNoEnvVar,
			fmt.Sprintf("the value %d is out of range; set it to %s, from %d to %d", n, what, lo,
				hi)}
	}
	return n, nil
}

func (r *reader) launcher(c *Config) error {
	s, ok := r.get(LauncherVariable)
	if !ok {
		return nil
	}
	fd, err := parseLauncher(s)
	if err != nil {
		return &EnvError{LauncherVariable, codeNoEnvVar,
			fmt.Sprintf("the value %q does not lead to lapirun (%v). "+
				"Only a task that lapirun itself started can use LAPI in its job, and a command of --on must leave descriptors open; "+
				"unset the variable to start a job of one's own", s, err)}
	}
	c.Launched, c.launcherFD = true, fd
	return nil
}

func (r *reader) network(c *Config) error {
	inet, inetSet := r.get("MP_LAPI_INET_ADDR")
	network, networkSet := r.get("MP_LAPI_NETWORK")
	if inetSet && networkSet {
		return &EnvError{"MP_LAPI_NETWORK", codeBothNetstrSet,
			"it is set, and so is MP_LAPI_INET_ADDR; unset one of them (for MP_EUILIB=ip: MP_LAPI_NETWORK)"}
	}
	if inetSet {
		all, err := parseInetAddr(inet)
		if err != nil {
			return &EnvError{"MP_LAPI_INET_ADDR", codeNoNetstrSet,
				fmt.Sprintf("the value %q is malformed: %v. "+
					"Expected is @number:address,device[:address,device…], such as @1:192.168.0.1,eth0",
					inet, err)}
		}
		if len(all) > MaxAdapters {
			r.warnf(1, "MP_LAPI_INET_ADDR names %d instances; the first %d are used", len(all),
				MaxAdapters)
			all = all[:MaxAdapters]
		}
		c.Adapters, c.InetSet = all, true
	}
	if networkSet {
		ports, err := parseNetwork(network)
		if err != nil {
			return &EnvError{"MP_LAPI_NETWORK", codeNoNetstrSet,
				fmt.Sprintf("the value %q is malformed: %v. "+
					"Expected is @number:window,adapter[:window,adapter…], such as @1:164,sn0",
					network,
					err)}
		}
		c.NetworkSet = true
		if c.US.Wanted {
			c.US.Ports, c.US.Most = ports[:min(len(ports), maxPorts)], min(len(ports), maxPorts)
		}
	}
	return nil
}

func (r *reader) sharedMemory(c *Config) error {
	if c.start != byHand {
		c.Shm = ShmYes
	}
	if s, ok := r.get("LAPI_USE_SHM"); ok {
		mode, ok := parseShm(s)
		if !ok {
			return &EnvError{"LAPI_USE_SHM", codeSHMSetup,
				fmt.Sprintf("the value %q is not valid; set it to yes, no or only", s)}
		}
		c.Shm = mode
	}
	if c.start != byHand { // Meet finds the common tasks
		return nil
	}
	if s, ok := r.get("MP_COMMON_TASKS"); ok {
		tasks, err := parseCommonTasks(s, c.Task, c.NumTasks)
		if err != nil {
			return &EnvError{"MP_COMMON_TASKS", codeSHMSetup,
				fmt.Sprintf("the value %q is malformed: %v. "+
					"Expected is number:task:task…, the other tasks on this node, such as 3:0:2:3 for task 1 of 4", s, err)}
		}
		c.CommonTasks = tasks
	}
	missing := c.NumTasks - 1 - len(c.CommonTasks)
	if c.Shm == ShmOnly && missing > 0 {
		return &EnvError{"LAPI_USE_SHM", codeSHMSetup,
			fmt.Sprintf("the value only needs all %d tasks on this node, and MP_COMMON_TASKS "+
				"lists %d of the %d others; list them all or set LAPI_USE_SHM=yes", c.NumTasks,
				len(c.CommonTasks), c.NumTasks-1)}
	}
	if c.Shm == ShmYes && c.NumTasks > 1 && len(c.CommonTasks) == 0 {
		r.warnf(1,
			"LAPI_USE_SHM=yes has no effect: MP_COMMON_TASKS lists no other task on this node")
	}
	return nil
}

func (r *reader) udpPacketSize(c *Config) error {
	s, ok := r.get("MP_UDP_PACKET_SIZE")
	if !ok {
		return nil
	}
	n, err := parseNumber(s)
	if err == nil && (n < minUDPPacketSize || n > maxUDPPacketSize) {
		err = fmt.Errorf("out of range")
	}
	if err != nil {
		return &EnvError{"MP_UDP_PACKET_SIZE", codeUDPPktSz,
			fmt.Sprintf("the value %q is %v; set it to %d to %d bytes, or unset it",
				s, err, minUDPPacketSize, maxUDPPacketSize)}
	}
	c.UDPPacketSize = n
	return nil
}

// udpLoss reads LAPI_UDP_LOSS. A bad value is an error: a test would otherwise believe that it had
// lost packets.
func (r *reader) udpLoss(c *Config) (err error) {
	if s, ok := r.get("LAPI_UDP_LOSS"); ok {
		c.UDPLoss, err = ParseLoss(s)
	}
	return err
}

// ParseLoss reads the value of LAPI_UDP_LOSS, percent[:seed].
func ParseLoss(s string) (l Loss, err error) {
	percent, seed, seeded := strings.Cut(s, ":")
	p, err := strconv.ParseFloat(percent, 64)
	bad := err != nil || !(p >= 0 && p <= 100)
	if l.Percent = p; seeded {
		l.Seed, err = strconv.ParseUint(seed, 10, 64)
		bad = bad || err != nil
	}
	if bad {
		return Loss{}, &EnvError{"LAPI_UDP_LOSS", codeUnknown,
			fmt.Sprintf("the value %q is not valid; set it to percent or percent:seed, such as 1 or 0.5:42, or unset it", s)}
	}
	return l, nil
}

// onOff reads a variable of this library's own that is on unless it says off.
func (r *reader) onOff(name string) (on bool) {
	s, ok := r.get(name)
	if ok && s != "on" && s != "off" {
		r.warnf(0, "%s=%q is not valid; on is used. Set it to on or off", name, s)
	}
	return s != "off"
}

func (r *reader) tuning(c *Config) {
	ack, _ := r.number("MP_ACK_THRESH", 1, maxAckThreshold, defaultAckThreshold)
	c.AckThreshold = min(ack, effectiveAckThreshold)
	micros, _ := r.number("MP_POLLING_INTERVAL", minPollingMicros, math.MaxInt32,
		defaultPollingMicros)
	c.PollingInterval = time.Duration(micros) * time.Microsecond
	c.RetransmitInterval, _ = r.number("MP_RETRANSMIT_INTERVAL", minRetransmitInterval,
		math.MaxInt32, defaultRetransmitLoops)
	c.RexmitBufCount, _ = r.number("MP_REXMIT_BUF_CNT", 1, math.MaxInt32, defaultRexmitBufCount)
	c.RexmitBufSize, c.RexmitBufSizeSet = r.number("MP_REXMIT_BUF_SIZE", 1, math.MaxInt32,
		defaultRexmitBufSize)
	kilobytes, _ := r.number("LAPI_SEND_QUEUE", minSendQueue, maxSendQueue, defaultSendQueue)
	c.SendQueue = kilobytes << 10
	c.TraceLevel, _ = r.number("MP_LAPI_TRACE_LEVEL", 0, maxTraceLevel, 0)
	c.TraceSize, _ = r.number("LAPI_TRACE_SIZE", 1, maxTraceSize, defaultTraceSize)
	if c.TraceDir, _ = r.get("LAPI_TRACE_DIR"); c.TraceDir == "" {
		c.TraceDir = "."
	}
	c.FastLane = r.fastLane()
	c.Route, c.ShowRoutes = r.route()
	c.UDPPlain = !r.onOff("LAPI_UDP_GSO")
	debug, ok := r.get("MP_DEBUG_NOTIMEOUT")
	c.NoTimeout = ok && !strings.EqualFold(debug, "no") // "no" is how the guide writes the default
}

// fastLane reads LAPI_FASTLANE, which is this library's own.
func (r *reader) fastLane() FastLane {
	s, ok := r.get("LAPI_FASTLANE")
	switch {
	case !ok || s == "on":
		return FastLaneOn
	case s == "off":
		return FastLaneOff
	case s == "random":
		return FastLaneRandom
	}
	r.warnf(0, "LAPI_FASTLANE=%q is not valid; on is used. Set it to on, off or random", s)
	return FastLaneOn
}

// route reads LAPI_ROUTE, which is this library's own.
func (r *reader) route() (route Route, show bool) {
	names := map[string]Route{"auto": RouteAuto, "pipeline": RoutePipeline, "origin": RouteOrigin,
		"target": RouteTarget, "halves": RouteHalves, "wide": RouteWide,
		"string": RouteString, "streaming": RouteStreaming}
	s, ok := r.get("LAPI_ROUTE")
	if !ok || s == "show" {
		return RouteAuto, ok
	}
	route, ok = names[s]
	if !ok {
		r.warnf(0, "LAPI_ROUTE=%q is not valid; auto is used. Set it to auto, show, pipeline, "+
			"wide, string, streaming, origin, target or halves", s)
	}
	return route, false
}

// bulk reads what concerns bulk transfer. The guide writes its sizes as 4K and 150K, so that is how
// a user may, too.
func (r *reader) bulk(c *Config) {
	if s, ok := r.get("MP_USE_BULK_XFER"); ok {
		c.UseBulk = strings.EqualFold(s, "yes")
		if !c.UseBulk && !strings.EqualFold(s, "no") {
			r.warnf(0,
				"MP_USE_BULK_XFER=%q is neither yes nor no; no is used. Set it to one of them", s)
		}
	}
	const name, remedy = "MP_BULK_MIN_MSG_SIZE",
		"Set it to a number of bytes from 4096 to 2147483647, such as 153600 or 150K"
	c.BulkMin = defaultBulkMin
	s, ok := r.get(name)
	if !ok {
		return
	}
	n, err := parseSize(s)
	if err != nil {
		r.warnf(0, "%s=%q is %v; %d is used. %s", name, s, err, c.BulkMin, remedy)
		return
	}
	if c.BulkMin = int(min(max(n, minBulkMin), math.MaxInt32)); uint64(c.BulkMin) != n {
		r.warnf(0, "%s=%s is out of range; %d is used. %s", name, s, c.BulkMin, remedy)
	}
}

// registration reads LAPI_REGISTRATION_LIMIT, which is this library's own.
func (r *reader) registration(c *Config) {
	const name = "LAPI_REGISTRATION_LIMIT"
	c.RegistrationLimit = defaultRegistrationLimit
	s, ok := r.get(name)
	if !ok {
		return
	}
	n, err := parseSize(s)
	if err != nil {
		r.warnf(0, "%s=%q is %v; %d is used. Set it to a number of bytes, such as 512M; "+
			"0 keeps nothing registered", name, s, err, c.RegistrationLimit)
		return
	}
	c.RegistrationLimit = n
}
