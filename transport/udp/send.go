package udp

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// Send implements transport.Link. Up to CopyMax bytes of data are always copied (Done); of more, the packet refers to op.Local until the
// peer has acknowledged it (Queued). ErrBusy: too many packets wait for this peer, or for all, or every retransmit buffer
// is taken.
func (m *Machine) Send(now int64, ep transport.Endpoint, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	p, err := m.checked(ep, id, hdr, op)
	if err != nil {
		return 0, err
	}
	if joined, err := p.join(id, hdr, op); joined {
		m.ripeAt = max(m.ripeAt, now)
		return transport.Done, err
	}
	return p.open(now, id, hdr, op)
}

// checked is the peer of a message to send, if the message is one that may be sent.
func (m *Machine) checked(ep transport.Endpoint, id transport.MsgID, hdr []byte, op *transport.Op) (*peer, error) {
	p, err := m.target(ep)
	if err != nil {
		return nil, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr)&7 != 0 || len(hdr) > m.limits.HeaderMax || op.N > uint64(m.limits.SendMax-len(hdr)) {
		return nil, transport.ErrBadParam
	}
	return p, nil
}

// join puts a message into the packet that waits for company, if there is one with room. When ripeAt is late, the owner of the clock sets it.
func (p *peer) join(id transport.MsgID, hdr []byte, op *transport.Op) (joined bool, err error) {
	k := p.sharable(len(hdr), op.N)
	if k == nil {
		return false, nil
	}
	err = k.add(id, hdr, op)
	if k.n >= shareBytes || k.messages == maxMessages {
		p.ripen(p.m.ripeAt)
		p.m.ripeLate = true
	}
	return true, err
}

// open begins a packet with a message.
func (p *peer) open(now int64, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	m := p.m
	p.begin()
	if !p.room() {
		return 0, transport.ErrBusy
	}
	k := m.pool.get()
	if k == nil {
		return 0, transport.ErrBusy
	}
	status, err := m.fill(k, id, hdr, op)
	if err != nil {
		m.pool.put(k)
		return 0, err
	}
	p.push(k)
	if p.state == stateOpen {
		p.pump(now)
	} else {
		p.greet(now)
	}
	return status, nil
}

// target is the peer of a new operation.
func (m *Machine) target(ep transport.Endpoint) (*peer, error) {
	p := m.connected(ep)
	switch {
	case m.closed:
		return nil, transport.ErrClosed
	case p == nil || !p.alive() || m.leaving:
		return nil, transport.ErrUnreachable
	}
	return p, nil
}

// room says whether one more packet may wait.
func (p *peer) room() bool {
	limit := maxWaiting
	if p.state != stateOpen {
		limit = maxWaitingUnmet
	}
	return p.unsent() < limit && int(p.nextSeq-p.base) < seqWindow-2 // these are for recut
}

// sharable is the last waiting packet if a message of this size may join it.
func (p *peer) sharable(header int, data uint64) *packet {
	if p.unsent() == 0 || int(data) > p.m.cfg.CopyMax {
		return nil
	}
	k := *p.slot(p.nextSeq - 1)
	if !k.open || k.messages == maxMessages || wire.Align8(k.n)+wire.MessageSize+header+int(data) > min(p.m.bufferSize(k.buf), p.packetSize) {
		return nil
	}
	return k
}

// bufferSize is how much of b one packet may use.
func (m *Machine) bufferSize(b []byte) int { return min(len(b), m.cfg.PacketSize) }

// fill makes k the packet of one message.
func (m *Machine) fill(k *packet, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	k.n = wire.HeaderSize
	k.single = op.Single
	if int(op.N) <= m.cfg.CopyMax || op.N == 0 {
		if overhead+len(hdr)+int(op.N) > m.bufferSize(k.buf) {
			if k.rex = m.pool.rexes.get(); k.rex == nil {
				return 0, transport.ErrBusy
			}
			k.buf = k.rex
		}
		if overhead+len(hdr)+int(op.N) <= m.bufferSize(k.buf) {
			k.open = true
			return transport.Done, k.add(id, hdr, op)
		}
	}
	k.last = k.n
	wire.PutMessage(k.buf[k.n:], uint8(id), len(hdr), int(op.N))
	k.n += wire.MessageSize + copy(k.buf[k.n+wire.MessageSize:], hdr)
	k.data, k.dataN, k.op = op.Local, int(op.N), op
	k.messages, k.counts = 1, int(op.N)
	return transport.Queued, nil
}

