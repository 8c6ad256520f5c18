package wireup

import (
	"fmt"
	"net/netip"
	"time"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/self"
	"lapi/transport/udp"
	"lapi/transport/verbs"
)

// Levels of Config.Message: what failed, and what is only worth knowing. 0 is always said.
const (
	LevelFailure = 1
	LevelInform  = 2
)

// Event is something that may happen during Open and has a code of its own in an API.
type Event int

// The events. Each comes with a text about the particular case.
const (
	SharedMemorySingle Event = iota // shared memory was asked for, and there is one task
	SharedMemoryFailed              // this task cannot have a segment
	SharedMemoryUnused              // therefore other tasks are reached by UDP
	SharedMemoryAbsent              // a peer has no segment
	SharedMemoryDetach              // a peer's segment cannot be attached
	FewerPaths                      // some of this task's addresses cannot be used
	SocketBound                     // to which address a socket is bound
	PortOpened                      // which port of an adapter is used
)

// Reason is why Open failed: its error.
type Reason int

// The reasons. Config.Message has said before what the user can do.
const (
	Unknown Reason = iota
	NoMemory
	NoSharedMemory
	NoSocket
	NoAddresses // MP_LAPI_INET_ADDR is not set
	NoHandler   // a job started by hand gives no addresses
	BadAddress  // of a task in the list of such a job
	UserFailed  // the user's handler gave no addresses
	NoAdapter   // for user space communication, and nothing else is wanted
)

// Error says which reason.
func (r Reason) Error() string { return fmt.Sprintf("wire-up failed, reason %d", r) }

// Addresses gives the addresses of all tasks of a job started by hand, nil if it failed. local is
// where this task would listen on its own account, remote the number of tasks not reached by shared
// memory.
type Addresses func(local netip.AddrPort, task, total, remote int) []netip.AddrPort

// Hooks replace job.Open, Config.Key, udp.New and the monotonic clock where they are not nil, for
// tests that run a whole job in one process, or over a simulated network.
type Hooks struct {
	OpenSession func(*job.Config, int) (job.Session, error)
	Key         func(*job.Config) (key []byte, authenticated bool, err error)
	OpenUDP     func(udp.Config) (UDPLink, error)
	Clock       transport.Clock
	// OpenPort opens RDMA adapters; nil: there is none. ListPorts lists them; nil: no more than
	// one is used that has no name.
	OpenPort  OpenPort
	ListPorts ListPorts
}

// Config is what Open needs to know.
type Config struct {
	Job      *job.Config
	Call     string // the call that opens, for messages
	Instance int    // 1 …: tasks' instances of one number belong together
	Card     byte   // version of what the owner's tasks say to each other
	Getenv   func(string) (string, bool)
	Hooks    // Clock is needed

	Adapter   string        // the network interface to use; "": as MP_LAPI_INET_ADDR says
	Addresses Addresses     // nil if the user gave none
	CopyMax   int           // bytes that the UDP link copies at once
	Timeout   time.Duration // after which a silent peer has failed
	Barrier   bool          // this task can take part in the barrier of a node's tasks

	Message    func(level int, text string)
	Happened   func(level int, e Event, text string)
	Linked     func(task int, p Peer) // before p.Link is connected to task
	PeerFailed func(ep transport.Endpoint, err error)
	// Expected says whether the owner waits for something from ep; see UDPLink.Expect.
	Expected func(ep transport.Endpoint) bool
	// SendMaxChanged is called with how much a packet to a task holds, if that changes.
	SendMaxChanged func(ep transport.Endpoint, sendMax int)
}

// Peer is how one task is reached.
type Peer struct {
	Link   transport.Link
	Shared bool // by shared memory
	Absent bool // it is not there: this task has rejoined, and it has not
}

// SharedLink is the link of shared memory.
type SharedLink interface {
	transport.Link
	Reset(ep transport.Endpoint) error
	Await(ep transport.Endpoint) error
	Holds(ep transport.Endpoint) bool
	HasLeft(ep transport.Endpoint) bool
	SetTimeout(d time.Duration)
	// ShareProcessors says whether this task has to share processors with others.
	ShareProcessors(does bool)
}

// RemoteLink is a link to tasks of other nodes, with what can be set later.
type RemoteLink interface {
	transport.Link
	// Expect says that the owner waits for ep although it has sent it nothing.
	Expect(ep transport.Endpoint)
	SetTimeout(d time.Duration)
	Reconnect(ep transport.Endpoint, a transport.Address) error
	// AddressOf is where ep was last said to be.
	AddressOf(ep transport.Endpoint) transport.Address
	HasLeft(ep transport.Endpoint) bool
}

// UDPLink is the UDP link with what can be set later.
type UDPLink interface {
	RemoteLink
	transport.Pusher
	Locals() []netip.AddrPort
	SetAckThreshold(packets int)
	Silence(ep transport.Endpoint) (udp.Silence, bool)
	// Sends is how often the oldest packet to ep without an acknowledgement was sent.
	Sends(ep transport.Endpoint) int
	Reserve(ep transport.Endpoint) (tail []byte, messages int)
	Commit(ep transport.Endpoint, bytes, messages, data int)
}

