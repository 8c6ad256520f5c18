package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	node "lapi/cshim/dat/rc"
	"lapi/transport/ibv"
	"lapi/transport/layout"
)

// links is the engine of adapters whose data goes over links.
type links struct{ ia *IA }

const manyObjects = 1 << 16

// linkLimits are bounds against mistakes: the actual limit of each is memory.
var linkLimits = Limits{EPs: manyObjects, EVDs: manyObjects, PZs: manyObjects, SRQs: manyObjects,
	LMRs: MaxLMRs, DTOs: MaxDTOs, SRQDTOs: MaxDTOs, IOV: MaxIOV, ReadIOV: MaxIOV, ReadsIn: MaxReads,
	ReadsOut: MaxReads, Message: MaxMessage, Datagram: MaxDatagram, PrivateConnect: PrivateMax,
	PrivateAccept: PrivateMax, PrivateReject: PrivateMax, Invalidates: true,
	Atomics: true}

func (links) openZone(*PZ) codes.Return { return codes.Success }

func (k links) register(r *region) codes.Return {
	result := k.context(r)
	if result == codes.Success {
		k.grant(r)
	}
	return result
}

func (links) openRMR(m *RMR) codes.Return {
	m.ForEP = false
	return codes.Success
}

func (k links) promise(b *binding) codes.Return {
	if b.of == nil {
		return codes.Success
	}
	return k.context(&b.region)
}

// context gives a region a context that does not name it yet.
func (k links) context(r *region) codes.Return {
	c, ok := k.ia.contexts.add(nil, k.ia.library.cfg.Random())
	if !ok {
		return codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	r.keys = ibv.Keys{Local: c, Remote: c}
	return codes.Success
}

func (k links) grant(r *region) { k.ia.contexts.set(r.keys.Local, r) }

func (k links) deregister(r *region) { k.ia.contexts.remove(r.keys.Local) }

func (k links) find(context uint32, _ bool) *region { return k.ia.contexts.find(context) }

// linkWay is the way of an endpoint over links.
type linkWay struct {
	*rc.Conn
	e *EP
}

func (w linkWay) change(_, to *EP) codes.Return {
	if w.Shared = nil; to.SRQ != nil {
		w.Shared = &to.SRQ.queue
	}
	return codes.Success
}

func (w linkWay) meet(a attempt) codes.Return {
	c, l := a.(*cm.Conn), w.e.ia.library
	d, err := l.peers.dataLinkAt(c.Local)
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	p := l.peers.findPeer(d, c)
	if p == nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	c.Card = w.e.cardOf(d, p)
	return codes.Success
}

func (linkWay) postDatagram(*datagram, *AH, uint32, []Triplet, []rc.Segment) codes.Return {
	return codes.InvalidState.With(codes.NoSubtype)
}

// datagrams is the way of a UD endpoint over links: its receives take messages of any sender.
type datagrams struct {
	linkWay
	ud *udState
}

// PostReceive implements way.
func (w datagrams) PostReceive(r *rc.Receive) { w.ud.receives = append(w.ud.receives, r) }

func (k links) openWay(e *EP) codes.Return {
	e.conn = k.ia.library.engine.New(connOwner{e})
	way := linkWay{e.conn, e}
	e.way = way
	if e.Attr.Service == ServiceUD {
		k.ia.library.ud.add(e, k.ia.library.cfg.Random)
		e.way = datagrams{way, e.ud}
	}
	return way.change(e, e)
}

// linkQueue is an SRQ whose receives are C's.
type linkQueue struct{ s *SRQ }

func (links) openQueue(s *SRQ) codes.Return {
	s.shared = linkQueue{s}
	return codes.Success
}

func (linkQueue) address() uint64 { return 0 }

func (q linkQueue) post(triplets []Triplet, cookie uint64) codes.Return {
	r, ret := q.s.ia.receive(q.s.PZ, triplets, cookie)
	if ret != codes.Success {
		return ret
	}
	r.Owner.(*posted).srq = q.s
	if !node.AddShared(q.s.c, layout.DatReceive{Cookie: cookie},
		segmentsOf(triplets, r.Segments)) {
		return codes.InsufficientResources.With(codes.ResourceMemory)
	}
	q.s.queue.Offer()
	return codes.Success
}

func (q linkQueue) counts() (waiting, taken int) {
	waiting = int(q.s.c.Queue.Count)
	return waiting, int(q.s.c.Posted) - waiting
}

func (linkQueue) resize(int32) codes.Return { return codes.Success }
func (linkQueue) watch(int32)               {}
func (linkQueue) close()                    {}

func (k links) listen(qualifier uint64, sp servicePoint) (listening, codes.Return) {
	ln, r := k.ia.listen(qualifier, linkService{sp}, cmStats(k))
	return linkListener{k.ia, ln}, r
}

// linkListener implements listening.
type linkListener struct {
	ia *IA
	ln *cm.Listener
}

func (l linkListener) unlisten() { l.ia.unlisten(l.ln) }

// openMeeting: each service point takes members of groups.
func (linkListener) openMeeting() {}

func (k links) connect(e *EP, to netip.Addr, qualifier uint64, timeout int64,
	private []byte) (a arrival, r codes.Return) {
	service := uint8(ServiceRC)
	if e.ud != nil {
		service = ServiceUD
	}
	c, d, r := k.ia.library.dial(e, to, qualifier, service, timeout, private,
		cmStats(k))
	if r != codes.Success {
		return a, r
	}
	return arrival{attempt: c, service: service, local: d.local, peer: c.Peer,
		qualifier: qualifier}, r
}

func (links) close() {}

func (k links) identity() identity {
	return identity{guid: guid(k.ia.port.Hardware), gid: k.ia.Addr.As16(), // ::ffff:a.b.c.d of IPv4
		port: 1, active: k.ia.port.Running, atomics: true}
}
