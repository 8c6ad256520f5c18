package verbs

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/pair"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// Link is the transport.Link and transport.Waiter over ports of adapters. Its owner's lock protects
// it. memory.Guard must have run on the calling goroutine.
type Link struct {
	regions
	nonatomic
	cfg      Config
	ports    *paths.Set
	own      wire.Address
	handlers [transport.MaxMsgID + 1]transport.MsgHandler
	stats    transport.Stats
	replaced uint64

	roster
	pool hold.Pool

	transfers *bulk.Set

	sharing // with C

	msg   transport.Msg // of a handler
	turns uint64        // calls of Progress, and looks of C's, since the adapters were asked for events

	active  []*peer // that have something to do in a turn
	turned  []*peer // the memory of active's last turn
	starved []*peer // that wait for what others hold
	timers  pair.Timers
	probeAt int64 // when peers are probed
	holding int   // peers with held messages
	closed  bool
}

// New opens the queues of its adapters, which it closes when it fails. The error is an adapter's,
// or that there are too many.
func New(cfg Config) (*Link, error) {
	l := &Link{cfg: cfg, roster: roster{peers: make(map[transport.Endpoint]*peer)}}
	l.sharing.link, l.regions.of = l, l
	if l.cfg.Clock == nil {
		start := time.Now()
		l.cfg.Clock = func() int64 { return int64(time.Since(start)) + 1 }
	}
	if l.cfg.Timeout == 0 {
		l.cfg.Timeout = defaultTimeout
	}
	if l.cfg.BulkMin == 0 {
		l.cfg.BulkMin = bulkMin
	}
	if l.cfg.keyMax == 0 {
		l.cfg.keyMax = keyMax
	}
	l.timers.Init(l.cfg.Timeout, l.cfg.NoTimeout)
	l.transfers = bulk.New(bulk.Config{Min: l.cfg.BulkMin, KeyMax: l.cfg.keyMax, Stats: &l.stats,
		Fed: l.feed, Registrations: registration.Config{Bytes: cfg.RegistrationLimit,
			Off: cfg.KeepNoRegistrations, Say: cfg.Say}})
	if err := l.share(); err != nil {
		return nil, fmt.Errorf("verbs: %w", err)
	}
	l.ports = paths.New(paths.Config{Adapters: append([]ibv.Device{cfg.Adapter}, cfg.More...),
		Shared: l.shared, Native: l.native(), Map: l.newPort, Clock: l.cfg.Clock,
		Changed: cfg.Changed, Event: cfg.Event, Reopen: cfg.Reopen}, watcher{l})
	if err := l.open(); err != nil {
		_ = l.closePorts()
		return nil, fmt.Errorf("verbs: %w", err)
	}
	return l, nil
}

func (l *Link) open() error {
	l.shared.LimitSend = int32(l.ports.Sends())
	l.transfers.Limit(l.ports.Moves())
	var secret [8]byte
	_, err := rand.Read(secret[:])
	l.own = wire.Address{Task: uint32(l.cfg.Task),
		Generation: binary.LittleEndian.Uint64(secret[:]) | 1}
	if err == nil {
		err = l.ports.Open()
	}
	if err == nil {
		for _, pt := range l.ports.Ports() {
			watcher{l}.Replaced(pt)
		}
	}
	return err
}

// closePorts ends the ports, whose queue pairs are gone.
func (l *Link) closePorts() error {
	l.transfers.Close()
	err := l.ports.Close()
	l.unshare()
	return err
}

// Limits implements transport.Link.
func (l *Link) Limits() transport.Limits {
	return transport.Limits{Caps: transport.CapPut | transport.CapGet, SendMax: wire.SendMax,
		HeaderMax: wire.HeaderMax, PutMax: bulk.OneSidedMax,
		GetMax: bulk.OneSidedMax, PutAlign: 1, GetAlign: 1,
		KeySize: wire.KeySize, KeyOptional: true}
}

// Address implements transport.Link. It changes when a port is opened again.
func (l *Link) Address() transport.Address {
	return transport.Address{Bytes: l.regions.address().Encode()}
}

// Connect implements transport.Link: it keeps the address, and does nothing else until there is
// something to send. An endpoint is connected once; Reconnect connects it again.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	if l.closed {
		return transport.ErrClosed
	}
	if !fits(ep, a) || l.connected(ep) {
		return transport.ErrBadParam
	}
	for int(ep) >= len(l.addresses) {
		l.addresses = append(l.addresses, "")
	}
	if err := l.ports.Reach(ep, a); err != nil {
		return err
	}
	l.addresses[ep] = string(a.Bytes)
	return nil
}

// fits says whether a is an address of ep.
func fits(ep transport.Endpoint, a transport.Address) bool {
	var to wire.Address
	return ep >= 0 && to.Decode(a.Bytes) && to.Task == uint32(ep)
}

// Reconnect connects ep anew, whose task is to come back or has begun again: to a, which may be the
// earlier address. Both sides have to; messages that are sent after the second has arrive. Messages
// of the earlier connection are dropped. ErrBusy: there is a connection; Disconnect first.
// ErrBadParam: a is no address of ep, or ep was never connected.
func (l *Link) Reconnect(ep transport.Endpoint, a transport.Address) error {
	switch {
	case l.closed:
		return transport.ErrClosed
	case !fits(ep, a) || !l.connected(ep):
		return transport.ErrBadParam
	}
	old := l.peers[ep]
	same := wire.GenerationOf(l.addresses[ep]) == wire.GenerationOf(string(a.Bytes))
	if old != nil && !old.gone && old.Met() {
		return transport.ErrBusy
	}
	if err := l.ports.Reach(ep, a); err != nil {
		return err
	}
	l.addresses[ep] = string(a.Bytes)
	switch {
	case old == nil:
	case !old.gone:
		old.relocate()
	default:
		p := newPeer(l, ep)
		p.life = old.life.Next(same)
		if old.holding {
			old.holding = false
			l.holding--
		}
		old.held.Clear()
	}
	return nil
}

// Handle implements transport.Link.
func (l *Link) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

// Stats implements transport.Link. A packet is one send, or one RDMA request.
func (l *Link) Stats() *transport.Stats {
	l.collectCounts()
	return &l.stats
}

// Replaced is how many queue pairs of this task have failed and were replaced, or given up.
func (l *Link) Replaced() uint64 { return l.replaced }

// usable is the peer behind ep, which an operation is for.
func (l *Link) usable(ep transport.Endpoint) (*peer, error) {
	if l.closed {
		return nil, transport.ErrClosed
	}
	if !l.connected(ep) {
		return nil, transport.ErrUnreachable
	}
	p := l.peers[ep]
	if p == nil {
		p = newPeer(l, ep)
	}
	if p.gone || l.ports.Dead() && !p.routes.Sparable() {
		return nil, transport.ErrUnreachable
	}
	return p, nil
}

// Disconnect implements transport.Link.
func (l *Link) Disconnect(ep transport.Endpoint, err error) {
	if l.closed || !l.connected(ep) {
		return
	}
	p := l.peers[ep]
	if p == nil {
		p = newPeer(l, ep)
	}
	p.giveUp(err, err)
	p.held.Clear()
}

// Close implements transport.Link. It notifies the peers, and waits some milliseconds for the
// adapters to have done so.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	l.leave()
	l.closed = true
	l.ports.Stop()
	for _, p := range l.peers {
		p.giveUp(transport.ErrClosed, transport.ErrClosed)
	}
	err := l.closePorts()
	l.pool.Release()
	return err
}

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
)
