package device

import (
	"fmt"
	"net/netip"
	"syscall"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/core/progress"
	"lapi/transport/ibv"
)

// callState is the state of a connection of the RDMA connection manager.
type callState uint8

const (
	finding   callState = iota // active: the peer's address, or the way to it
	asking                     // active: the request is on its way, or pending there
	pausing                    // active: nobody listened; the request is repeated later
	undecided                  // passive: the program has to decide
	accepting                  // passive
	standing
	leaving // this side has ended it, and waits for the peer to know
	done
)

// Call is a connection, or the attempt at one.
type Call struct {
	k         *Device
	id        ibv.ID
	end       Endpoint // nil: none
	decider   Decider  // while the program has to decide; else nil
	active    bool
	datagrams bool
	state     callState
	qualifier uint64
	number    uint64
	peer      netip.AddrPort
	private   []byte        // of an active one: what to send
	deadline  int64         // 0: none
	next      int64         // while pausing: when to ask again
	reportAt  int64         // when its silence is to be reported; 0: never
	reason    syscall.Errno // the last reason why no address or route was found
	tries     int           // for an address
	refusals  int
	in, out   uint8       // of a request: reads under way that the peer asks for, and lets be
	from      datagramEnd // of a request of datagrams
}

// PortOf is the port of a qualifier, as the original provider has it.
func PortOf(qualifier uint64) uint16 {
	if qualifier <= 0xffff {
		return uint16(qualifier)
	}
	return uint16(qualifier%32001 + 33534)
}

const (
	findTimeout   = 200   // ms for an address or a route, once
	findTries     = 300   // a minute
	refusalsMost  = 9     // while a program may be about to listen
	refusalPause  = 100e6 // ns, at first
	pauseMost     = 500e6 // ns
	AbruptTimeout = 240e6 // ns for the peer to notice an abrupt end
)

// rejectHead is in front of the private data of a rejection: versions of the original's interface,
// which nobody looks at.
var rejectHead = [4]byte{2, 0, 2, 0}

func (k *Device) newCall(id ibv.ID) *Call {
	c := &Call{k: k, id: id, number: k.host.Random()}
	k.calls[id] = c
	return c
}

// Connect begins a connection for an endpoint. timeout is in ns, 0: none.
func (k *Device) Connect(e Endpoint, to netip.Addr, qualifier uint64, timeout int64,
	private []byte) (a Arrival, r codes.Return) {
	q := e.Pair()
	if q.qp == 0 {
		return a, codes.InvalidState.With(codes.InvalidStateEPUnconfigured)
	}
	datagrams := q.config.Datagrams
	id, err := k.d.NewID(datagrams)
	if err != nil {
		return a, codes.InsufficientResources.With(codes.ResourceDevice)
	}
	c := k.newCall(id)
	c.end, c.active, c.datagrams, c.qualifier = e, true, datagrams, qualifier
	c.peer = netip.AddrPortFrom(to, PortOf(qualifier))
	if c.private = append([]byte(nil), private...); c.datagrams {
		c.private = append(q.datagramEnd().bytes(), private...)
	}
	if timeout != 0 {
		c.deadline = k.host.Now() + timeout
		k.wakeAt(c.deadline)
	}
	c.reportAt = k.host.Now() + SilenceReportedAfter
	k.wakeAt(c.reportAt)
	if err := k.d.FindAddress(id, c.peer, findTimeout); err != nil {
		c.free()
		return a, codes.RefusedBy(err, codes.Unreachable)
	}
	return Arrival{Call: c, Datagrams: datagrams, Local: k.info.Addr, Peer: c.peer,
		Qualifier: qualifier}, r
}

// free forgets the connection in any state: the peer of an attempt is notified.
func (c *Call) free() {
	if c.state != done {
		c.state = done
		c.k.d.FreeID(c.id)
		delete(c.k.calls, c.id)
	}
}

// terms are the parameters of the request or its acceptance.
func (c *Call) terms(e Endpoint, private []byte) ibv.Terms {
	q := e.Pair()
	return ibv.Terms{QPN: q.number, Shared: q.config.Queue != nil, Private: private,
		ReadsIn: uint8(q.config.ReadsIn), ReadsOut: uint8(q.config.ReadsOut)}
}

// onEvent takes an event of an ID.
func (k *Device) onEvent(e *ibv.CMEvent) {
	if e.Kind == ibv.Requested {
		k.onRequest(e)
		return
	}
	c := k.calls[e.ID]
	if c == nil {
		return
	}
	switch ep := c.end; {
	case e.Kind == ibv.Disconnected || e.Kind == ibv.Removed:
		c.onEnd(e)
	case c.state == leaving: // other events do not matter
	case ep == nil:
		c.onCancel(e)
	case c.state == standing:
		c.onBreak(ep, e)
	case c.active:
		c.onActive(ep, e)
	case e.Kind == ibv.Established:
		c.stand(ep, nil)
	default:
		c.fail(FailedAcceptance, nil)
	}
}

