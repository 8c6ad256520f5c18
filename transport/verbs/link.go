package verbs

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/verbs/adapter"
)

// Config is what a Link is made of.
type Config struct {
	Adapter adapter.Adapter // the Link closes it
	Task    int             // this task; its peers give it as Endpoint to Connect
	// Key is the job's: it proves Hellos. Without one, what proves them are the addresses.
	Key   []byte
	Clock transport.Clock // nil: the system's
	// Timeout is how long a peer may be silent, in nanoseconds, while something waits for it;
	// 0: 150 s.
	Timeout int64
	// NoTimeout: no peer is given up for its silence.
	NoTimeout bool
	// PeerFailed is told, once, of a peer that is given up, while what is under way with it
	// ends: ErrTimeout if it was silent for Timeout, ErrAdaptersDown if this task's adapter is
	// gone, else ErrUnreachable. Not of one that was disconnected, or has left. May be nil.
	PeerFailed func(ep transport.Endpoint, err error)
	// Expected says whether the owner waits for something from ep that is no answer to an
	// operation of the link; see Expect. Nil: it never does.
	Expected func(ep transport.Endpoint) bool
	// BulkMin is the length from which on puts and gets are RDMA; 0: 16 KiB.
	BulkMin uint64
	// RegistrationLimit is how many bytes of user memory may be registered at one time, in use
	// or kept for the next transfer; 0: 1 GiB. What is beyond is copied.
	RegistrationLimit uint64
	// KeepNoRegistrations has each transfer register its memory anew.
	KeepNoRegistrations bool
	// Say is told once, inside New, why no registration can be kept; may be nil.
	Say func(text string)
}

// Link is the transport.Link and transport.Waiter over one port of an adapter. Its owner's lock
// protects it. memory.Guard must have run on the calling goroutine.
type Link struct {
	cfg      Config
	adapter  adapter.Adapter
	registry *registry
	own      address
	info     adapter.Info
	handlers [transport.MaxMsgID + 1]transport.MsgHandler
	noticed  transport.NoticeHandler
	faulted  transport.FaultHandler
	keyMax   uint64 // keyMax, but for tests
	stats    transport.Stats
	replaced uint64

	addresses []address // by endpoint; incarnation 0: not connected
	peers     map[transport.Endpoint]*peer
	byQP      map[adapter.QP]*peer
	pool      hold.Pool

	slots     slots
	small     slots  // for datagrams, datagramsMax of them
	revived   uint64 // how often the datagram queue pair had failed
	sending   int    // slots with packets to send
	receives  int    // buffers of the shared receive queue
	wanted    int    // how many it should have
	moving    int    // RDMA requests under way
	limitSend int
	limitRecv int
	limitMove int

	batch     [32]adapter.Completion // not looked at yet: [next:count]
	next      int
	count     int
	request   adapter.Work  // of Post
	msg       transport.Msg // of a handler
	idle      int           // turns that found nothing
	calls     []*call
	freeCalls []*call
	grants    []grant
	freeGrant []uint32

	active  []*peer // that have something to do in a turn
	spare   []*peer // the memory of active's last turn
	starved []*peer // that wait for what others hold
	shaking []*peer // with a timer
	due     int64   // of the earliest timer; 0: none
	probeAt int64   // when peers are probed
	holding int     // peers with held messages
	dead    error   // the adapter is gone
	closed  bool
}

// New opens the queues of an adapter. The error is the adapter's.
func New(cfg Config) (*Link, error) {
	l := &Link{cfg: cfg, adapter: cfg.Adapter, info: cfg.Adapter.Info(),
		registry: newRegistry(cfg.Adapter, &cfg), peers: make(map[transport.Endpoint]*peer),
		byQP: make(map[adapter.QP]*peer)}
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
	l.keyMax = keyMax
	l.slots = slots{adapter: l.adapter, size: slotSize}
	l.small = slots{adapter: l.adapter, size: datagramSize}
	if err := l.open(); err != nil {
		_ = l.small.close()
		l.registry.close()
		_ = l.adapter.Close()
		return nil, fmt.Errorf("verbs: %w", err)
	}
	return l, nil
}