// add copies a message to the packet, whose buffer has room for it. A *FaultError leaves the packet as it was.
func (k *packet) add(id transport.MsgID, hdr []byte, op *transport.Op) error {
	at := wire.Align8(k.n)
	body := at + wire.MessageSize + len(hdr)
	end := body + int(op.N)
	if op.N > 0 {
		if err := memory.CopyOut(k.buf[body:end], op.Local); err != nil {
			return err
		}
	}
	clear(k.buf[k.n:at]) // padding: nothing of an earlier packet leaves this task
	wire.PutMessage(k.buf[at:], uint8(id), len(hdr), int(op.N))
	copy(k.buf[at+wire.MessageSize:], hdr)
	k.n = end
	k.messages++
	k.counts += int(op.N)
	return nil
}

// push gives k its sequence number. Nothing joins the packet before it any more.
func (p *peer) push(k *packet) {
	if p.unsent() > 0 {
		(*p.slot(p.nextSeq - 1)).open = false
	}
	k.seq = p.nextSeq
	k.state = packetWaiting
	*p.slot(k.seq) = k
	p.nextSeq++
}

// pump transmits what the windows allow: what is missing first, then what waits.
func (p *peer) pump(now int64) {
	if p.state != stateOpen {
		return
	}
	if p.m.downPaths != 0 {
		p.stalled(now)
	}
	for s := p.firstMissing; p.missing > 0; s++ {
		if s == p.sendNext {
			panic("udp: missing packets are counted, but none is there")
		}
		k := *p.slot(s)
		if k == nil || k.state != packetMissing {
			continue
		}
		p.firstMissing = s
		if !p.transmitBy(k, now) {
			return
		}
		if p.firstMissing.Before(s) { // what came back from the outlet meanwhile is to go again, too
			s = p.firstMissing - 1
		}
	}
	for p.sendNext != p.nextSeq {
		k := *p.slot(p.sendNext)
		if k.open && !p.m.pushing && p.m.gatherer != nil { // more may join it until this entry ends
			p.ripen(now)
			return
		}
		if !p.transmitBy(k, now) {
			return
		}
	}
}

// transmitBy sends k by a path that has room. False: none has.
func (p *peer) transmitBy(k *packet, now int64) bool {
	s := k.seq
	for r := p.routeFor(k); r != nil; r = p.routeFor(k) {
		if p.transmit(k, r, now, 0) {
			return true
		} // else r is full: perhaps another is not
		k = *p.slot(s) // it may have been cut
	}
	return false
}

// transmit sends k by r, for the first time or again. False: the outlet is full; k stays as it is and r.fullDue is set.
func (p *peer) transmit(k *packet, r *route, now int64, flags wire.Flags) bool {
	m := p.m
	m.untie(k)
	if k.length() > r.size || k.rest {
		if k = p.recut(k); k == nil {
			p.isFull(r, now)
			return false
		}
	}
	flags |= p.ask(k, r, now)
	outcome := p.emit(k, r, flags)
	if outcome == Fault {
		p.void(k)
		outcome = p.emit(k, r, flags)
	}
	if outcome == Full {
		p.isFull(r, now)
		return false
	}
	k.acks = p.acksWent()
	m.stats.PacketsSent++
	p.moved(k, packetWaiting) // off the path that it took before
	k.path = r.path
	p.moved(k, packetFlying)
	if k.seq == p.sendNext {
		p.sendNext++
	}
	if k.sends == 0 {
		m.stats.DataSent += uint64(k.counts)
	} else {
		m.stats.RetransmittedPackets++
	}
	k.sends++
	k.open = false
	r.tx = r.nextNumber()
	k.tx, k.sentAt = r.tx, now
	r.timed(now, flags)
	if p.waitSince == 0 {
		p.waitSince = now
	}
	if r.retryDue == 0 {
		r.retryDue = now + p.retryAfter(r)
		p.timer(r.retryDue)
	}
	if p.striped() {
		p.useRoutes(now)
		if k.spreads() {
			p.measure(now)
		}
	}
	return true
}