// onBreak: an event has arrived for an established connection. A rejection means that the peer has
// closed it before it knew that it is established.
func (c *Call) onBreak(ep Endpoint, e *ibv.CMEvent) {
	switch e.Kind {
	case ibv.Rejected:
		ep.Pair().over(rc.ByPeer)
	case ibv.Unreachable, ibv.Failed:
		ep.Pair().over(rc.Broken)
	}
}

// onCancel: the active side of a request has given up.
func (c *Call) onCancel(e *ibv.CMEvent) {
	if c.decider != nil && e.Kind != ibv.Established {
		c.decider.Withdrawn()
		c.free()
	}
}

func (c *Call) onActive(ep Endpoint, e *ibv.CMEvent) {
	k := c.k
	var err error
	switch e.Kind {
	case ibv.AddressFound:
		err = k.d.FindRoute(c.id, findTimeout)
	case ibv.RouteFound:
		c.state, c.reason = asking, 0
		err = k.d.Connect(c.id, c.terms(ep, c.private))
		k.host.Count(RequestsSent)
	case ibv.NotFound:
		c.reason = syscall.Errno(max(-e.Status, 0))
		if c.tries++; c.tries < findTries && e.Status == -int(syscall.ETIMEDOUT) {
			err = k.d.FindAddress(c.id, c.peer, findTimeout)
			break
		}
		c.fail(FailedUnreachable, nil)
	case ibv.Responded:
		c.onResponse(ep, e)
	case ibv.Established: // of datagrams
		c.onDatagramEnd(ep, e)
	case ibv.Rejected:
		c.onReject(e)
	case ibv.Unreachable:
		switch {
		case c.datagrams && e.Status == datagramNobody:
			c.refused()
		case c.datagrams && e.Status == datagramRejected:
			c.fail(FailedRejected, behind(e.Private, len(rejectHead)))
		default:
			c.fail(FailedUnreachable, nil)
		}
	default:
		c.fail(FailedBroken, nil)
	}
	if err != nil {
		c.fail(FailedBroken, nil)
	}
}

// behind is the part of b behind n bytes.
func behind(b []byte, n int) []byte { return b[min(n, len(b)):] }

// onResponse makes the connection that the peer has accepted.
func (c *Call) onResponse(ep Endpoint, e *ibv.CMEvent) {
	k, q := c.k, ep.Pair()
	k.host.Count(RepliesReceived)
	private := append([]byte(nil), e.Private...)
	if q.qp == 0 || k.d.Ready(c.id, q.qp, -1, -1) != nil || k.d.Establish(c.id) != nil {
		c.fail(FailedUnreachable, nil)
		return
	}
	k.host.Count(ReadySent)
	c.out = e.ReadsOut
	c.stand(ep, private)
}

// stand: data may flow.
func (c *Call) stand(ep Endpoint, private []byte) {
	q := ep.Pair()
	if q.qp == 0 { // it has failed meanwhile
		c.fail(FailedBroken, nil)
		return
	}
	c.state, c.deadline, c.reportAt = standing, 0, 0
	q.connected(c, int(c.out))
	ep.Established(c.active, private)
}

// onReject: the request was turned down, by the program there or because nobody listens.
func (c *Call) onReject(e *ibv.CMEvent) {
	switch e.Status {
	case ibv.ReasonConsumer:
		c.k.host.Count(RejectionsReceived)
		c.fail(FailedRejected, behind(e.Private, len(rejectHead)))
	case ibv.ReasonNobody:
		c.refused()
	default:
		c.fail(FailedRefused, nil)
	}
}

// refused asks again: the program there may be about to listen.
func (c *Call) refused() {
	c.reportAt = 0 // that was an answer
	c.k.host.Count(Refused)
	if c.refusals++; c.refusals > refusalsMost {
		c.fail(FailedRefused, nil)
		return
	}
	c.state = pausing
	c.next = c.k.host.Now() + min(refusalPause*int64(c.refusals), pauseMost)
	c.k.wakeAt(c.next)
}

// again asks again, by another ID.
func (c *Call) again() {
	k := c.k
	id, err := k.d.NewID(c.datagrams)
	if err == nil {
		k.d.FreeID(c.id)
		delete(k.calls, c.id)
		c.id, c.state = id, finding
		k.calls[id] = c
		err = k.d.FindAddress(id, c.peer, findTimeout)
	}
	if err != nil {
		c.fail(FailedBroken, nil)
	}
}

