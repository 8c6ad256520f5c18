package udp

import (
	"fmt"
	"math/bits"
	"net/netip"
	"sync"
	"time"

	"lapi/transport"
	"lapi/transport/udp/sock"
	"lapi/transport/udp/wire"
)

const (
	// socketBuffer is asked of the kernel, each way; it gives as much as net.core.rmem_max and
	// wmem_max allow.
	socketBuffer = 4 << 20
	// lateTime: a task with several sockets that did not look at them for this long, in
	// nanoseconds, because it computed or did not get the processor, asks all of them and takes
	// in their packets. Longer than some turns that find nothing.
	lateTime = int64(100 * time.Microsecond)
	// lingerMax bounds Close, in nanoseconds: a little more than all close notices take.
	lingerMax = int64(70 * time.Millisecond)
)

// Link joins a Machine to its sockets, one for each address, and a clock. It is the transport.Link
// and transport.Waiter over UDP/IP; its owner's lock protects it. memory.Guard must have run on the
// calling goroutine.
type Link struct {
	transport.MessagesOnly
	*Machine
	socks sock.Set // by path
	clock transport.Clock
	fixed bool // the ports were given
	partners
	stream   bool  // the last call of Progress found a packet
	lookedAt int64 // when it was, with several sockets
	armedAt  int64 // when the owner's sleep began; 0: it is awake

	gathered int                      // packets that the sockets hold back since the last Push
	holding  uint                     // which sockets do: a bit each
	bounces  []Bounce                 // the last result of Push
	changed  func(i int, usable bool) // pathChanged
}

// New opens the sockets and makes the link. The addresses must be of this host; port 0 lets the
// kernel choose. The error wraps transport.ErrBadParam if a value is out of range, or the kernel's.
func New(cfg Config) (*Link, error) {
	fragment := cfg.PacketSize != 0
	if !fragment {
		cfg.PacketSize, cfg.Discover = pathPayload(cfg.Locals), true
	}
	if cfg.ReceiveBuffer == 0 {
		cfg.ReceiveBuffer = socketBuffer
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	l := &Link{clock: cfg.Clock, fixed: cfg.Round == 0}
	err := l.open(&cfg, fragment)
	if l.clock == nil {
		start := time.Now()
		l.clock = func() int64 { return int64(time.Since(start)) + 1 }
	}
	if err == nil {
		l.Machine, err = NewMachine(cfg, (*outlet)(l))
	}
	if err != nil {
		l.socks.Close()
		return nil, err
	}
	l.changed = l.pathChanged
	return l, nil
}

// pathPayload is what every interface of these addresses carries in one piece.
func pathPayload(locals []Local) int {
	n := wire.MaxDatagram
	for _, a := range locals {
		if a.Addr.Addr().IsValid() {
			n = min(n, sock.InterfacePayload(a.Addr.Addr()))
		}
	}
	return max(n, MinPacketSize)
}

// open opens a socket for each address.
func (l *Link) open(cfg *Config, fragment bool) error {
	if len(cfg.Locals) == 0 {
		return fmt.Errorf("udp: no address: %w", transport.ErrBadParam)
	}
	buffer := cfg.ReceiveBuffer
	for _, a := range cfg.Locals {
		s, err := sock.Open(a.Addr, sock.Options{Device: a.Device, Receive: buffer,
			Send: socketBuffer, Length: wire.Length, Plain: cfg.Plain, Fragment: fragment})
		if err != nil {
			return fmt.Errorf("udp: %w", err)
		}
		l.socks.Add(s)
		if n := s.ReceiveBuffer(); n > 0 {
			cfg.ReceiveBuffer = min(cfg.ReceiveBuffer, n)
		}
		l.fixed = l.fixed && a.Addr.Port() != 0
	}
	l.watch()
	return nil
}

// watch collects the interfaces' state. A kernel that reports nothing is no error: paths that are
// down are noticed all the same, a little later.
func (l *Link) watch() {
	var addrs []netip.Addr
	real := false
	for i := range l.socks.Len() {
		a := l.socks.At(i).Interface()
		addrs, real = append(addrs, a), real || !a.IsLoopback()
	}
	if !real { // the loopback interface stays
		return
	}
	if w, err := sock.NewWatch(addrs); err == nil {
		l.socks.Watch(w)
	}
}

// rounds counts, for each fixed address, the links of this process that were connected there. All
// tasks of a job begin and end their sessions together, so that their numbers agree. It is for the
// whole process: links with locks of their own use it.
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
		rounds.of[l.socks.At(0).Local()]++
		l.cfg.Round = rounds.of[l.socks.At(0).Local()]
	}
	l.pair(ep)
	return nil
}

