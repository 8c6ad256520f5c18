package udp

import (
	"fmt"
	"net/netip"
	"time"

	"lapi/transport"
	"lapi/transport/udp/internal/medium"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// Outcome is what became of a packet handed to an Outlet.
type Outcome = medium.Outcome

// Outcomes. Gathered is of a Gatherer alone.
const (
	Sent     = medium.Sent
	Full     = medium.Full
	Fault    = medium.Fault
	Gathered = medium.Gathered
)

// Outlet is the medium below a Machine.
type Outlet interface {
	// Transmit sends head, followed by n bytes of user memory at data, as one packet from the
	// local address of path. Nothing is kept.
	Transmit(path Path, to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome
}

// Path is a way between this task and a peer: from this task's local address of that number
// (Config.Locals) to the peer's of the same number. There are as many paths to a peer as the task
// with fewer addresses has.
type Path uint8

// MaxPaths is how many addresses of a task count (guide, Chapter 14: instances).
const MaxPaths = 8

// Machine is the protocol of one task. Times are nanoseconds of any clock that does not go
// backwards and is never 0. It is not safe for concurrent use; its owner's lock protects it.
// Handlers and Op.Done may call any method but OnPacket, OnTimeout, Check and Complete.
type Machine struct {
	cfg       Config
	out       Outlet
	mtus      MTUSource // out, if it is one
	limits    transport.Limits
	partition uint64
	stats     transport.Stats
	handlers  [transport.MaxMsgID + 1]transport.MsgHandler
	peers     []*peer  // by endpoint; nil: not connected, or nothing was to be done with it yet
	addresses []string // where each was last said to be, as in transport.Address; "": not connected
	// those whose origins asked for an acknowledgement when there is nothing else to do
	soon       []*receiver
	timers     timers
	pool       recovery.Pool
	wholes     packet.Blocks // for received packets that come in parts
	done       opList        // operations that are over, their Done not yet called
	msg        transport.Msg // the message that a handler sees
	coalescing coalescing
	batch      batch
	leaving    bool    // Leave was called
	offline    uint8   // a bit for each path whose local address is down (PathDown)
	origins    origins // how many peers send
	closed     bool
	// scratch is for packets that are sent at once.
	scratch [wire.HeaderSize + (1+recovery.Numbers/wire.BlockSpan)*wire.BlockSize]byte
}

// NewMachine makes the protocol of one task, which sends through out.
func NewMachine(cfg Config, out Outlet) (*Machine, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, out: out, partition: wire.PartitionHash(cfg.Partition),
		peers: make([]*peer, cfg.NumTasks), addresses: make([]string, cfg.NumTasks), batch: newBatch(out)}
	sendMax := m.sendMax(cfg.PacketSize)
	m.limits = transport.Limits{SendMax: sendMax, HeaderMax: min(sendMax-minData, maxHeader),
		PutAlign: 1, GetAlign: 1}
	m.pool = newPool(&cfg, sendMax)
	m.wholes = packet.Blocks{Size: wholeSize, Count: wholeChunk,
		Most: min(recovery.Numbers*cfg.NumTasks, maxWholes)}
	m.coalescing.gathers = m.batch.gatherer != nil
	m.mtus, _ = out.(MTUSource)
	return m, nil
}

// Limits implements transport.Link.
func (m *Machine) Limits() transport.Limits { return m.limits }

// Stats implements transport.Link.
func (m *Machine) Stats() *transport.Stats { return &m.stats }

// SetTimeout changes how long a peer may be silent (LAPI_Senv TIMEOUT); d > 0.
func (m *Machine) SetTimeout(d time.Duration) {
	if d <= 0 {
		return
	}
	m.cfg.Timeout = d
	for _, p := range m.timers.active {
		if p.session.expectDue != 0 { // it was to be a part of the old one
			p.session.expectDue = 1
			p.timer(1)
		}
	}
}

// SetAckThreshold changes how many packets are acknowledged together (LAPI_Senv ACK_THRESHOLD);
// outside 1 to MaxAckThreshold the nearest of these.
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
	if ep < 0 || int(ep) >= len(m.peers) || m.cfg.Pair == nil && int(ep) == m.cfg.Task {
		return fmt.Errorf("udp: connect to task %d: %w", ep, transport.ErrBadParam)
	}
	if p := m.peers[ep]; p == nil && m.addresses[ep] != "" || p != nil && p.session.alive() {
		return fmt.Errorf("udp: task %d is connected already: %w", ep, transport.ErrBadParam)
	}
	if _, _, err := DecodeAddress(a.Bytes); err != nil {
		return err
	}
	m.peers[ep], m.addresses[ep] = nil, string(a.Bytes)
	return nil
}

