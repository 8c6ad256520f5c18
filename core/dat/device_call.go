package dat

import (
	"net/netip"
	"syscall"

	"lapi/core/dat/adapter"
	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/core/progress"
)

// callState is how far a connection of the RDMA connection manager has come.
type callState uint8

const (
	finding   callState = iota // active: the peer's address, or the way to it
	asking                     // active: the request is on its way, or pending there
	pausing                    // active: nobody has listened, and is asked again
	undecided                  // passive: the program has to decide
	accepting                  // passive
	standing
	leaving // this side has ended it, and waits for the peer to know
	done
)

// call is a connection, or the attempt at one, of an RDMA adapter: the engine's attempt.
type call struct {
	k         *device
	id        adapter.ID
	owner     cm.Owner // *EP, *CR; nil: nobody
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
	reason    syscall.Errno // why no address or route was found, last
	tries     int           // for an address
	refusals  int
	in, out   uint8       // of a request: reads under way that the peer asks for, and lets be
	from      datagramEnd // of a request of datagrams
}

// devicePort is the port of a qualifier, as the original provider has it.
func devicePort(qualifier uint64) uint16 {
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
	abruptTimeout = 240e6 // ns for the peer to hear of an abrupt end
)

// rejectHead is in front of the private data of a rejection: versions of the original's interface,
// which nobody looks at.
var rejectHead = [4]byte{2, 0, 2, 0}

func (k *device) newCall(id adapter.ID) *call {
	c := &call{k: k, id: id, number: k.ia.library.random()}
	k.calls[id] = c
	return c
}

func (k *device) connect(e *EP, to netip.Addr, qualifier uint64, timeout int64,
	private []byte) (a arrival, r codes.Return) {
	q := e.way.(*pair)
	if q.qp == 0 {
		return a, codes.InvalidState.With(codes.InvalidStateEPUnconfigured)
	}
	id, err := k.d.NewID(e.ud != nil)
	if err != nil {
		return a, codes.InsufficientResources.With(codes.ResourceDevice)
	}
	c := k.newCall(id)
	c.owner, c.active, c.datagrams, c.qualifier = e, true, e.ud != nil, qualifier
	c.peer = netip.AddrPortFrom(to, devicePort(qualifier))
	if c.private = append([]byte(nil), private...); c.datagrams {
		c.private = append(k.datagramEnd(e).bytes(), private...)
	}
	if timeout != 0 {
		c.deadline = k.ia.library.cfg.Clock() + timeout
		k.wakeAt(c.deadline)
	}
	c.reportAt = k.ia.library.cfg.Clock() + silenceReportedAfter
	k.wakeAt(c.reportAt)
	if err := k.d.FindAddress(id, c.peer, findTimeout); err != nil {
		c.free()
		return a, refusedBy(err, unreachable)
	}
	return arrival{attempt: c, local: k.info.Addr, peer: c.peer, qualifier: qualifier}, r
}

// free forgets the connection, whatever there is of it: the peer of an attempt is told.
func (c *call) free() {
	if c.state != done {
		c.state = done
		c.k.d.FreeID(c.id)
		delete(c.k.calls, c.id)
	}
}

// terms are what the connection is asked for with, or accepted.
func (c *call) terms(e *EP, private []byte) adapter.Terms {
	return adapter.Terms{QPN: e.way.(*pair).number, Shared: e.SRQ != nil, Private: private,
		ReadsIn: uint8(e.Attr.MaxReadsIn), ReadsOut: uint8(e.Attr.MaxReadsOut)}
}

// onEvent is told what has happened to an ID.
func (k *device) onEvent(e *adapter.Event) {
	if e.Kind == adapter.Requested {
		k.onRequest(e)
		return
	}
	c := k.calls[e.ID]
	if c == nil {
		return
	}
	switch ep, _ := c.owner.(*EP); {
	case e.Kind == adapter.Disconnected || e.Kind == adapter.Removed:
		c.onEnd(e)
	case c.state == leaving: // nothing else is of interest
	case ep == nil:
		c.onCancel(e)
	case c.state == standing:
		c.onBreak(ep, e)
	case c.active:
		c.onActive(ep, e)
	case e.Kind == adapter.Established:
		c.stand(ep, nil)
	default:
		c.fail(EventAcceptCompletionError, false, nil)
	}
}

// onBreak: something has come for a connection that stands. A rejection means that the peer has
// closed it before it heard that it stands.
func (c *call) onBreak(ep *EP, e *adapter.Event) {
	switch e.Kind {
	case adapter.Rejected:
		ep.way.(*pair).end(rc.ByPeer)
	case adapter.Unreachable, adapter.Failed:
		ep.way.(*pair).end(rc.Broken)
	}
}

// onCancel: the active side of a request has given up.
func (c *call) onCancel(e *adapter.Event) {
	if cr, is := c.owner.(*CR); is && e.Kind != adapter.Established {
		cr.gone = true
		c.free()
	}
}

func (c *call) onActive(ep *EP, e *adapter.Event) {
	k := c.k
	var err error
	switch e.Kind {
	case adapter.AddressFound:
		err = k.d.FindRoute(c.id, findTimeout)
	case adapter.RouteFound:
		c.state, c.reason = asking, 0
		err = k.d.Connect(c.id, c.terms(ep, c.private))
		k.ia.count(iaCMReqTX)
	case adapter.NotFound:
		c.reason = syscall.Errno(max(-e.Status, 0))
		if c.tries++; c.tries < findTries && e.Status == -int(syscall.ETIMEDOUT) {
			err = k.d.FindAddress(c.id, c.peer, findTimeout)
			break
		}
		c.fail(EventUnreachable, false, nil)
	case adapter.Responded:
		c.onResponse(ep, e)
	case adapter.Established: // of datagrams
		c.onDatagramEnd(ep, e)
	case adapter.Rejected:
		c.onReject(e)
	case adapter.Unreachable:
		switch {
		case c.datagrams && e.Status == datagramNobody:
			c.refused()
		case c.datagrams && e.Status == datagramRejected:
			c.fail(EventPeerRejected, true, behind(e.Private, len(rejectHead)))
		default:
			c.fail(EventUnreachable, false, nil)
		}
	default:
		c.fail(EventBroken, false, nil)
	}
	if err != nil {
		c.fail(EventBroken, false, nil)
	}
}