// Reconnect gives ep another session; see Machine.Reconnect.
func (l *Link) Reconnect(ep transport.Endpoint, a transport.Address) error {
	if err := l.Machine.Reconnect(l.clock(), ep, a); err != nil {
		return err
	}
	l.pair(ep)
	return nil
}

// partners is who is reached by the link.
type partners struct {
	only    transport.Endpoint // the first that was connected
	some    bool               // only is set
	several bool               // there are others
}

// pair connects the sockets to the only peer that the link has: the kernel looks up the way to it
// once. With a second peer that ends, as one socket serves all.
func (l *Link) pair(ep transport.Endpoint) {
	if l.several {
		return
	}
	l.several = l.some && ep != l.only
	l.some, l.only = true, ep
	var only *peer
	if !l.several {
		only = l.connected(ep)
	}
	for i := range l.socks.Len() {
		to := netip.AddrPort{}
		if only != nil && i < only.paths.Len() {
			to = only.paths.At(i).Addr()
		}
		l.socks.At(i).Connect(to)
	}
}

// outlet is the sockets as the protocol sees them.
type outlet Link

func (o *outlet) Transmit(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	if o.drops(head) {
		return Sent
	}
	return o.socks.At(int(path)).Send(to, head, uint64(data), n)
}

// drops says whether to lose a packet, as a test wants.
func (o *outlet) drops(packet []byte) bool { return o.cfg.Drop != nil && o.cfg.Drop(packet) }

// PathMTU implements MTUSource.
func (o *outlet) PathMTU(path Path, to netip.AddrPort) int {
	return o.socks.At(int(path)).PathPayload(to)
}

// LastError implements Reasoner.
func (o *outlet) LastError(path Path, to netip.AddrPort) error {
	return o.socks.At(int(path)).LastError(to)
}

// Gather implements Gatherer.
func (o *outlet) Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	if o.drops(head) {
		return Sent
	}
	outcome := o.socks.At(int(path)).Gather(o.gathered, to, head, uint64(data), n)
	if outcome == Gathered {
		o.gathered++
		o.holding |= 1 << path
	}
	return outcome
}

// Push implements Gatherer.
func (o *outlet) Push() []Bounce {
	o.bounces = o.bounces[:0]
	for ; o.holding != 0; o.holding &= o.holding - 1 {
		o.bounces = o.socks.At(bits.TrailingZeros(o.holding)).Push(o.bounces)
	}
	o.gathered = 0
	return o.bounces
}

// Address implements transport.Link.
func (l *Link) Address() transport.Address {
	return transport.Address{Bytes: encodeAddress(l.Locals(), l.cfg.Incarnation)}
}

// Locals is where the sockets are bound, by path.
func (l *Link) Locals() (a []netip.AddrPort) {
	for i := range l.socks.Len() {
		a = append(a, l.socks.At(i).Local())
	}
	return a
}

// Send implements transport.Link; see Machine.Send. A message that joins others needs no clock.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	p, err := l.checked(ep, id, hdr, op)
	if err != nil {
		return 0, err
	}
	if joined, err := p.sender.join(id, hdr, op); joined {
		return transport.Done, err
	}
	return p.sender.begin(l.clock(), id, hdr, op)
}

// Flush implements transport.Link; see Machine.Flush.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.Machine.Flush(l.clock(), ep, op)
}

// Expect tells that the owner waits for ep; see Machine.Expect.
func (l *Link) Expect(ep transport.Endpoint) { l.Machine.Expect(l.clock(), ep) }

// Push implements transport.Pusher; see Machine.Push.
func (l *Link) Push() {
	if c := &l.coalescing; c.late {
		c.late, c.readyAt = false, l.clock()
	}
	l.Machine.Push()
}

