package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// The way of a packet in, from top to bottom. OnPacket finds out whether it is genuine (admit.go)
// and its kind. Every packet acknowledges (ack.go). onData takes in the number of one with
// messages, offer gives them to their handlers, and conclude reports their outcome to the origin
// (acknowledge.go).

// receiver is the receiving half of a peer.
type receiver struct {
	p        *peer
	m        *Machine
	received recovery.Received
	latestBy uint8 // the path that data came by last
	// accepted remembers of packets with several messages, some of them refused, which were
	// accepted.
	accepted map[wire.Seq]uint64
	partials []partial // packets of which some parts are here
	epoch    uint32    // of origins, when data came last
	pending
}

// OnPacket takes in one datagram that came to the local address of path, and offers its messages to
// their handlers; it returns how many it offered. b must be outside the Go heap, start on a
// multiple of 8 bytes, and is the handlers' to write until OnPacket returns.
func (m *Machine) OnPacket(now int64, path Path, from netip.AddrPort, b []byte) int {
	if m.closed {
		return 0
	}
	if kind, _ := wire.KindOf(b); kind == wire.KindHello {
		m.onHello(now, path, from, b)
		return 0
	}
	var h wire.Header
	if h.Decode(b) != nil {
		m.stats.GhostPackets++
		return 0
	}
	p, r := m.authentic(now, path, from, b)
	if p == nil {
		m.stats.GhostPackets++
		return 0
	}
	rest := b[wire.HeaderSize:]
	switch h.Kind {
	case wire.KindData:
		return p.receiver.onData(now, r, &h, rest)
	case wire.KindAck:
		p.receiver.onAck(now, r, &h, rest)
	case wire.KindBye:
		p.session.onClose(now, r, &h, rest)
	}
	return 0
}

// onAck takes in an Ack, which may ask for another.
func (c *receiver) onAck(now int64, r *paths.Path, h *wire.Header, rest []byte) {
	if !c.p.sender.onAck(now, r, h, rest) {
		c.m.stats.GhostPackets++
		return
	}
	c.m.stats.PacketsReceived++
	if h.Flags&wire.FlagAckNow != 0 {
		r.Heard(h.Tx)
		c.sendAck(r, wire.KindAck, 0)
	}
}

// onData takes in a packet with messages, or with a part of a longer packet.
func (c *receiver) onData(now int64, r *paths.Path, h *wire.Header, rest []byte) (offered int) {
	count, err := wire.Count(rest)
	if err != nil || count > maxMessages || !c.p.sender.onAck(now, r, h, nil) {
		c.m.stats.GhostPackets++
		return 0
	}
	if !c.wants(now, r, h) {
		return 0
	}
	c.m.stats.PacketsReceived++
	var all bool
	if count > 0 && rest[0] == wire.PartID {
		offered, all = c.takePart(h.Seq, rest)
	} else if offered, all = c.offer(h.Seq, rest, count); all && len(c.partials) > 0 {
		c.forget(h.Seq) // parts of it are not wanted any more
	}
	c.conclude(now, r, h, all)
	return offered
}

// wants takes in the number of a packet. False: there is nothing to offer in it.
func (c *receiver) wants(now int64, r *paths.Path, h *wire.Header) bool {
	m := c.m
	if m.leaving || c.p.session.state == closed { // no handler runs any more: say so again
		if c.p.session.state != closed {
			c.sendAck(r, wire.KindBye, 0)
		}
		m.stats.GhostPackets++
		return false
	}
	r.Heard(h.Tx)
	c.latestBy = r.Number()
	m.origins.count(now, c)
	if c.received.Has(h.Seq) {
		m.stats.DuplicatePackets++
		c.sendAck(r, wire.KindAck, 0) // the acknowledgement was lost, or is late
		return false
	}
	if !c.received.InWindow(h.Seq) {
		m.stats.GhostPackets++
		return false
	}
	return true
}

// offer calls the handlers of a packet's messages, but for those accepted before. all: now all are,
// and the peer is still there.
func (c *receiver) offer(s wire.Seq, rest []byte, count int) (offered int, all bool) {
	m := c.m
	seen, refused := c.accepted[s], false
	for i := 0; i < count; i++ {
		id, header, data := wire.Split(rest) // Count has checked the lengths
		at := rest
		rest = rest[min(wire.Align8(data), len(rest)):]
		if seen>>i&1 != 0 {
			continue
		}
		offered++
		m.msg = transport.Msg{From: c.p.ep, Hdr: at[wire.MessageSize:header:header],
			Data: at[header:data:data]}
		accepted := m.call(id)
		if !c.p.session.alive() {
			return offered, false
		}
		if !accepted {
			refused = true
			continue
		}
		seen |= 1 << i
		m.stats.DataReceived += uint64(data - header)
	}
	if refused && count > 1 {
		if c.accepted == nil {
			c.accepted = make(map[wire.Seq]uint64)
		}
		c.accepted[s] = seen // at most as many as the window has numbers
	} else {
		delete(c.accepted, s)
	}
	return offered, !refused
}

// call runs the handler of the message in msg. A message of a kind without handler comes from a
// peer that does not fit this task: it is counted and dropped.
func (m *Machine) call(id uint8) (accepted bool) {
	if id > uint8(transport.MaxMsgID) || m.handlers[id] == nil {
		m.stats.GhostPackets++
		return true
	}
	return m.handlers[id](&m.msg) == transport.Accept
}

// conclude reports a packet's outcome to the origin, or sees to it that it is reported soon.
func (c *receiver) conclude(now int64, r *paths.Path, h *wire.Header, accepted bool) {
	if !c.p.session.alive() { // a handler disconnected the peer
		return
	}
	if !accepted {
		c.sendAck(r, wire.KindAck, 0, wire.Block{First: h.Seq, NotReady: 1})
		return
	}
	c.received.Mark(h.Seq)
	flags := h.Flags
	if r.TellSoon() {
		flags |= wire.FlagAckSoon
	}
	c.acknowledge(now, r, flags)
}

// drop forgets packets that came in part, and pending acknowledgements.
func (c *receiver) drop() {
	c.pending = pending{listed: c.pending.listed}
	c.accepted = nil
	for len(c.partials) > 0 {
		c.forget(c.partials[0].of)
	}
}
