package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// incoming is the receiving half of a peer.
//
//	expect                    highest
//	  │ some received, some not  │  nothing from here on
type incoming struct {
	expect   wire.Seq // the first not received
	highest  wire.Seq // behind the last received
	ackCount int      // packets received and not yet acknowledged
	ackDue   int64    // when they must be; 0: there are none
	wantAck  bool     // the origin asks for it when there is nothing else to do
	latest   wire.Seq // received last
	latestBy Path     // and by which path
	// parts remembers of packets with several messages, some of them refused, which ones were accepted.
	parts    map[wire.Seq]uint64
	epoch    uint32    // of origins, when data came last
	partials []partial // packets of which some parts are here
}

// OnPacket takes in one datagram that came to the local address of path, and offers its messages to their handlers; it returns how many it offered. b must be
// outside the Go heap, start on a multiple of 8 bytes, and is the handlers' to write until OnPacket returns.
func (m *Machine) OnPacket(now int64, path Path, from netip.AddrPort, b []byte) int {
	if m.closed {
		return 0
	}
	kind, err := wire.KindOf(b)
	if err != nil {
		m.stats.GhostPackets++
		return 0
	}
	if kind == wire.KindHello {
		m.onHello(now, path, from, b)
		return 0
	}
	p, r := m.authentic(now, path, from, b)
	if p == nil {
		m.stats.GhostPackets++
		return 0
	}
	var h wire.Header
	if h.Decode(b) != nil {
		m.stats.GhostPackets++
		return 0
	}
	rest := b[wire.HeaderSize:]
	switch h.Kind {
	case wire.KindData:
		return p.onData(now, r, &h, rest)
	case wire.KindAck:
		if !p.onAck(now, r, &h, rest) {
			m.stats.GhostPackets++
			return 0
		}
		m.stats.PacketsReceived++
		if h.Flags&wire.FlagAckNow != 0 {
			r.heard(&h)
			p.sendAck(r, wire.KindAck, 0)
		}
	case wire.KindBye:
		p.onBye(now, r, &h, rest)
	}
	return 0
}

// heard notes the transmission number of a packet that came by r. If some before it have not come, the next few are acknowledged soon, so that the origin
// learns of it.
func (r *route) heard(h *wire.Header) {
	ahead := int16(h.Tx - r.newestTx)
	if ahead > 0 {
		r.newestTx = h.Tx
	}
	if ahead > 1 {
		r.tellSoon = reorderPackets + 1
	}
}

// onData offers a packet's messages.
func (p *peer) onData(now int64, r *route, h *wire.Header, rest []byte) int {
	m := p.m
	count, err := wire.Count(rest)
	if err != nil || count > maxMessages || !p.onAck(now, r, h, nil) {
		m.stats.GhostPackets++
		return 0
	}
	if !p.wanted(now, r, h) {
		return 0
	}
	m.stats.PacketsReceived++
	var offered int
	var accepted bool
	if count > 0 && rest[0] == wire.PartID {
		offered, accepted = p.takePart(h.Seq, rest)
	} else if offered, accepted = p.offer(h.Seq, rest, count); accepted && len(p.partials) > 0 && p.alive() {
		p.forget(h.Seq) // parts of it are not wanted any more
	}
	p.tell(now, r, h, accepted)
	return offered
}

// wanted takes in the number of a packet with messages, or a part of one. False: there is nothing to offer in it.
func (p *peer) wanted(now int64, r *route, h *wire.Header) bool {
	m := p.m
	if m.leaving || p.state == stateLeft { // no handler runs any more: say so again
		if p.state != stateLeft {
			p.sendAck(r, wire.KindBye, 0)
		}
		m.stats.GhostPackets++
		return false
	}
	r.heard(h)
	p.latestBy = r.path
	m.origins.count(now, p)
	if h.Seq.Before(p.expect) || p.has(h.Seq) {
		m.stats.DuplicatePackets++
		p.sendAck(r, wire.KindAck, 0) // the acknowledgement was lost, or is late
		return false
	}
	if !h.Seq.InWindow(p.expect, seqWindow) {
		m.stats.GhostPackets++
		return false
	}
	return true
}

