// Package bulk is puts and gets of a link over RDMA verbs: by copies in packets, or by RDMA between
// the users' buffers. It knows keys, grants and requests; packets and queue pairs are the link's,
// which it asks for through Task and Queue. It has no clock.
//
//	bulk.go    what it is made of, and what it asks of the link
//	call.go    puts and gets of this task
//	rdma.go    pieces: RDMA requests
//	list.go    the same between lists of ranges
//	grant.go   keys that peers have asked for
//	region.go  keys that the owner gives to peers, and puts and gets by such
//	answer.go  what peers ask for, and the answers
//	notice.go  puts and gets whose target's owner is notified
//	memory.go  the registration of user memory
package bulk

import (
	"errors"
	"slices"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// Sizes, in bytes.
const (
	// pieceMax is the longest RDMA request. After a failure a whole one is done again.
	pieceMax = 1 << 20
	// pieceMin is the shortest piece of a transfer that is cut so that all lanes have some, and
	// LanesMin is the length from which it is worth the keys of several ports.
	pieceMin = 64 << 10
	LanesMin = 4 * pieceMin
	// OneSidedMax is the longest put or get.
	OneSidedMax = 1 << 40
)

// Of each peer.
const (
	// PiecesMax is how many RDMA requests are under way on one queue pair, and of one put or get.
	// piecesOfCall is how many a put or get has for each queue pair that it goes over.
	PiecesMax    = 16
	piecesOfCall = 4
	// CallsMax is how many puts and gets may be under way. As many keys a peer may ask for.
	CallsMax = 64
	// askedMax is how much of a copied get is asked for at a time, in packets.
	askedMax = 8
	// owedMax bounds the answers that wait for room.
	owedMax = CallsMax * (askedMax + 3)
)

// Task is a peer as the link serves it.
type Task interface {
	Endpoint() transport.Endpoint
	Gone() bool // nothing goes to it any more
	// Control sends a packet with n bytes of data. ErrBusy: there is no room; then Pump is called
	// when there may be some. A *FaultError is of the data.
	Control(k wire.Kind, c *wire.Control, data transport.Addr, n uint64) error
	Attend() // has the next turn call Pump
	Starve() // has a turn call Pump when another peer has given something back
	Ended()  // a put or get is over
	// Packets is the queue pair of the packets, LaneAt another; nil: it is not there.
	Packets() *Lane
	LaneAt(i int) *Lane
	Lanes() int // how many there may be
	Spread()    // begins those that are not there
	Contact()   // has the queue pair of the packets be made, if it is not there
	// To is where the peer is.
	To() *wire.Address
	// Ports has a bit for each of the peer's ports that a transfer over one way, or over all lanes,
	// goes to now.
	Ports(lanes bool) uint32
}

// Queue is a queue pair that RDMA may go over.
type Queue interface {
	Port() (own, peer int) // the ports that it joins; own is negative over a carrier, without RDMA
	Works() bool
	Post(w *ibv.Work) error // the upper byte of its ID is the link's
	Fail(refused bool)      // a request has failed, or was refused
	Succeed()               // a request has been done
}

// Lane is a queue pair with the RDMA requests that are under way over it.
type Lane struct {
	Queue
	moving int
}

// Config has the settings and parts of a Set.
type Config struct {
	Min           uint64 // from how many bytes on puts and gets are RDMA
	KeyMax        uint64 // bytes of one key, and so the most registered at a time
	Registrations registration.Config
	Stats         *transport.Stats
	Fed           func() // an RDMA request has ended: peers that have starved may go on
}

// Set is the puts and gets of a link, with the keys that its peers have.
type Set struct {
	cfg       Config
	memory    [wire.PortsMax]*keeper // by port
	calls     []*call
	free      []*call
	grants    []grant
	freeGrant []uint32
	ending    []ending
	regions   map[regionID]*region
	inRegions uint64 // bytes of regions
	moving    int    // RDMA requests under way
	limit     int
	noticed   transport.NoticeHandler
	faulted   transport.FaultHandler

	request   ibv.Work // of Queue.Post
	segment   [segmentsMax]ibv.Segment
	segments  int // that a request may have
	freeLists []*list
	ranges    [wire.ListMax]byte // of a list of ranges or keys that is sent
	asked     []transport.Range  // of a Want or Wants
}

// New makes a Set without ports.
func New(c Config) *Set {
	return &Set{cfg: c, segments: segmentsMax, regions: map[regionID]*region{}}
}

// Handle sets the handlers of notices and of bad addresses.
func (s *Set) Handle(n transport.NoticeHandler, f transport.FaultHandler) {
	s.noticed, s.faulted = n, f
}

// Limit sets how many RDMA requests may be under way.
func (s *Set) Limit(n int) { s.limit = n }

func (s *Set) Moving() int { return s.moving }                   // how many RDMA requests are under way
func (s *Set) Busy() bool  { return len(s.calls) > len(s.free) } // whether a put or get is under way

// Peer is the state of one peer's transfers.
type Peer struct {
	set     *Set
	task    Task
	calls   []*call // in the order of their beginning
	issued  uint64  // how many there were
	granted int     // keys that the peer has
	regions int     // by them
	owed    []reply // answers that there was no room for
	first   int     // of owed, the first that is still there
	faulty  map[uint64]bool
	stale   map[wire.Keys]bool // keys of its regions that are not tried
}

// Init makes p ready for task.
func (p *Peer) Init(s *Set, task Task) { *p = Peer{set: s, task: task} }

func (p *Peer) Calls() int     { return len(p.calls) } // how many puts and gets are under way
func (p *Peer) Issued() uint64 { return p.issued }     // how many puts and gets there were

// Behind says whether the first n puts and gets are over.
func (p *Peer) Behind(n uint64) bool { return len(p.calls) == 0 || p.calls[0].issue >= n }

// End ends all with err: nothing touches the memory of operations any more.
func (p *Peer) End(err error) {
	s := p.set
	for i := range s.grants {
		if s.grants[i].peer == p {
			s.release(uint32(i), ^uint32(0)) // its requests are not waited for
		}
	}
	p.granted = 0
	s.ending = slices.DeleteFunc(s.ending, func(e ending) bool { return e.peer == p })
	p.owed, p.first = nil, 0
	calls := p.calls
	p.calls = nil
	for _, c := range calls {
		c.end(err)
	}
}

// errOver: the put or get is over.
var errOver = errors.New("over")

// Pump lets p's puts and gets go on.
func (p *Peer) Pump() {
	p.finishEnded()
	for i := 0; i < len(p.calls); {
		c := p.calls[i]
		err := c.advance()
		switch {
		case err == transport.ErrBusy:
			return
		case err == errOver:
			c.end(nil)
		case err != nil:
			c.end(err) // takes it out of the list, and more if Done says so
		default:
			i++
		}
	}
}
