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
	addrs    []netip.AddrPort // by path; not empty
	state    sessionState
	listed   bool // in m.active
	wantSoon bool // in m.soon
	handshake
	outgoing
	incoming
	farewell
}

// from says whether a is the peer's address of path.
func (p *peer) from(path Path, a netip.AddrPort) bool {
	return int(path) < len(p.addrs) && p.addrs[path] == a
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

	flying, missing, refused int // packets in these states
	flyingBytes              int
	congestion
	rtt

	tx         uint64 // transmissions so far
	ackedTx    uint64 // the latest transmission known to have arrived
	ackedSent  int64  // when it, or the latest before it of which that is known, was sent
	freshSent  int64  // when that was, if the packet at hand acknowledges it; else 0
	askedBytes int    // sent since an acknowledgement came or was asked for
	askedCount int
	retryDue   int64    // when the oldest packet in flight is sent again; 0: nothing is in flight
	backoff    uint     // how often in a row it was
	refusedDue int64    // when the first refused packet is; 0: none
	fullDue    int64    // when to try the outlet again; 0: it was not full
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
	p.flying, p.missing, p.refused, p.flyingBytes = 0, 0, 0, 0
	p.retryDue, p.refusedDue, p.fullDue, p.helloDue, p.waitSince, p.probing = 0, 0, 0, 0, 0, false
	p.ackDue, p.ackCount, p.wantAck, p.parts = 0, 0, false, nil
	p.byeDue = 0
	p.state = to
}
