package dat

import (
	"unsafe"

	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/layout"
)

// The library's side of C's fast lane (cshim/dat/lane.h): what both have in memory of their
// own. While the lane has a connection, rc has lent its state (rc/lend.go); whoever needs it
// recalls it.

// roomMost is how many receives of a connection the lane can have.
const roomMost = 4096

// laneLink is what the lane needs of a link of the node.
type laneLink interface {
	Node() *layout.NodeLink
	NodePeer(ep transport.Endpoint) (*layout.NodePeer, int)
	Busy() bool
	OrderPeers()
	AwaitCopy(ring int, word *uint32)
	Descriptors() []int // the bell alone
}

// end is an endpoint's connection as the lane sees it.
type end struct {
	*layout.DatEnd
	memory, requests, receives []byte
	// Calls of Idle since the state came back, less what must be: to hand over many receives,
	// again and again, would cost more than the lane saves.
	idle int
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

// openLane readies the lane, for the first adapter.
func (l *Library) openLane() {
	if l.cfg.Lane == nil {
		return
	}
	l.engine.Idle = l.idle
	l.openTable()
	l.cfg.Lane.On, l.cfg.Lane.GoWork = 1, 1
}

// closeLane ends it, after the last one.
func (l *Library) closeLane() {
	if n := l.cfg.Lane; n != nil {
		n.On, n.NumLinks, n.NumEnds, n.Ends, n.Unsent, n.Stuck = 0, 0, 0, 0, 0, 0
		n.Adapters = 0
		l.rings.put(l.ends)
		l.ends = nil
		l.closeTable()
	}
}

// tellLinks tells the lane by which links it may receive.
func (l *Library) tellLinks() {
	n := l.cfg.Lane
	if n == nil {
		return
	}
	n.NumLinks = 0
	for _, d := range l.peers.links {
		if link, ok := d.link.(laneLink); ok && d.node != nil && d.node.state != parted &&
			int(n.NumLinks) < len(n.Links) {
			n.Links[n.NumLinks] = uint64At(link.Node())
			n.Bells[n.NumLinks] = int32(link.Descriptors()[0])
			n.NumLinks++
		}
	}
}

// batch is how many messages core takes from a link in this turn; ok is false if it leaves the link
// alone. What the lane has not said is core's is the lane's: to take it would recall a connection.
func (l *Library) batch(d *dataLink) (most int, ok bool) {
	if d.node == nil || l.cfg.Lane == nil || l.cfg.Lane.Leave == layout.DatLeaveNothing {
		return progressBatch, true
	}
	link, ok := d.link.(laneLink)
	switch {
	case !ok || d.node.state != joined || d.node.ended || link.Busy():
		return progressBatch, true
	case l.cfg.Lane.Leave == layout.DatLeaveLinks:
		return 0, false
	}
	return 0, true
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
		n.GoWork |= uint32(flag(n.Adapters == 0 || d.NextTimeout() != 0))
	}
	if l.network == nil { // the lane knows nothing of RDMA adapters
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

// hearLane takes connections back with which the lane cannot go on.
func (l *Library) hearLane() {
	if l.cfg.Lane == nil || l.cfg.Lane.Stuck == 0 {
		return
	}
	l.cfg.Lane.Stuck = 0
	for _, o := range l.ias {
		for _, o := range o.objects {
			if e, ok := o.(*EP); ok && e.end != nil && e.end.Stuck != 0 {
				e.conn.Recall()
			}
		}
	}
}

// idle gives the lane a connection that has done all it could, if the lane can do something with
// it.
func (l *Library) idle(c *rc.Conn) {
	e, ok := c.Owner.(*EP)
	if !ok || e.State != Connected || e.conn != c || e.ud != nil || e.SRQ != nil ||
		e.peer == nil || e.end == nil && !e.openEnd() {
		return
	}
	n := e.end
	if n.idle++; n.idle < e.receives || e.receives > int(n.Config.Room) {
		return
	}
	s, ok := c.Lend(fitsLane, func() { c.Return(e.takeBack()) })
	if !ok {
		return
	}
	ring := elements[layout.DatReceive](n.receives)
	for i, r := range s.Receives {
		ring[(s.Base+uint32(i))%n.Config.Room] = laneReceive(r)
	}
	n.Tx = layout.DatTx{Oldest: s.Oldest, Done: s.Oldest, Numbers: s.Numbers}
	n.Rx = layout.DatRx{Expected: s.Expected, State: layout.DatComingNothing, Base: s.Base,
		Received: uint32(len(s.Receives))}
	n.Stuck, n.On = 0, 1
	e.listen(true)
	e.requests, e.receives = 0, 0
}

// fitsLane: the lane has receives of one segment at most.
func fitsLane(r *rc.Receive) bool { return len(r.Owner.(*posted).triplets) <= 1 }

func laneReceive(r *rc.Receive) (d layout.DatReceive) {
	p := r.Owner.(*posted)
	d.Cookie, d.Completion = p.cookie, uint32(p.flags)
	if len(p.triplets) > 0 {
		d.Addr, d.N, d.Context = p.triplets[0].Addr, p.triplets[0].N, p.triplets[0].Context
	}
	return d
}

// openEnd makes the lane's view of the endpoint's connection; false: the lane does not reach its
// peer, or there is no memory.
func (e *EP) openEnd() bool {
	l := e.ia.library
	link, at := e.conn.Peer()
	node, ok := link.(laneLink)
	if !ok || l.contexts.shared == nil {
		return false
	}
	room := powerOfTwo(uint32(max(1, min(e.Attr.MaxRecv, roomMost))))
	n := &end{memory: l.rings.get(int(unsafe.Sizeof(layout.DatEnd{}))),
		requests: l.rings.get(layout.DatWindow * int(unsafe.Sizeof(layout.DatRequest{}))),
		receives: l.rings.get(int(room) * int(unsafe.Sizeof(layout.DatReceive{})))}
	index, tag := e.conn.Name()
	if n.memory == nil || n.requests == nil || n.receives == nil || !l.growEnds(index) {
		n.release(&l.rings)
		return false
	}
	n.DatEnd = (*layout.DatEnd)(unsafe.Pointer(unsafe.SliceData(n.memory)))
	peer, _ := node.NodePeer(at)
	n.Config = layout.DatConfig{Link: uint64At(node.Node()), Peer: uint64At(peer),
		Ep: uint64(e.handle), Pz: uint64(e.PZ.handle),
		Recv: uint64(handleOf(e.Recv)), Request: uint64(handleOf(e.Request)),
		Table:    e.peer.data.node.table.address(),
		Requests: addressOf(n.requests), Receives: addressOf(n.receives), Room: room,
		MaxRequests: uint32(e.Attr.MaxRequest), MaxReceives: uint32(e.Attr.MaxRecv),
		MaxWrites: uint32(e.iovMax(rc.Write)), MaxReads: uint32(e.iovMax(rc.Read)),
		Solicited: uint32(flag(e.Attr.RecvFlags&Solicited != 0)),
		Index:     index, Tag: tag, Reads: uint32(e.conn.Reads())}
	n.Config.PeerIndex, n.Config.PeerTag = e.conn.PeerName()
	n.Config.Own, n.Config.Peers = e.words()
	// The lane posts one segment: an endpoint that takes none is core's, which says so.
	if e.Request == nil || e.Attr.MaxRequestIOV == 0 {
		n.Config.MaxRequests = 0
	}
	if e.Recv == nil || e.Attr.MaxRecvIOV == 0 {
		n.Config.MaxReceives = 0
	}
	e.end = n
	e.slot.Lane = addressOf(n.memory)
	elements[uint64](l.ends)[index] = e.slot.Lane
	return true
}

// growEnds makes room for the number of a connection in what the lane knows.
func (l *Library) growEnds(index uint32) bool {
	if index < l.cfg.Lane.NumEnds {
		return true
	}
	n := max(64, powerOfTwo(index+1))
	b := l.rings.get(int(n) * 8)
	if b == nil {
		return false
	}
	copy(b, l.ends)
	l.rings.put(l.ends)
	l.ends = b
	l.cfg.Lane.Ends, l.cfg.Lane.NumEnds = addressOf(b), n
	return true
}

func (n *end) release(r *rings) {
	r.put(n.memory)
	r.put(n.requests)
	r.put(n.receives)
}

// closeEnd ends the lane's view, when the connection is over.
func (e *EP) closeEnd() {
	e.revoke()
	n := e.end
	if n == nil {
		return
	}
	e.hearCounters()
	l := e.ia.library
	elements[uint64](l.ends)[n.Config.Index] = 0
	e.slot.Lane = 0
	e.end = nil
	n.release(&l.rings)
}

// hearCounters takes in what the lane has counted.
func (e *EP) hearCounters() {
	if e.end != nil {
		hear(&e.counters, e.end.Counters[:])
	}
}

func hear(c *counters, more []uint64) {
	for i, v := range more {
		c[i] += v
	}
	clear(more)
}

// takeBack is the state that the lane has, which is core's again.
func (e *EP) takeBack() rc.State {
	n := e.end
	e.listen(false)
	n.On, n.idle = 0, -4*int(n.Rx.Received)
	s := rc.State{Oldest: n.Tx.Oldest, Numbers: n.Tx.Numbers, Whole: int(n.Tx.Sent),
		Expected: n.Rx.Expected, Base: n.Rx.Base, Got: n.Rx.Got,
		ComingAs: rc.Coming(n.Rx.State), Untold: n.Rx.Tell != 0, Done: e.lastDone()}
	if s.ComingAs != rc.Nothing {
		s.Coming = append(s.Coming, unsafe.Slice((*byte)(unsafe.Pointer(&n.Rx.Coming)),
			unsafe.Sizeof(n.Rx.Coming))...)
	}
	receives := elements[layout.DatReceive](n.receives)
	for i := range n.Rx.Received {
		s.Receives = append(s.Receives, e.receiveOf(&receives[(n.Rx.Base+i)%n.Config.Room]))
	}
	requests := elements[layout.DatRequest](n.requests)
	for i := range n.Tx.Posted {
		r := &requests[(n.Tx.Oldest+i)%layout.DatWindow]
		s.Requests, s.Takes = append(s.Requests, e.requestOf(r)), append(s.Takes, r.Number)
		s.Answers = append(s.Answers, r.Got)
		if i == n.Tx.Sent {
			s.Part = r.Sent
		}
	}
	e.requests, e.receives = len(s.Requests), len(s.Receives)
	return s
}

// receiveOf is a receive of the lane's as core has it. Memory that is no longer what it was is
// found to be so when data comes.
func (e *EP) receiveOf(d *layout.DatReceive) *rc.Receive {
	p := &posted{cookie: d.Cookie, flags: CompletionFlags(d.Completion), pz: e.PZ,
		need: LocalWrite, epoch: e.ia.freed}
	if d.N == 0 {
		return &rc.Receive{Owner: p}
	}
	p.triplets = []Triplet{{Addr: d.Addr, N: d.N, Context: d.Context}}
	segments, ok := e.ia.local(p)
	if !ok {
		segments, p.epoch = []rc.Segment{{Addr: transport.Addr(d.Addr), N: d.N}}, ^uint64(0)
	}
	return &rc.Receive{Segments: segments, Owner: p}
}

// requestOf is a request of the lane's as core has it.
func (e *EP) requestOf(d *layout.DatRequest) *rc.Request {
	flags := CompletionFlags(d.Completion)
	p := &posted{cookie: d.Cookie, flags: flags, operation: operations[d.Op], pz: e.PZ,
		need: needs[d.Op], epoch: e.ia.freed}
	r := &rc.Request{Op: rc.Op(d.Op), Immediate: d.Flags&laneImmediate != 0, Data: d.Data,
		Solicited: flags&Solicited != 0, Fence: flags&Fence != 0, Addr: d.Addr,
		Context: d.Context, Operand: d.Operand, Compare: d.Compare, Owner: p}
	if r.Immediate {
		p.operation = dtoWriteImmed
	}
	if d.N > 0 {
		p.triplets = []Triplet{{Addr: d.From, N: d.N, Context: d.Local}}
		r.Segments = []rc.Segment{{Addr: transport.Addr(d.At), N: d.N}}
	}
	return r
}

// laneImmediate is DAT_FLAG_IMMEDIATE of cshim/dat/rc/private.h: rc's flag.
const laneImmediate = 1