// tell says to the origin what became of a packet.
func (p *peer) tell(now int64, r *route, h *wire.Header, accepted bool) {
	if !p.alive() { // a handler disconnected the peer
		return
	}
	if !accepted {
		p.sendRefusal(r, h.Seq)
		return
	}
	p.mark(h.Seq)
	if r.tellSoon > 0 {
		r.tellSoon--
		h.Flags |= wire.FlagAckSoon
	}
	p.acknowledge(now, r, h.Flags)
}

// offer calls the handlers of a packet's messages, but for those accepted before.
func (p *peer) offer(s wire.Seq, rest []byte, count int) (offered int, all bool) {
	m := p.m
	var seen uint64
	if p.parts != nil {
		seen = p.parts[s]
	}
	refused := false
	for i := 0; i < count; i++ {
		id, header, data := wire.Split(rest) // Count has checked the lengths
		at := rest
		rest = rest[min(wire.Align8(data), len(rest)):]
		if seen>>i&1 != 0 {
			continue
		}
		offered++
		m.msg = transport.Msg{From: p.ep, Hdr: at[wire.MessageSize:header:header], Data: at[header:data:data]}
		accepted := m.call(id)
		if !p.alive() {
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
		if p.parts == nil {
			p.parts = make(map[wire.Seq]uint64)
		}
		p.parts[s] = seen // at most seqWindow of them
	} else if p.parts != nil {
		delete(p.parts, s)
	}
	return offered, !refused
}

// call runs the handler of the message in msg. A message of a kind without handler comes from a peer that does not fit us: it is counted and dropped.
func (m *Machine) call(id uint8) (accepted bool) {
	if id > uint8(transport.MaxMsgID) || m.handlers[id] == nil {
		m.stats.GhostPackets++
		return true
	}
	return m.handlers[id](&m.msg) == transport.Accept
}

// has says whether s, not before expect, was received.
func (p *peer) has(s wire.Seq) bool {
	return s.Before(p.highest) && p.win.received[s%seqWindow/wire.BlockSpan]>>(s%wire.BlockSpan)&1 != 0
}

// mark notes that s was received and accepted.
func (p *peer) mark(s wire.Seq) {
	p.latest = s
	if s == p.expect && s == p.highest { // in order, as almost always
		p.expect++
		p.highest++
		return
	}
	p.win.received[s%seqWindow/wire.BlockSpan] |= 1 << (s % wire.BlockSpan)
	if !s.Before(p.highest) {
		p.highest = s + 1
	}
	for p.expect != p.highest && p.has(p.expect) {
		p.win.received[p.expect%seqWindow/wire.BlockSpan] &^= 1 << (p.expect % wire.BlockSpan)
		p.expect++
	}
}

// receivedFrom is the 64 bits from s on: which of them were received.
func (p *peer) receivedFrom(s wire.Seq) uint64 {
	i, shift := s%seqWindow/wire.BlockSpan, s%wire.BlockSpan
	b := p.win.received[i] >> shift
	if shift != 0 {
		b |= p.win.received[(i+1)%wire.Seq(len(p.win.received))] << (wire.BlockSpan - shift)
	}
	if n := uint32(p.highest - s); n < wire.BlockSpan { // behind highest the ring holds nothing of this round
		b &= 1<<n - 1
	}
	return b
}

// newest is the header's view: the block with the packet received last.
func (p *peer) newest() (block uint8, b uint64) {
	if d := uint32(p.latest - p.expect); d < seqWindow {
		block = uint8(d / wire.BlockSpan)
	}
	return block, p.receivedFrom(p.expect + wire.Seq(block)*wire.BlockSpan)
}

// The blocks of the receive window must fit the header's field.
const _ = uint(wire.MaxAckBlock - (seqWindow/wire.BlockSpan - 1))

// acknowledge decides when the packet just received is.
func (p *peer) acknowledge(now int64, r *route, flags wire.Flags) {
	p.ackCount++
	if flags&wire.FlagAckNow != 0 || p.ackCount >= p.m.cfg.AckThreshold {
		p.sendAck(r, wire.KindAck, 0)
		return
	}
	if p.ackDue == 0 {
		p.ackDue = now + min(int64(ackDelay), int64(p.m.cfg.PollingInterval))
		p.timer(p.ackDue)
	}
	if flags&wire.FlagAckSoon != 0 {
		p.wantAck = true
		if !p.wantSoon {
			p.wantSoon = true
			p.m.soon = append(p.m.soon, p)
		}
	}
}

// acksWent: a data packet has gone out. It says whether there was anything to acknowledge in it.
func (p *peer) acksWent() bool {
	if p.ackCount == 0 {
		return false
	}
	p.m.stats.AcksSent++
	if uint32(p.highest-p.expect) <= wire.BlockSpan { // the header told of everything
		p.ackCount, p.ackDue, p.wantAck = 0, 0, false
	}
	return true
}

// answerRoute is the path for acknowledgements that had to wait: the one that data came by last, if it can be used.
func (p *peer) answerRoute() *route {
	if r := &p.routes[p.latestBy]; !r.down {
		return r
	}
	return p.usable()
}

// sendAck sends all there is to say of what came from p by r, as an Ack or Bye. If the outlet is full it is lost, as any packet may be.
func (p *peer) sendAck(r *route, kind wire.Kind, flags wire.Flags) bool {
	return p.sendBlocks(r, p.putBlocks(r, kind, flags))
}

// sendRefusal does so and says that s arrived and was refused.
func (p *peer) sendRefusal(r *route, s wire.Seq) {
	n := p.putBlocks(r, wire.KindAck, 0)
	k := wire.Block{First: s, Refused: 1}
	k.Put(p.m.scratch[n:])
	p.sendBlocks(r, n+wire.BlockSize)
}

// putBlocks writes an Ack or Bye into scratch, with a block for each 64 numbers of which some were received. Its header's own bits
// are then more of the same. Who is leaving says so in every packet.
func (p *peer) putBlocks(r *route, kind wire.Kind, flags wire.Flags) int {
	if p.m.leaving {
		kind = wire.KindBye
	}
	b := p.m.scratch[:]
	r.fillHeader(p, b, kind, flags, 0)
	n := wire.HeaderSize
	for s := p.expect; s.Before(p.highest); s += wire.BlockSpan {
		k := wire.Block{First: s, Received: p.receivedFrom(s)}
		if n+wire.BlockSize > r.size { // of the others the origin hears when these are no longer needed
			break
		}
		if k.Received != 0 {
			k.Put(b[n:])
			n += wire.BlockSize
		}
	}
	return n
}

func (p *peer) sendBlocks(r *route, n int) bool {
	m := p.m
	if p.seal(m.scratch[:n], 0, 0); m.out.Transmit(r.path, r.addr, m.scratch[:n], 0, 0) == Full {
		return false
	}
	m.stats.PacketsSent++
	m.stats.AcksSent++
	p.ackCount, p.ackDue, p.wantAck = 0, 0, false
	return true
}

// OnIdle answers the requests that could wait until the socket was empty.
func (m *Machine) OnIdle() {
	for _, p := range m.soon {
		p.wantSoon = false
		if p.wantAck {
			p.sendAck(p.answerRoute(), wire.KindAck, 0)
		}
	}
	m.soon = m.soon[:0]
	if len(m.held) > 0 {
		m.sendHeld()
	}
}

// settle sends every acknowledgement that waits for company.
func (m *Machine) settle() {
	m.OnIdle()
	for _, p := range m.active {
		if p.ackDue != 0 {
			p.sendAck(p.answerRoute(), wire.KindAck, 0)
		}
	}
}
