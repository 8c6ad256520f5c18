package dat

import (
	"unsafe"

	"lapi/core/dat/rc"
	node "lapi/cshim/dat/rc"
	"lapi/transport"
	"lapi/transport/layout"
)

// The node engine is C (cshim/dat/rc): a connection over a link of the node is C's from its opening
// to its end, if both processes can. Here is how it is opened, and what follows from its end.

// onNode is the connection of an endpoint that C has: its way, and where messages for it go that core
// has found.
type onNode struct {
	linkWay
	*layout.DatEnd // nil: the endpoint is at its end
}

// openNode opens e's connection to the end of a card; false: there is no memory.
func (e *EP) openNode(link laneLink, at transport.Endpoint, c *card, reads int) bool {
	l := e.ia.library
	peer, _ := link.NodePeer(at)
	index, tag := e.conn.Name()
	config := layout.DatConfig{Link: uint64At(link.Node()), Peer: uint64At(peer),
		Ep: uint64(e.handle), Pz: uint64(e.PZ.handle), Recv: uint64(handleOf(e.Recv)),
		Request: uint64(handleOf(e.Request)), Table: e.peer.data.node.table.address(),
		Solicited: uint32(flag(e.Attr.RecvFlags&Solicited != 0)), Index: index, Tag: tag,
		PeerIndex: c.conn, PeerTag: c.tag, Reads: uint32(reads)}
	if e.SRQ != nil {
		config.Srq = uint64At(e.SRQ.c)
	}
	config.Own, config.Peers = e.words(c.conn)
	if !l.nodeConns.grow(index) {
		return false
	}
	n := node.Open(&config)
	if n == nil {
		return false
	}
	w := &onNode{linkWay{e.conn, e}, n}
	e.way, e.node = w, w
	for _, r := range e.conn.Give(e.link(), at, w) {
		p := r.Owner.(*posted)
		if node.AddReceive(n, layout.DatReceive{Cookie: p.cookie, Completion: uint32(p.flags)},
			segmentsOf(p.triplets, r.Segments)) {
			e.c.Receives--
			continue
		}
		r.Status = rc.LocalProtection // there is no memory
		e.received(r)
	}
	e.c.End = uint64At(n)
	l.nodeConns.set(index, e.c.End)
	l.nodeConns.conns[index] = w
	return true
}

// link is the link by which e's peer is reached.
func (e *EP) link() transport.Link {
	link, _ := e.peer.link()
	return link
}

// segmentsOf is a list of segments as C has it: as the program names them, and where they are.
func segmentsOf(triplets []Triplet, at []rc.Segment) (list []layout.DatSegment) {
	for _, t := range triplets {
		if t.N > 0 {
			list = append(list, layout.DatSegment{Addr: t.Addr, At: uint64(at[len(list)].Addr),
				N: t.N, Context: t.Context})
		}
	}
	return list
}

// Post implements way: binds alone come here.
func (w *onNode) Post(r *rc.Request) bool {
	l := w.e.ia.library
	if w.DatEnd == nil || w.On == 0 {
		return false
	}
	if !l.nodeConns.bind(w.DatEnd, r) {
		return false
	}
	w.e.c.Requests-- // C counts it, or it was completed
	l.nodeConns.collect()
	return true
}

// Bound is a bind whose turn it is at C: it takes effect, if status says so, and completes. False:
// it cannot take effect.
func (l *Library) Bound(number uint64, status uint8) bool {
	r := l.nodeConns.takeBind(number)
	p := r.Owner.(*posted)
	if r.Status = rc.Status(status); r.Status == rc.Success && !p.bind.apply() {
		r.Status = rc.BindFailed
	}
	p.bind.ep.bound(r, p)
	return r.Status != rc.BindFailed
}

// Invalidated takes the right away that the peer of an endpoint has by a context; false: it may not.
func (l *Library) Invalidated(ep Handle, context uint32) bool {
	e, _ := find[*EP](l, ep, 0)
	return e != nil && e.invalidate(context)
}

// PostReceive implements way: the connection is over.
func (w *onNode) PostReceive(r *rc.Receive) {
	r.Status = rc.Flushed
	w.e.received(r)
}

// Opened implements way.
func (w *onNode) Opened() bool { return true }

