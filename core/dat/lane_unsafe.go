package dat

import (
	"unsafe"

	"lapi/transport"
	"lapi/transport/layout"
)

// What C needs of the library beside objects (cshim/dat/lane.h): links, connections by number, and
// whether core has something to do.

// laneLink is what C needs of a link of the node.
type laneLink interface {
	Node() *layout.NodeLink
	NodePeer(ep transport.Endpoint) (*layout.NodePeer, int)
	Busy() bool
	OrderPeers()
	AwaitCopy(ring int, word *uint32)
	Descriptors() []int // the bell alone
}

func uint64At[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// elements is a buffer as a slice.
func elements[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// publishLinks gives C the links by which it may receive.
func (ps *peers) publishLinks(n *layout.DatLane) {
	if n == nil {
		return
	}
	n.NumLinks = 0
	for _, d := range ps.links {
		if link, ok := d.link.(laneLink); ok && d.node != nil && d.node.state != parted &&
			int(n.NumLinks) < len(n.Links) {
			n.Links[n.NumLinks] = uint64At(link.Node())
			n.Bells[n.NumLinks] = int32(link.Descriptors()[0])
			n.NumLinks++
		}
	}
}

// seenTurns is in how many turns core sees to a link once that C receives by, if nothing of core's
// is there.
const seenTurns = 16

// isSeen says whether core sees to a link in this turn.
func (d *dataLink) isSeen(lane *layout.DatLane, turn uint) bool {
	if d.node == nil || lane == nil || lane.Rings != 0 || turn%seenTurns == 0 {
		return true
	}
	link, ok := d.link.(laneLink)
	return !ok || d.node.state != joined || d.node.ended || link.Busy()
}

// TellLane is the end of each entry into the library: whether the lane may leave core alone.
func (l *Library) TellLane() {
	n := l.cfg.Lane
	if n == nil {
		return
	}
	n.Adapters, n.GoWork = 0, 0
	for _, d := range l.devices {
		n.Adapters = uint64(l.cfg.Adapters.Look())
		due := d.NextTimeout() // a later time is seen at a tick of C's clock, or by the sleeper
		n.GoWork |= uint32(flag(due != 0 && due <= l.cfg.Clock()))
	}
	if l.network == nil {
		n.On = uint32(flag(len(l.devices) > 0))
		return
	}
	work := n.GoWork != 0 || l.busy || l.engine.Waiting() || len(l.conns.ended) > 0 ||
		l.machine.NextTimeout() != 0 || len(l.ud) > 0
	if w, ok := l.self.(transport.Waiter); ok {
		work = work || w.NextTimeout() != 0
	}
	for _, d := range l.peers.links {
		link, ok := d.link.(laneLink)
		work = work || d.node == nil && d.used > 0 || ok && link.Busy()
	}
	for _, o := range l.node.list {
		work = work || o.state != joined || o.ended
	}
	n.GoWork = 0
	if work {
		n.GoWork = 1
	}
}

func collect(c *counters, more []uint64) {
	for i, v := range more {
		c[i] += v
	}
	clear(more)
}
