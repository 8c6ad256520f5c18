// Package settings knows every setting of the library and its commands: the environment variables,
// and the files that stand in for them. It has one table of them, from which lapi_info prints what is
// in force, LAPI_Init finds misspelt names, and a test compares the manual.
//
// The package reads and changes no setting: package job, capi and the commands do, by Lookup.
package settings

import "slices"

// Reader says which programs read a setting.
type Reader uint8

const (
	Tasks    Reader = 1 << iota // LAPI_Init
	UDAPL                       // the first call of uDAPL
	Launcher                    // lapirun
)

// Setting is one environment variable.
type Setting struct {
	Name    string
	Values  string // what it may be set to
	Default string // what holds where it is not set
	Meaning string // one sentence without a full stop
	Readers Reader
	// Site: it may stand in a settings file. The others describe one job or one task, or are read
	// before any file is.
	Site bool
}

// All is the table, in the order of docs/environment.md.
func All() []Setting { return slices.Clone(table) }

// Named returns the setting of that name.
func Named(name string) (Setting, bool) {
	for _, s := range table {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

const site = true

var table = slices.Concat(identity, communication, tuning, udapl, diagnosis, launcher)

var identity = []Setting{
	{"MP_MSG_API", "lapi, or a list with it", "none: LAPI_Init fails without a launcher",
		"the job uses LAPI", Tasks | Launcher, !site},
	{"MP_PROCS", "1 to 16384", "set by the launcher", "number of tasks of the job",
		Tasks | Launcher, !site},
	{"MP_CHILD", "0 to MP_PROCS - 1", "set by the launcher", "id of this task", Tasks, !site},
	{"MP_PARTITION", "any text", "set by the launcher", "what the tasks of one job have in common",
		Tasks, !site},
	{"MP_COMMON_TASKS", "n:task:task...", "set by the launcher", "the other tasks on this node",
		Tasks, !site},
	{"LAPI_AUTH", "cookie, mac, none", "cookie",
		"how UDP packets prove that they belong to the job", Tasks, site},
	{"LAPI_RENDEZVOUS", "host:port", "none", "where the tasks of a job started by hand meet",
		Tasks, !site},
	{"LAPI_JOB_KEY_FILE", "a file", "none", "secret of a job started by hand", Tasks, !site},
	{"LAPI_MUNGE", "yes, no, only", "yes", "munge's daemon seals the job key", Tasks, site},
}

var communication = []Setting{
	{"MP_EUILIB", "ip, us", "ip", "UDP/IP, or RDMA adapters (user space), between nodes",
		Tasks | Launcher, site},
	{"LAPI_US", "yes, only", "yes", "with MP_EUILIB=us: whether UDP/IP may take over", Tasks, site},
	{"LAPI_USE_SHM", "no, yes, only", "no; under a launcher, and in uDAPL, yes",
		"shared memory among the tasks of a node", Tasks | UDAPL | Launcher, site},
	{"MP_LAPI_INET_ADDR", "@n:address,device[:address,device...]", "by MP_EUIDEVICE",
		"this task's addresses for UDP/IP", Tasks | Launcher, !site},
	{"MP_LAPI_NETWORK", "@n:window,adapter[:window,adapter...]", "by MP_EUIDEVICE",
		"this task's ports of RDMA adapters", Tasks | Launcher, !site},
}

var tuning = []Setting{
	{"MP_UDP_PACKET_SIZE", "1024 to 65536", "what each path carries in one piece",
		"largest datagram, bytes", Tasks, site},
	{"LAPI_UDP_GSO", "on, off", "on", "the kernel splits and joins datagrams", Tasks, site},
	{"MP_ACK_THRESH", "1 to 31", "30", "packets that are acknowledged together", Tasks, site},
	{"MP_POLLING_INTERVAL", "from 10001", "400000",
		"longest time between two looks for lost packets, microseconds", Tasks, site},
	{"MP_RETRANSMIT_INTERVAL", "1000 to 2147483647", "1000000",
		"most polling loops between two looks for lost packets", Tasks, site},
	{"MP_REXMIT_BUF_CNT", "from 1", "128", "buffers that keep small messages", Tasks, site},
	{"MP_REXMIT_BUF_SIZE", "from 1", "16384", "size of each, bytes", Tasks, site},
	{"LAPI_SEND_QUEUE", "64 to 1048576", "4096",
		"memory for messages to one task that wait for room, KiB", Tasks, site},
	{"MP_USE_BULK_XFER", "yes, no", "no", "long messages go straight between tasks' memory",
		Tasks, site},
	{"LAPI_FASTLANE", "on, off, random", "on", "small transfers are done without a call into Go",
		Tasks | UDAPL, site},
	{"LAPI_ROUTE",
		"auto, show, pipeline, wide, string, streaming, origin, target, halves", "auto",
		"which way data goes between tasks of a node", Tasks | UDAPL, site},
	{"MP_BULK_MIN_MSG_SIZE", "4096 to 2147483647, or with K, M, G", "150K",
		"shortest message for bulk transfer, bytes", Tasks, site},
	{"LAPI_REGISTRATION_LIMIT", "from 0, or with K, M, G", "1G",
		"memory that adapters may keep registered, bytes", Tasks, site},
}

var udapl = []Setting{
	{"DAT_OVERRIDE", "a file", "/etc/dat.conf", "uDAPL's configuration file", UDAPL, !site},
	{"DAPL_DBG_TYPE", "a number, such as 0x81", "0",
		"bits 0x1 and 0x80: report requests that fail on an adapter", UDAPL, site},
	{"LAPI_DAT_ANY", "no", "names are built in", "names that programs open by default", UDAPL,
		!site},
	{"LAPI_DAT_NAMES", "name=device,...", "none", "further names of uDAPL adapters", UDAPL, !site},
	{"LAPI_DAT_TIMEOUT", "a positive number", "10",
		"seconds without a word after which a process is gone", UDAPL, site},
}

var diagnosis = []Setting{
	{"MP_INFOLEVEL", "0 to 6", "0", "how much is reported on standard error",
		Tasks | UDAPL | Launcher, site},
	{"MP_DEBUG_NOTIMEOUT", "any text but no", "TIMEOUT holds",
		"a task that does not answer never counts as lost", Tasks, site},
	{"LAPI_DEBUG_SIGNAL", "a signal, such as SIGUSR2", "no signal",
		"this signal makes a task say what its threads wait for", Tasks, !site},
	{"MP_LAPI_TRACE_LEVEL", "0 to 5", "0", "what a task's trace records", Tasks, site},
	{"LAPI_TRACE_DIR", "a folder", "the current one", "folder of the traces", Tasks, site},
	{"LAPI_TRACE_SIZE", "1 to 1024", "32", "size of each task's trace, MiB", Tasks, site},
	{"LAPI_VERIFY_DGSP", "yes, no", "no", "gather/scatter programs are checked", Tasks, site},
	{"LAPI_UDP_LOSS", "percent or percent:seed", "none is lost",
		"for tests: share of datagrams that is lost on purpose", Tasks | UDAPL, !site},
	{CheckVariable, "yes, no", "yes", "unknown names of settings are reported", Tasks, site},
	{FileVariable, "a file, none", "/etc/lapi/lapi.conf, then ~/.lapi.conf",
		"the settings file that is read", Tasks | UDAPL | Launcher, !site},
}

var launcher = []Setting{
	{"MP_LABELIO", "yes, no", "no", "lines of output begin with the task's id", Launcher, site},
	{"MP_STDOUTMODE", "unordered, ordered, a task", "unordered", "order of the tasks' output",
		Launcher, site},
	{"MP_STDINMODE", "all, none, a task", "0", "which task reads standard input", Launcher, site},
	{"MP_CMDFILE", "a file", "none", "the tasks' commands", Launcher, !site},
	{"MP_PGMMODEL", "spmd, mpmd", "spmd", "one program for all tasks, or one each", Launcher,
		!site},
	{"MP_HOSTFILE", "a file", "none", "hosts of the job", Launcher, site},
	{"MP_NODES", "from 1", "all", "how many of the hosts", Launcher, !site},
	{"MP_TASKS_PER_NODE", "from 1", "by the host list", "tasks on each host", Launcher, !site},
	{"MP_EUIDEVICE", "sn_single, sn_all, a device", "loopback, or one network",
		"networks and adapters that the tasks use", Tasks | Launcher, site},
	{"MP_INSTANCES", "from 1, max", "1", "adapters of each network", Tasks | Launcher, site},
}
