package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// sessionState is where a peer is; doc.go draws it.
type sessionState uint8

const (
	stateUnmet    sessionState = iota
	stateGreeting              // a Hello has gone out or come in
	stateOpen                  // data may go
	stateLeft                  // the peer said Bye
	stateFailed                // disconnected, timed out, or the machine is closed
)

// peer is all that a machine knows of one other task: the session, what is on its way there, what came from there.
type peer struct {
	m        *Machine
	ep       transport.Endpoint
	state    sessionState
	listed   bool // in m.active
	wantSoon bool // in m.soon
	isRipe   bool // in m.ripe
	isHeld   bool // in m.held
	handshake
	striping
	outgoing
	incoming
	farewell
}

// striping is what a peer's paths have in common.
type striping struct {
	routes  []route // by path; not empty
	best    int     // the path of lowest latency, as it was found when nothing was in flight
	turn    int     // which path to try while none speaks
	usedAt  int64   // when data was sent last
	longAt  int64   // when a part of something long was
	watched bool    // the paths' health is looked at
	buffer  int     // bytes that the peer's sockets hold, each

	packetSize int // of new packets: what all paths take
	sendMax    int // header and data of a message that fills one
	mostFlight int // packets that may be in flight, on all paths
}

// from is the path that a packet came by from a; nil if a is not the peer's address there.
func (p *peer) from(path Path, a netip.AddrPort) *route {
	if int(path) >= len(p.routes) || p.routes[path].addr != a {
		return nil
	}
	return &p.routes[path]
}

func (p *peer) alive() bool { return p.state < stateLeft }

// window is what both directions need once a peer is used: made then, not before.
type window struct {
	slots    [seqWindow]*packet                 // outgoing, by sequence number; nil: acknowledged or not yet used
	received [seqWindow / wire.BlockSpan]uint64 // incoming: bit set = received and out of order
}

// outgoing is the sending half.
//
//	base            sendNext          nextSeq
//	 │ flying, missing,  │ waiting       │
//	 │ refused, acked    │               │
type outgoing struct {
	win      *window
	base     wire.Seq // the oldest without an acknowledgement
	sendNext wire.Seq // the first that was never sent
	nextSeq  wire.Seq // of the next packet

	flying, missing, refused int      // packets in these states, on all paths
	firstMissing             wire.Seq // no packet before it is missing

	newsOf     uint8    // a bit for each path of which the packet at hand acknowledges something
	ackBy      Path     // by which the packet at hand came
	tries      uint     // how often in a row the peer was asked for a sign of life
	refusedDue int64    // when the first refused packet is sent again; 0: none
	stallDue   int64    // when to give up because no path can be used; 0: one can
	waitSince  int64    // since when something has been due from the peer without a sign of life; 0: nothing is
	probing    bool     // a flush waits for packets not yet sent: the one before flushSeq asks for its acknowledgement
	flushSeq   wire.Seq // where the latest flush stands
	flushes    opQueue
}

// opQueue holds the flushes of a peer in their order.
type opQueue struct{ first, last *transport.Op }

func (q *opQueue) add(op *transport.Op) {
	op.Link.Next = nil
	if q.last == nil {
		q.first = op
	} else {
		q.last.Link.Next = op
	}
	q.last = op
}

func (q *opQueue) take() *transport.Op {
	op := q.first
	if op != nil {
		if q.first = op.Link.Next; q.first == nil {
			q.last = nil
		}
	}
	return op
}

func (p *peer) slot(s wire.Seq) **packet { return &p.win.slots[s%seqWindow] }

// unsent is how many packets wait for their first transmission.
func (p *peer) unsent() int { return int(p.nextSeq - p.sendNext) }

// outstanding says whether anything waits for the peer's acknowledgement.
func (p *peer) outstanding() bool { return p.base != p.nextSeq }

// begin makes the windows.
func (p *peer) begin() {
	if p.win == nil {
		p.win = new(window)
	}
}

// timer makes sure that the machine looks at this peer at time t.
func (p *peer) timer(t int64) {
	if !p.listed {
		p.listed = true
		p.m.active = append(p.m.active, p)
	}
	if p.m.due == 0 || t < p.m.due {
		p.m.due = t
	}
}

// drop ends a session: every operation goes to done with err, every packet is freed.
func (p *peer) drop(to sessionState, err error, done *opList) {
	if len(p.m.burst) > 0 { // the outlet must not have the packets any more
		p.m.sendBurst()
	}
	if p.win != nil {
		for s := p.base; s != p.nextSeq; s++ {
			k := *p.slot(s)
			if k == nil {
				continue
			}
			*p.slot(s) = nil
			if k.op != nil {
				done.add(k.op, err)
			}
			p.m.pool.put(k)
		}
	}
	for op := p.flushes.take(); op != nil; op = p.flushes.take() {
		done.add(op, err)
	}
	p.base, p.sendNext = p.nextSeq, p.nextSeq
	p.flying, p.missing, p.refused = 0, 0, 0
	for i := range p.routes {
		r := &p.routes[i]
		r.flying, r.flyingBytes, r.retryDue, r.fullDue, r.probeDue = 0, 0, 0, 0, 0
	}
	p.refusedDue, p.stallDue, p.helloDue, p.waitSince, p.probing, p.watched = 0, 0, 0, 0, false, false
	p.ackDue, p.ackCount, p.wantAck, p.parts = 0, 0, false, nil
	for len(p.partials) > 0 {
		p.forget(p.partials[0].of)
	}
	p.byeDue = 0
	p.state = to
}
