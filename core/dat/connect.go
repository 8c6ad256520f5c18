package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// Connect is dat_ep_connect. timeout is in ns, 0: none.
func (e *EP) Connect(to netip.Addr, qualifier uint64, timeout int64, private []byte) codes.Return {
	switch {
	case e.ConnectE == nil:
		return codes.InvalidState.With(codes.InvalidStateEPEVDConnect)
	case len(private) > e.ia.limits.PrivateConnect:
		return codes.Arg(5)
	}
	if r := e.may(stepConnect); r != codes.Success && e.ud == nil {
		return r
	}
	c, r := e.ia.engine.connect(e, to, qualifier, timeout, private)
	if r != codes.Success {
		return r
	}
	e.Qualifier, e.Active = qualifier, true
	e.counters[epConnect]++
	if e.ud != nil {
		e.ud.attempts = append(e.ud.attempts, c.attempt)
		return codes.Success
	}
	e.step(stepConnect)
	e.attempt, e.Local, e.Remote = c.attempt, c.local, c.peer
	return codes.Success
}

// caller is the owner of an active connection.
type caller interface {
	cm.Owner
	cardOf(d *dataLink, p *peer) [cm.CardSize]byte
}

// dial begins a connection for e. stats counts its messages; nil: nothing does.
func (l *Library) dial(e caller, to netip.Addr, qualifier uint64, service uint8, timeout int64,
	private []byte, stats cm.Stats) (*cm.Conn, *dataLink, codes.Return) {
	local, err := l.network.LocalFor(to)
	if err != nil {
		return nil, nil, codes.RefusedBy(err, codes.Unreachable)
	}
	d, err := l.peers.dataLinkAt(local)
	if err != nil {
		return nil, nil, codes.RefusedBy(err, codes.InsufficientResources.With(codes.ResourceDevice))
	}
	c, err := l.machine.Connect(l.cfg.Clock(), &cm.Call{
		To: netip.AddrPortFrom(to, uint16(PortOf(qualifier))), Qualifier: qualifier,
		Service: service, Card: e.cardOf(d, nil), Private: private, Timeout: timeout, Owner: e,
		Stats: stats})
	if err != nil {
		return nil, nil, codes.Arg(5)
	}
	c.Local = local
	return c, d, codes.Success
}

// Accepted implements cm.Owner: data to a process of this node waits for a link.
func (e *EP) Accepted(c *cm.Conn) bool { return e.ud != nil || e.ia.library.node.accepted(c) }

// Established implements cm.Owner.
func (e *EP) Established(c *cm.Conn, private []byte) {
	l := e.ia.library
	if e.ud != nil {
		e.ud.established(c, private)
		return
	}
	d, err := l.peers.dataLinkAt(c.Local)
	if err != nil {
		e.failed(EventBroken, nil)
		return
	}
	theirs := readCard(&c.PeerCard)
	p := l.node.peerOf(c, d, &theirs, e.offload)
	if p == nil {
		e.failed(EventBroken, nil)
		return
	}
	if c.Active {
		c.Card = e.cardOf(d, p) // Ready carries it
	}
	e.Remote = c.Peer
	if !e.join(p, &theirs) {
		e.leavePeer()
		e.failed(EventBroken, nil)
		return
	}
	e.grant()
	e.established(c.Active, private)
}

// established: the connection is established.
func (e *EP) established(active bool, private []byte) {
	e.step(stepEstablished)
	if active {
		e.ia.count(iaCMActiveEst)
	} else {
		e.ia.count(iaCMPassiveEst)
	}
	e.tellConnection(EventEstablished, private)
}

// tellConnection posts an event of the connection.
func (e *EP) tellConnection(number EventNumber, private []byte) {
	if e.abandon {
		return
	}
	address := uint64(0)
	if len(private) > 0 {
		address, _ = e.private.keep(e.ia, private)
	}
	ev := connectionEvent(number, e.handle, len(private), address)
	e.ConnectE.post(&ev)
}