// Progress implements transport.Link. Of several packets that wait, it takes more than one only if
// the call before it found one too: so a lone message, whose answer somebody waits for, does not
// also pay for the look that finds nothing. The messages of one packet are offered together, also
// if they are more than max.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	l.Push()
	n, packets, now, late := 0, 0, int64(0), l.late()
	for n < max && packets < max {
		path, b, from, ok := l.socks.Receive()
		if !ok {
			if late && !l.socks.Empty() {
				continue
			}
			break
		}
		if now == 0 {
			now = l.clock()
		}
		packets++
		n += l.takeIn(now, path, from, b)
		if !l.stream && !late && !l.socks.Waiting() {
			break
		}
	}
	l.stream = packets > 0
	l.socks.Changes(l.changed)
	if packets == 0 {
		l.turnIdle()
	} else {
		l.OnTimeout(now, false)
	}
	if l.Turn() && l.timers.due != 0 {
		l.Check(l.clock())
	}
	n += l.Complete()
	l.Push()
	return n
}

// Drained says whether the last call of Progress found no packet. A call that found some may have
// delivered nothing, and left others.
func (l *Link) Drained() bool { return !l.stream }

// late says whether packets may have come to several sockets since the last look, as that was long
// ago. A peer that looked at one of them only would seem to answer by one path and not by another.
// And where turns are slow, because others use the processor, they must not be counted.
func (l *Link) late() bool {
	if l.socks.Len() == 1 {
		return false
	}
	now := l.clock()
	late := now-l.lookedAt > lateTime
	l.lookedAt = now
	if late {
		l.socks.Woken()
	}
	return late
}

// takeIn gives the protocol a packet. If the packet is not genuine, neither is the length in it, by
// which the packets behind it are found.
func (l *Link) takeIn(now int64, path int, from netip.AddrPort, b []byte) int {
	ghosts := l.stats.GhostPackets
	n := l.OnPacket(now, Path(path), from, b)
	if l.stats.GhostPackets != ghosts {
		l.stats.GhostPackets += uint64(l.socks.At(path).Drop())
	}
	return n
}

// pathChanged tells the protocol what the kernel says of this task's address i.
func (l *Link) pathChanged(i int, usable bool) {
	if !usable {
		l.PathDown(l.clock(), Path(i))
		return
	}
	l.socks.At(i).Rebind()
	l.PathUp(l.clock(), Path(i))
}

// turnIdle is Progress with empty sockets.
func (l *Link) turnIdle() {
	if (len(l.soon) > 0 || len(l.coalescing.held) > 0) && l.socks.Empty() {
		l.coalescing.readyAt = l.clock()
		l.OnIdle()
	}
	if l.timers.due == 0 {
		return
	}
	if now := l.clock(); now >= l.timers.due {
		l.OnTimeout(now, l.socks.Silent())
	}
}

// Descriptors implements transport.Waiter: the sockets, and the netlink socket that reports the
// interfaces' state.
func (l *Link) Descriptors() []int { return l.socks.Descriptors() }

// Arm implements transport.Waiter. Acknowledgements that wait for data to go with them go now:
// there will be none while this task sleeps.
func (l *Link) Arm() bool {
	if l.timers.due != 0 {
		l.acknowledgeAll()
	}
	l.Push()
	l.armedAt = l.clock()
	return l.done.first != nil || l.socks.Waiting()
}

// NextTimeout implements transport.Waiter: it is asked for a sleep.
func (l *Link) NextTimeout() int64 { return l.WakeBy(l.clock()) }

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {
	if l.armedAt != 0 {
		l.Slept(l.clock() - l.armedAt)
		l.armedAt = 0
	}
	l.socks.Woken()
}

// Close implements transport.Link. It tells the peers, and waits for their answers for some
// milliseconds.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	l.Push()
	end := l.clock() + lingerMax
	l.Leave(l.clock())
	for now := l.clock(); !l.Left() && now < end; now = l.clock() {
		if path, b, from, ok := l.socks.Receive(); ok {
			l.takeIn(now, path, from, b)
			continue
		}
		l.OnTimeout(now, true)
		l.Push()
		sock.Wait(l.Descriptors(), min(l.NextTimeout(), end)-now)
	}
	l.Machine.Close()
	return l.socks.Close()
}

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
	_ transport.Pusher = (*Link)(nil)
)
