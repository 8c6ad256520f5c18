// Package ibv is what this library needs of an RDMA adapter: the objects of libibverbs, and
// connections by the RDMA connection manager. transport/verbs, LAPI's link, uses the first; the
// device engine of uDAPL, core/dat/device, both. cshim/ibv has the adapters of the kernel, package
// fake some in the process, which fail as a test wants.
//
//	ibv.go     objects, what is posted, completions, events; the interface Device
//	cm.go      the interfaces CM and Windows
//	status.go  how requests end; Failure is the report of a request that has failed
//
// Operations, access, statuses and events have the numbers of <infiniband/verbs.h>.
//
// A Device belongs to one owner and is used under that owner's lock; RegMR and DeregMR may be called
// by any thread. Objects are numbers that the device gives; 0 is none.
package ibv

import "net/netip"

// Objects of a device.
type (
	PD  uintptr // protection domain: what memory and queue pairs must have in common
	MR  uintptr // memory region
	MW  uintptr // memory window: opens a part of a region to peers
	CQ  uintptr // completion queue
	SRQ uintptr // shared receive queue
	QP  uintptr // queue pair
	AH  uintptr // address handle: the way of datagrams to a port
)

// GID is the address of a port.
type GID [16]byte

// Info describes a device's port. It is constant.
type Info struct {
	Name     string
	Addr     netip.Addr // of a device that was opened by its address
	Port     uint8
	GIDIndex uint8
	GID      GID
	GUID     [8]byte
	LID      uint16 // 0 over Ethernet
	MTU      int    // bytes: 256 to 4096
	// Active says whether the port was up when it was opened.
	Active bool
	// Atomics says that the device has them.
	Atomics bool
	// Windows says that it has windows which any queue pair of their domain may use (type 1),
	// OwnWindows that it has some which only the queue pair that they are bound on may (type 2B).
	// Invalidates says that a send can free one of the latter at the peer.
	Windows, OwnWindows, Invalidates bool

	MaxMessage      uint64 // bytes of a request
	MaxInline       int    // bytes of a request that may be inline
	MaxRequests     int    // requests, or receives, of a queue pair
	MaxSegments     int    // of a request or receive
	MaxReadSegments int    // of a read
	MaxCQE          int    // completions of a queue
	MaxReadsIn      int    // reads and atomics of peers under way on one queue pair
	MaxReadsOut     int    // and of its own
	MaxReceives     int    // of a shared receive queue

	MaxQPs, MaxCQs, MaxPDs, MaxMRs, MaxSRQs int
}

// Access is what memory may be used for, beside being read by its owner.
type Access uint8

// The uses.
const (
	LocalWrite Access = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
	BindWindows // windows may be bound to it
)

// Keys are what memory is named by: in segments, and by peers.
type Keys struct{ Local, Remote uint32 }

// Region is registered memory with its keys.
type Region struct {
	MR MR
	Keys
}

// QPAttr says what a queue pair is to be.
type QPAttr struct {
	PD                               PD
	SendCQ, RecvCQ                   CQ
	SRQ                              SRQ // of its receives; 0: it has its own
	Datagrams                        bool
	MaxRequests, MaxReceives         int
	RequestSegments, ReceiveSegments int
	MaxInline                        int
	QKey                             uint32 // of Datagrams
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
	OpWrite          Op = 0
	OpWriteImmediate Op = 1
	OpSend           Op = 2
	OpRead           Op = 4
	OpCompareSwap    Op = 5
	OpFetchAdd       Op = 6
	OpBind           Op = 8 // of BindMW
	OpSendInvalidate Op = 9 // RKey is freed at the peer
)

// Work is a request. A device does not keep it.
type Work struct {
	ID        uint64 // comes back in Completion
	Op        Op
	Signaled  bool // it makes a completion also of success
	Fence     bool // it begins when all reads before it are complete
	Solicited bool
	Inline    bool // the data is taken at the call
	Segments  []Segment
	// Of what concerns the peer's memory.
	RemoteAddr uint64
	RKey       uint32
	Immediate  uint32 // in this host's order
	Operand    uint64 // to add, or to swap in
	Compare    uint64
	// Of a datagram.
	AH        AH
	QPN, QKey uint32
}

