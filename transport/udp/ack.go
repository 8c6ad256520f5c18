package udp

import (
	"math/bits"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// onAck takes in the acknowledgements of a header that came by r and, of an Ack or Bye packet, the blocks in rest. False: they are not possible.
func (p *peer) onAck(now int64, r *route, h *wire.Header, rest []byte) bool {
	if uint32(p.sendNext-h.Ack) >= 1<<31 { // of what was never sent
		return false
	}
	if h.Kind.Blocks() {
		if len(rest)%wire.BlockSize != 0 {
			return false
		}
		p.roomIs(h.Room)
	}
	p.newsOf, p.ackBy = 0, r.path
	echoed := p.echo(now, r, h)
	for p.base.Before(h.Ack) {
		p.acked(p.base, now)
		p.base++
	}
	gaps := h.Bits != 0
	p.ackedBlock(h.AckFirst(), h.Bits, now)
	refused := false
	for len(rest) > 0 {
		var k wire.Block
		rest, _ = k.Next(rest) // there is a whole one
		gaps = gaps || k.Received != 0
		p.ackedBlock(k.First, k.Received, now)
		refused = p.refusedBlock(k.First, k.Refused, now) || refused
	}
	r.fresh = false
	if p.newsOf == 0 && !refused && !echoed {
		return true
	}
	p.m.stats.AcksReceived++
	p.news(now, r, h, gaps)
	return true
}

// echo notes which transmission is known to have arrived by r. False: none that was not known before.
func (p *peer) echo(now int64, r *route, h *wire.Header) bool {
	tx := r.tx - uint64(uint16(r.tx)-h.Echo)
	if tx <= r.ackedTx || tx > r.tx {
		return false
	}
	r.ackedTx = tx
	r.fresh = tx != r.timedTx
	if !r.fresh {
		r.sample(now, now-r.timedAt)
		r.ackedSent = max(r.ackedSent, r.timedAt)
	}
	p.answered(r, now)
	return true
}

// news draws the conclusions from acknowledgements that came by r.
func (p *peer) news(now int64, r *route, h *wire.Header, gaps bool) {
	for p.base != p.sendNext && *p.slot(p.base) == nil {
		p.base++
	}
	r.settle(now)
	if p.overtaken(r, gaps) {
		p.findMissing(now, r, h)
	}
	p.tries = 0
	for i := range p.routes {
		o := &p.routes[i]
		if o != r && p.newsOf>>i&1 == 0 {
			continue
		}
		o.grow(now, p.m.cfg.PacketSize, &o.rtt)
		o.askedBytes, o.askedCount = 0, 0
		p.rearm(o, now)
		if o.retryDue != 0 {
			p.timer(o.retryDue)
		}
	}
	p.waitSince = 0
	if p.outstanding() {
		p.waitSince = now
	}
	if p.striped() {
		p.witness(r, now)
	}
	p.flushed()
	if over(r.raiseAt, now) {
		p.raise(r, now)
	}
	p.pump(now)
}

// acked takes the packet s off the window, if it is there still.
func (p *peer) acked(s wire.Seq, now int64) {
	k := *p.slot(s)
	if k == nil || k.sends == 0 {
		return
	}
	p.m.untie(k)
	*p.slot(s) = nil
	r := &p.routes[k.path]
	if k.overtaken && k.tx > r.ackedTx && k.path == p.ackBy { // the transmission before the latest has arrived: it was late, not lost
		r.late(now)
	}
	if k.tx <= r.ackedTx {
		r.ackedSent = max(r.ackedSent, k.sentAt)
	}
	if r.fresh && k.tx == r.ackedTx { // the very transmission that arrived
		r.sample(now, now-k.sentAt)
	}
	if k.sends == 1 { // else another transmission may be the one that arrived
		r.passed(k.length())
	}
	r.acked(k.size())
	r.lossShare -= r.lossShare >> 6
	p.newsOf |= 1 << k.path
	p.moved(k, packetWaiting)
	if k.op != nil {
		p.m.done.add(k.op, nil)
	}
	p.m.pool.put(k)
}

// ackedBlock does so for each bit of b, which begins with sequence number first.
func (p *peer) ackedBlock(first wire.Seq, b uint64, now int64) {
	for ; b != 0; b &= b - 1 {
		s := first + wire.Seq(bits.TrailingZeros64(b))
		if s.InWindow(p.base, uint32(p.sendNext-p.base)) {
			p.acked(s, now)
		}
	}
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

// overtaken is a quick look whether findMissing may find anything: not if the oldest packet is in flight on r, was sent after all that is
// known to have arrived there, and nothing behind it arrived.
func (p *peer) overtaken(r *route, gaps bool) bool {
	if p.flying == 0 {
		return false
	}
	k := *p.slot(p.base)
	return gaps || k == nil || k.state != packetFlying || k.path != r.path || k.tx < r.ackedTx
}

// findMissing looks for packets in flight that others have overtaken on their path: they are lost. And so are those on a path that was
// left, if they were sent before what r has brought an answer to. Headers tell of 64 numbers, Ack and Bye of all; of others
// nothing is known.
func (p *peer) findMissing(now int64, r *route, h *wire.Header) {
	for s := p.base; s != p.sendNext; s++ {
		k := *p.slot(s)
		if k == nil || k.state != packetFlying {
			continue
		}
		if !h.Kind.Blocks() && !s.InWindow(h.AckFirst(), wire.BlockSpan) {
			continue
		}
		o := &p.routes[k.path]
		passed := o.overtook(k)
		if passed || o.health != live && k.sentAt < r.ackedSent && p.striped() {
			k.overtaken = passed
			p.moved(k, packetMissing)
			o.lost(k.tx, o.tx, k.size(), p.m.cfg.PacketSize, &o.rtt)
			o.lossShare += (1<<16 - o.lossShare) >> 6
			if passed {
				p.lostLong(k, o, now)
			}
		}
	}
}

// roomIs takes in what the peer says of its sockets.
func (p *peer) roomIs(bytes uint32) {
	most := int(min(bytes, largestBuffer))
	for i := range p.routes {
		p.routes[i].most = most
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
		p.askAll(now)
	}
	p.probing, p.flushSeq = true, p.nextSeq
	return transport.Queued, nil
}

// askAll asks for acknowledgements of what is in flight, on each path where something is.
func (p *peer) askAll(now int64) {
	for i := range p.routes {
		if r := &p.routes[i]; r.flying > 0 {
			p.sendAckNow(r, now)
		}
	}
}
