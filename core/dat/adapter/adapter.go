// Package adapter is what uDAPL needs of an RDMA adapter: objects of verbs, and connections by the
// RDMA connection manager. cshim/rdma has those of the kernel; core/dat/internal/fabric has some in
// the process, which fail as a test wants.
//
// A Device belongs to one owner and is used under that owner's lock. Objects are numbers that the
// device gives; 0 is none.
package adapter

import "net/netip"

// Objects of a device.
type (
	Zone        uintptr // what memory and queue pairs must have in common
	Region      uintptr // registered memory
	Window      uintptr // what opens a part of a region to peers
	Completions uintptr // a completion queue
	Queue       uintptr // receives that several queue pairs share
	QP          uintptr // a queue pair
	Path        uintptr // the way of datagrams to a port
	ID          uintptr // a connection, an attempt at one, or a listener
)

// Info tells what a device is and can do. It is constant.
type Info struct {
	Name   string
	Addr   netip.Addr
	Port   uint8
	GID    [16]byte
	GUID   [8]byte
	LID    uint16 // 0 over Ethernet
	MTU    int    // bytes
	Active bool   // the port, when it was opened
	// Atomics says that the device has them.
	Atomics bool
	// Windows says that it has windows which any queue pair of their zone may use, OwnWindows that
	// it has some which only the queue pair that they are bound on may. Invalidates says that a
	// send can free one of the latter at the peer.
	Windows, OwnWindows, Invalidates bool

	MaxMessage uint64
	MaxInline  int // bytes of a request that may be inline
	// MaxRequests is how many requests, or receives, a queue pair may have.
	MaxRequests       int
	MaxSegments       int // of a request or receive
	MaxReadSegments   int // of a read
	MaxCompletions    int // of one completion queue
	MaxQPs            int
	MaxZones          int
	MaxRegions        int
	MaxQueues         int
	MaxQueueReceives  int
	MaxReadsIn        int // reads and atomics of peers under way on one queue pair
	MaxReadsOut       int // and of its own
	MaxQueuesOfEvents int // completion queues
}

// Access is what a region may be used for, beside being read by its owner.
type Access uint8

// The uses. The first three are those of peers.
const (
	Write Access = 1 << iota
	Read
	Atomic
	LocalWrite
)

// Keys are what a region's memory is named by: in segments, and by peers.
type Keys struct{ Local, Remote uint32 }

// QPAttr says what a queue pair is to be.
type QPAttr struct {
	Zone                             Zone
	Requests, Receives               Completions
	Queue                            Queue // of its receives; 0: it has its own
	Datagrams                        bool
	MaxRequests, MaxReceives         int
	RequestSegments, ReceiveSegments int
	QKey                             uint32 // of Datagrams
}

// Segment is local memory of a request or receive.
type Segment struct {
	Addr uint64
	N    uint32
	Key  uint32
}

// Op says what a request does.
type Op uint8

// The operations.
const (
	OpSend           Op = iota
	OpSendInvalidate    // RemoteKey is freed at the peer
	OpWrite
	OpWriteWithData
	OpRead
	OpCompareSwap
	OpFetchAdd
	OpDatagram
)

// Work is a request. Every one makes a completion.
type Work struct {
	ID        uint64 // comes back in Completion
	Op        Op
	Fence     bool // it begins when all reads before it are complete
	Solicited bool
	Inline    bool // the data is taken at the call
	Segments  []Segment
	// Of what concerns the peer's memory.
	RemoteAddr uint64
	RemoteKey  uint32
	Immediate  uint32
	Operand    uint64 // to add, or to swap in
	Compare    uint64
	// Of a datagram.
	Path      Path
	QPN, QKey uint32
}

// Bind is a request that binds a window: from then on its key names N bytes at Addr of Region, and
// no other key does. One that is its queue pair's own must be free. N is 0: it names nothing, of
// one that is not its own.
type Bind struct {
	ID      uint64
	Window  Window
	Region  Region
	Addr, N uint64
	Access  Access
	Fence   bool
}

// Completion tells of a request or receive that is over. Status is uDAPL's
// (DAT_DTO_COMPLETION_STATUS); the rest is valid if it is 0.
type Completion struct {
	ID        uint64
	QPN       uint32 // of the queue pair
	Status    uint8
	N         uint32 // of a receive: bytes that have come
	HasData   bool   // Immediate is valid
	ByWrite   bool   // the receive was taken by a write
	Immediate uint32
	// Invalidated: the send has freed the window of Key. Perhaps: that is so if Key is one that is
	// bound; soft-RoCE says it by the wrong flag.
	Invalidated, Perhaps bool
	Key                  uint32
}

// Terms are what a connection is asked for, or accepted, with.
type Terms struct {
	QPN               uint32
	ReadsIn, ReadsOut uint8 // reads and atomics under way: the peer's, and the own ones
	Shared            bool  // receives are of a Queue
	Private           []byte
}