// behind is what of b is behind n bytes.
func behind(b []byte, n int) []byte { return b[min(n, len(b)):] }

// onResponse makes the connection that the peer has accepted.
func (c *call) onResponse(ep *EP, e *adapter.Event) {
	k, q := c.k, ep.way.(*pair)
	k.ia.count(iaCMRepRX)
	private := append([]byte(nil), e.Private...)
	if q.qp == 0 || k.d.Ready(c.id, q.qp, -1, -1) != nil || k.d.Establish(c.id) != nil {
		c.fail(EventUnreachable, false, nil)
		return
	}
	k.ia.count(iaCMRtuTX)
	c.out = e.ReadsOut
	c.stand(ep, private)
}

// stand: data may flow.
func (c *call) stand(ep *EP, private []byte) {
	q := ep.way.(*pair)
	if q.qp == 0 { // it has failed meanwhile
		c.fail(EventBroken, false, nil)
		return
	}
	c.state, c.deadline, c.reportAt = standing, 0, 0
	q.connected(c, int(c.out))
	ep.established(c.active, private)
}

// onReject: the request was turned down, by the program there or because nobody listens.
func (c *call) onReject(e *adapter.Event) {
	switch e.Status {
	case adapter.ReasonConsumer:
		c.k.ia.count(iaCMUserRejRX)
		c.fail(EventPeerRejected, true, behind(e.Private, len(rejectHead)))
	case adapter.ReasonNobody:
		c.refused()
	default:
		c.fail(EventNonPeerRejected, false, nil)
	}
}

// refused asks again: the program there may be about to listen.
func (c *call) refused() {
	c.reportAt = 0 // that was an answer
	c.k.ia.count(iaCMErrRefused)
	if c.refusals++; c.refusals > refusalsMost {
		c.fail(EventNonPeerRejected, false, nil)
		return
	}
	c.state = pausing
	c.next = c.k.ia.library.cfg.Clock() + min(refusalPause*int64(c.refusals), pauseMost)
	c.k.wakeAt(c.next)
}

// again asks again, by another ID.
func (c *call) again() {
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
		c.fail(EventBroken, false, nil)
	}
}

// fail ends an attempt and tells the endpoint.
func (c *call) fail(number EventNumber, rejected bool, private []byte) {
	private = append([]byte(nil), private...)
	ep, _ := c.owner.(*EP)
	c.owner = nil
	c.free()
	if ep == nil {
		return
	}
	c.k.ia.count(iaCMErr)
	if ep.ud != nil {
		ep.failedUD(c, rejected, private)
		return
	}
	ep.failed(number, private)
}

// onEnd: the peer has ended the connection, or knows that this side has; or the adapter is gone.
func (c *call) onEnd(e *adapter.Event) {
	ep, _ := c.owner.(*EP)
	switch {
	case c.state == standing && ep != nil:
		how := rc.ByPeer
		if e.Kind == adapter.Removed {
			how = rc.Broken
		}
		ep.way.(*pair).end(how)
	case c.state == leaving:
		c.left()
	case ep != nil:
		number := EventBroken
		if !c.active {
			number = EventAcceptCompletionError
		}
		c.fail(number, false, nil)
	default:
		c.onCancel(e)
	}
}

// leave ends a connection that has ended for the endpoint. One that is broken is remembered until
// the peer has heard of it.
func (c *call) leave(broken bool) {
	c.owner = nil
	if _ = c.k.d.Disconnect(c.id); !broken {
		c.free()
		return
	}
	c.awaitEnd(c.k.ia.library.cfg.Timeout)
}

// hangUp ends a connection as the program wants it.
func (c *call) hangUp(graceful bool) {
	_ = c.k.d.Disconnect(c.id)
	limit := int64(abruptTimeout)
	if graceful || c.owner == nil {
		limit = c.k.ia.library.cfg.Timeout
	}
	c.awaitEnd(limit)
}

func (c *call) awaitEnd(limit int64) {
	c.state = leaving
	c.deadline = c.k.ia.library.cfg.Clock() + limit
	c.k.wakeAt(c.deadline)
}

// left: the peer knows of the end, or was given the time to.
func (c *call) left() {
	ep, _ := c.owner.(*EP)
	c.owner = nil
	c.free()
	if ep != nil {
		ep.ended(rc.ByUser)
	}
}

// Close implements attempt. Of a connection that stands, or has ended, the endpoint takes care.
func (c *call) Close(int64) {
	if c.state != standing && c.state != leaving {
		c.free()
	}
}

// Confirm implements attempt: the connection manager does that.
func (c *call) Confirm() {}

// Number implements attempt.
func (c *call) Number() uint64 { return c.number }

// Own implements attempt.
func (c *call) Own(owner cm.Owner) { c.owner = owner }

// onTimeout does what is due.
func (k *device) onTimeout(now int64) {
	k.due = 0
	for _, c := range k.calls {
		switch {
		case c.deadline != 0 && now >= c.deadline && c.state == leaving:
			c.left()
		case c.deadline != 0 && now >= c.deadline:
			k.ia.count(iaCMErrTimeout)
			c.fail(EventTimedOut, false, nil)
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