// VerbsLink is the link over RDMA adapters.
type VerbsLink interface {
	RemoteLink
	transport.Noticing
	// Posted says whether nothing that was sent to ep waits for a Progress of this task's.
	Posted(ep transport.Endpoint) bool
	// Silence is what was known of ep when it was given up for its silence; false: it was not.
	Silence(ep transport.Endpoint) (verbs.Silence, bool)
	// Failure is the last request with ep that has failed; false: none has since the last success.
	Failure(ep transport.Endpoint) (ibv.Failure, bool)
	// BulkMin is from how many bytes on the adapter moves data by itself.
	BulkMin() uint64
	// QueuePairs is how many there are, one for each task that this one talks to.
	QueuePairs() int
	// UseSpare makes c reach the tasks to which no adapter leads; SpareFailed is to be called when
	// c gives a task up. UsesSpare says whether something goes over it.
	UseSpare(c verbs.Carrier)
	SpareFailed(ep transport.Endpoint)
	UsesSpare() bool
	// Moved takes in a task's address, which it has published.
	Moved(ep transport.Endpoint, address []byte)
}

// Net is the links of one context or interface, connected.
type Net struct {
	Self    transport.Link
	Shm     SharedLink // nil if no task is reached by it
	UDP     UDPLink    // likewise
	Verbs   VerbsLink  // likewise
	Session job.Session
	OnNode  []int            // tasks reached by shared memory, this one included; nil: none
	Listed  []netip.AddrPort // addresses of all tasks, in a job started by hand

	cfg    *Config
	job    *job.Config
	me     int
	remote int // tasks to reach by UDP or RDMA
	key    *jobKey
	// byUDP, byVerbs: a task is reached so; anySpare: tasks reached by Verbs are by UDP, if no
	// adapter leads to them
	byUDP, byVerbs, anySpare bool
	spareTo                  []bool // which; nil: none
	// crowded: this task has to share processors with others of this machine; anyCrowded: some
	// task of it has to.
	crowded, anyCrowded bool
	adapter             []netip.Addr                // addresses of Config.Adapter; nil: none is asked for
	reported            map[transport.Endpoint]bool // tasks whose silence was reported
}

// Open decides how each task is reached, meets the others and connects the links. The error is a
// *job.EnvError or a Reason; all that was opened is closed then.
func Open(cfg *Config) (*Net, error) {
	n := &Net{cfg: cfg, job: cfg.Job, me: cfg.Job.Task}
	for _, step := range []func() error{n.gather, n.chooseAdapter, n.chooseNode, n.openLinks,
		n.meet} {
		if err := step(); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// gather lets a task that a launcher of the field has started find the others.
func (n *Net) gather() error {
	said, err := n.job.Meet()
	if err != nil {
		return n.fail(Unknown, "cannot meet the other tasks: %v", err)
	}
	for _, text := range said {
		n.say(LevelFailure, "%s", text)
	}
	return nil
}

// UDPIdles says whether nothing goes by UDP as long as adapters lead to the tasks that have them.
func (n *Net) UDPIdles() bool {
	return n.anySpare && !n.byUDP && n.job.Gathered() && !n.Verbs.UsesSpare()
}

// Links are the links that there are.
func (n *Net) Links() (all []transport.Link) {
	if n.Self != nil {
		all = append(all, n.Self)
	}
	if n.Shm != nil {
		all = append(all, n.Shm)
	}
	if n.UDP != nil {
		all = append(all, n.UDP)
	}
	if n.Verbs != nil {
		all = append(all, n.Verbs)
	}
	return all
}

// Close closes the session and the links.
func (n *Net) Close() {
	if n.Session != nil {
		n.Session.Leave()
	}
	if n.Verbs != nil { // its last messages may go by UDP
		n.Verbs.Close()
	}
	for _, l := range n.Links() {
		if l != transport.Link(n.Verbs) {
			l.Close()
		}
	}
	if n.Session != nil {
		n.Session.Close()
	}
}

// openLinks makes this task's side of each link that it needs, and its place in the session.
func (n *Net) openLinks() error {
	l, err := self.New(n.cfg.Clock)
	if err != nil {
		return n.fail(NoMemory, "%v", err)
	}
	n.Self = l
	if err := n.openShared(); err != nil {
		return err
	}
	open := n.cfg.OpenSession
	if open == nil {
		open = job.Open
	}
	if n.Session, err = open(n.job, n.cfg.Instance-1); err != nil {
		return n.fail(Unknown, "cannot meet the other tasks: %v", err)
	}
	if err := n.openVerbs(); err != nil {
		return err
	}
	if n.remote > 0 && n.wantsUDP() {
		return n.openUDP()
	}
	return nil
}

// wantsUDP says whether a socket is opened before it is known whether a task is reached by it: it
// is, but for tasks that have RDMA and no address to bind a socket to.
func (n *Net) wantsUDP() bool {
	return n.Verbs == nil || !n.job.Gathered() || len(n.locals()) > 0
}

func (n *Net) say(level int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.cfg.Message(level, fmt.Sprintf("task %d: %s: %s", n.me, n.cfg.Call, text))
}

func (n *Net) happened(level int, e Event, format string, args ...any) {
	n.cfg.Happened(level, e, fmt.Sprintf(format, args...))
}

// fail says what is wrong and returns the error for it.
func (n *Net) fail(r Reason, format string, args ...any) error {
	n.say(0, format, args...)
	return r
}