// Failed implements cm.Owner.
func (e *EP) Failed(c *cm.Conn, why cm.Reason, private []byte) {
	e.ia.countFailure(why)
	if c.Stood { // the peer has closed it after Accept, before Ready had arrived
		e.left(c)
		return
	}
	if e.ud != nil {
		e.ud.failed(c, why == cm.Rejected, private)
		return
	}
	number := EventAcceptCompletionError
	if c.Active {
		number = map[cm.Reason]EventNumber{cm.Rejected: EventPeerRejected,
			cm.NobodyThere: EventNonPeerRejected, cm.TimedOut: EventTimedOut,
			cm.Unproved: EventNonPeerRejected}[why]
	}
	e.failed(number, private)
}

// left: the peer has closed its end of a connection that is established here. Address handles stay.
func (e *EP) left(c *cm.Conn) {
	if e.ud != nil {
		e.ud.drop(c)
		return
	}
	e.conn.Left()
}

// closeAttempt ends the attempt to connect, if there is one.
func (e *EP) closeAttempt() {
	if a := e.attempt; a != nil {
		e.attempt = nil
		a.Close(e.now())
	}
}

// failed: the connection could not be made. Everything posted is flushed.
func (e *EP) failed(number EventNumber, private []byte) {
	e.closeAttempt()
	if e.may(stepFailed) != codes.Success {
		return
	}
	e.step(stepFailed)
	e.way.Discard()
	e.tellConnection(number, private)
}

// ended: the connection is over.
func (e *EP) ended(how rc.Ending) {
	e.leavePeer()
	switch how {
	case rc.ByUser:
		e.ia.count(iaCMDreqTX)
	case rc.ByPeer:
		e.ia.count(iaCMDreqRX)
	}
	e.closeAttempt()
	if e.abandon || e.may(stepEnded) != codes.Success {
		return
	}
	e.step(stepEnded)
	number := EventDisconnected
	if how == rc.Broken {
		number = EventBroken
	}
	e.tellConnection(number, nil)
	if e.SRQ != nil { // this endpoint gets no more receives of the queue
		e.ia.count(iaAsyncQPError)
		e.ia.asyncError(EventEPBroken, e.handle, 0)
	}
}

// Disconnect is dat_ep_disconnect.
func (e *EP) Disconnect(graceful bool) codes.Return {
	if e.ud != nil {
		return codes.Success
	}
	r := e.may(stepGraceful)
	if r != codes.Success || e.State == Disconnected {
		return r
	}
	e.counters[epDisconnect]++
	before := e.State
	e.step(stepGraceful)
	if before == Connected || before == DisconnectPending {
		e.way.Disconnect(graceful)
		return codes.Success
	}
	e.closeAttempt() // it was not established yet
	e.way.Discard()
	e.tellConnection(EventDisconnected, nil)
	return codes.Success
}

// Duplicate is dat_ep_dup_connect: connects to the peer of of.
func (e *EP) Duplicate(of *EP, timeout int64, private []byte) codes.Return {
	if of.State != Connected {
		return codes.InvalidState.With(why[of.State])
	}
	return e.Connect(of.Remote.Addr(), of.Qualifier, timeout, private)
}

// cardOf is the card that e sends its peer.
func (e *EP) cardOf(d *dataLink, p *peer) [cm.CardSize]byte {
	c := e.ia.library.node.cardOf(d, p)
	c.reads = uint16(min(e.Attr.MaxReadsIn, MaxReads))
	c.conn, c.tag = e.conn.Name()
	if e.ud != nil {
		c.qpn = e.ud.qpn
	} else if !e.decided {
		e.decided, e.offload = true, e.ia.library.nodeConns.wanted()
	}
	c.offload = e.offload
	return c.bytes()
}

// join opens e's connection to the endpoint that a card names: C's, if both processes say so and
// share memory. false: there is no memory.
func (e *EP) join(p *peer, c *card) bool {
	link, ep := p.link()
	e.peer = p
	p.use(1)
	reads := int(min(uint16(e.Attr.MaxReadsOut), c.reads))
	if on, ok := link.(laneLink); ok && e.offload && c.offload {
		return e.openNode(on, ep, c, reads)
	}
	e.conn.Open(link, ep, c.conn, c.tag, reads)
	return true
}

// leavePeer takes a connection off the peer's count.
func (e *EP) leavePeer() {
	if e.conn == nil {
		return
	}
	e.closeNode()
	if p := e.peer; p != nil {
		e.peer = nil
		p.use(-1)
	}
}
