package device

import (
	"net/netip"

	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// Host is what a Device needs of the process that has opened it.
type Host interface {
	Now() int64 // ns
	Random() uint64
	// Count counts a message or an outcome of the connection manager.
	Count(c Counter)
	// Broken: the adapter, or a completion queue of it, is of no use any more.
	Broken()
	// Report reports a request or receive that has failed, or a queue pair, with all that the adapter
	// says of it.
	Report(text string)
	// Silent reports that nothing at an address has answered for SilenceReportedAfter.
	Silent(qualifier uint64, to netip.Addr, text string)
}

// Counter names a count of Host.Count.
type Counter int

// The counters.
const (
	Listens Counter = iota
	RequestsSent
	RequestsReceived
	RepliesSent
	RepliesReceived
	ReadySent
	RejectionsReceived // by the program there
	Refused            // nobody listens there
	TimedOut
	Errors // attempts that have failed
	NumCounters
)

// Failure is why an attempt to connect, or to accept, has failed.
type Failure int

// The failures.
const (
	FailedBroken         Failure = iota
	FailedUnreachable            // no address, route or answer
	FailedRejected               // by the program there, with private data
	FailedRefused                // otherwise, or nobody listens there
	FailedTimeout                // no answer in time
	FailedAcceptance             // of the passive side
	numFailures          = iota
	SilenceReportedAfter = int64(5e9) // ns
)

// Endpoint is the owner of a Pair and of its connection. The device calls it from inside its own
// calls; it may call the device.
type Endpoint interface {
	// Pair is the pair that it has now.
	Pair() *Pair
	// Abandoned says whether it is being freed: then it is not notified of the end.
	Abandoned() bool
	// Completed: a bind is complete.
	Completed(r *rc.Request)
	// Established: the connection is established. private is that of the peer's acceptance.
	Established(active bool, private []byte)
	// Reached: an attempt for datagrams has found the peer. False: the endpoint has no place for
	// the path, which then ends.
	Reached(c *Call, p *Path, private []byte) bool
	// Failed: an attempt is over.
	Failed(c *Call, why Failure, private []byte)
	// Ended: the connection is over.
	Ended(how rc.Ending)
}

// Decider is a request that the program has to decide on.
type Decider interface {
	// Withdrawn: the active side has given up.
	Withdrawn()
}

// Arrival is a request that has arrived at a listener.
type Arrival struct {
	Call      *Call
	Datagrams bool
	Local     netip.Addr
	Peer      netip.AddrPort
	Qualifier uint64
}

// Service takes the requests of a listener. Call.Accept or Call.Reject answers one.
type Service interface {
	Requested(a Arrival, private []byte)
}

// QueueOwner has a Queue.
type QueueOwner interface {
	// Low: a message has left fewer receives than Watch has set.
	Low()
}

// Waker is woken for all receives that have completed. Wakers are compared.
type Waker interface{ Wake() }

// WindowOwner is the owner of a window's bind.
type WindowOwner interface {
	// Invalidated: the peer has freed the window.
	Invalidated()
	// Lost: the window ends with the pair that it was bound on.
	Lost()
}

// Binding is a bind of a window, from its post until it is over.
type Binding interface {
	// Window is what it binds; nil: the bind is not the adapter's, and takes effect in its turn.
	Window() *Window
	// Request says what the window is bound to. The device fills ID, Window and Fence.
	Request() ibv.Bind
	// Posted: the adapter has it. Peers name the bound memory by key.
	Posted(key uint32)
	// Key is that of Posted. False: it is not posted, or it unbinds.
	Key() (key uint32, ok bool)
	// Apply has the bind take effect. False: it cannot.
	Apply() bool
	// Invalidated: the peer has freed the window before the bind was complete here.
	Invalidated()
}

// PairConfig is the configuration of a queue pair.
type PairConfig struct {
	Zone      *Zone // nil: the endpoint is not configured yet, and has no queue pair
	Datagrams bool
	Queue     *Queue // of its receives; nil: it has its own
	// Requests and Receives are how many there are room for: of a Queue, its receives.
	Requests, Receives               int
	RequestSegments, ReceiveSegments int
	ReadsIn, ReadsOut                int
	// Solicited is woken for receives that are solicited; nil: all are alike.
	Solicited Waker
}

// Private data that the messages of InfiniBand's connection manager have room for, behind what the
// RDMA connection manager and the original provider put in front.
const (
	PrivateConnect = 56
	PrivateAccept  = 160
	PrivateReject  = 144
)
