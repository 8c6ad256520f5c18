package cm

import (
	"crypto/ecdh"
	"errors"
	"iter"
	"maps"
	"net/netip"
	"slices"
)

// Port is a socket of this process: that of listeners at a port, or Own.
type Port uint16

// Own is the socket that a machine connects from.
const Own Port = 0

// Outlet is where datagrams go.
type Outlet interface {
	// Send sends b, which it must not keep, by one of this process's sockets; from the address
	// local, if it is valid.
	Send(by Port, local netip.Addr, to netip.AddrPort, b []byte)
	// Hold keeps the socket of a port open until Release, though nobody may listen there any more:
	// a request that was taken still needs it.
	Hold(by Port)
	Release(by Port)
}

// Reason is why a connection was not made.
type Reason int

// The reasons.
const (
	Rejected    Reason = iota // by the consumer there; with private data
	NobodyThere               // nobody listens, or what is there speaks otherwise
	TimedOut                  // no answer in time
	Unproved                  // what came was not proved: the two have different keys
	Cancelled                 // passive: the active side has given up
)

// Service has a listener. The machine notifies it from inside its calls; it may call the machine.
type Service interface {
	// Requested: a request has come to the listener. Conn.Accept or Conn.Reject answers it; until
	// Conn.Owner is set, nobody is notified of its end.
	Requested(c *Conn, private []byte)
}

// Owner has a connection. The machine notifies it from inside its calls; it may call the machine.
type Owner interface {
	// Accepted: the peer of an active connection has accepted, and Pair and PeerCard are known.
	// False: the owner has something to do before data may flow, and calls Conn.Proceed after
	// it, within a time of its own, never from inside.
	Accepted(c *Conn) bool
	// Established: data may flow. private is the acceptor's, on the active side.
	Established(c *Conn, private []byte)
	// Failed: c is over.
	Failed(c *Conn, why Reason, private []byte)
}

// FailureOnly is embedded by an Owner that only the end of its connection concerns.
type FailureOnly struct{}

// Accepted implements Owner.
func (FailureOnly) Accepted(*Conn) bool { return true }

// Established implements Owner.
func (FailureOnly) Established(*Conn, []byte) {}

// Config is what a machine must know.
type Config struct {
	Outlet Outlet
	Key    *ecdh.PrivateKey // of this process; NewKey makes one
	Shared []byte           // a key that all processes were given; may be empty
	Random func() uint64    // unpredictable numbers
	// Unanswered is called, once, for an active connection whose requests have had no answer for
	// 5 s. Nil: nobody wants that.
	Unanswered func(c *Conn)
}

// Stats counts messages: of an active connection, or of a listener and its requests.
type Stats interface {
	// Sent and Heard count a message of c; again: it is not the first of its kind. Refuse is also
	// counted where the kernel reports that nobody listens.
	Sent(c *Conn, kind Kind, again bool)
	Heard(c *Conn, kind Kind, again bool)
	// Unexpected: a message to c was not proved, or does not fit its state.
	Unexpected(c *Conn)
	// Full: a request was dropped, as too many wait for the listener's service.
	Full()
}

// Bounds of what is pending.
const (
	PendingMax  = 4096 // of a listener's requests: more are dropped, and come again
	RejectedMax = 1024 // that are remembered
	EndedMax    = 4096 // requests that are over, of which late copies are known
)

// Errors of calls.
var (
	ErrInUse   = errors.New("cm: somebody listens at this qualifier")
	ErrPrivate = errors.New("cm: too much private data")
	ErrState   = errors.New("cm: the connection is past that")
)

// Machine is the connection manager of one interface adapter.
type Machine struct {
	cfg       Config
	public    PublicKey
	cookieKey [32]byte
	cookies   map[netip.AddrPort]uint64 // the newest that peers have given
	conns     map[uint64]*Conn          // by own number
	requests  map[requestKey]*Conn
	listeners map[uint64]*Listener // by qualifier
	rejected  []*Conn              // that are remembered, oldest first; some are over already
	ended     map[requestKey]bool  // requests that are over
	endings   []requestKey         // the same, EndedMax at the most; the oldest is at oldest
	oldest    int
	timers    timers
	withdrawn int // connections in that state
	out       [MessageSize]byte
	Dropped   uint64 // datagrams that were no messages, or proved nothing
}

// requestKey finds a request that comes again.
type requestKey struct {
	from   netip.AddrPort
	number uint64
}

// Listener is a qualifier at which requests are taken.
type Listener struct {
	Qualifier uint64
	Service   Service
	stats     Stats // nil: nothing is counted
	pending   int   // requests that wait for the service
}