// Disconnect implements way.
func (w *onNode) Disconnect(graceful bool) {
	if w.DatEnd == nil {
		return
	}
	node.Disconnect(w.DatEnd, graceful)
	w.e.ia.library.nodeConns.collect()
}

// Discard implements way.
func (w *onNode) Discard() { w.Disconnect(false) }

// Message implements rc.Elsewhere.
func (w *onNode) Message(id transport.MsgID, header, data []byte) {
	if w.DatEnd != nil {
		node.Message(w.DatEnd, uint32(id), header, data)
	}
}

// Cut implements rc.Elsewhere.
func (w *onNode) Cut(how rc.Ending) {
	if w.DatEnd == nil {
		return
	}
	node.Cut(w.DatEnd, uint32(how))
	w.e.ia.library.nodeConns.collect()
}

// over: no copy of the peer's is under way any more, and all posted requests and receives complete;
// then the endpoint is notified.
func (w *onNode) over() {
	w.Collected = 1
	w.e.revoke()
	node.Flush(w.DatEnd)
	w.e.ia.library.conns.end(w.e, rc.Ending(w.How))
}

// closeNode is the end of C's connection of e, if it has one. A message
// to the peer that has found no room stays.
func (e *EP) closeNode() {
	w := e.node
	if w == nil {
		e.revoke()
		return
	}
	l := e.ia.library
	if w.Collected == 0 {
		node.Cut(w.DatEnd, layout.RcByUser)
		w.Collected = 1
		e.revoke()
		node.Flush(w.DatEnd)
	}
	e.collectCounters()
	e.node, e.c.End = nil, 0
	l.nodeConns.conns[w.Config.Index] = nil
	l.nodeConns.linger(lingering{w.DatEnd, e.conn, e.peer})
	w.DatEnd = nil
}

// collectCounters adds the counts of C.
func (e *EP) collectCounters() {
	if e.node != nil {
		collect(&e.counters, e.node.Counters[:])
	}
	if w, ok := e.way.(deviceWay); ok {
		collect(&e.counters, w.Counters())
	}
}

// openPosts makes the structure by which C judges posts; false: there is no memory.
func (e *EP) openPosts() bool {
	b := e.ia.library.rings.get(int(unsafe.Sizeof(layout.DatEp{})))
	if b == nil {
		return false
	}
	e.memory = b
	e.c = (*layout.DatEp)(unsafe.Pointer(unsafe.SliceData(b)))
	e.slot.Lane = addressOf(b)
	e.publish()
	return true
}

func (e *EP) closePosts() {
	e.slot.Lane = 0
	e.ia.library.rings.put(e.memory)
	e.memory, e.c = nil, new(layout.DatEp)
}

// publish shows C the state and limits for posts, after each change of them.
func (e *EP) publish() {
	if e.c == nil {
		return
	}
	c, a := e.c, &e.Attr
	c.Recv, c.Request, c.Srq = uint64(handleOf(e.Recv)), uint64(handleOf(e.Request)),
		uint64(handleOf(e.SRQ))
	c.MaxMessage = e.ia.limits.Message
	c.MaxRequests, c.MaxReceives = uint32(a.MaxRequest), uint32(a.MaxRecv)
	c.MaxRequestIov, c.MaxReceiveIov = uint32(a.MaxRequestIOV), uint32(a.MaxRecvIOV)
	c.MaxWriteIov, c.MaxReadIov = uint32(e.iovMax(rc.Write)), uint32(e.iovMax(rc.Read))
	switch {
	case a.Service == ServiceUD:
		c.State = layout.DatEpDatagrams
	case e.State == Connected:
		c.State = layout.DatEpConnected
	case e.State == Disconnected || e.State == DisconnectPending:
		c.State = layout.DatEpOver
	default:
		c.State = layout.DatEpIdle
	}
	if w, ok := e.way.(deviceWay); ok {
		w.publish(e)
	}
}

// posted are the requests and receives that are not complete.
func (e *EP) outstanding() (requests, receives int) {
	requests, receives = int(e.c.Requests), int(e.c.Receives)
	if e.node != nil {
		requests += int(e.node.Tx.Posted)
		receives += int(e.node.Rx.Queue.Count)
	}
	if w, ok := e.way.(deviceWay); ok {
		r, n := w.Posted()
		requests, receives = requests+r, receives+n
	}
	return requests, receives
}
