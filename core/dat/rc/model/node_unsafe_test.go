package model

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/core/dat/rc"
	"lapi/cshim/ctest/ends"
	"lapi/cshim/dat/evd"
	engine "lapi/cshim/dat/rc"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	user "lapi/transport/memory"
	"lapi/transport/shm"
)

// node is the engine of a node, in C, between processes that are one: each has its lane. This
// driver does the part of core/dat, so that a process does nothing but in its turns.
type node struct {
	settings
	procs []*nodeProcess
	now   int64
	// an event may be where a poll wants it, and in no queue
	polling bool
	slots   int // handles that were made
	eps     map[uint64]*nodeEnd
	own     map[uint64]bool // endpoints whose bind has its turn
}

// nodeProcess is a process of node.
type nodeProcess struct {
	*node
	index      int
	dead, left bool
	engine     *rc.Engine
	links      map[int]*shm.Link // by the other process
	closed     map[int]bool      // those whose peer is gone
	table      *layout.DatTable
	bytes      []byte
	ends       []uint64
	list       []*nodeEnd // that are not freed
	srq        *layout.DatSrq
	srqSlot    *layout.DatSlot
	asleep     bool
}

// nodeEnd is an end of node.
type nodeEnd struct {
	*nodeProcess
	*end
	conn              *rc.Conn
	c                 *layout.DatEnd // nil: it is not open, or was freed
	posts             *layout.DatEp
	ep, recv, request *layout.DatSlot
	early             []*receive // posted before it is open
	polled            []event    // receives that a poll has taken
	polledRequests    []event
	over, freed       bool
	how               rc.Ending
	words             bool // the ends look at each other's words
}

const (
	nodeZone   = 0x1000
	nodeSlots  = 1 << 10
	nodeEvents = 1 << 10
)

// nodeArea is an area of handles, which is C's for good.
var nodeArea = sync.OnceValue(func() []layout.DatSlot {
	b, err := arena.Map(2 * nodeSlots * 64)
	if err != nil {
		panic(err)
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := (1<<16 - at%(1<<16)) % (1 << 16)
	b = b[skip : skip+1<<16]
	evd.AddArea(uint64(at + skip))
	return unsafe.Slice((*layout.DatSlot)(unsafe.Pointer(unsafe.SliceData(b))), nodeSlots)
})

func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

func newNode(s settings) (driver, capabilities, error) {
	n := &node{settings: s, eps: map[uint64]*nodeEnd{}, own: map[uint64]bool{}, slots: 1}
	clear(nodeArea())
	ends.Begin(n)
	for i := range s.processes {
		p := &nodeProcess{node: n, index: i, links: map[int]*shm.Link{}, closed: map[int]bool{},
			ends: make([]uint64, 64)}
		n.procs = append(n.procs, p)
		var err error
		if p.bytes, err = arena.Map(int(unsafe.Sizeof(*p.table))); err != nil {
			return nil, capabilities{}, err
		}
		p.table = (*layout.DatTable)(unsafe.Pointer(unsafe.SliceData(p.bytes)))
		p.engine = rc.NewEngine(s.random.Uint64)
		b, err := arena.Map(len(p.ends) * 8)
		if err != nil {
			return nil, capabilities{}, err
		}
		p.ends = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(p.ends))
		lane := ends.Enter(i)
		lane.On, lane.Table, lane.Ends, lane.NumEnds = 1, addressOf(p.table),
			addressOf(unsafe.SliceData(p.ends)), uint32(len(p.ends))
	}
	for i := range s.processes {
		for k := i + 1; k < s.processes; k++ {
			if err := n.join(n.procs[i], n.procs[k]); err != nil {
				return nil, capabilities{}, err
			}
		}
	}
	return n, capabilities{taken: 1}, nil
}