// fail ends an attempt and notifies the endpoint.
func (c *Call) fail(why Failure, private []byte) {
	private = append([]byte(nil), private...)
	ep := c.end
	c.Disown()
	c.free()
	if ep != nil {
		c.k.host.Count(Errors)
		ep.Failed(c, why, private)
	}
}

// onEnd: the peer has ended the connection, or knows that this side has; or the adapter is gone.
func (c *Call) onEnd(e *ibv.CMEvent) {
	ep := c.end
	switch {
	case c.state == standing && ep != nil:
		how := rc.ByPeer
		if e.Kind == ibv.Removed {
			how = rc.Broken
		}
		ep.Pair().over(how)
	case c.state == leaving:
		c.left()
	case ep != nil:
		why := FailedBroken
		if !c.active {
			why = FailedAcceptance
		}
		c.fail(why, nil)
	default:
		c.onCancel(e)
	}
}

// leave ends a connection that has ended for the endpoint. A broken connection is remembered until
// the peer knows of its end.
func (c *Call) leave(broken bool) {
	c.Disown()
	if _ = c.k.d.Disconnect(c.id); !broken {
		c.free()
		return
	}
	c.awaitEnd(c.k.timeout)
}

// hangUp ends a connection as the program wants it.
func (c *Call) hangUp(graceful bool) {
	_ = c.k.d.Disconnect(c.id)
	limit := int64(AbruptTimeout)
	if graceful || c.end == nil {
		limit = c.k.timeout
	}
	c.awaitEnd(limit)
}

func (c *Call) awaitEnd(limit int64) {
	c.state = leaving
	c.deadline = c.k.host.Now() + limit
	c.k.wakeAt(c.deadline)
}

// left: the peer knows of the end, or has had the time to learn of it.
func (c *Call) left() {
	ep := c.end
	c.Disown()
	c.free()
	if ep != nil {
		ep.Ended(rc.ByUser)
	}
}

// Close ends an attempt; its peer is notified. If the connection is established, or has ended, the
// endpoint takes care of it.
func (c *Call) Close() {
	if c.state != standing && c.state != leaving {
		c.free()
	}
}

// Number is a random number that names the call.
func (c *Call) Number() uint64 { return c.number }

// Active says whether this side has connected.
func (c *Call) Active() bool { return c.active }

// Peer is where the call comes from, or goes to.
func (c *Call) Peer() netip.AddrPort { return c.peer }

// SetEndpoint makes the call an endpoint's, SetDecider a request's that is not decided on, Disown
// nobody's: nobody is notified of its end.
func (c *Call) SetEndpoint(e Endpoint) { c.end, c.decider = e, nil }

// SetDecider is described at SetEndpoint.
func (c *Call) SetDecider(d Decider) { c.end, c.decider = nil, d }

// Disown is described at SetEndpoint.
func (c *Call) Disown() { c.end, c.decider = nil, nil }

// onTimeout does the work that is due.
func (k *Device) onTimeout(now int64) {
	k.due = 0
	for _, c := range k.calls {
		switch {
		case c.deadline != 0 && now >= c.deadline && c.state == leaving:
			c.left()
		case c.deadline != 0 && now >= c.deadline:
			k.host.Count(TimedOut)
			c.fail(FailedTimeout, nil)
		case c.state == pausing && now >= c.next:
			c.again()
		}
		if c.state == done {
			continue
		}
		c.noteUnanswered(now)
		k.due = progress.Earlier(k.due, c.deadline)
		k.due = progress.Earlier(k.due, c.reportAt)
		if c.state == pausing {
			k.due = progress.Earlier(k.due, c.next)
		}
	}
}

// noteUnanswered reports c once if it is time and nothing has answered it. The connection managers
// of adapters do not say whether a request has arrived that the program there has not decided on.
func (c *Call) noteUnanswered(now int64) {
	if c.reportAt == 0 || now < c.reportAt {
		return
	}
	c.reportAt = 0
	why := "no answer to the request: is a firewall in the way of RoCE (UDP port 4791), or has the " +
		"program there not decided yet?"
	if c.k.info.LID != 0 {
		why = "no answer to the request: has the program there not decided yet, or is it in another " +
			"InfiniBand partition?"
	}
	switch {
	case c.reason != 0:
		why = fmt.Sprintf("the address or the route is not found: the kernel says: %v", c.reason)
	case c.state == finding:
		why = "neither an address nor a route is found"
	}
	c.k.host.Silent(c.qualifier, c.peer.Addr(), fmt.Sprintf(
		"RDMA from adapter %s, port %d (%v) to %v: %s", c.k.info.Name, c.k.info.Port,
		c.k.info.Addr, c.peer, why))
}