// EventKind says what has happened to an ID.
type EventKind uint8

// The kinds.
const (
	NoEvent      EventKind = iota
	AddressFound           // FindAddress has succeeded
	NotFound               // FindAddress or FindRoute has not; Status is a negative errno
	RouteFound
	Requested    // at Listener; ID is new, and the owner's
	Responded    // the peer has accepted: Ready and Establish make the connection
	Established  // accepted by this side, and the peer knows; of datagrams: accepted by the peer
	Rejected     // Status is the reason
	Unreachable  // no answer
	Failed       // it has not come about
	Disconnected // by the peer, or it has heard of this side's
	Removed      // the adapter is gone
)

// Reasons of Rejected, as InfiniBand numbers them.
const (
	ReasonNobody   = 8  // nobody listens
	ReasonConsumer = 28 // the program there
)

// Event is what has happened to an ID.
type Event struct {
	Kind              EventKind
	ID, Listener      ID
	Status            int
	Local, Peer       netip.AddrPort
	ReadsIn, ReadsOut uint8 // of Requested: as seen from this side
	Private           []byte
	// Of Established, for datagrams: the peer's queue pair, and where it is.
	QPN, QKey uint32
	GID       [16]byte
	LID       uint16
}

// AsyncKind is the kind of an Async.
type AsyncKind uint8

// The kinds.
const (
	NoAsync  AsyncKind = iota
	Broken             // the adapter, or a completion queue of it, is of no use any more
	QPBroken           // a queue pair is
	QueueLow           // fewer receives are left in a queue than LimitQueue has asked to hear of
	Other
)

// Async is what a device tells beside completions and events.
type Async struct {
	Kind  AsyncKind
	QPN   uint32
	Queue Queue
}

// Device is an adapter's port with an address of this process's, opened.
type Device interface {
	Info() Info
	// Active says whether the port is up.
	Active() bool

	NewZone() (Zone, error)
	FreeZone(z Zone) error
	// Register makes n bytes at addr known, which are then named from as on. The error is the
	// kernel's, such as EFAULT or ENOMEM.
	Register(z Zone, addr, n, as uint64, access Access) (Region, Keys, error)
	// Deregister fails while a window is bound to it.
	Deregister(r Region) error
	// NewWindow makes one that is free; own: of the queue pair that it will be bound on. One that
	// is bound so must be freed before the queue pair is.
	NewWindow(z Zone, own bool) (Window, error)
	FreeWindow(w Window) error
	NewCompletions(entries int) (Completions, error)
	FreeCompletions(c Completions) error
	// Poll takes completions.
	Poll(c Completions, out []Completion) int
	NewQueue(z Zone, receives, segments int) (Queue, error)
	ResizeQueue(q Queue, receives int) error
	FreeQueue(q Queue) error
	// LimitQueue has the device tell, once, when a message leaves fewer receives than that.
	LimitQueue(q Queue, receives int) error
	// NewQP makes a queue pair that takes receives. One of datagrams takes requests, too.
	NewQP(a QPAttr) (qp QP, number uint32, err error)
	// FailQP makes it complete what is posted with status 1; FreeQP returns when the adapter
	// does not touch any memory for it any more.
	FailQP(qp QP)
	FreeQP(qp QP)
	Post(qp QP, w *Work) error
	// Bind posts a bind, and tells the key that the window then has.
	Bind(qp QP, b *Bind) (key uint32, err error)
	// Receive posts a receive to a queue pair, or to a queue; the other is 0.
	Receive(qp QP, q Queue, id uint64, segments []Segment) error
	NewPath(z Zone, gid [16]byte, lid uint16) (Path, error)
	FreePath(p Path)

	NewID(datagrams bool) (ID, error)
	// FreeID ends whatever there is of it: the peer of an attempt is told.
	FreeID(id ID)
	Listen(id ID, port uint16) error
	FindAddress(id ID, to netip.AddrPort, ms int) error
	FindRoute(id ID, ms int) error
	Connect(id ID, t Terms) error
	// Ready makes a queue pair send to, and receive from, the peer of a connection; negative
	// numbers of reads are those that the two have agreed on.
	Ready(id ID, qp QP, readsIn, readsOut int) error
	Establish(id ID) error
	Accept(id ID, t Terms) error
	Reject(id ID, private []byte) error
	Disconnect(id ID) error
	// Event takes the next event, or one of kind NoEvent. Private is valid until the next call.
	Event() Event
	// Async is the next of them, or one of kind NoAsync.
	Async() Async

	// Files become readable when there is a completion, once Arm was called, an event, an Async.
	// solicited: of completions, when one has failed, or is of what its sender has marked so.
	Files() []int
	Arm(c Completions, solicited bool)
	// Quiet takes what Arm has made readable, and tells whose it was.
	Quiet(told func(Completions))
	// Close closes it. Its objects were freed before.
	Close()
}
