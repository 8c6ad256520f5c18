package udp

import (
	"math/bits"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// onAck takes in a header's acknowledgements and, of an Ack or Bye packet, the blocks in rest. False: they are not possible.
func (p *peer) onAck(now int64, h *wire.Header, rest []byte) bool {
	if uint32(p.sendNext-h.Ack) >= 1<<31 || len(rest)%wire.BlockSize != 0 { // of what was never sent, or damaged
		return false
	}
	news := false
	p.freshSent = 0
	if tx := p.tx - uint64(uint16(p.tx)-h.Echo); tx > p.ackedTx && tx <= p.tx {
		p.ackedTx = tx
	}
	for p.base.Before(h.Ack) {
		news = p.acked(p.base) || news
		p.base++
	}
	gaps := h.Bits != 0
	news = p.ackedBlock(h.AckFirst(), h.Bits) || news
	refused := false
	for len(rest) > 0 {
		var k wire.Block
		rest, _ = k.Next(rest) // there is a whole one
		gaps = gaps || k.Received != 0
		news = p.ackedBlock(k.First, k.Received) || news
		refused = p.refusedBlock(k.First, k.Refused, now) || refused
	}
	if !news && !refused {
		return true
	}
	p.m.stats.AcksReceived++
	if p.freshSent != 0 {
		p.rtt.sample(now - p.freshSent)
	}
	for p.base != p.sendNext && *p.slot(p.base) == nil {
		p.base++
	}
	if p.overtaken(gaps) {
		p.findMissing(h)
	}
	p.retimed(now)
	p.flushed()
	p.pump(now)
	return true
}

// acked takes the packet s off the window. False: it was not there any more.
func (p *peer) acked(s wire.Seq) bool {
	k := *p.slot(s)
	if k == nil || k.sends == 0 {
		return false
	}
	p.m.untie(k)
	*p.slot(s) = nil
	if k.tx == p.ackedTx { // the very transmission that arrived: when it was sent is known
		p.ackedSent, p.freshSent = k.sentAt, k.sentAt
	}
	p.congestion.acked(k.size(), p.m.cfg.PacketSize)
	p.moved(k, packetWaiting)
	if k.op != nil {
		p.m.done.add(k.op, nil)
	}
	p.m.pool.put(k)
	return true
}

// ackedBlock does so for each bit of b, which begins with sequence number first.
func (p *peer) ackedBlock(first wire.Seq, b uint64) (news bool) {
	for ; b != 0; b &= b - 1 {
		s := first + wire.Seq(bits.TrailingZeros64(b))
		if s.InWindow(p.base, uint32(p.sendNext-p.base)) {
			news = p.acked(s) || news
		}
	}
	return news
}

// refusedBlock parks the packets that the peer has seen and does not want yet.
func (p *peer) refusedBlock(first wire.Seq, b uint64, now int64) (news bool) {
	for ; b != 0; b &= b - 1 {
		s := first + wire.Seq(bits.TrailingZeros64(b))
		if !s.InWindow(p.base, uint32(p.sendNext-p.base)) {
			continue
		}
		k := *p.slot(s)
		if k == nil || k.state == packetRefused {
			continue
		}
		news = true
		if k.tx == p.ackedTx {
			p.ackedSent = k.sentAt
		}
		delay := min(int64(refuseDelay)<<min(k.refusals, 16), int64(refuseDelayMax), int64(p.m.cfg.PollingInterval))
		k.refusals++
		k.due = now + delay
		p.moved(k, packetRefused)
		if p.refusedDue == 0 || k.due < p.refusedDue {
			p.refusedDue = k.due
			p.timer(k.due)
		}
	}
	return news
}

// overtaken is a quick look whether findMissing may find anything: not if the oldest packet is in flight, was sent after all that is known
// to have arrived, and nothing behind it arrived.
func (p *peer) overtaken(gaps bool) bool {
	if p.flying == 0 {
		return false
	}
	k := *p.slot(p.base)
	return gaps || k == nil || k.state != packetFlying || k.tx < p.ackedTx
}

// findMissing looks for packets in flight that others have overtaken: they are lost. Data packets tell of the 64 numbers in h, Ack and Bye
// of all; of others nothing is known.
func (p *peer) findMissing(h *wire.Header) {
	late := max(int64(reorderTime), p.smooth/8)
	for s := p.base; s != p.sendNext; s++ {
		k := *p.slot(s)
		if k == nil || k.state != packetFlying || k.tx >= p.ackedTx {
			continue
		}
		if h.Kind == wire.KindData && !s.InWindow(h.AckFirst(), wire.BlockSpan) {
			continue
		}
		if p.ackedTx-k.tx >= reorderPackets || p.ackedSent-k.sentAt > late {
			p.moved(k, packetMissing)
			p.congestion.lost(k.tx, p.tx, p.m.cfg.PacketSize)
		}
	}
}

// retimed sets the retransmission timer after news from the peer.
func (p *peer) retimed(now int64) {
	p.backoff = 0
	p.askedBytes, p.askedCount = 0, 0
	p.retryDue = 0
	p.waitSince = 0
	if p.flying > 0 {
		p.retryDue = now + p.retryAfter()
		p.timer(p.retryDue)
	}
	if p.outstanding() {
		p.waitSince = now
	}
}

// flushed completes the flushes that have nothing before them any more.
func (p *peer) flushed() {
	for op := p.flushes.first; op != nil; op = p.flushes.first {
		if p.base.Before(wire.Seq(op.Link.Mark)) {
			return
		}
		p.flushes.take()
		p.m.done.add(op, nil)
	}
	p.probing = false
}

// Flush implements transport.Link: done when all packets before it are acknowledged, which the peer does when its handlers have accepted
// all that is in them. A peer that left in good order has nothing more to acknowledge.
func (m *Machine) Flush(now int64, ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := m.target(ep)
	if err != nil {
		if q := m.connected(ep); q != nil && q.state == stateLeft && !m.closed {
			return transport.Done, nil
		}
		return 0, err
	}
	if !p.outstanding() {
		return transport.Done, nil
	}
	if last := *p.slot(p.nextSeq - 1); last != nil {
		last.open = false // what is sent later is not the flush's business
	}
	op.Link.Mark = uint64(p.nextSeq)
	p.flushes.add(op)
	if p.state != stateOpen {
		p.greet(now)
	} else if p.sendNext == p.nextSeq {
		p.sendAck(wire.KindAck, wire.FlagAckNow)
	}
	p.probing, p.flushSeq = true, p.nextSeq
	return transport.Queued, nil
}
