package verbs

import (
	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// peer is what the link keeps of a task that it has talked to.
type peer struct {
	link    *Link
	ep      transport.Endpoint
	to      wire.Address
	life    pair.Life
	gone    bool // given up, disconnected, or left: no operation is taken any more
	left    bool // it has closed
	queued  bool // in Link.active
	starved bool // in Link.starved

	// What C also uses: the numbers of packets, credits, the ring of packets that were sent.
	*layout.VerbsPeer
	noted bool // in Link.unheard

	// What is sent.

	// What is received.
	held    hold.Queue
	holding bool     // counted in Link.holding
	asked   []uint64 // marks of flushes that the peer asks for, and that are not answered

	untold uint8 // a bit for each of this task's ports that the peer has to hear of (reopen.go)

	// Operations of this task.
	transfers bulk.Peer
	flushes   []*transport.Op

	failure *ibv.Failure // see Link.Failure

	signs
	silence
	sparing

	queue           // carries the packets
	lanes  []*queue // for RDMA; nil as long as not used
	routes paths.Routes
}

// newPeer makes ep's peer; its queue pair comes later.
func (l *Link) newPeer(ep transport.Endpoint) *peer {
	p := &peer{ep: ep, life: pair.Life{}.Next(false), untold: l.ports.Reopened(), VerbsPeer: l.newShared(ep)}
	p.Credit, p.Told, p.Window = window, window, window
	p.link = l
	p.queue.init(p, 0)
	p.transfers.Init(l.transfers, p)
	p.locate()
	p.held.Init(&l.pool, func(m *hold.Message) transport.Verdict {
		l.stats.RetransmittedPackets++
		return l.handlers[m.ID](&m.Msg)
	})
	l.peers[ep] = p
	return p
}

// locate decodes p's address, and has its packets go over a way that not all peers share.
func (p *peer) locate() {
	l := p.link
	p.to.Decode([]byte(l.addresses[p.ep]))
	p.routes, p.sparing = l.ports.To(&p.to), sparing{on: p.on}
	p.lanes = make([]*queue, p.routes.Lanes())
	p.queue.Route(p.routes.At(int(l.own.Task+p.to.Task) % len(p.lanes)))
	if !p.IsUp() {
		p.another()
	}
}

// relocate has p, which has never answered, be looked for at another address.
func (p *peer) relocate() {
	p.queue.dropPair()
	p.queue.FreePath()
	p.locate()
	if p.Greets() {
		p.queue.begin()
	}
}

// allPairs lists p's queue pairs, those that there may be.
func (p *peer) allPairs() []*queue {
	all := []*queue{&p.queue}
	for _, q := range p.lanes {
		if q != nil {
			all = append(all, q)
		}
	}
	return all
}

// attend has the next turn look at p.
func (p *peer) Attend() {
	l := p.link
	if !p.queued {
		p.queued = true
		l.active = append(l.active, p)
	}
}

// giveUp ends everything with p: puts and gets with err, flushes with flushErr or, if that is nil,
// as one ends towards a peer that has left. The queue pair goes first: from then on nothing touches
// the memory of operations.
func (p *peer) giveUp(err, flushErr error) {
	p.gone, p.Usable = true, 0
	p.Life++
	for _, q := range p.allPairs() {
		q.dropPair()
		q.Stop()
		q.FreePath()
	}
	for p.Ring.Count > 0 {
		p.releaseFirst()
	}
	flushes := p.flushes
	p.asked, p.flushes, p.Flushing = nil, nil, 0
	p.transfers.End(err)
	for _, op := range flushes {
		if flushErr == nil {
			op.Done(op, p.missed(op.Link.Mark))
			continue
		}
		op.Done(op, flushErr)
	}
}

// ring is the packets that were made and are not known to be complete, in the order of their
// numbers. Those before Posted are with the adapter.
type ring layout.VerbsRing

type sent = layout.VerbsSent

func (p *peer) ring() *ring { return (*ring)(&p.Ring) }

func (r *ring) at(i int32) *sent { return &r.Packets[(r.Head+i)%ringSize] }

func (r *ring) push(s sent) {
	r.Count++
	*r.at(r.Count - 1) = s
}

// releaseFirst forgets the oldest packet.
func (p *peer) releaseFirst() {
	l := p.link
	r := p.ring()
	l.ports.Free(int32(r.at(0).Slot))
	l.shared.Sending--
	r.Head = (r.Head + 1) % ringSize
	r.Count--
	r.Posted = max(r.Posted-1, 0)
}

// restart makes the ring ready for another queue pair: what the peer has is forgotten, and what it
// has not is to be posted again. False: the peer wants what there is not.
func (p *peer) restart(expected uint64) bool {
	l := p.link
	r := p.ring()
	if expected > p.Number {
		return false
	}
	var again []sent
	for i := range r.Count {
		s := *r.at(i)
		if s.Numbered != 0 && s.Number >= expected {
			again = append(again, s)
			continue
		}
		l.ports.Free(int32(s.Slot))
		l.shared.Sending--
	}
	l.stats.RetransmittedPackets += uint64(min(int(r.Posted), len(again)))
	*r = ring{}
	for _, s := range again {
		r.push(s)
	}
	return uint64(len(again)) == p.Number-expected
}
