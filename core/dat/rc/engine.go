package rc

import (
	"lapi/transport"
)

// Status is how a request or a receive has ended. The numbers are uDAPL's
// (DAT_DTO_COMPLETION_STATUS).
type Status uint8

// The statuses.
const (
	Success         Status = 0
	Flushed         Status = 1
	LocalLength     Status = 2
	LocalProtection Status = 4
	BadResponse     Status = 5
	RemoteAccess    Status = 6
	RemoteResponder Status = 7
	Transport       Status = 8
	BindFailed      Status = 11
)

// Window is how many requests of a connection may be under way.
const Window = 64

// Right is what a remote access needs.
type Right uint8

// The rights.
const (
	RightRead Right = iota
	RightWrite
	RightAtomic
)

// Posted is what the poster of a request or receive keeps of it.
type Posted interface {
	// Usable says whether its local memory may still be written.
	Usable() bool
	// Bind has a bind take effect; false: it cannot.
	Bind() bool
}

// usable is Usable; memory of a request or receive without an owner stays.
func usable(p Posted) bool { return p == nil || p.Usable() }

// Owner has a connection. The engine notifies it under its lock; it may post, and must not call
// Progress.
type Owner interface {
	// Access says whether the peer of c may access n bytes at addr by context, and where they
	// are.
	Access(c *Conn, context uint32, addr transport.Addr, n uint64, right Right) (transport.Addr,
		bool)
	// Invalidate makes context useless, as a send of the peer's asks; false: it may not.
	Invalidate(c *Conn, context uint32) bool
	// Completed: a request is over; the owner has it again.
	Completed(c *Conn, r *Request)
	// Received: a receive is over; likewise. c.Shared's receives come with the connection that
	// took them.
	Received(c *Conn, r *Receive)
	// Ended: the connection is over, everything posted has completed. c is forgotten.
	Ended(c *Conn, how Ending)
}

// Ending is how a connection has ended.
type Ending int

// The endings.
const (
	ByUser Ending = iota // Disconnect, here
	ByPeer               // Disconnect, there
	Broken               // an error of a request, here or there, or the peer is gone
)

// Engine has the connections of one interface adapter.
type Engine struct {
	random  func() uint64
	conns   []*Conn // by number; nil: free
	free    []uint32
	dirty   []*Conn // may have something to send
	spare   []*Conn
	ops     transport.Ops
	scratch [askSize]byte
	Dropped uint64 // messages that fit no connection
}

// NewEngine makes an engine. random gives unpredictable numbers.
func NewEngine(random func() uint64) *Engine {
	e := &Engine{random: random}
	e.ops.Done = e.opDone
	return e
}

// Attach makes the engine take the messages of a link, before its first Progress.
func (e *Engine) Attach(link transport.Link) {
	for id := msgData; id <= msgHalf; id++ {
		link.Handle(id, func(m *transport.Msg) transport.Verdict {
			return e.onMessage(link, id, m)
		})
	}
}

// New makes a connection that nothing can be sent by yet: the peer gets its Name, and Open opens
// it.
func (e *Engine) New(owner Owner) *Conn {
	c := &Conn{Owner: owner, e: e, tag: uint32(e.random())}
	if n := len(e.free); n > 0 {
		c.index = e.free[n-1]
		e.free = e.free[:n-1]
		e.conns[c.index] = c
		return c
	}
	c.index = uint32(len(e.conns))
	e.conns = append(e.conns, c)
	return c
}

// onMessage finds the connection of a message. A message for a connection that is not open yet is
// refused, and the link delivers it again later: the peer learned before this side that the
// connection is established.
func (e *Engine) onMessage(link transport.Link, id transport.MsgID,
	m *transport.Msg) transport.Verdict {
	var h header
	if !h.decode(id, m.Hdr) || int(h.Conn) >= len(e.conns) {
		e.Dropped++
		return transport.Accept
	}
	switch c := e.conns[h.Conn]; {
	case c == nil || c.tag != h.Tag || c.state == over:
		e.Dropped++
	case c.state == idle:
		return transport.Refuse
	case c.link != link || c.ep != m.From:
		e.Dropped++
	case c.elsewhere != nil:
		c.elsewhere.Message(id, m.Hdr, m.Data)
	case !c.onMessage(id, &h, m.Data):
		c.breakOff(h.Seq, BadResponse)
	}
	return transport.Accept
}

// Conns is how many connections there are, those that were not opened included; for tests.
func (e *Engine) Conns() int { return len(e.conns) - len(e.free) }

// PeerFailed ends every connection to a peer that is gone.
func (e *Engine) PeerFailed(link transport.Link, ep transport.Endpoint) {
	e.endAll(link, ep, Broken)
}

// PeerLeft is PeerFailed of a peer that has closed its end in good order.
func (e *Engine) PeerLeft(link transport.Link, ep transport.Endpoint) { e.endAll(link, ep, ByPeer) }

// Left ends a connection that its peer has closed before it was open there.
func (c *Conn) Left() { c.cutOff(ByPeer) }

// cutOff ends a connection whose peer receives nothing any more.
func (c *Conn) cutOff(how Ending) {
	if c.elsewhere != nil {
		c.elsewhere.Cut(how)
		return
	}
	c.unsent = 0
	c.end(how)
	c.settle()
}

func (e *Engine) endAll(link transport.Link, ep transport.Endpoint, how Ending) {
	for _, c := range e.conns {
		if c != nil && c.link == link && c.ep == ep && c.state != idle {
			c.cutOff(how)
		}
	}
}

// Progress sends what is due, after the links' Progress and after posts. It returns how much it has
// done, and whether something waits for room in a link.
func (e *Engine) Progress() (done int, waiting bool) {
	list := e.dirty
	e.dirty = e.spare[:0]
	for i, c := range list {
		list[i] = nil
		c.listed = false
		if c.pump() {
			done++
		} else {
			c.touch()
			waiting = true
		}
	}
	e.spare = list[:0]
	return done, waiting
}

// Waiting says whether some connection has something to send.
func (e *Engine) Waiting() bool { return len(e.dirty) > 0 }

// Owed says whether a request to a peer that is reached by that link is under way.
func (e *Engine) Owed(link transport.Link) bool {
	for _, c := range e.conns {
		if c != nil && c.link == link && len(c.requests) > 0 {
			return true
		}
	}
	return false
}

// touch makes Progress look at c.
func (c *Conn) touch() {
	if !c.listed {
		c.listed = true
		c.e.dirty = append(c.e.dirty, c)
	}
}

// opDone: the link needs the memory of a fragment no more.
func (e *Engine) opDone(op *transport.Op, err error) {
	o, ok := op.Owner.(sender)
	e.ops.Put(op)
	if ok {
		o.released(err)
	}
}
