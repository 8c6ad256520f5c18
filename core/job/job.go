// Package job finds out which task this is and how it reaches the others: the MP_ and LAPI_
// environment variables, the wire-up with the launcher (lapirun) or, for tasks started by hand,
// among the tasks of one node, and the job key. It knows nothing of LAPI's calls or of links: what
// it passes between tasks are bytes and file descriptors.
package job

import (
	"fmt"
	"os"
	"time"

	"lapi/core/job/adapters"
	"lapi/core/job/pmi"
)

// FastLane is what LAPI_FASTLANE says: whether small transfers on one node are done without a call
// into Go.
type FastLane uint8

// The values of FastLane.
const (
	FastLaneOn     FastLane = iota // the default
	FastLaneOff                    // everything goes through Go
	FastLaneRandom                 // either, call by call: for tests
)

// Route is which way LAPI_ROUTE forces for data that is too long for slots, between tasks of a node
// that poll (docs/dev/bulk.md).
type Route uint8

// The values of Route.
const (
	RouteAuto Route = iota // the fastest, as found: the default
	RoutePipeline
	RouteOrigin
	RouteTarget
	RouteHalves
	RouteWide
	RouteString
	RouteStreaming
)

// Auth is LAPI_AUTH: how UDP packets prove that they belong to the job (docs/dev/threat-model.md). All
// tasks must have the same.
type Auth uint8

// The values of LAPI_AUTH.
const (
	AuthCookie Auth = iota // a keyed check of all headers: the default
	AuthMAC                // of the whole packet
	AuthNone               // no secret
)

// ShmMode is LAPI_USE_SHM (guide, Chapter 5).
type ShmMode uint8

// The values of LAPI_USE_SHM.
const (
	ShmNo ShmMode = iota
	ShmYes
	ShmOnly
)

// Adapter is one instance of MP_LAPI_INET_ADDR: an address of this task and the network interface
// that has it.
type Adapter = adapters.Adapter

// Loss is what LAPI_UDP_LOSS asks for: datagrams that this task loses on purpose before it sends
// them.
type Loss struct {
	Percent float64 // of all, 0 to 100
	Seed    uint64  // of the choice; each task's differs nevertheless
}

// Config is what the environment says, checked and with the guide's defaults (Appendix D) filled
// in.
type Config struct {
	Task      int    // MP_CHILD
	NumTasks  int    // MP_PROCS
	Partition string // MP_PARTITION
	FastLane  FastLane
	Route     Route
	// ShowRoutes: LAPI_ROUTE=show, to print at LAPI_Term which routes were found.
	ShowRoutes bool
	Auth       Auth
	Shm        ShmMode
	// CommonTasks are the other tasks on this node (MP_COMMON_TASKS), ascending, without Task.
	CommonTasks []int
	// Adapters are MP_LAPI_INET_ADDR, in its order, the first MaxAdapters of them; nil if
	// unset. The i-th of one task talks to the i-th of another. An entry may repeat an earlier
	// one.
	Adapters   []Adapter
	InetSet    bool // MP_LAPI_INET_ADDR is set
	NetworkSet bool // MP_LAPI_NETWORK is set
	US         UserSpace
	InfoLevel  int  // MP_INFOLEVEL
	NoTimeout  bool // MP_DEBUG_NOTIMEOUT

	UDPPacketSize      int           // MP_UDP_PACKET_SIZE; 0 if unset: the path's MTU
	UDPPlain           bool          // LAPI_UDP_GSO=off: each datagram is a system call of its own
	UDPLoss            Loss          // LAPI_UDP_LOSS, for tests
	AckThreshold       int           // MP_ACK_THRESH, 1-30; default 30
	PollingInterval    time.Duration // MP_POLLING_INTERVAL; default 400 ms
	RetransmitInterval int           // MP_RETRANSMIT_INTERVAL, polling loops; default 1000000
	RexmitBufCount     int           // MP_REXMIT_BUF_CNT; default 128
	RexmitBufSize      int           // MP_REXMIT_BUF_SIZE; default 16384
	SendQueue          int           // LAPI_SEND_QUEUE, bytes; default 4 MiB
	RexmitBufSizeSet   bool          // then BUF_CP_SIZE is its value, else min(4096, RexmitBufSize)

	UseBulk bool // MP_USE_BULK_XFER
	BulkMin int  // MP_BULK_MIN_MSG_SIZE, bytes, at least 4096; default 153600

	// RegistrationLimit is LAPI_REGISTRATION_LIMIT: bytes of memory that adapters of verbs may
	// have registered at one time; default 1 GiB. 0: nothing stays registered after its transfer.
	RegistrationLimit uint64

	TraceLevel int    // MP_LAPI_TRACE_LEVEL, 0 (off) to 5
	TraceDir   string // LAPI_TRACE_DIR; default "."
	TraceSize  int    // LAPI_TRACE_SIZE, MiB

	Launched bool // under lapirun: an inherited socket leads to the launcher

	start      starter
	openField  func() (pmi.Launcher, int, error) // of a launcher, and its socket
	serverPort uint16                            // of a PMIx server on this node; 0: unknown
	device     string                            // MP_EUIDEVICE for UDP/IP, if a launcher has begun
	instances  int                               // likewise MP_INSTANCES; adapters.Max: max, 0: unset
	kept       bool                              // this process has a keeper; after Meet
	daemon     *os.File                          // the launcher's process here; nil: unknown
	launcherFD int                               // to lapirun if Launched, to the keeper if kept
	say        func(text string)                 // to the user at once; nil: to nobody
	munge      sealing                           // LAPI_MUNGE
	keyFile    string                            // LAPI_JOB_KEY_FILE
	key        []byte                            // what Key or Open has found
}