type state uint8

const (
	requesting state = iota // active
	waiting                 // active: the request is pending there
	confirming              // active: Accept has come, and the owner is not ready
	pending                 // passive: the owner has to decide
	accepting               // passive
	established
	rejected  // passive: remembered, so that it can be said again
	withdrawn // passive: accepted, and closed since; Reject is repeated until the peer knows
	over
)

// Conn is one connection, or the attempt at one.
type Conn struct {
	Owner     Owner // nil: nobody is notified
	Active    bool
	Known     bool // a process has listened at the qualifier: a refusal means that it is gone
	Qualifier uint64
	Service   uint8
	Stood     bool // it was established here
	Peer      netip.AddrPort
	Local     netip.Addr     // of a passive one: where the request has come to
	Card      [CardSize]byte // the owner's data for the peer; it may change until the next message
	PeerCard  [CardSize]byte // the newest; of an active connection once it is accepted
	Secret    Secret         // once the peer's key is known
	Pair      Secret         // likewise: the same for all connections of the two processes
	PeerKey   PublicKey      // likewise: of the peer's process; proved once c is established

	m        *Machine
	stats    Stats // nil: nothing is counted
	port     Port
	state    state
	listener *Listener // of a passive one, while it is pending
	number   uint64
	remote   uint64 // the peer's number, 0: unknown
	private  []byte // to send; while confirming, the data received
	cookie   uint64 // to send: the peer's, or of an earlier connection to it; 0: none is known
	refusals int
	said     uint16 // kinds of messages that were sent, a bit each
	heard    uint16 // that have come
	timer    timer
	reported bool // Config.Unanswered was called

	challenged bool // the peer has answered by Challenge
	held       bool // port is, of a passive one
}

// New makes a machine without connections.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, conns: map[uint64]*Conn{}, requests: map[requestKey]*Conn{},
		listeners: map[uint64]*Listener{}, cookies: map[netip.AddrPort]uint64{},
		ended: map[requestKey]bool{}}
	m.public = PublicKey(cfg.Key.PublicKey().Bytes())
	for i := range m.cookieKey {
		m.cookieKey[i] = byte(cfg.Random())
	}
	return m
}

// Listen takes requests at a qualifier from now on. With stats nil they are not counted.
func (m *Machine) Listen(qualifier uint64, service Service, stats Stats) (*Listener, error) {
	if m.listeners[qualifier] != nil {
		return nil, ErrInUse
	}
	l := &Listener{Qualifier: qualifier, Service: service, stats: stats}
	m.listeners[qualifier] = l
	return l, nil
}

// Unlisten takes no more. Requests that were taken stay.
func (m *Machine) Unlisten(l *Listener) { delete(m.listeners, l.Qualifier) }

// Listener is the one at a qualifier; nil: nobody listens.
func (m *Machine) Listener(qualifier uint64) *Listener { return m.listeners[qualifier] }

// newConn makes a connection with a number of its own.
func (m *Machine) newConn(by Port, to netip.AddrPort, qualifier uint64, service uint8,
	stats Stats) *Conn {
	c := &Conn{m: m, stats: stats, port: by, Peer: to, Qualifier: qualifier, Service: service}
	for c.number == 0 || m.conns[c.number] != nil {
		c.number = m.cfg.Random()
	}
	c.timer.c = c
	m.conns[c.number] = c
	return c
}

// forget takes c out of everything.
func (c *Conn) forget() {
	if c.state == withdrawn {
		c.m.withdrawn--
	}
	c.state = over
	c.settled()
	c.release()
	delete(c.m.conns, c.number)
	if !c.Active {
		delete(c.m.requests, requestKey{c.Peer, c.remote})
		c.m.end(requestKey{c.Peer, c.remote})
	}
	c.m.timers.stop(&c.timer)
}

// settled: the owner has decided about a request.
func (c *Conn) settled() {
	if c.listener != nil {
		c.listener.pending--
		c.listener = nil
	}
}

// fail ends c and notifies the owner.
func (c *Conn) fail(why Reason, private []byte) {
	c.forget()
	c.failed(why, private)
}

// failed notifies the owner that c is over, if there is one.
func (c *Conn) failed(why Reason, private []byte) {
	if c.Owner != nil {
		c.Owner.Failed(c, why, private)
	}
}

// stood notifies the owner that c is established, if there is one.
func (c *Conn) stood(private []byte) {
	c.Stood = true
	if c.Owner != nil {
		c.Owner.Established(c, private)
	}
}

