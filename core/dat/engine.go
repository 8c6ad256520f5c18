package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// Limits are the limits of an adapter, as queries return them.
type Limits struct {
	EPs, EVDs, PZs, SRQs, LMRs int32
	DTOs, SRQDTOs              int32 // of an endpoint, of an SRQ
	IOV, ReadIOV               int32 // segments of a request, of a read
	ReadsIn, ReadsOut          int32 // under way on one endpoint
	Message                    uint32
	Datagram                   int
	// PrivateConnect, PrivateAccept and PrivateReject are bytes of private data.
	PrivateConnect, PrivateAccept, PrivateReject int
	RMRsForEP                                    bool // RMRs may be an endpoint's own
	Invalidates, Atomics                         bool // there are such operations
	// Fixed are the fields of an endpoint that cannot change while receives are posted.
	Fixed uint64
}

// engine is what an adapter does by its own means, below handles, states, events and the checks of
// arguments, which are the same for all. links is that of processes that are connected by links;
// deviceEngine that of an RDMA adapter.
type engine interface {
	openZone(p *PZ) codes.Return
	// register gives a region its contexts; deregister takes them away: no peer accesses it after
	// that. find is what a context of local memory names: an LMR, or by RMR what one is bound to.
	register(r *region) codes.Return
	deregister(r *region)
	find(context uint32, byRMR bool) *region
	// openRMR gives an RMR its window. promise prepares a bind: its region gets contexts, or it is
	// found which window it binds. grant has the region take effect. One without a window may be
	// used from promise on where there is an adapter, which knows nothing in between.
	openRMR(m *RMR) codes.Return
	promise(b *binding) codes.Return
	grant(r *region)
	// openWay makes a way for an endpoint's data, which takes receives at once.
	openWay(e *EP) codes.Return
	// openQueue gives an SRQ its queue.
	openQueue(s *SRQ) codes.Return
	// listen makes requests for a qualifier come to a service point.
	listen(qualifier uint64, sp servicePoint) (listening, codes.Return)
	// connect begins a connection for an endpoint.
	connect(e *EP, to netip.Addr, qualifier uint64, timeout int64,
		private []byte) (arrival, codes.Return)
	identity() identity
	close()
}

// identity is what an adapter's port is.
type identity struct {
	guid    [8]byte
	gid     [16]byte
	port    uint8
	active  bool
	atomics bool
}

// receiveQueue is what an engine has of an SRQ beside C.
type receiveQueue interface {
	address() uint64 // of what C has of it, if an adapter has the receives; else 0
	post(triplets []Triplet, cookie uint64) codes.Return
	// counts are the receives that no message has taken yet, as far as that is known, and those that
	// messages have taken and that are not complete, or Unknown.
	counts() (waiting, taken int)
	resize(max int32) codes.Return
	// watch has an adapter report when fewer receives are left. Links look at each message.
	watch(low int32)
	close()
}

// way is how an endpoint's data goes: a connection of C's or of rc over links, or a queue pair.
type way interface {
	// Post adds a request, which completes by EP.completed. False: the connection is over. Of an
	// RDMA adapter binds alone are posted so.
	Post(r *rc.Request) bool
	// Opened says whether it was connected.
	Opened() bool
	// Disconnect ends a connection, gracefully when all posts are complete. EP.ended reports
	// that.
	Disconnect(graceful bool)
	// Discard ends a way that was never connected. Receives are flushed.
	Discard()
	// change makes it what another configuration of the endpoint, to, asks for.
	change(e, to *EP) codes.Return
	// meet prepares it for the peer whose request is about to be accepted.
	meet(a attempt) codes.Return
	// postDatagram sends d to the queue pair qpn of ah's process. The memory is given by triplets,
	// and by segments.
	postDatagram(d *datagram, ah *AH, qpn uint32, triplets []Triplet,
		segments []rc.Segment) codes.Return
}

// receiving is a way to which core posts receives.
type receiving interface{ PostReceive(r *rc.Receive) }

// attempt is a connection that is being made, until it is over: of cm, or of the RDMA connection
// manager.
type attempt interface {
	Accept(now int64, private []byte) error
	Reject(now int64, private []byte) error
	// Close ends it; the peer of an attempt is notified.
	Close(now int64)
	// Confirm repeats to the peer, if that may be needed, that the connection is established.
	Confirm()
	Number() uint64
	// Own says whose it is: an endpoint's, a request's, or nil.
	Own(owner cm.Owner)
}

// listening is a qualifier that a service point has opened.
type listening interface {
	unlisten()
	// openMeeting has members of groups connect there, too.
	openMeeting()
}

// arrival is an attempt and its two ends.
type arrival struct {
	attempt   attempt
	service   uint8
	local     netip.Addr
	peer      netip.AddrPort
	qualifier uint64
}
