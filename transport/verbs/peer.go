package verbs

import (
	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/window"
	"lapi/transport/verbs/internal/wire"
)

// peer is the link's state of a task that it has talked to.
type peer struct {
	link    *Link
	ep      transport.Endpoint
	to      wire.Address
	life    pair.Life
	gone    bool // given up, disconnected, or left: no operation is taken any more
	left    bool // it has closed
	queued  bool // in Link.active
	starved bool // in Link.starved

	// Fields that C also uses: the numbers of packets, credits, the ring of packets that were
	// sent.
	window.Window
	noted bool // in Link.pending

	// Sending.

	// Receiving.
	held    hold.Queue
	holding bool     // counted in Link.holding
	asked   []uint64 // marks of flushes that the peer asks for, and that are not answered
	unreported

	// Operations of this task.
	transfers bulk.Peer
	flushes   []*transport.Op

	failure *ibv.Failure // see Link.Failure

	signs
	silence
	fallbackState

	queue           // carries the packets
	lanes  []*queue // for RDMA; nil as long as not used
	routes paths.Routes
}

// newPeer makes ep's peer; its queue pair comes later.
func newPeer(l *Link, ep transport.Endpoint) *peer {
	p := &peer{ep: ep, life: pair.Life{}.Next(false)}
	p.Window.Init(l.newShared(ep), int32(ep), firstNumber(), l.ports, &l.shared.Sending)
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
	p.routes, p.fallbackState = l.ports.To(&p.to), fallbackState{on: p.on}
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
	p.gone = true
	p.Window.End()
	for _, q := range p.allPairs() {
		q.dropPair()
		q.Stop()
		q.FreePath()
	}
	p.Clear()
	p.discard()
	flushes := p.flushes
	p.asked, p.flushes = nil, nil
	p.Wait(0)
	p.transfers.End(err)
	for _, op := range flushes {
		if flushErr == nil {
			op.Done(op, p.missed(op.Link.Mark))
			continue
		}
		op.Done(op, flushErr)
	}
}

// roster is the tasks that are connected.
type roster struct {
	addresses []string // by endpoint, encoded; empty: not connected
	peers     map[transport.Endpoint]*peer
}

func (r *roster) connected(ep transport.Endpoint) bool {
	return ep >= 0 && int(ep) < len(r.addresses) && r.addresses[ep] != ""
}