// Recv is a receive. A device does not keep it.
type Recv struct {
	ID       uint64 // comes back in Completion
	Segments []Segment
}

// Completion describes a request or receive that is over. If it has failed, ID, QPN, Status and
// VendorErr are valid.
type Completion struct {
	ID        uint64
	QPN       uint32 // of the queue pair
	Status    Status
	VendorErr uint32
	N         uint32 // of a receive: bytes that have come
	HasData   bool   // Immediate is valid
	ByWrite   bool   // the receive was taken by a write
	Immediate uint32
	// Invalidated: the send has freed the window of Key. Perhaps: that is so if Key is that of
	// a bound window; soft-RoCE says it by the wrong flag.
	Invalidated, Perhaps bool
	Key                  uint32
}

// DatagramHead is how many bytes lead a received datagram.
const DatagramHead = 40

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	NoEvent  EventKind = iota
	PortDown           // the port of the device
	PortUp
	QPFailed // of QPN
	SRQLow   // SRQ has fewer receives than LimitSRQ has set
	Fatal    // the device, or a queue of it, is of no use any more
	Other
)

// Event is an asynchronous event of a device.
type Event struct {
	Kind EventKind
	Type EventType
	QPN  uint32
	SRQ  SRQ
	CQ   CQ // that has failed, where Fatal is of one
}

// Device is a port of an RDMA adapter, opened. Errors are the kernel's.
type Device interface {
	Info() Info
	// Active says whether the port is up.
	Active() bool

	AllocPD() (PD, error)
	DeallocPD(pd PD) error
	// RegMR registers n bytes at addr, which keys then name from iova on.
	RegMR(pd PD, addr, n, iova uint64, access Access) (Region, error)
	// DeregMR fails while a window is bound to it.
	DeregMR(mr MR) error

	CreateCQ(entries int) (CQ, error)
	DestroyCQ(cq CQ) error
	// PollCQ takes completions; a negative number: the queue is broken.
	PollCQ(cq CQ, out []Completion) int

	CreateSRQ(pd PD, receives, segments int) (SRQ, error)
	ResizeSRQ(srq SRQ, receives int) error
	// LimitSRQ has the device report, once, when a message leaves fewer receives than that.
	LimitSRQ(srq SRQ, receives int) error
	DestroySRQ(srq SRQ) error

	// CreateQP makes a queue pair that takes receives. One of datagrams takes requests, too.
	CreateQP(a QPAttr) (qp QP, number uint32, err error)
	// ConnectQP makes a queue pair receive from and send to r; psn is of the first packet that it
	// sends.
	ConnectQP(qp QP, psn uint32, r Remote) error
	// ResetQP makes a queue pair of a connection as CreateQP did, after FailQP. Nothing was posted to
	// it, and its completions were taken: the library drops others.
	ResetQP(qp QP) error
	// ReviveQP makes one of datagrams as CreateQP did. Its receives are gone.
	ReviveQP(qp QP, qkey uint32) error
	// FailQP makes it complete what is posted with WRFlushErr; DestroyQP returns when the device does
	// not touch any memory for it any more. Its completions may still be polled.
	FailQP(qp QP)
	DestroyQP(qp QP)

	PostSend(qp QP, w *Work) error
	// PostRecv posts receives to a queue pair, or to a shared queue; the other is 0. It returns how
	// many were taken.
	PostRecv(qp QP, srq SRQ, list []Recv) (int, error)
	CreateAH(pd PD, gid GID, lid uint16) (AH, error)
	DestroyAH(ah AH)

	// Files become readable when there is a completion, once ArmCQ was called, or an event.
	// solicited: of completions, when one has failed, or is of what its sender has marked so.
	// Completions before ArmCQ may not do that: poll again.
	Files() []int
	ArmCQ(cq CQ, solicited bool) error
	// Quiet takes what ArmCQ has made readable, and says of which queue it was. f may be nil.
	Quiet(f func(CQ))
	// Event takes the next event, or one of kind NoEvent.
	Event() Event
	// Close closes it. Its objects were freed before.
	Close() error
}
