package udp

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"lapi/transport"
	"lapi/transport/udp/sock"
)

const (
	// socketBuffer is what the kernel is asked for, each way; it gives what net.core.rmem_max and wmem_max allow.
	socketBuffer = 4 << 20
	// clockTurns: how many idle calls of Progress pass between two looks at the clock while a timer runs. A look costs a tenth
	// of a system call.
	clockTurns = 8
	// lingerMax bounds Close, in nanoseconds: a little more than all Byes take.
	lingerMax = int64(70 * time.Millisecond)
)

// Link joins a Machine to a socket and a clock. It is the transport.Link and transport.Waiter over UDP/IP; its owner's lock protects
// it. memory.Guard must have run on the calling goroutine.
type Link struct {
	*Machine
	sock   *sock.Socket
	clock  transport.Clock
	fixed  bool // the port was given
	idle   int  // calls of Progress in a row that found the socket empty
	stream bool // the last call found a packet
}

// New opens the socket and makes the link. LocalAddr's address must be one of this host; port 0 lets the kernel choose. The
// error wraps transport.ErrBadParam if a value is out of range, or the kernel's.
func New(cfg Config) (*Link, error) {
	if cfg.PacketSize == 0 && cfg.LocalAddr.Addr().IsValid() {
		cfg.PacketSize = max(sock.PathPayload(cfg.LocalAddr.Addr()), MinPacketSize)
	}
	if cfg.ReceiveBuffer == 0 {
		cfg.ReceiveBuffer = socketBuffer
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s, err := sock.Open(cfg.LocalAddr, cfg.ReceiveBuffer, socketBuffer)
	if err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	if n := s.ReceiveBuffer(); n > 0 {
		cfg.ReceiveBuffer = n
	}
	l := &Link{sock: s, clock: cfg.Clock, fixed: cfg.LocalAddr.Port() != 0 && cfg.Round == 0}
	if l.clock == nil {
		start := time.Now()
		l.clock = func() int64 { return int64(time.Since(start)) + 1 }
	}
	var out Outlet = (*outlet)(s)
	if cfg.Drop != nil {
		out = &lossy{out, cfg.Drop}
	}
	if l.Machine, err = NewMachine(cfg, out); err != nil {
		s.Close()
		return nil, err
	}
	return l, nil
}

// rounds counts, for each fixed address, the links of this process that were connected there. All tasks of a job begin and end their
// sessions together, so that their numbers agree. It is for the whole process: links with locks of their own use it.
var rounds struct {
	sync.Mutex
	of map[netip.AddrPort]uint32
}

// Connect implements transport.Link.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	if err := l.Machine.Connect(ep, a); err != nil {
		return err
	}
	if l.fixed {
		l.fixed = false
		rounds.Lock()
		defer rounds.Unlock()
		if rounds.of == nil {
			rounds.of = make(map[netip.AddrPort]uint32)
		}
		rounds.of[l.sock.Local()]++
		l.cfg.Round = rounds.of[l.sock.Local()]
	}
	return nil
}

// outlet is a socket as the protocol sees it.
type outlet sock.Socket

func (o *outlet) Transmit(to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome {
	return Outcome((*sock.Socket)(o).Send(to, head, uint64(data), n))
}

// The conversion above rests on both packages numbering outcomes alike.
var _ = [1]struct{}{}[uint8(Sent)-uint8(sock.Sent)+uint8(Full)-uint8(sock.Full)+uint8(Fault)-uint8(sock.Fault)]

// lossy loses packets, for tests.
type lossy struct {
	Outlet
	drop func(packet []byte) bool
}

func (o *lossy) Transmit(to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome {
	if o.drop(head) {
		return Sent
	}
	return o.Outlet.Transmit(to, head, data, n)
}

// Address implements transport.Link.
func (l *Link) Address() transport.Address {
	return transport.Address{Bytes: encodeAddress(l.sock.Local(), l.Incarnation())}
}

// Local is where the socket is bound.
func (l *Link) Local() netip.AddrPort { return l.sock.Local() }

// Send implements transport.Link; see Machine.Send.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	return l.Machine.Send(l.clock(), ep, id, hdr, op)
}

// Flush implements transport.Link; see Machine.Flush.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.Machine.Flush(l.clock(), ep, op)
}

// Put implements transport.Link: not supported.
func (l *Link) Put(transport.Endpoint, *transport.Op) (transport.Status, error) {
	return 0, transport.ErrNotSupported
}

// Get implements transport.Link: not supported.
func (l *Link) Get(transport.Endpoint, *transport.Op) (transport.Status, error) {
	return 0, transport.ErrNotSupported
}

// Atomic implements transport.Link: not supported.
func (l *Link) Atomic(transport.Endpoint, transport.AtomicKind, *transport.Op) (transport.Status, error) {
	return 0, transport.ErrNotSupported
}

// Register implements transport.Link. UDP needs no registration; the region has no key.
func (l *Link) Register(a transport.Addr, n uint64, _ transport.Access) (transport.Region, error) {
	return transport.Region{Addr: a, N: n}, nil
}

// Deregister implements transport.Link.
func (l *Link) Deregister(transport.Region) error { return nil }

// Progress implements transport.Link. Of several packets that wait, it takes more than one only if the call before it found one too: so
// a lone message, whose answer somebody waits for, does not also pay for the look that finds nothing. The messages of one packet are
// offered together, also if they are more than max.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	n, packets, now := 0, 0, int64(0)
	for n < max && packets < max {
		b, from, ok := l.sock.Receive()
		if !ok {
			break
		}
		if now == 0 {
			now = l.clock()
		}
		packets++
		n += l.OnPacket(now, from, b)
		if !l.stream {
			break
		}
	}
	l.stream = packets > 0
	if packets == 0 {
		l.turnIdle()
	} else {
		l.idle = 0
		l.OnTimeout(now)
	}
	if l.Turn() && l.due != 0 {
		l.Check(l.clock())
	}
	return n + l.Complete()
}

// turnIdle is Progress with an empty socket.
func (l *Link) turnIdle() {
	if len(l.soon) > 0 {
		l.OnIdle()
	}
	if l.idle++; l.due != 0 && l.idle%clockTurns == 0 {
		l.OnTimeout(l.clock())
	}
}

// Descriptors implements transport.Waiter.
func (l *Link) Descriptors() []int { return []int{l.sock.Descriptor()} }

// Arm implements transport.Waiter. Acknowledgements that wait for company go now: none will come while this task sleeps.
func (l *Link) Arm() bool {
	if l.due != 0 {
		l.settle()
	}
	return l.done.first != nil
}

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {}

// Close implements transport.Link. It tells the peers, and waits for their answers for some milliseconds.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	end := l.clock() + lingerMax
	l.Leave(l.clock())
	for now := l.clock(); !l.Left() && now < end; now = l.clock() {
		if b, from, ok := l.sock.Receive(); ok {
			l.OnPacket(now, from, b)
			continue
		}
		l.OnTimeout(now)
		l.sock.Wait(min(l.NextTimeout(), end) - now)
	}
	l.Machine.Close()
	return l.sock.Close()
}

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
)
