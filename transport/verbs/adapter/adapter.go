// Package adapter is what the link over RDMA verbs needs of an adapter. cshim/verbs has those of
// the kernel; transport/verbs/internal/fake has one that fails when a test wants.
//
// An Adapter belongs to one owner and is used under that owner's lock. It has one completion queue
// and one shared receive queue, which all its queue pairs use.
package adapter

import (
	"errors"

	"lapi/transport"
)

// Errors of adapters, beside those that the kernel gives.
var (
	ErrNoMemory = errors.New("verbs: out of memory or of objects")
	ErrGone     = errors.New("verbs: the adapter is closed or gone")
)

// GID is the address of a port.
type GID [16]byte

// Info tells what an adapter's port is and can do. It is constant.
type Info struct {
	Name     string
	Port     uint8
	GIDIndex uint8
	GID      GID
	LID      uint16 // 0 over Ethernet
	MTU      int    // bytes: 256 to 4096
	// MaxMessage is the longest RDMA write or read, in bytes.
	MaxMessage uint64
	MaxInline  int // bytes of a send that may be inline
	MaxReads   int // RDMA reads under way on one queue pair
	MaxCQE     int // entries of the completion queue
	MaxReceive int // buffers of the shared receive queue
}

// Remote is the far side of a connection.
type Remote struct {
	QPN uint32
	PSN uint32
	GID GID
	LID uint16
	MTU int
	// Reads is how many RDMA reads the far side takes at once.
	Reads int
}

// LocalWrite, beside transport's bits, lets the adapter itself write: for receive buffers and the
// destination of an RDMA read. The other bits speak of peers.
const LocalWrite transport.Access = 1 << 6

// Region is registered memory. Adapters copy it by value.
type Region struct {
	LKey, RKey uint32
	Handle     uintptr // the adapter's own
}

// QP is a reliable-connection queue pair. 0 is none.
type QP uint32

// Path is the way of datagrams to one port.
type Path uintptr

// Op says what Post is to do.
type Op uint8

// Operations of Post.
const (
	Send Op = iota
	Write
	Read
)

// Work is a request to a queue pair.
type Work struct {
	ID         uint64 // comes back in Completion
	Op         Op
	Signaled   bool // make a completion also of success
	Inline     bool // the data may change as soon as Post has returned
	LKey       uint32
	Addr       transport.Addr
	N          uint64
	RemoteAddr transport.Addr
	RKey       uint32
}

// Buffer is one to receive into.
type Buffer struct {
	ID   uint64 // comes back in Completion
	Addr transport.Addr
	LKey uint32
}

// State says how a request ended.
type State uint8

// States of completions.
const (
	OK           State = iota
	Flushed            // the queue pair has failed before
	RetryOver          // the peer did not answer
	RNROver            // the peer had no receive buffer
	RemoteAccess       // the peer's adapter refused the key or the range
	LocalAccess        // this adapter refused the local range
	Failed             // any other
)

// Completion tells of a request that has ended, or of a message that has come.
type Completion struct {
	ID       uint64
	QP       QP
	State    State
	N        uint32 // bytes received
	Datagram bool   // received by the datagram queue pair; 40 bytes lead its data
}

// Event is something that an adapter tells beside completions.
type Event struct {
	Kind EventKind
	QP   QP // of QueuePairFailed
}

// EventKind is the kind of an Event.
type EventKind uint8

// Kinds of events.
const (
	NoEvent EventKind = iota
	PortDown
	PortUp
	QueuePairFailed
	Fatal // the adapter is gone
	Other
)

// DatagramHead is how many bytes lead a received datagram.
const DatagramHead = 40

// Adapter is one port of an adapter, opened.
type Adapter interface {
	Info() Info
	// Register makes memory known to the adapter, which keeps it in place until Deregister. It
	// fails with the kernel's error, such as EFAULT and ENOMEM.
	Register(a transport.Addr, n uint64, access transport.Access) (Region, error)
	Deregister(r Region) error

	// Open makes the queues: for so many completions, shared receive buffers, and so many
	// buffers of the datagram queue pair. It returns that queue pair's number. Called once.
	Open(completions, receives, datagrams int, qkey uint32) (qpn uint32, err error)
	// Create makes a queue pair that takes depth requests.
	Create(depth int) (QP, error)
	// Connect makes qp ready to receive from and send to r; psn is of the first packet it
	// sends.
	Connect(qp QP, psn uint32, r Remote) error
	// Reset makes qp as it was before Connect: one that Fail was called of, over which nothing
	// was posted, and whose completions were taken in. The library drops others.
	Reset(qp QP) error
	// Fail moves qp to its error state: what is posted completes as Flushed.
	Fail(qp QP)
	// Destroy ends qp. On return its requests touch no memory any more; they may still
	// complete.
	Destroy(qp QP)
	Post(qp QP, w *Work) error
	// Receive gives buffers of n bytes to the shared receive queue, or to the datagram queue
	// pair. It returns how many that took.
	Receive(datagram bool, n uint32, buffers []Buffer) (int, error)

	// Path finds the way to a port; Datagram sends n bytes over it, at most 256, copied.
	Path(r Remote) (Path, error)
	Free(p Path)
	Datagram(p Path, qpn, qkey uint32, b []byte) error
	// Revive makes the datagram queue pair work again after its buffers were flushed: soft-RoCE
	// fails it when there is no route. Its number stays, its buffers are gone.
	Revive() error

	// Poll takes completions.
	Poll(out []Completion) int
	// Files become readable after Arm when there is a completion, and when there is an event.
	Files() []int
	// Arm makes the next completion readable; what came before may not do that: Poll again.
	Arm() error
	// Quiet takes what Arm made readable.
	Quiet()
	// Event is the next event, or one of kind NoEvent.
	Event() Event
	Close() error
}