// join makes the link between two processes, which both map.
func (n *node) join(p, q *nodeProcess) error {
	routes := []shm.Route{shm.RouteAuto, shm.RoutePipeline, shm.RouteOrigin, shm.RouteTarget,
		shm.RouteHalves, shm.RouteWide, shm.RouteString}
	route := routes[n.random.IntN(len(routes))]
	area := uint64(n.random.IntN(2)) * (64 << 10)
	crowded := n.random.IntN(4) == 0
	var two [2]*shm.Link
	for me, o := range []*nodeProcess{p, q} {
		other := []*nodeProcess{q, p}[me]
		l, err := shm.New(shm.Config{Task: me, NumTasks: 2, Tasks: []int{0, 1}, NoTimeout: true,
			Clock: func() int64 { return n.now }, MessagesOnly: true, Told: true, Area: area,
			AreaMost: area, Route: route,
			PeerFailed: func(transport.Endpoint, error) { o.fails(other.index) }})
		if err != nil {
			return err
		}
		l.ShareProcessors(crowded)
		o.links[other.index], two[me] = l, l
		o.engine.Attach(l)
	}
	direct := n.random.IntN(3) > 0
	for me, l := range two {
		a := two[1-me].Address()
		for i, fd := range a.Files {
			dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return err
			}
			a.Files[i] = dup
		}
		if err := l.Connect(transport.Endpoint(1-me), a); err != nil {
			return err
		}
		if peer, _ := l.NodePeer(transport.Endpoint(1 - me)); !direct {
			peer.Direct = 0
		}
	}
	p.publishLinks()
	q.publishLinks()
	return nil
}

func nodeOf(e *end) *nodeEnd { return e.impl.(*nodeEnd) }

// slot makes a handle.
func (n *node) slot(kind uint32) *layout.DatSlot {
	s := &nodeArea()[n.slots]
	n.slots++
	*s = layout.DatSlot{Kind: kind}
	return s
}

func (n *node) connect(c *connection) {
	for _, e := range c.ends {
		p := n.procs[e.process]
		o := &nodeEnd{nodeProcess: p, end: e, words: n.random.IntN(4) > 0}
		o.conn = p.engine.New(nil)
		o.ep, o.recv, o.request = n.slot(ends.KindEP), n.slot(ends.KindEVD), n.slot(ends.KindEVD)
		evd.Open(addressOf(o.recv), nodeEvents, 0, 0)
		evd.Open(addressOf(o.request), nodeEvents, 0, 0)
		b, _ := arena.Map(int(unsafe.Sizeof(*o.posts)))
		o.posts = (*layout.DatEp)(unsafe.Pointer(unsafe.SliceData(b)))
		*o.posts = layout.DatEp{Recv: addressOf(o.recv), Request: addressOf(o.request),
			MaxMessage: 1 << 30, MaxRequests: nodeEvents, MaxReceives: nodeEvents,
			MaxRequestIov: maxSegments, MaxReceiveIov: maxSegments, MaxWriteIov: maxSegments,
			MaxReadIov: maxSegments}
		if e.shared {
			o.posts.Srq = addressOf(p.srqSlot)
		}
		o.ep.Lane = addressOf(o.posts)
		e.impl = o
		n.eps[addressOf(o.ep)] = o
		p.list = append(p.list, o)
	}
	if c.ends[0].impl.(*nodeEnd).words != c.ends[1].impl.(*nodeEnd).words {
		nodeOf(c.ends[0]).words, nodeOf(c.ends[1]).words = false, false
	}
	for _, e := range c.ends { // before any end is open: a peer looks there at once
		o := nodeOf(e)
		index, tag := o.conn.Name()
		w := &o.table.Ends[index]
		atomic.StoreUint32(&w.Tag, 0)
		atomic.StoreUint32(&w.Done, 0)
		w.Pz = nodeZone
		atomic.StoreUint32(&w.Tag, tag)
	}
}

func (n *node) open(e *end) {
	o, peer := nodeOf(e), nodeOf(e.peer())
	link, at := o.to(e.peer().process)
	index, tag := o.conn.Name()
	peerIndex, peerTag := peer.conn.Name()
	peerNode, _ := link.NodePeer(at)
	config := layout.DatConfig{Link: addressOf(link.Node()), Peer: addressOf(peerNode),
		Ep: addressOf(o.ep), Pz: nodeZone, Recv: addressOf(o.recv), Request: addressOf(o.request),
		Table: addressOf(peer.table), Index: index, Tag: tag, PeerIndex: peerIndex,
		PeerTag: peerTag, Reads: uint32(e.reads)}
	if e.solicited {
		config.Solicited = 1
	}
	if e.shared {
		config.Srq = addressOf(o.srq)
	}
	if o.words {
		config.Own, config.Peers = addressOf(&o.table.Ends[index]),
			addressOf(&peer.table.Ends[peerIndex])
	}
	ends.Enter(o.nodeProcess.index)
	o.c = engine.Open(&config)
	o.conn.Give(link, at, o)
	for _, r := range o.early {
		engine.AddReceive(o.c, layout.DatReceive{Cookie: r.number}, o.segments(r.local))
	}
	o.early = nil
	atomic.StoreUint32(&o.table.Ends[index].Open, 1)
	o.posts.End, o.posts.State = addressOf(o.c), layout.DatEpConnected
	o.ends[index] = addressOf(o.c)
}

