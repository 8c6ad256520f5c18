// Package transport defines what a medium between tasks must be able to do: the Link interface, its
// limits, its errors and the operations that travel over it. One package below it implements each
// medium: self, shm, udp, verbs. A link moves bytes; which protocol moves a LAPI message (inline,
// fragments, direct) is core's decision.
//
// # Locking
//
// A Link belongs to one owner (a LAPI context, a DAT interface adapter) and is driven under that
// owner's lock. All methods, and all callbacks the link makes, run with that lock held; so a link
// needs no lock of its own, and no link calls anything from a thread or goroutine of its own. The
// exception is memory that other processes write: see the link's package.
package transport

// Addr is an address in some task's memory. It has 64 bits on every architecture, so that 32- and
// 64-bit tasks can name each other's memory.
type Addr uint64

// Endpoint is a link's path to one peer: the number that the owner gave it in Connect (for LAPI,
// the task).
type Endpoint int32

// Status says what became of an operation that returned no error.
type Status uint8

const (
	// Done: the operation has completed; Op.Done is not called.
	Done Status = iota
	// Queued: the link holds the operation and calls Op.Done exactly once.
	Queued
)

// MsgID selects a message handler at the target.
type MsgID uint8

// MaxMsgID is the highest MsgID; 0 is the link's own.
const MaxMsgID MsgID = 31

// Verdict is a message handler's answer.
type Verdict uint8

const (
	// Accept: the handler has consumed the message; it is never offered again, whatever the
	// medium duplicates.
	Accept Verdict = iota
	// Refuse: the message was not consumed. The link offers the same message again later, as a
	// retransmission; others pass meanwhile. Until it is accepted it counts as undelivered for
	// Flush.
	Refuse
)

// Msg is a message on arrival. Hdr and Data lie in the link's memory (never on the Go heap), may be
// read and written, and are valid until the handler returns. Data starts on a multiple of 8 bytes.
type Msg struct {
	From Endpoint
	Hdr  []byte
	Data []byte
}

// MsgHandler runs inside Progress for each message with its MsgID. It may call Send, Put, Get,
// Atomic and Flush on any link, and never Progress.
type MsgHandler func(m *Msg) Verdict

// Region is a link's registration of local memory. A peer needs Key to name the memory, or
// (Limits.KeyOptional) Key only saves it a question: then Key is empty where the memory cannot be
// registered.
type Region struct {
	Addr Addr
	N    uint64
	Key  []byte
}

// KeyMax is how many bytes a region's key has at most.
const KeyMax = 40

// Access says what a peer may do with a registered region.
type Access uint8

// Access bits.
const (
	AccessRead Access = 1 << iota
	AccessWrite
	AccessAtomic
)

// AtomicKind is an operation of Link.Atomic. All of them fetch: Op.Result is the value before the
// operation.
type AtomicKind uint8

const (
	AtomicAdd  AtomicKind = iota // Result = *Remote; *Remote += Operand
	AtomicOr                     // Result = *Remote; *Remote |= Operand
	AtomicSwap                   // Result = *Remote; *Remote = Operand
	AtomicCAS                    // Result = *Remote; if Result == Compare { *Remote = Operand }
	AtomicAnd                    // Result = *Remote; *Remote &= Operand
	AtomicXor                    // Result = *Remote; *Remote ^= Operand
	AtomicMin                    // Result = *Remote; *Remote = min(Result, Operand), signed
	AtomicMax                    // Result = *Remote; *Remote = max(Result, Operand), signed
)

// AtomicSet is a set of AtomicKinds, a bit each.
type AtomicSet uint8

// Has says whether k is in s.
func (s AtomicSet) Has(k AtomicKind) bool { return s&(1<<k) != 0 }

// AllAtomics holds every AtomicKind.
const AllAtomics = AtomicSet(1<<(AtomicMax+1) - 1)

// Op is an operation under way. The caller allocates it (once; it may be reused when done) and
// fills the upper part; from a Queued return until Done runs it is the link's. Only Local may be
// pointed at a copy of the same bytes meanwhile.
type Op struct {
	Local   Addr   // memory of this process; readable (Put, Send) or writable (Get) until done
	Remote  Addr   // memory of the peer
	N       uint64 // bytes
	Key     []byte // of the peer's region, where Limits.KeySize > 0; empty: see KeyOptional
	Width   uint8  // of an atomic operation: 4 or 8 bytes
	Operand uint64 // of an atomic operation
	Compare uint64 // of AtomicCAS
	Single  bool   // of Send: by one path only, where the link has several
	Part    bool   // of Send: of a long message, whose data the link need not copy
	Route   Route  // of PutNotice and GetNotice
	Notice  Notice // likewise
	// Done runs once if the operation was Queued: when Local may be reused (Send), when the
	// data is in place (Put: at the peer, Get: here), when Result is valid (Atomic), when all
	// earlier messages were accepted (Flush). err is nil, ErrClosed, ErrUnreachable or a
	// *FaultError. Done may start new operations on any link.
	Done func(op *Op, err error)
	// Owner is the caller's, to find its own object in Done.
	Owner any

	// Result of an atomic operation: the value before it, zero-extended.
	Result uint64

	// Link is the link's own while the operation is queued.
	Link OpState
}