// isFull: nothing goes by r for a moment.
func (p *peer) isFull(r *route, now int64) {
	r.fullDue = now + int64(fullDelay)
	p.timer(r.fullDue)
}

// emit hands k to the outlet, by r. Fault: its data cannot be read.
func (p *peer) emit(k *packet, r *route, flags wire.Flags) Outcome {
	r.fillHeader(p, k.buf, wire.KindData, flags, k.seq)
	if !p.seal(k.buf[:k.n], k.data, k.dataN) {
		return Fault
	}
	return p.m.give(p, r, k)
}

// ask says how k, which goes by r, asks for its acknowledgement: at once when half a window has gone without one, when the window closes behind
// it, it was the last that was missing, a flush stands there, no retransmit buffer is left, or the round trip of r, one of several, has not been
// measured for a while, as acknowledgements that come by the others do not tell; in passing when user memory is lent and the message
// ends here.
func (p *peer) ask(k *packet, r *route, now int64) wire.Flags {
	r.askedBytes += k.size()
	r.askedCount++
	full, window := p.packetSize+packetOverhead, r.allowed()
	closes := k.state == packetWaiting && (p.flying+1 >= p.mostFlight || r.flyingBytes+k.size()+min(full, window/4) > window)
	if r.askedBytes >= window/2 || r.askedCount >= p.mostFlight/2 || closes || p.probing && k.seq == p.flushSeq-1 ||
		k.state == packetMissing && p.missing == 1 || p.striped() && k.spreads() && now-r.timedAt > r.smooth || k.rex != nil && p.m.pool.rexes.empty() {
		r.askedBytes, r.askedCount = 0, 0
		return wire.FlagAckNow
	}
	if k.op != nil && k.length() < p.sendMax || p.flying+1 >= p.mostFlying(k) {
		return wire.FlagAckSoon
	}
	return 0
}

// void takes the lent data out of k, because it cannot be read: the operation ends with the fault, the sequence number travels
// with what else is in the packet, so that the receiver does not wait for it.
func (p *peer) void(k *packet) {
	if k.op != nil {
		p.m.done.add(k.op, &transport.FaultError{Addr: firstFault(k.data, k.dataN)})
	}
	before := k.size()
	k.counts = max(k.counts-k.dataN, 0) // they may have gone with a part
	k.n, k.op, k.data, k.dataN = k.last, nil, 0, 0
	k.messages--
	if k.part.Total != 0 { // what has gone of it must not be used
		k.part.Keep = k.n - wire.HeaderSize
	}
	if k.state == packetFlying {
		p.routes[k.path].flyingBytes -= before - k.size()
	}
}

// firstFault looks for the first of n bytes at a that cannot be read, a page at a time.
func firstFault(a transport.Addr, n int) transport.Addr {
	const page = 4096
	var b [1]byte
	for at, end := a, a+transport.Addr(n); at < end; at = (at | (page - 1)) + 1 {
		if memory.CopyOut(b[:], at) != nil {
			return at
		}
		if at|(page-1) == ^transport.Addr(0) {
			break
		}
	}
	return a
}

// fillHeader writes the header of a packet that goes by r, with the acknowledgement of the other direction.
func (r *route) fillHeader(p *peer, b []byte, kind wire.Kind, flags wire.Flags, seq wire.Seq) {
	h := wire.Header{
		Kind: kind, Flags: flags, Task: uint16(p.m.cfg.Task), Tx: uint16(r.nextNumber()), Echo: r.newestTx, Seq: seq, Ack: p.expect,
	}
	if p.highest != p.expect {
		h.AckBlock, h.Bits = p.newest()
	}
	if kind != wire.KindData {
		h.Room = p.m.room()
	}
	h.Put(b)
}