// EnvError is an environment variable that keeps LAPI from initialising.
type EnvError struct {
	Variable string // the variable to look at
	Code     int    // the LAPI return code, as in lapi.h
	Text     string // what is wrong and what to do, a sentence without the task's name
}

func (e *EnvError) Error() string { return fmt.Sprintf("%s: %s", e.Variable, e.Text) }

// Part is what one task contributes to an exchange.
type Part struct {
	Data  []byte
	Files []int // descriptors of this process; on receipt the caller owns them
}

// EventKind is what an event reports to this task.
type EventKind uint8

// Kinds of events.
const (
	// TaskDied: Event.Task has died.
	TaskDied EventKind = iota + 1
	// TaskEnded: Event.Task has ended on purpose, with status 0, but without LAPI_Term.
	TaskEnded
	// LauncherGone: the launcher, or what it has on this node, has ended; this task must end
	// too.
	LauncherGone
	// TaskRejoined: Event.Task has died, or left, and was started again. Event.Part is its part
	// of the exchange, whose files are the receiver's; it waits for Rejoiner.Answer.
	TaskRejoined
	// TaskMoved: Event.Part.Data is what Event.Task has published. It may come late, and twice.
	TaskMoved
)

// Event is news about the job.
type Event struct {
	Kind EventKind
	Task int
	Text string // why, for the message, such as "killed by signal 9"
	Part Part   // of TaskRejoined, TaskMoved
}

// Session is the wire-up of one LAPI instance, from LAPI_Init to LAPI_Term. It has no goroutine and
// is used under its context's lock, except Exchange, which only LAPI_Init calls.
type Session interface {
	// Exchange gives part to every task of the session (Tasks) and returns theirs, indexed by
	// task id; entries of tasks not in the session are zero. All of them must call it, the same
	// number of times. Files arrive as new descriptors, close-on-exec. After a task has
	// rejoined (TaskRejoined in the others) the entries of those that are not there are zero
	// too.
	Exchange(part Part) ([]Part, error)
	// Tasks are the tasks that the session reaches, this one included, ascending.
	Tasks() []int
	// Descriptor becomes readable when Poll has something; -1 if there is never any.
	Descriptor() int
	// Poll returns the next event without blocking.
	Poll() (Event, bool)
	// Publish sends each other task of the session that has not left a TaskMoved with this task's
	// address, of at most 1 KiB, whichever hub ends meanwhile.
	Publish(address []byte)
	// Leave notifies the others that this task leaves in good order (LAPI_Term): no TaskDied is
	// sent for it on this instance.
	Leave()
	// ExitNotice is for a process that ends with status 0 without LAPI_Term: the record to send
	// then, and the sockets to send it to. It makes of the TaskDied that follows a TaskEnded.
	// The sockets stay the session's.
	ExitNotice() (record []byte, sockets []int)
	// Close releases the session.
	Close() error
}

// Departures is implemented by Sessions that learn which tasks have left in good order (Leave).
type Departures interface {
	// Departed are the tasks that Poll has found to have left since the last call. Messages that
	// they sent before may still be on their way.
	Departed() []int
}