func (l *Link) open() error {
	l.limitRecv = min(receivesMax, l.info.MaxReceive, l.info.MaxCQE/2)
	l.limitSend = min(sendsMax, l.info.MaxCQE/4)
	l.limitMove = min(movingMax, l.info.MaxCQE/8)
	var secret [12]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	// The highest bit of a key for datagrams is the kernel's.
	qkey := binary.LittleEndian.Uint32(secret[8:]) >> 1
	qpn, err := l.adapter.Open(l.limitRecv+l.limitSend+l.limitMove+2*datagramsMax, l.limitRecv,
		datagramsMax, qkey)
	if err != nil {
		return err
	}
	l.own = address{task: uint32(l.cfg.Task), qpn: qpn, qkey: qkey, mtu: uint16(l.info.MTU),
		reads: uint16(l.info.MaxReads), lid: l.info.LID, gid: l.info.GID,
		incarnation: binary.LittleEndian.Uint64(secret[:]) | 1}
	if err := l.small.grow(); err != nil {
		return err
	}
	return l.receiveDatagrams()
}

// Limits implements transport.Link.
func (l *Link) Limits() transport.Limits {
	return transport.Limits{Caps: transport.CapPut | transport.CapGet, SendMax: sendMax,
		HeaderMax: headerMax, PutMax: oneSidedMax, GetMax: oneSidedMax, PutAlign: 1, GetAlign: 1}
}

// Address implements transport.Link.
func (l *Link) Address() transport.Address { return transport.Address{Bytes: l.own.encode()} }

// Connect implements transport.Link: it keeps the address, and does nothing else until there is
// something to send. An endpoint is connected once.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	var to address
	if l.closed {
		return transport.ErrClosed
	}
	if !to.of(ep, a) || l.connected(ep) {
		return transport.ErrBadParam
	}
	for int(ep) >= len(l.addresses) {
		l.addresses = append(l.addresses, address{})
	}
	l.addresses[ep] = to
	return nil
}

func (l *Link) connected(ep transport.Endpoint) bool {
	return ep >= 0 && int(ep) < len(l.addresses) && l.addresses[ep].incarnation != 0
}

// Handle implements transport.Link.
func (l *Link) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

// Register implements transport.Link. The region has no key: who needs one asks for it.
func (l *Link) Register(a transport.Addr, n uint64, _ transport.Access) (transport.Region, error) {
	return transport.Region{Addr: a, N: n}, nil
}

// Deregister implements transport.Link.
func (l *Link) Deregister(transport.Region) error { return nil }

// Atomic implements transport.Link: not supported. An adapter's atomics are not the processor's;
// transport/emul makes them of messages.
func (l *Link) Atomic(ep transport.Endpoint, _ transport.AtomicKind,
	_ *transport.Op) (transport.Status, error) {
	return transport.Done, transport.ErrNotSupported
}

// Stats implements transport.Link. A packet is one send, or one RDMA request.
func (l *Link) Stats() *transport.Stats { return &l.stats }

// Replaced is how many queue pairs of this task have failed and were replaced, or given up.
func (l *Link) Replaced() uint64 { return l.replaced }

// usable is the peer behind ep, which an operation is for.
func (l *Link) usable(ep transport.Endpoint) (*peer, error) {
	if l.closed {
		return nil, transport.ErrClosed
	}
	if !l.connected(ep) || l.dead != nil {
		return nil, transport.ErrUnreachable
	}
	p := l.peers[ep]
	if p == nil {
		p = l.newPeer(ep)
	}
	if p.gone {
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
		p = l.newPeer(ep)
	}
	if !p.left {
		l.giveUp(p, err, err)
	}
	p.held.Clear()
}

// Close implements transport.Link. It tells the peers, and waits some milliseconds for the adapter
// to have told them.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	l.leave()
	l.closed = true
	for _, p := range l.peers {
		l.giveUp(p, transport.ErrClosed, transport.ErrClosed)
	}
	l.registry.close()
	err := errors.Join(l.slots.close(), l.small.close(), l.adapter.Close())
	l.pool.Release()
	return err
}

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
)