// AddressOf is where ep was last said to be, by Connect or Reconnect; without bytes: nowhere.
func (m *Machine) AddressOf(ep transport.Endpoint) transport.Address {
	return transport.Address{Bytes: []byte(m.addresses[ep])}
}

// Reconnect gives ep, whose task is to come back or has moved, another session: with whatever
// generation of the task is, or will be, at a, in any Config.Round. A session that was
// disconnected, has failed or was left begins anew; a session that has never been open only gets
// the new address, and the operations that wait for it go there. ErrBusy: there is an open session;
// Disconnect first.
func (m *Machine) Reconnect(now int64, ep transport.Endpoint, a transport.Address) error {
	p := m.connected(ep)
	switch {
	case m.closed:
		return transport.ErrClosed
	case p == nil:
		return fmt.Errorf("udp: reconnect to task %d: %w", ep, transport.ErrBadParam)
	case p.session.state == open:
		return transport.ErrBusy
	}
	addrs, incarnation, err := DecodeAddress(a.Bytes)
	if err != nil {
		return err
	}
	if !p.session.alive() {
		p = newPeer(m, ep, addrs, incarnation)
		m.peers[ep] = p
	} else {
		p.move(now, addrs, incarnation)
	}
	m.addresses[ep] = string(a.Bytes)
	p.session.reconnects = true
	return nil
}

// Disconnect implements transport.Link. The operations complete before it returns.
func (m *Machine) Disconnect(ep transport.Endpoint, err error) {
	if p := m.connected(ep); p != nil && p.session.state != failed {
		var over opList
		p.drop(failed, err, &over)
		over.complete()
	}
}

// connected returns the peer of ep, or nil. It is made now if this is the first time that anything
// is to be done with it: tasks of large jobs talk to few others.
func (m *Machine) connected(ep transport.Endpoint) *peer {
	if ep < 0 || int(ep) >= len(m.peers) {
		return nil
	}
	p := m.peers[ep]
	if p == nil && m.addresses[ep] != "" && !m.closed {
		addrs, incarnation, err := DecodeAddress([]byte(m.addresses[ep]))
		if err != nil { // Connect has looked
			return nil
		}
		p = newPeer(m, ep, addrs, incarnation)
		m.peers[ep] = p
	}
	return p
}

// Complete calls Done of the operations that are over and returns how many there were.
func (m *Machine) Complete() int { return m.done.complete() }

// Close completes every queued operation with ErrClosed and releases the memory. Leave notifies the
// peers, before.
func (m *Machine) Close() {
	if m.closed {
		return
	}
	m.closed = true
	for _, p := range m.peers {
		if p != nil && p.session.state != failed {
			p.drop(failed, transport.ErrClosed, &m.done)
		}
	}
	m.Complete()
	m.timers, m.soon = timers{}, nil
	m.pool.Close()
	m.wholes.Close()
}

// PathDown reports that nothing can be sent from, or comes to, the local address of path: its
// interface is down or the address gone. Packets in flight from there are resent by other paths at
// once.
func (m *Machine) PathDown(now int64, path Path) {
	m.setOffline(path, true, func(p *peer, r *paths.Path) { p.paths.Offline(r, now) })
}

// PathUp tells that the address may be used again. It is, when probes by it have been answered.
func (m *Machine) PathUp(now int64, path Path) {
	m.setOffline(path, false, func(p *peer, r *paths.Path) {
		p.paths.Online(r, now)
		p.sender.pump(now)
	})
}

// setOffline notes whether path is offline, and notifies each peer that has the path if that has
// changed.
func (m *Machine) setOffline(path Path, offline bool, tell func(p *peer, r *paths.Path)) {
	if path >= MaxPaths || m.closed || (m.offline>>path&1 != 0) == offline {
		return
	}
	m.offline ^= 1 << path
	for _, p := range m.peers {
		if p != nil && int(path) < p.paths.Len() && p.session.alive() {
			tell(p, p.paths.At(int(path)))
		}
	}
}