// OpState is where a link keeps what it must know of a queued operation, so that it allocates
// nothing.
type OpState struct {
	Next   *Op
	Ep     Endpoint
	Kind   uint8
	Offset uint64
	Mark   uint64
}

// Stats counts what went over a link; Chapter 8 of the LAPI guide names them. A packet is one
// datagram, or one message of slots, or one direct copy; data counts user bytes (headers of the
// library excluded).
type Stats struct {
	DuplicatePackets     uint64 // received again
	RetransmittedPackets uint64 // sent, or (shm, self) offered to the handler, again
	// received and dropped: late, forged, malformed or of another generation
	GhostPackets    uint64
	PacketsSent     uint64
	PacketsReceived uint64
	DataSent        uint64
	DataReceived    uint64
	AcksSent        uint64
	AcksReceived    uint64
}

// Address is what a peer needs for Connect: bytes, and file descriptors to pass along where the
// medium needs them.
type Address struct {
	Bytes []byte
	Files []int
}

// Caps are a link's abilities.
type Caps uint32

// Capability bits.
const (
	CapPut     Caps = 1 << iota // Put is native: the peer's processor takes no part
	CapGet                      // likewise Get
	CapPutEmul                  // Put, Get and Atomic work, by active messages
	// Atomic is coherent with the processor's own atomics on the word
	CapAtomicCPU
	CapAtomicLink // Atomic is atomic against other operations over this link only
	CapOrdered    // messages to one peer are offered in the order sent
)

// Limits are constant from a link's creation to Close.
type Limits struct {
	Caps               Caps
	SendMax            int       // header and data of one Send, bytes
	HeaderMax          int       // header of one Send, bytes; a header's length is a multiple of 8
	PutMax, GetMax     uint64    // bytes of one operation; 0 if absent
	PutAlign, GetAlign uint64    // of Remote, a power of two; 1 if any address will do
	Atomics            AtomicSet // what Atomic can do on 4- and 8-byte words aligned to their size
	KeySize            int       // bytes of a region's key; 0: no registration needed
	// KeyOptional: with a key a Put or Get need not ask the peer first. Without a key, or with
	// a key that is not valid any more, it does.
	KeyOptional bool
}

// Link carries messages and one-sided operations to peers over one medium. Lengths are bytes.
//
// An operation returns ErrBusy if nothing was queued for lack of room (call Progress and try
// again), ErrBadParam if it is over a limit, ErrNotSupported for an unsupported operation or a bad
// alignment, ErrUnreachable if the peer is gone. A zero-length Put, Get or Send is valid.
type Link interface {
	Limits() Limits
	// Address returns what peers pass to Connect. The files stay the link's.
	Address() Address
	// Connect makes ep usable. It takes over the files.
	Connect(ep Endpoint, a Address) error
	// Disconnect drops ep: every operation queued on it completes with err, later ones return
	// ErrUnreachable, messages from it are dropped.
	Disconnect(ep Endpoint, err error)
	// Handle sets the handler of a message kind, before the first Progress.
	Handle(id MsgID, h MsgHandler)
	// Register makes memory known to the link, apart from any transfer; Deregister when no
	// operation uses it.
	Register(a Addr, n uint64, access Access) (Region, error)
	Deregister(r Region) error
	// Send delivers hdr and the op.N bytes at op.Local to the peer's handler of id, once, in
	// any order. hdr is copied before Send returns; a Done return means that the data was too.
	Send(ep Endpoint, id MsgID, hdr []byte, op *Op) (Status, error)
	Put(ep Endpoint, op *Op) (Status, error)
	Get(ep Endpoint, op *Op) (Status, error)
	Atomic(ep Endpoint, kind AtomicKind, op *Op) (Status, error)
	// Flush is done when every Send and Put issued to ep before it is delivered: accepted by
	// the peer's handler, in its memory. It does not wait for operations issued later.
	Flush(ep Endpoint, op *Op) (Status, error)
	// Progress receives at most max messages, offers them to their handlers, sends what is due
	// and runs completions. It returns how many messages and completions there were. It is
	// never nested.
	Progress(max int) int
	Stats() *Stats
	// Close completes every queued operation with ErrClosed and releases everything.
	Close() error
}

// Waiter is the interface of a link for a thread that wants to sleep until there is something to
// do.
type Waiter interface {
	// Descriptors become readable when there may be something to do; constant after creation.
	Descriptors() []int
	// Arm tells peers that this task is about to sleep. True: there is work now, do not sleep.
	Arm() bool
	// Disarm: awake again.
	Disarm()
	// NextTimeout is when Progress must run even if nothing arrives, on the link's clock; 0 if
	// never.
	NextTimeout() int64
}

// Pusher is the interface of a link that keeps the messages of one entry, to send them together.
type Pusher interface {
	// Push sends them. The owner calls it at the end of each entry that may have sent, and
	// before it waits or runs user code that may take long. Progress pushes by itself. Calls
	// with nothing to send cost next to nothing.
	Push()
}

// Clock gives monotonic time in nanoseconds. Links never read time in any other way.
type Clock func() int64