// Close ends c for its owner, at any time. The peer of an attempt is notified: c repeats what may
// be lost. The owner itself notifies the peer of an established connection.
func (c *Conn) Close(now int64) {
	switch c.state {
	case requesting, waiting, confirming:
		c.send(Cancel)
		c.forget()
	case established:
		c.forget()
	case pending:
		_ = c.Reject(now, nil)
		c.Owner = nil
	case accepting:
		c.withdraw(now)
		c.Owner = nil
	}
}

// Confirm repeats to the passive side that the connection is established. It is for owners whose
// data does not show that: the last message may have been lost, and c is about to be forgotten.
func (c *Conn) Confirm() {
	if c.Active && c.state == established {
		c.send(Ready)
	}
}

// Number is what the peer's messages name c by.
func (c *Conn) Number() uint64 { return c.number }

// Own sets Owner.
func (c *Conn) Own(owner Owner) { c.Owner = owner }

// Remote is the peer's number, once the connection is known there.
func (c *Conn) Remote() uint64 { return c.remote }

// send sends a message of c's.
func (c *Conn) send(kind Kind) {
	c.transmit(kind)
	again := c.said&(1<<kind) != 0
	c.said |= 1 << kind
	if s := c.stats; s != nil {
		s.Sent(c, kind, again)
	}
}

// transmit sends it uncounted.
func (c *Conn) transmit(kind Kind) {
	msg := Message{Kind: kind, Service: c.Service, From: c.number, To: c.remote,
		Qualifier: c.Qualifier, Cookie: c.cookie, Card: c.Card}
	msg.Key = c.m.public
	if kind == Request || kind == Accept || kind == Reject {
		msg.Private = c.private
	}
	b := c.m.out[:]
	msg.put(b)
	seal(c.proofKey(kind), b)
	c.m.cfg.Outlet.Send(c.port, c.Local, c.Peer, b)
}

// hear counts a message that has arrived.
func (c *Conn) hear(kind Kind) {
	again := c.heard&(1<<kind) != 0
	c.heard |= 1 << kind
	if s := c.stats; s != nil {
		s.Heard(c, kind, again)
	}
}

// proofKey is what proves messages of a kind.
func (c *Conn) proofKey(kind Kind) []byte {
	if byConnection(kind) {
		return c.Secret[:]
	}
	return c.m.cfg.Shared
}

// byConnection: messages of the kind are proved by the connection's own secret, others by the key
// that all were given.
func byConnection(kind Kind) bool { return kind == Accept || kind == Ready || kind == Reject }

// agree makes the secret, when the peer's number and key are known.
func (c *Conn) agree(remote uint64, key PublicKey) bool {
	first, second := c.number, remote
	if !c.Active {
		first, second = remote, c.number
	}
	pair, ok := agree(c.m.cfg.Key, c.m.public, key, c.m.cfg.Shared)
	if ok {
		c.remote, c.Pair, c.Secret = remote, pair, pair.of(first, second)
		c.PeerKey = key
	}
	return ok
}

// OnPacket takes a packet that arrived at one of this process's sockets, at one of its addresses.
func (m *Machine) OnPacket(now int64, at Port, local netip.Addr, from netip.AddrPort, b []byte) {
	var msg Message
	if msg.decode(b) != nil {
		m.Dropped++
		return
	}
	ok := false
	switch msg.Kind {
	case Request:
		ok = at != Own && m.onRequest(now, at, local, from, &msg, b)
	case Ready, Cancel: // the sender of Cancel may not know c's number yet
		c := m.requests[requestKey{from, msg.From}]
		ok = at != Own && c != nil && c.port == at && (c.number == msg.To || msg.To == 0) &&
			c.onPassive(&msg, b)
	default:
		if c := m.conns[msg.To]; c != nil && c.Active {
			ok = c.onActive(now, &msg, b)
			if s := c.stats; !ok && s != nil {
				s.Unexpected(c)
			}
		}
	}
	if !ok {
		m.Dropped++
	}
}

// PublicKey is that of this process.
func (m *Machine) PublicKey() PublicKey { return m.public }

// Conns is how many connections and attempts there are; for tests and limits.
func (m *Machine) Conns() int { return len(m.conns) }

// All is every connection and attempt, in no order.
func (m *Machine) All() iter.Seq[*Conn] { return maps.Values(m.conns) }

// keep is a copy of private data.
func keep(private []byte) ([]byte, error) {
	if len(private) > PrivateMax {
		return nil, ErrPrivate
	}
	return slices.Clone(private), nil
}
