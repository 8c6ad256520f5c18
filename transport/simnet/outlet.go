package simnet

import (
	"bytes"
	"net/netip"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// Transmit implements udp.Outlet.
func (n *Node) Transmit(path udp.Path, to netip.AddrPort, head []byte, data transport.Addr,
	count int) udp.Outcome {
	if n.isFull() {
		return udp.Full
	}
	i, ok := n.packet(path, head, data, count)
	if !ok {
		return udp.Fault
	}
	n.send(i, to)
	return udp.Sent
}

// isFull decides whether the socket takes a packet now.
func (n *Node) isFull() bool {
	if n.stuffed == 0 && (n.full == 0 || n.net.random.Float64() >= n.full) {
		return false
	}
	n.net.Counts.Full++
	return true
}

// packet makes a packet. False: its data cannot be read.
func (n *Node) packet(path udp.Path, head []byte, data transport.Addr, count int) (i int32,
	ok bool) {
	s := n.net
	i = s.packets.make(len(head) + count)
	k := &s.packets.all[i]
	copy(k.b, head)
	if memory.CopyOut(k.b[len(head):], data) != nil {
		s.packets.drop(i)
		return 0, false
	}
	k.path = path
	return i, true
}

// send lets packet i go.
func (n *Node) send(i int32, to netip.AddrPort) {
	s := n.net
	k := &s.packets.all[i]
	if int(k.path) >= len(n.addrs) {
		s.fail("task %d sends from path %d and has %d", n.index, k.path, len(n.addrs))
		s.packets.drop(i)
		return
	}
	s.Counts.Sent++
	s.count(k.b)
	n.sent++
	k.from = n.addrs[k.path]
	s.route(n, to, i)
}

// count notes what kind of packet goes.
func (s *Net) count(b []byte) {
	if isPart(b) {
		s.Counts.Parts++
	}
}

// isPart says whether a packet holds a part of a longer one.
func isPart(b []byte) bool {
	kind, _ := wire.KindOf(b)
	return kind == wire.KindData && len(b) > wire.HeaderSize && b[wire.HeaderSize] == wire.PartID
}

// PathMTU implements udp.MTUSource. The kernel does not forget within a run: its MTU may be long
// out of date.
func (n *Node) PathMTU(path udp.Path, to netip.AddrPort) int {
	target := n.net.owner(to)
	if target == nil {
		return 0
	}
	return n.net.line(n.index, target.index, path).told
}

// gathered is a packet that waits for Push.
type gathered struct {
	i    int32
	to   netip.AddrPort
	head []byte
	data transport.Addr
	n    int
}

// gatherer is a Node that sends at Push.
type gatherer struct{ *Node }

// Gather implements udp.Gatherer.
func (g gatherer) Gather(path udp.Path, to netip.AddrPort, head []byte, data transport.Addr,
	count int) udp.Outcome {
	i, ok := g.packet(path, head, data, count)
	if !ok {
		return udp.Fault
	}
	g.Node.gathered = append(g.Node.gathered, gathered{i, to, head, data, count})
	return udp.Gathered
}

// Push implements udp.Gatherer. It holds the memory of each packet against what was there when it
// was gathered.
func (g gatherer) Push() []udp.Bounce {
	n := g.Node
	n.bounces = n.bounces[:0]
	for at, k := range n.gathered {
		b := n.net.packets.all[k.i].b
		if !bytes.Equal(b[:len(k.head)], k.head) ||
			!bytes.Equal(b[len(k.head):], memory.Bytes(k.data, uint64(k.n))) {
			n.net.fail("task %d: the memory of a packet was written before Push", n.index)
		}
		if n.isFull() {
			n.bounces = append(n.bounces, udp.Bounce{Tag: at, Outcome: udp.Full})
			n.net.packets.drop(k.i)
			continue
		}
		n.send(k.i, k.to)
	}
	n.gathered = n.gathered[:0]
	return n.bounces
}

// outlet is the node as its task's machine sees it.
func (n *Node) outlet() udp.Outlet {
	if n.gathers {
		return gatherer{n}
	}
	return n
}

var (
	_ udp.Gatherer  = gatherer{}
	_ udp.MTUSource = gatherer{}
)
