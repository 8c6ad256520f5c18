package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/counter"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/fence"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/receive"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/token"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/emul"
	"lapi/transport/layout"
)

// Limits of the library that LAPI_Qenv reports and the calls enforce; wire has those of messages.
const (
	MaxContexts    = 16               // MAX_PORTS
	MaxTasks       = 16384            // guide, Appendix F
	MaxAtomSize    = dgsm.MaxAtomSize // MAX_ATOM_SIZE, bytes
	minTimeout     = 10               // MIN_TIMEOUT, seconds
	maxTimeout     = 86400            // MAX_TIMEOUT, seconds
	defaultTimeout = 900              // TIMEOUT, seconds
)

// Bits of layout.Context.MsgState: what LAPI_Msgpoll reports.
const (
	sendComplete = 1 // LAPI_SEND_COMPLETE
	recvComplete = 2 // LAPI_RECV_COMPLETE
)

// Host calls the user's functions.
type Host = host.Host

// HeaderCall and HeaderResult are a header handler's arguments and results.
type (
	HeaderCall   = host.HeaderCall
	HeaderResult = host.HeaderResult
)

// Context is one LAPI instance: what a lapi_handle_t stands for. It is the API, the owner of the
// lock, and puts the parts together; each part owns its state.
type Context struct {
	shared   *layout.Context
	wake     progress.Block
	host     Host
	cfg      *job.Config
	clock    transport.Clock
	instance int
	me       int

	net     *wireup.Net
	links   progress.Links
	peers   []peer.Peer
	emuls   []*emul.Emulator
	atomics []*emul.Emulator // by task: of its link; nil where the link's atomics are native

	faults      *faults.Reporter
	due         handlers.Due
	counters    *counter.Counters
	placements  placed.Pool
	out         *send.Sender
	copier      *singlecopy.Copier
	in          *receive.Receiver
	parts       *receive.Tally
	tickets     *fence.Tickets
	fences      *fence.Fences
	collectives *fence.Collectives
	rooms       []room
	answers     token.Table[answerOp, *answerOp] // gets and read-modify-writes under way
	offers      token.Table[offer, *offer]       // data that targets are still to fetch
	moves       token.Table[vectorMove, *vectorMove]
	reads       readNews
	rejoins     rejoins
	ends        []unsettled // of tasks, without LAPI_Term

	lane     *lane    // nil: none
	barrier  *barrier // nil: LAPI_Gfence is all ours
	outboxes outboxes

	attributes attributes
	groups     map[uint32][]uint32 // by name: the tasks of each
	packer     dgsm.Machine        // for LAPI_DGSP_PACK and UNPACK
	term       *leaving
	leaves     bool // LAPI_Term waits for nothing any more
	pace       pace
	trace      *tracer // nil: off

	scattered vector.Vector          // of a vector's fragment that is being placed
	onePart   receive.Parts          // of a put that comes in one
	loaded    vector.Vector          // of an active message that is being made
	uhdr      [wire.MaxUhdrSize]byte // of a multicast, while its messages are made
	asked     *askedPart             // pool
	header    [24]byte               // of a put that is sent at once
}

// target checks a task id that names the target of an operation of that kind.
func (c *Context) target(id uint32, kind codes.ErrType) (*peer.Peer, codes.Code) {
	if id >= uint32(len(c.peers)) {
		return nil, codes.ErrTgt
	}
	p := &c.peers[id]
	if !p.Dead() && c.hasLeft(p) {
		c.leftBefore(p, kind)
	}
	return p, p.Gone()
}

// completed notes for LAPI_Msgpoll that a message of the user's was sent or received.
func (c *Context) completed(state uint32) { c.shared.MsgState |= state }