// segments is a list of those that have bytes, as receives have it.
func (o *nodeEnd) segments(list []piece) (s []layout.DatSegment) {
	for _, p := range list {
		if len(p.at) > 0 {
			at := uint64(user.AddrOf(p.at))
			s = append(s, layout.DatSegment{Addr: at, At: at, N: uint32(len(p.at)),
				Context: p.context})
		}
	}
	return s
}

// triplets is a list as posts have it.
func triplets(list []piece) (s []ends.Segment) {
	for _, p := range list {
		s = append(s, triplet(p))
	}
	return s
}

func triplet(p piece) ends.Segment {
	addr := uint64(user.AddrOf(p.at))
	return ends.Segment{Addr: addr, N: uint64(len(p.at)), Context: p.context}
}

func (n *node) post(e *end, r *request) bool {
	o := nodeOf(e)
	ends.Enter(e.process)
	if r.op == rc.Bind {
		if o.c.On == 0 || o.c.Closing != 0 || !engine.Bind(o.c, r.number, 0) {
			return false
		}
		o.collectEnds()
		return true
	}
	p := ends.Post{Op: int(r.op), Local: triplets(r.local), Remote: triplet(r.remote),
		Cookie: r.number, Data: r.data, Operand: r.operand, Compare: r.compare}
	for _, f := range []struct {
		set               bool
		flags, completion uint32
	}{{r.immediate, ends.Immediate, 0}, {r.invalidate, ends.Invalidate, 0},
		{r.window, ends.ToRMR, 0}, {r.suppress, 0, ends.Suppress},
		{r.unsignalled, 0, ends.Unsignalled},
		{r.solicited, 0, ends.Solicited}, {r.fence, 0, ends.Fence}} {
		if f.set {
			p.Flags |= f.flags
			p.Completion |= f.completion
		}
	}
	if r.invalidate {
		p.Data = r.context
	}
	if n.random.IntN(16) == 0 {
		o.c.Route.Polls = 1 // as if the peer were found to poll
	}
	result := ends.PostRequest(addressOf(o.ep), &p)
	o.collectEnds()
	return result == ends.Success
}

func (n *node) postReceive(e *end, r *receive) bool {
	o := nodeOf(e)
	if o.c == nil {
		o.early = append(o.early, r)
		return true
	}
	ends.Enter(e.process)
	result := ends.PostReceive(addressOf(o.ep), triplets(r.local), r.number)
	o.collectEnds()
	return result == ends.Success
}

func (n *node) share(process int) {
	p := n.procs[process]
	ends.Enter(process)
	p.srqSlot = n.slot(ends.KindSRQ)
	p.srq = engine.OpenShared(addressOf(p.srqSlot), nodeZone, nodeEvents, maxSegments, 0)
	p.srqSlot.Lane = addressOf(p.srq)
}

func (n *node) postShared(process int, r *receive) bool {
	ends.Enter(process)
	return ends.PostShared(addressOf(n.procs[process].srqSlot), triplets(r.local), r.number) ==
		ends.Success
}

func (n *node) unshared(process int) int {
	s := n.procs[process].srq
	if s.Posted != s.Queue.Count || s.First != 0 || s.Last != 0 {
		return -1
	}
	return int(s.Queue.Count)
}

func (n *node) pending(e *end) (requests, receives int) {
	o := nodeOf(e)
	if o.c == nil {
		return 0, len(o.early)
	}
	requests = int(o.c.Tx.Posted)
	if n.own[addressOf(o.ep)] {
		requests++
	}
	if !e.shared {
		receives = int(o.c.Rx.Queue.Count)
	}
	return requests, receives
}

