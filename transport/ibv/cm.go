package ibv

import "net/netip"

// Bind is a request that binds a window: from then on its key names N bytes at Addr of MR, and no
// other key does. One of type 2 must be free. N is 0: it names nothing, of one of type 1.
type Bind struct {
	ID      uint64
	MW      MW
	MR      MR
	Addr, N uint64
	Access  Access // of peers alone: adapters refuse another
	Zero    bool   // peers name its first byte by 0; only of type 2
	Fence   bool
}

// Windows are the memory windows of a device.
type Windows interface {
	// AllocMW makes a free window; own: of type 2, of the queue pair that it will be bound on, which
	// must be destroyed after it.
	AllocMW(pd PD, own bool) (MW, error)
	DeallocMW(w MW) error
	// BindMW posts a bind, and returns the key that the window then has.
	BindMW(qp QP, b *Bind) (key uint32, err error)
}

// ID is a connection of the RDMA connection manager, an attempt at one, or a listener.
type ID uintptr

// Terms are what a connection is asked for, or accepted, with.
type Terms struct {
	QPN               uint32
	ReadsIn, ReadsOut uint8 // reads and atomics under way: the peer's, and the own ones
	Shared            bool  // receives are of a shared queue
	Private           []byte
}

// CMEventKind says what has happened to an ID.
type CMEventKind uint8

// The kinds.
const (
	NoCMEvent    CMEventKind = iota
	AddressFound             // FindAddress has succeeded
	NotFound                 // FindAddress or FindRoute has not; Status is a negative errno
	RouteFound
	Requested    // at Listener; ID is new, and the owner's
	Responded    // the peer has accepted: Ready and Establish make the connection
	Established  // accepted by this side, and the peer knows; of datagrams: accepted by the peer
	Rejected     // Status is the reason
	Unreachable  // no answer
	Failed       // it has not come about
	Disconnected // by the peer, or the peer knows of this side's
	Removed      // the adapter is gone
)

// Reasons of Rejected, as InfiniBand numbers them.
const (
	ReasonNobody   = 8  // nobody listens
	ReasonConsumer = 28 // the program there
)

// CMEvent is what has happened to an ID.
type CMEvent struct {
	Kind              CMEventKind
	ID, Listener      ID
	Status            int
	Local, Peer       netip.AddrPort
	ReadsIn, ReadsOut uint8 // of Requested: as seen from this side
	Private           []byte
	// Of Established, for datagrams: the peer's queue pair, and where it is.
	QPN, QKey uint32
	GID       GID
	LID       uint16
}

// CM is the RDMA connection manager at the address of a device.
type CM interface {
	NewID(datagrams bool) (ID, error)
	// FreeID ends whatever there is of it: the peer of an attempt is notified.
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
	// CMEvent takes the next event, or one of kind NoCMEvent. Private is valid until the next call.
	// Device.Files have the descriptor that becomes readable.
	CMEvent() CMEvent
}

// Adapter is an adapter with all of these.
type Adapter interface {
	Device
	Windows
	CM
}
