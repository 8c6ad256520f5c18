// Package peer is one task of the job as the parts of LAPI see it: which link reaches it, what a
// message to it holds, whether it is there.
package peer

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// Poller is a link that knows whether a peer polls, and the best size of the parts of messages.
type Poller interface {
	Polls(ep transport.Endpoint) bool
	PartSize(n uint64) int
}

// Peer is one task. There may be very many that this task never talks to, so it is small: what is
// the same for all tasks of a link is in Reach.
type Peer struct {
	*Reach // nil only while LAPI_Init runs
	ID     int
	Ep     transport.Endpoint
	epoch  uint32 // its generation: how often all that was under way with it was given up
	IsSelf bool
	// the link copies straight between the two tasks' memory; it may turn out not to
	SingleCopy bool

	dead   bool
	purged bool // by LAPI_Purge_totask; then it is dead as well
	left   bool // by LAPI_Term, as the job session reports
	own    bool // Reach is this peer's alone
}

// Reach is a link and what its limits mean for messages to a task. The tasks that a link reaches
// share one, but those for which CutFor was called.
type Reach struct {
	Link transport.Link
	// Noticing is Link, if it makes puts and gets by itself; else nil. Which, Transfers says.
	Noticing transport.Noticing
	Mover    transport.Mover // Link, if it moves data between lists; else nil
	Shared   bool            // by shared memory

	packet  int // header and data of the longest message that is one packet of the link's
	sendMax int // data bytes of the largest fragment, whatever its header
	headers int // the link's HeaderMax
	atOnce  int // bytes of data up to which a Send that finds room copies them
	poller  Poller
	bulkMin uint64 // of Transfers; 0: all
}

// adapterLink is a link over an adapter: it makes long transfers by itself, and is best given short
// ones as messages.
type adapterLink interface{ BulkMin() uint64 }

// NewReach is the tasks that l reaches: by shared memory or not. copyMax is up to how many bytes of
// data l copies if it must keep them.
func NewReach(l transport.Link, shared bool, copyMax int) *Reach {
	r := &Reach{Link: l, Shared: shared}
	lim := l.Limits()
	r.cutFor(lim.SendMax)
	r.headers = lim.HeaderMax
	r.poller, _ = l.(Poller)
	r.Noticing, _ = l.(transport.Noticing)
	r.Mover, _ = l.(transport.Mover)
	if a, ok := l.(adapterLink); ok {
		r.bulkMin = a.BulkMin()
	}
	r.atOnce = min(copyMax, r.sendMax)
	return r
}

func (r *Reach) cutFor(sendMax int) {
	r.packet = sendMax
	r.sendMax = (sendMax - wire.PutFragmentSize) &^ 7
}

// CutFor says how long messages to p are to be: sendMax bytes of header and data. Messages that are
// cut already go as they are.
func (p *Peer) CutFor(sendMax int) {
	if !p.own {
		r := *p.Reach
		p.Reach, p.own = &r, true
	}
	p.cutFor(sendMax)
}

// SendMax is the data of the largest fragment, whatever its header, bytes.
func (r *Reach) SendMax() uint64 { return uint64(r.sendMax) }

// Headers is the longest header, bytes.
func (r *Reach) Headers() int { return r.headers }

// AtOnce is up to how many bytes of data a Send that finds room copies.
func (r *Reach) AtOnce() uint64 { return uint64(r.atOnce) }

// Room is how much data goes in one message with a header of that length.
func (r *Reach) Room(header int) uint64 { return uint64(max(r.packet-header, 0)) }

// GatherRoom is how much data the next fragment may hold, with any header, if it is gathered.
func (p *Peer) GatherRoom() uint64 {
	most := p.sendMax - (wire.VectorSize - wire.PutFragmentSize)
	if by, ok := p.Link.(transport.Gathering); ok {
		most = max(most, by.GatherMax(p.Ep))
	}
	return uint64(most)
}

// OverAdapter says whether the link is one over an adapter.
func (r *Reach) OverAdapter() bool { return r.bulkMin != 0 }

// Transfers says whether the link makes a put or get of n bytes by itself; else it goes in messages
// of LAPI's.
func (r *Reach) Transfers(n uint64, route transport.Route) bool {
	switch {
	case r.Noticing == nil:
		return false
	case r.bulkMin == 0:
		return true
	case route == transport.RouteAny:
		return n >= r.bulkMin
	}
	return route == transport.RouteSingleCopy && n > 0
}

// Pipelines says whether large data is best sent to p, or asked for, in messages. A target that
// polls gets it so: both ends copy at once, several times as fast as one process that copies
// between two by a system call. A target that computes or sleeps is not waited for: its memory is
// accessed directly, where the kernel permits that.
func (p *Peer) Pipelines() bool { return p.poller != nil && p.poller.Polls(p.Ep) }

// PartSize is the size of the parts in which n bytes go.
func (r *Reach) PartSize(n uint64) uint64 {
	if r.poller == nil {
		return uint64(r.sendMax)
	}
	return uint64(r.poller.PartSize(n))
}

// Dead says whether operations on p fail.
func (p *Peer) Dead() bool { return p.dead }

// Purged says whether operations on p fail because of LAPI_Purge_totask.
func (p *Peer) Purged() bool { return p.purged }

// HasLeft says whether p has left, as the job session reports, and no message of it is still to
// come.
func (p *Peer) HasLeft() bool { return p.left }

// SetLeft sets that; false: another process has taken p's place.
func (p *Peer) SetLeft(left bool) { p.left = left }

// Epoch is p's generation: it changes whenever all that was under way with p is given up.
func (p *Peer) Epoch() uint32 { return p.epoch }

// Purge notes why p is about to be given up, or was.
func (p *Peer) Purge() { p.purged = true }

// GiveUp: operations on p fail from now on.
func (p *Peer) GiveUp() {
	p.dead = true
	p.epoch++
}

// Resume: operations on p may begin anew.
func (p *Peer) Resume() { p.dead, p.purged = false, false }

// Gone is the code for operations on p: Success if it is there.
func (p *Peer) Gone() codes.Code {
	switch {
	case !p.dead:
		return codes.Success
	case p.purged:
		return codes.ErrTgtPurged
	}
	return codes.ErrNoConnectivity
}

// Malformed counts a message that no task of this version sends.
func (p *Peer) Malformed() transport.Verdict {
	p.Link.Stats().GhostPackets++
	return transport.Accept
}

// CountReceived counts n bytes that p has written into this task's memory, in that number of
// copies. (A link's own counts are those of the task that copies, and within one task those of both
// sides.)
func (p *Peer) CountReceived(n, copies uint64) {
	if s := p.Link.Stats(); !p.IsSelf {
		s.PacketsReceived += copies
		s.DataReceived += n
	}
}

// CountSent counts n bytes that p has read from this task's memory.
func (p *Peer) CountSent(n, copies uint64) {
	if s := p.Link.Stats(); !p.IsSelf {
		s.PacketsSent += copies
		s.DataSent += n
	}
}
