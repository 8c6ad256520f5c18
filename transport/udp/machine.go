package udp

import (
	"fmt"
	"net/netip"
	"time"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// overhead is what a packet with one message holds beside the message's header and data, in bytes.
const overhead = wire.HeaderSize + wire.MessageSize

// Outcome is what became of a packet handed to an Outlet.
type Outcome uint8

// Outcomes.
const (
	Sent     Outcome = iota // on its way, or lost, which is the same to the origin
	Full                    // not taken for lack of room; to be tried again later
	Fault                   // the user memory could not be read; nothing was sent
	Gathered                // of a Gatherer: on its way at Push
)

// Outlet is the medium below a Machine.
type Outlet interface {
	// Transmit sends head, followed by n bytes of user memory at data, as one packet from the local address of path. Nothing is kept.
	Transmit(path Path, to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome
}

// Path is a way between this task and a peer: from this task's local address of that number (Config.Locals) to the peer's of the same
// number. There are as many paths to a peer as the task with fewer addresses has.
type Path uint8

// MaxPaths is how many addresses of a task count (guide, Chapter 14: instances).
const MaxPaths = 8

// Machine is the protocol of one task. Times are nanoseconds of any clock that does not go backwards and is never 0. It is not safe
// for concurrent use; its owner's lock protects it. Handlers and Op.Done may call any method but OnPacket, OnTimeout, Check and Complete.
type Machine struct {
	cfg       Config
	out       Outlet
	gatherer  Gatherer // out, if it is one
	surveyor  Surveyor // likewise
	limits    transport.Limits
	partition uint64
	stats     transport.Stats
	handlers  [transport.MaxMsgID + 1]transport.MsgHandler
	peers     []*peer // by endpoint; nil: not connected
	active    []*peer // those that may have a timer running
	soon      []*peer // those that asked for an acknowledgement when there is nothing else to do
	due       int64   // no timer runs out before; 0: none runs
	unheard   int     // timers in a row that ran out while packets may have waited at the sockets
	turns     int     // since the last run of the acknowledge and retransmit logic
	pool      pool
	done      opList        // operations that are over, their Done not yet called
	msg       transport.Msg // what a handler sees
	ripe      []*peer       // with a packet that goes at Push, if the window allows
	held      []*peer       // with a packet that waits for company, perhaps
	idle      bool          // it need not wait any longer
	ripeAt    int64         // when the latest of them became so
	ripeLate  bool          // ripeAt was not set at the latest
	pushing   bool          // open packets may go now
	alone     bool          // and are one
	burst     []gathered    // what the gatherer has, in its order
	bursts    uint64        // calls of Push so far, and 1
	leaving   bool          // Leave was called
	downPaths uint8         // a bit for each path whose local address is down (PathDown)
	origins   origins       // how many peers send
	closed    bool
	longest   []byte // for packets that are sent at once and do not fit scratch; nil until there is one
	scratch   [wire.HeaderSize + (1+seqWindow/wire.BlockSpan)*wire.BlockSize]byte
}

// NewMachine makes the protocol of one task, which sends through out.
func NewMachine(cfg Config, out Outlet) (*Machine, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, out: out, partition: wire.PartitionHash(cfg.Partition), peers: make([]*peer, cfg.NumTasks), bursts: 1}
	sendMax := m.sendMax(cfg.PacketSize)
	m.limits = transport.Limits{SendMax: sendMax, HeaderMax: min(sendMax-minData, maxHeader), PutAlign: 1, GetAlign: 1}
	m.pool = newPool(&cfg, sendMax)
	m.gatherer, _ = out.(Gatherer)
	m.surveyor, _ = out.(Surveyor)
	return m, nil
}

// Limits implements transport.Link.
func (m *Machine) Limits() transport.Limits { return m.limits }

// Stats implements transport.Link.
func (m *Machine) Stats() *transport.Stats { return &m.stats }

// Incarnation is this machine's.
func (m *Machine) Incarnation() uint64 { return m.cfg.Incarnation }

// SetTimeout changes how long a peer may be silent (LAPI_Senv TIMEOUT); d > 0.
func (m *Machine) SetTimeout(d time.Duration) {
	if d > 0 {
		m.cfg.Timeout = d
	}
}

// SetAckThreshold changes how many packets are acknowledged together (LAPI_Senv ACK_THRESHOLD); outside 1 to MaxAckThreshold
// the nearest of these.
func (m *Machine) SetAckThreshold(packets int) {
	m.cfg.AckThreshold = min(max(packets, 1), MaxAckThreshold)
}

// Handle implements transport.Link.
func (m *Machine) Handle(id transport.MsgID, h transport.MsgHandler) {
	if id == 0 || id > transport.MaxMsgID {
		panic(fmt.Sprintf("udp: handler for message kind %d", id))
	}
	m.handlers[id] = h
}

// Connect implements transport.Link. The endpoint is the peer's task number.
func (m *Machine) Connect(ep transport.Endpoint, a transport.Address) error {
	if m.closed {
		return transport.ErrClosed
	}
	if ep < 0 || int(ep) >= len(m.peers) || int(ep) == m.cfg.Task {
		return fmt.Errorf("udp: connect to task %d: %w", ep, transport.ErrBadParam)
	}
	if p := m.peers[ep]; p != nil && p.alive() {
		return fmt.Errorf("udp: task %d is connected already: %w", ep, transport.ErrBadParam)
	}
	addrs, incarnation, err := DecodeAddress(a.Bytes)
	if err != nil {
		return err
	}
	m.peers[ep] = newPeer(m, ep, addrs, incarnation)
	return nil
}

// Reconnect gives ep, whose task is to come back or has moved, another session: with whatever incarnation of the task is, or will be, at
// a, in any Config.Round. A session that was disconnected, has failed or was left begins anew; one that has never been open only
// looks elsewhere, and what waits for it goes there. ErrBusy: there is an open session; Disconnect first.
func (m *Machine) Reconnect(now int64, ep transport.Endpoint, a transport.Address) error {
	p := m.connected(ep)
	switch {
	case m.closed:
		return transport.ErrClosed
	case p == nil:
		return fmt.Errorf("udp: reconnect to task %d: %w", ep, transport.ErrBadParam)
	case p.state == stateOpen:
		return transport.ErrBusy
	}
	addrs, incarnation, err := DecodeAddress(a.Bytes)
	if err != nil {
		return err
	}
	if !p.alive() {
		p = newPeer(m, ep, addrs, incarnation)
		m.peers[ep] = p
	} else {
		p.move(now, addrs, incarnation)
	}
	p.again = true
	return nil
}

// Disconnect implements transport.Link. The operations complete before it returns.
func (m *Machine) Disconnect(ep transport.Endpoint, err error) {
	if p := m.connected(ep); p != nil && p.state != stateFailed {
		var over opList
		p.drop(stateFailed, err, &over)
		over.complete()
	}
}

// connected returns the peer of ep, or nil.
func (m *Machine) connected(ep transport.Endpoint) *peer {
	if ep < 0 || int(ep) >= len(m.peers) {
		return nil
	}
	return m.peers[ep]
}

// Complete calls Done of the operations that are over and returns how many there were.
func (m *Machine) Complete() int { return m.done.complete() }

// Close completes every queued operation with ErrClosed and releases the memory. Peers are told by Leave, before.
func (m *Machine) Close() {
	if m.closed {
		return
	}
	m.closed = true
	for _, p := range m.peers {
		if p != nil && p.state != stateFailed {
			p.drop(stateFailed, transport.ErrClosed, &m.done)
		}
	}
	m.Complete()
	m.active, m.soon, m.due = nil, nil, 0
	m.pool.close()
}
