package bulk

import (
	"slices"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// call is a put or get of this task under way.
//
//	                   key refused, memory not registered
//	asking ──Want──> waiting ───────────────────────────────> copying ──last part in place──> over
//	                   │ Grant                                   ▲
//	                   ▼                refused by an adapter    │
//	                 moving ──────────────────────────────> giving back
//	                   │ all moved                               ▲
//	                   ▼                                         │
//	                finishing ──Finish──> finished ──Finished── over
//
// A short one begins with copying. In asking and finishing a packet waits for room. With the key of
// a region it begins with moving (region.go).
type call struct {
	set   *Set
	op    *transport.Op
	peer  *Peer
	token uint64 // the place in Set.calls, and above 32 bits how often it was used
	issue uint64
	get   bool
	state callState
	sent  uint64 // bytes that were sent, asked for, or posted
	done  uint64 // of a get: bytes that came; of RDMA: bytes that were moved

	tells bool // the target's owner gets op.Notice, and reports of its bad addresses
	over  bool // of copies: the last part was sent

	// Of RDMA.
	from, upTo uint64 // the use of the keys
	// that part of op's memory, registered with the ports in use
	held   [wire.PortsMax][]*registration.Entry
	bad    uint8  // a bit for each port that it cannot be registered with
	lost   uint32 // a bit for each of the peer's ports that a request to it may still be on its way
	grant  uint64 // the peer's name of the keys
	keys   wire.Keys
	region wire.Keys // those of a region by which it moves; none: it asks
	pieces [PiecesMax]piece
	length uint64 // of a piece
	parts  int    // requests under way
	retry  bool   // copy when the keys have been given back
	list   *list  // nil: op has one range at each side
}

type callState uint8

const (
	copying callState = iota
	asking
	waiting
	moving
	finishing
	finished
)

// Start begins a put or get of op. tells: notifies the target's owner by op.Notice, and of its bad
// addresses; then RouteSingleCopy is RDMA whatever the length, and a put may be of no bytes.
func (p *Peer) Start(op *transport.Op, get, tells bool) (transport.Status, error) {
	rdma := op.N >= p.set.cfg.Min
	if tells {
		rdma = op.N > 0 && (op.Route == transport.RouteSingleCopy ||
			op.Route == transport.RouteAny && rdma)
	}
	switch {
	case op.N > OneSidedMax || op.N == 0 && tells && get:
		return transport.Done, transport.ErrBadParam
	case op.N == 0 && !tells:
		return transport.Done, nil
	case len(p.calls) == CallsMax:
		return transport.Done, transport.ErrBusy
	}
	c := p.newCall(op)
	c.get, c.tells, c.upTo = get, tells, min(op.N, p.set.cfg.KeyMax)
	if rdma && c.acquirePackets() {
		c.state, c.length = asking, c.pieceLength()
		if !tells {
			c.useKey(op.Key)
		}
	}
	if err := c.advance(); err != nil && err != transport.ErrBusy {
		c.free()
		return transport.Done, err
	}
	return transport.Queued, nil
}

func (p *Peer) newCall(op *transport.Op) *call {
	var c *call
	s := p.set
	if last := len(s.free) - 1; last >= 0 {
		c = s.free[last]
		s.free = s.free[:last]
	} else {
		c = &call{token: uint64(len(s.calls))}
		s.calls = append(s.calls, c)
	}
	*c = call{set: s, op: op, peer: p, token: c.token + 1<<32, issue: p.issued, held: c.held}
	p.issued++
	p.calls = append(p.calls, c)
	return c
}

// free forgets c.
func (c *call) free() {
	if i := slices.Index(c.peer.calls, c); i >= 0 {
		c.peer.calls = slices.Delete(c.peer.calls, i, i+1)
	}
	c.releaseMemory()
	c.freeList()
	c.op, c.peer = nil, nil
	c.set.free = append(c.set.free, c)
}

// end completes c.
func (c *call) end(err error) {
	op, p := c.op, c.peer
	c.free()
	op.Done(op, err)
	p.task.Ended()
}

// advance sends what c can send now. ErrBusy: it goes on when there is room. Another error is that
// of the local memory, and only copies report it.
func (c *call) advance() (err error) {
	switch c.state {
	case copying:
		if c.get {
			err = c.askParts()
		} else {
			err = c.putParts()
		}
	case asking:
		if err = c.want(); err == nil {
			c.state = waiting
		}
	case moving:
		err = c.move()
	case finishing:
		if c.byRegion() {
			return c.finishRegion()
		}
		end := wire.Control{Token: c.token, Offset: c.grant, Ports: c.lost}
		if c.tells && !c.retry && c.done == c.op.N {
			end.Status, end.N, end.Notice = wire.StatusNoticedLast, c.op.N, c.op.Notice
		}
		if err = c.peer.task.Control(wire.KindFinish, &end, 0, 0); err == nil {
			c.state, c.lost = finished, 0
		}
	}
	return err
}

// want asks for the keys of the memory that is moved next.
func (c *call) want() error {
	if c.list != nil {
		return c.wantList()
	}
	want := wire.Control{Token: c.token, Addr: uint64(c.op.Remote) + c.from, N: c.upTo - c.from,
		Status: c.wanted(), Ports: c.peer.task.Ports(c.op.N >= LanesMin)}
	return c.peer.task.Control(wire.KindWant, &want, 0, 0)
}

// wanted is for what the keys are to be.
func (c *call) wanted() wire.Status {
	if c.get {
		return wire.WantRead
	}
	return wire.WantWrite
}

func (c *call) putParts() error {
	for ; c.sent < c.op.N || c.op.N == 0 && !c.over; c.over = c.sent == c.op.N {
		n := min(c.op.N-c.sent, wire.ChunkMax)
		part := wire.Control{Token: c.token, Addr: uint64(c.op.Remote) + c.sent,
			Status: c.part(n)}
		if part.Status == wire.StatusNoticedLast {
			part.N, part.Notice = c.op.N, c.op.Notice
		}
		if err := c.peer.task.Control(wire.KindPut, &part, c.op.Local+transport.Addr(c.sent),
			n); err != nil {
			return err
		}
		c.sent += n
		c.set.cfg.Stats.DataSent += n
	}
	return nil
}

func (c *call) askParts() error {
	for c.sent < c.op.N && c.sent-c.done < askedMax*wire.ChunkMax {
		n := min(c.op.N-c.sent, wire.ChunkMax)
		ask := wire.Control{Token: c.token, N: n, Offset: c.sent, Addr: uint64(c.op.Remote) + c.sent,
			Status: c.part(n)}
		if ask.Status == wire.StatusNoticedLast {
			ask.Notice = c.op.Notice
		}
		if err := c.peer.task.Control(wire.KindAsk, &ask, 0, 0); err != nil {
			return err
		}
		c.sent += n
	}
	return nil
}

// onAnswer takes in an answer to a call. A call that is over, by Disconnect or a fault, misses none.
func (p *Peer) onAnswer(k wire.Kind, m *wire.Control, data []byte) {
	if uint64(uint32(m.Token)) >= uint64(len(p.set.calls)) {
		return
	}
	c := p.set.calls[uint32(m.Token)]
	if c.token != m.Token || c.peer != p || c.op == nil {
		return
	}
	switch {
	case k == wire.KindGrant && c.state == waiting && c.list == nil:
		c.onGrant(m)
	case k == wire.KindGrants && c.state == waiting && c.list != nil:
		c.onGrants(m, data)
	case k == wire.KindFinished && c.state == finished:
		c.onFinished()
	case c.state != copying:
	case m.Status == wire.StatusFault:
		c.end(&transport.FaultError{Addr: transport.Addr(m.Addr), Remote: true, Told: c.tells})
	case k == wire.KindPutDone && !c.get && c.sent == c.op.N:
		c.end(nil)
	case k == wire.KindGot && c.get:
		c.onGot(m, data)
	}
}

// onGot writes a part of a copied get to memory.
func (c *call) onGot(m *wire.Control, data []byte) {
	n := uint64(len(data))
	if n == 0 || m.Offset != c.done || c.done+n > c.sent {
		return // not as asked for
	}
	if err := memory.CopyIn(c.op.Local+transport.Addr(c.done), data); err != nil {
		c.end(err)
		return
	}
	c.set.cfg.Stats.DataReceived += n
	if c.done += n; c.done == c.op.N {
		c.end(nil)
		return
	}
	if err := c.advance(); err != nil && err != transport.ErrBusy {
		c.end(err)
	}
}
