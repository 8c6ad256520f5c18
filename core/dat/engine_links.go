package dat

import (
	"net/netip"

	"lapi/core/dat/adapter"
	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// links is the engine of adapters whose data goes over links.
type links struct{ ia *IA }

const manyObjects = 1 << 16

// linkLimits are bounds against mistakes: memory is what there is of everything.
var linkLimits = Limits{EPs: manyObjects, EVDs: manyObjects, PZs: manyObjects, SRQs: manyObjects,
	LMRs: MaxLMRs, DTOs: MaxDTOs, SRQDTOs: MaxDTOs, IOV: MaxIOV, ReadIOV: MaxIOV, ReadsIn: MaxReads,
	ReadsOut: MaxReads, Message: MaxMessage, Datagram: MaxDatagram, PrivateConnect: PrivateMax,
	PrivateAccept: PrivateMax, PrivateReject: PrivateMax, Groups: true}

func (links) openZone(*PZ) codes.Return { return codes.Success }
func (links) closeZone(*PZ)             {}

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

func (links) closeWindow(*window) {}

func (k links) promise(b *binding) codes.Return {
	if b.of == nil {
		return codes.Success
	}
	return k.context(&b.region)
}

// context gives a region a context that does not name it yet.
func (k links) context(r *region) codes.Return {
	c, ok := k.ia.contexts.add(nil, k.ia.library.random())
	if !ok {
		return codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	r.keys = adapter.Keys{Local: c, Remote: c}
	return codes.Success
}

func (k links) grant(r *region) { k.ia.contexts.set(r.keys.Local, r) }

func (k links) deregister(r *region) { k.ia.contexts.remove(r.keys.Local) }

func (k links) find(context uint32, _ bool) *region { return k.ia.contexts.find(context) }

// datagrams is the way of a UD endpoint over links: receives wait for whoever sends.
type datagrams struct {
	*rc.Conn
	ud *udState
}

// PostReceive implements way.
func (w datagrams) PostReceive(r *rc.Receive) { w.ud.receives = append(w.ud.receives, r) }

func (k links) openWay(e *EP) codes.Return {
	e.conn = k.ia.library.engine.New(e)
	e.way = e.conn
	if e.Attr.Service == ServiceUD {
		e.openUD()
		e.way = datagrams{e.conn, e.ud}
	}
	return k.changeWay(e, e)
}

func (links) changeWay(e, to *EP) codes.Return {
	if e.conn.Shared = nil; to.SRQ != nil {
		e.conn.Shared = &to.SRQ.queue
	}
	return codes.Success
}

func (links) fixed() uint64 { return 0 }

func (links) openQueue(*SRQ) codes.Return          { return codes.Success }
func (links) watch(*SRQ)                           {}
func (links) closeQueue(*SRQ)                      {}
func (links) resizeQueue(*SRQ, int32) codes.Return { return codes.Success }

func (links) postShared(s *SRQ, r *rc.Receive) codes.Return {
	s.queue.Post(r)
	return codes.Success
}

func (links) waiting(s *SRQ) int { return s.queue.Len() }

func (k links) listen(qualifier uint64, sp servicePoint) (listening, codes.Return) {
	ln, r := k.ia.listen(qualifier, linkService{sp}, cmStats{k.ia})
	return linkListener{k.ia, ln}, r
}

// linkListener implements listening.
type linkListener struct {
	ia *IA
	ln *cm.Listener
}

func (l linkListener) unlisten() { l.ia.unlisten(l.ln) }

func (k links) service(qualifier uint64) servicePoint {
	if ln := k.ia.library.machine.Listener(qualifier); ln != nil {
		if s, ok := ln.Service.(linkService); ok {
			return s.sp
		}
	}
	return nil
}

func (k links) connect(e *EP, to netip.Addr, qualifier uint64, timeout int64,
	private []byte) (a arrival, r codes.Return) {
	service := uint8(ServiceRC)
	if e.ud != nil {
		service = ServiceUD
	}
	c, d, r := k.ia.library.dial(e, to, qualifier, service, timeout, private,
		cmStats{k.ia})
	if r != codes.Success {
		return a, r
	}
	return arrival{attempt: c, service: service, local: d.local, peer: c.Peer,
		qualifier: qualifier}, r
}

func (k links) meet(a attempt, e *EP) codes.Return {
	c, l := a.(*cm.Conn), k.ia.library
	d, err := l.dataLinkAt(c.Local)
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	p := l.findPeer(d, c)
	if p == nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	c.Card = e.cardOf(d, p)
	return codes.Success
}

func (links) freePath(ah *AH) { ah.peer.conns-- }

func (links) lacks(*PostArgs) bool { return false }

func (links) close() {}
