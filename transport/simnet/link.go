package simnet

import (
	"net/netip"
	"time"

	"lapi/transport"
	"lapi/transport/udp"
)

// Link joins a udp.Machine to a Node, as udp.Link joins one to its sockets. Its owner Attaches to
// the Node.
type Link struct {
	transport.MessagesOnly
	*udp.Machine
	node   *Node
	closed bool
	// packets that the network had taken from the node, and given to it, when this link began,
	// and since
	sentBefore, gotBefore, sent, got int
}

// lingerMax bounds Close, as udp.Link's.
const lingerMax = int64(70 * time.Millisecond)

// NewLink makes the protocol of the node's task. Locals, ReceiveBuffer and Random of cfg are the
// node's.
func NewLink(n *Node, cfg udp.Config) (*Link, error) {
	cfg.Locals, cfg.ReceiveBuffer, cfg.Random = n.Locals(), n.buffer, n.random.Uint64
	m, err := udp.NewMachine(cfg, n.outlet())
	if err != nil {
		return nil, err
	}
	n.onPath = func(path udp.Path, up bool) {
		if up {
			m.PathUp(n.net.now, path)
		} else {
			m.PathDown(n.net.now, path)
		}
		m.Push()
		n.Touch()
	}
	for path := range n.addrs {
		if n.down[path] > 0 {
			m.PathDown(n.net.now, udp.Path(path))
		}
	}
	return &Link{Machine: m, node: n, sentBefore: n.sent, gotBefore: n.got}, nil
}

// Address implements transport.Link. It does not name the generation, so that a peer takes
// whichever task is there.
func (l *Link) Address() transport.Address { return l.node.Address() }

// Locals is the node's addresses, by path.
func (l *Link) Locals() []netip.AddrPort { return l.node.addrs }

// Reconnect is udp.Link's.
func (l *Link) Reconnect(ep transport.Endpoint, a transport.Address) error {
	l.node.Touch()
	return l.Machine.Reconnect(l.node.net.now, ep, a)
}

// Send implements transport.Link.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	l.node.Touch()
	return l.Machine.Send(l.node.net.now, ep, id, hdr, op)
}

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	l.node.Touch()
	return l.Machine.Flush(l.node.net.now, ep, op)
}

// Expect is udp.Link's.
func (l *Link) Expect(ep transport.Endpoint) {
	l.node.Touch()
	l.Machine.Expect(l.node.net.now, ep)
}

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	n, now := 0, l.node.net.now
	for packets := 0; n < max && packets < max; packets++ {
		offered, ok := l.receive(now)
		if !ok {
			break
		}
		n += offered
	}
	if l.node.waiting() == 0 && !l.node.isDeaf() {
		l.OnIdle()
	}
	l.OnTimeout(now, l.node.waiting() == 0)
	if l.Turn() && l.Machine.NextTimeout() != 0 {
		l.Check(now)
	}
	n += l.Complete()
	l.Push()
	return n
}

// isDeaf says whether the task stops looking at its socket before it is idle, as one does that
// computes.
func (n *Node) isDeaf() bool { return n.deaf > 0 && n.net.random.Float64() < n.deaf }

// receive takes in one packet from the socket.
func (l *Link) receive(now int64) (offered int, ok bool) {
	i, ok := l.node.take()
	if !ok {
		return 0, false
	}
	s := l.node.net
	k := s.packets.all[i]
	s.Counts.Delivered++
	l.node.got++
	offered = l.OnPacket(now, k.path, k.from, k.b)
	s.packets.drop(i)
	return offered, true
}

// Descriptors implements transport.Waiter: there are none.
func (l *Link) Descriptors() []int { return nil }

// Arm implements transport.Waiter.
func (l *Link) Arm() bool { return l.node.waiting() > 0 || l.Machine.NextTimeout() == 1 }

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {}

// Close implements transport.Link: it tells the peers, and lets time pass until they have answered
// or lingerMax is over. It must not be called from within a turn.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	s := l.node.net
	end := s.now + lingerMax
	l.Leave(s.now)
	linger := func() {
		for {
			if _, ok := l.receive(s.now); !ok {
				break
			}
		}
		l.OnTimeout(s.now, true)
		l.Push()
	}
	l.node.Attach(linger, func() int64 { return min(l.timeout(end), end) })
	for !l.Left() && s.now < end && s.Step() {
	}
	l.Abandon()
	return s.err
}

func (l *Link) timeout(never int64) int64 {
	if t := l.NextTimeout(); t != 0 {
		return t
	}
	return never
}

// Abandon ends the machine without a word to anybody, as the death of its task does.
func (l *Link) Abandon() {
	if !l.closed {
		l.Machine.Close()
		l.sent, l.got, l.closed = l.Sent(), l.Got(), true
		l.node.Detach(false)
	}
}

// Sent is how many packets the network has taken from this link's machine.
func (l *Link) Sent() int {
	if l.closed {
		return l.sent
	}
	return l.node.sent - l.sentBefore
}

// Got is how many it has given to it.
func (l *Link) Got() int {
	if l.closed {
		return l.got
	}
	return l.node.got - l.gotBefore
}

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
	_ transport.Pusher = (*Link)(nil)
)