func (n *node) disconnect(e *end, graceful bool) {
	o := nodeOf(e)
	ends.Enter(e.process)
	engine.Disconnect(o.c, graceful)
	o.collectEnds()
}

// turn gives a process a turn of C, by a look or by a poll, and core's if it needs one.
func (n *node) turn(process int) {
	p := n.procs[process]
	lane := ends.Enter(process)
	n.now += 1e4
	flags := uint32(0)
	if p.asleep {
		p.wake(lane)
	}
	if o := p.some(n.random); o != nil && n.random.IntN(4) == 0 {
		o.poll(n.random.IntN(2) == 0)
	} else {
		flags = ends.Turn()
	}
	if flags&ends.LaneCore != 0 || lane.Rings != 0 || p.isBusy() || n.random.IntN(4) == 0 {
		p.coreTurn(lane)
	}
}

func (n *node) pass(long bool) {
	n.now += 1e5
	if long {
		n.now += 1e8
	}
}

func (n *node) take(e *end) (requests, receives []event, heard loudness) {
	o := nodeOf(e)
	if o.freed {
		return nil, nil, unknown
	}
	requests, receives = o.polledRequests, o.polled
	switch {
	case len(o.polled) > 0:
	case o.recv.Ready == 0:
		heard = silent
	default:
		heard = loud
	}
	o.polled, o.polledRequests = nil, nil
	for o.recv.Length > 0 {
		receives = append(receives, takeOne(o.recv))
	}
	for o.request.Length > 0 {
		requests = append(requests, takeOne(o.request))
	}
	return requests, receives, heard
}

func (n *node) over(e *end) (rc.Ending, bool) { return nodeOf(e).how, nodeOf(e).over }

func (n *node) forget(e *end) error {
	o := nodeOf(e)
	if o.dead {
		return nil
	}
	if o.recv.Length+o.request.Length > 0 {
		return errors.New("events came after its end")
	}
	o.freed = true
	ends.Enter(e.process)
	o.freeOver()
	return nil
}

func (n *node) close() (err error) {
	for range 20 { // messages of connections that are over find room
		for _, p := range n.procs {
			if !p.dead {
				n.turn(p.index)
				p.coreTurn(ends.Enter(p.index))
			}
		}
	}
	for _, p := range n.procs {
		ends.Enter(p.index)
		if left := len(p.list); left > 0 && !p.dead && !n.core.failed() {
			err = fmt.Errorf("process %d has %d connections left", p.index, left)
		}
		for _, o := range p.list {
			if o.c != nil && o.c.Collected == 0 {
				engine.Cut(o.c, layout.RcByUser)
				o.c.Collected = 1
				engine.Flush(o.c)
			}
			o.free()
		}
		if p.srq != nil {
			engine.CloseShared(p.srq)
		}
	}
	for _, p := range n.procs {
		for _, l := range p.links {
			if !p.left {
				l.Close()
			}
		}
		arena.Unmap(p.bytes)
		arena.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.ends))), len(p.ends)*8))
	}
	return err
}

// Message implements rc.Elsewhere.
func (o *nodeEnd) Message(id transport.MsgID, header, data []byte) {
	if o.c != nil {
		ends.Enter(o.nodeProcess.index)
		engine.Message(o.c, uint32(id), header, data)
	}
}

// Cut implements rc.Elsewhere.
func (o *nodeEnd) Cut(how rc.Ending) {
	if o.c != nil {
		ends.Enter(o.nodeProcess.index)
		engine.Cut(o.c, uint32(how))
	}
}

// Bound implements ends.Core.
func (n *node) Bound(ep, number uint64, status uint32) bool {
	o := n.eps[ep]
	if status == 0 && !o.dead {
		n.own[ep] = true
		if !n.core.bound(o.end, number, !n.polling) {
			status = uint32(rc.BindFailed)
		}
		delete(n.own, ep)
	}
	var c ends.Completion
	c.BindDone(addressOf(o.request), number, status)
	evd.Post(addressOf(o.request), unsafe.Pointer(&c), false)
	return status != uint32(rc.BindFailed)
}

// Invalidated implements ends.Core.
func (n *node) Invalidated(ep uint64, context uint32) bool {
	return n.core.invalidated(n.eps[ep].end, context)
}
