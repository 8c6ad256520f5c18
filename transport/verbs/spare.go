package verbs

import (
	"slices"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/detour"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// The spare port is over another link between the tasks, the carrier, as if that were an adapter
// (internal/detour). It is one more way for the packets to a peer, taken where no adapter leads
// there: so they keep their numbers, and whatever fails in whichever order, what was sent arrives
// once. RDMA there is none; what was RDMA is copied.
//
// While packets go over it, lanes are tried now and then, and when a port comes up. The first that
// opens takes the packets back, at the task with the lower number; the other follows its Hello.

// Carrier is what the link needs of the one that its spare port is over.
type Carrier = detour.Carrier

// sparing is what is kept of a peer for that.
type sparing struct {
	spared  way    // the spare one; without a port: there is none
	strayed int    // adapters' ways that were tried since a queue pair was open
	came    bool   // packets have come to go over the spare port just now
	found   *queue // a lane that has opened since
	on      bool   // Config.Spared was told that they do
}

// UseSpare has peers be reached over c, under the same endpoints, where no adapter leads to them.
// It is called before Connect, whose addresses then are JoinAddress's for those that c reaches. c
// needs progress from the owner, before the Link's, and is closed after it. Its messages of kind
// transport.MaxMsgID are the Link's.
func (l *Link) UseSpare(c Carrier) {
	pt := &port{link: l, index: wire.SpareIndex, adapter: detour.New(c),
		VerbsPort: new(layout.VerbsPort), pairs: map[uint32]*queue{}}
	pt.info = pt.adapter.Info()
	pt.srq, _ = pt.adapter.CreateSRQ(0, receivesMax, 1)
	pt.buffers = pool.New(min(receivesMax, pt.info.MaxReceives), 0)
	pt.small = slots{ports: []*port{pt}, size: datagramSize}
	l.spare = pt
}

// JoinAddress is the address of a task whose link has that one, and its spare carrier the other;
// see UseSpare.
func JoinAddress(link, carrier []byte) transport.Address {
	return transport.Address{Bytes: slices.Concat(link, carrier)}
}

func (pt *port) isSpare() bool { return pt.index == wire.SpareIndex }

// reach tells the carrier where ep is. The datagrams' buffers are made for the first.
func (l *Link) reach(ep transport.Endpoint, a transport.Address) error {
	var to wire.Address
	if l.spare == nil || !to.Decode(a.Bytes) || len(to.Carrier) == 0 {
		return nil
	}
	if l.spare.small.chunks == nil {
		if err := l.spare.small.grow(); err != nil {
			return err
		}
		if err := l.spare.receiveDatagrams(); err != nil {
			return err
		}
	}
	return l.spare.adapter.(*detour.Adapter).Reach(ep, to.Carrier)
}

// SpareFailed is told when the carrier has given ep up.
func (l *Link) SpareFailed(ep transport.Endpoint) {
	if l.spare != nil && !l.closed {
		l.spare.adapter.(*detour.Adapter).Failed(ep)
		l.spare.events()
	}
}

// UsesSpare says whether something goes over the spare port: then its carrier is to be looked at
// often.
func (l *Link) UsesSpare() bool { return l.spare != nil && len(l.spare.pairs) > 0 }

// sparable says whether p can be reached over the spare port.
func (p *peer) sparable() bool { return p.spared.port != nil }

// spares says whether p's packets go over the spare port.
func (p *peer) spares() bool { return p.port.isSpare() }

// findSpare looks whether there is a way over the spare port to p, whose address is new.
func (p *peer) findSpare() {
	l := p.link
	p.sparing = sparing{on: p.on}
	if l.spare != nil && len(p.to.Carrier) > 0 {
		p.spared = way{l.spare, wire.SpareIndex}
	}
}

// exists says whether both ports that h names do.
func (p *peer) exists(h *wire.Hello) bool {
	l := p.link
	if h.Own == wire.SpareIndex || h.Peer == wire.SpareIndex {
		return h.Own == h.Peer && h.Lane == 0 && p.sparable()
	}
	return int(h.Own) < len(p.to.Places) && int(h.Peer) < len(l.ports)
}

// port is this task's port of that number.
func (l *Link) port(index uint8) *port {
	if index == wire.SpareIndex {
		return l.spare
	}
	return l.ports[index]
}

// place is where p's port of that number is.
func (p *peer) place(his int) *wire.Place {
	if his == wire.SpareIndex {
		return &wire.Place{MTU: uint16(p.spared.port.info.MTU), GID: detour.GID(p.ep)}
	}
	return &p.to.Places[his]
}

// wantsSpare says whether the spare port is the next to be tried: no adapter's port is up, or all
// ways over these were tried, or queue pairs over them have failed one after the other.
func (p *peer) wantsSpare() bool {
	l := p.link
	if !p.sparable() || !l.anyUp() {
		return p.sparable()
	}
	up := 0
	for _, w := range p.ways {
		if w.port.state == PortUp {
			up++
		}
	}
	return !p.spares() && (p.strayed >= up || p.Failures() > failuresToSpare)
}

// noteOpen: q is open. Where packets have come to go over the spare port, lanes that there were
// before are as dead as the packets' way was. A lane that opens afterwards shows that an adapter
// leads to the peer again; the next turn goes back to it.
func (q *queue) noteOpen() {
	l := q.peer.link
	p := q.peer
	switch {
	case !q.packets():
		if p.spares() && l.own.Task < p.to.Task {
			p.found = q
		}
	case p.spares():
		p.came, p.strayed = true, 0
		p.tellSpared(true)
	default:
		p.strayed = 0
		p.tellSpared(false)
	}
}

func (p *peer) tellSpared(spared bool) {
	l := p.link
	if p.on != spared {
		p.on = spared
		if l.cfg.Spared != nil {
			l.cfg.Spared(p.ep, spared)
		}
	}
}

// sweep ends the lanes of p, whose packets have come to go over the spare port.
func (p *peer) sweep() {
	p.came, p.found = false, nil
	for _, q := range p.lanes {
		if q != nil && q.qp != 0 && !p.gone {
			q.restLane()
		}
	}
}

// seeks says whether an adapter's way to p is to be looked for.
func (p *peer) seeks() bool { return !p.gone && p.spares() && p.Works() && p.link.anyUp() }

// hasten looks for the peers that pt, which has come up, may lead to.
func (l *Link) hasten(pt *port) {
	for _, p := range l.peers {
		if !p.seeks() {
			continue
		}
		for _, q := range p.lanes {
			if q != nil && q.port == pt {
				q.Wake()
			}
		}
		p.beginLanes()
	}
}

// goBack has the packets to p go over the adapter's way that was found.
func (p *peer) goBack() {
	q := p.found
	p.found = nil
	if !p.spares() || !p.Works() || !q.Works() {
		return
	}
	p.queue.dropPair()
	if p.gone || p.qp != 0 { // a handler has begun another
		return
	}
	p.queue.route(q.way)
	p.queue.begin()
}
