package udp

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// The way of a message out, from top to bottom. Send finds a place for it in a packet: in the open
// packet, or in a new one. pump sends the packets that the windows allow, each by the path that
// delivers it first. emit completes a packet and hands it to the batch (batch.go).

// sender is the sending half of a peer.
type sender struct {
	p       *peer
	m       *Machine
	window  recovery.Window
	mtus    []pathMTU // by path
	limits  packetLimits
	sendMax int    // header and data of a message that fills a packet, as reported to the owner
	flushes opList // in their order
	// a flush waits for packets not yet sent: the one before flushSeq asks for its
	// acknowledgement
	flushing  bool
	flushSeq  wire.Seq // where the latest flush stands
	coalesced coalesced
}

// packetLimits are for new packets.
type packetLimits struct {
	size         int // bytes: a size that all paths take
	mostInFlight int // packets, on all paths
}

// Send implements transport.Link. Up to CopyMax bytes of data are always copied (Done), but for
// parts of long messages. For more data, and for these parts, the packet borrows op.Local until the
// peer has acknowledged it (Queued). ErrBusy: too many packets wait for this peer, or for all, or
// every retransmit buffer is taken.
func (m *Machine) Send(now int64, ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	p, err := m.checked(ep, id, hdr, op)
	if err != nil {
		return 0, err
	}
	if joined, err := p.sender.join(id, hdr, op); joined {
		m.coalescing.readyAt = max(m.coalescing.readyAt, now)
		return transport.Done, err
	}
	return p.sender.begin(now, id, hdr, op)
}

// checked is the peer of a message to send, if the message may be sent.
func (m *Machine) checked(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (*peer, error) {
	p, err := m.target(ep)
	if err != nil {
		return nil, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr)&7 != 0 || len(hdr) > m.limits.HeaderMax ||
		op.N > uint64(m.limits.SendMax-len(hdr)) {
		return nil, transport.ErrBadParam
	}
	return p, nil
}

// target is the peer of a new operation.
func (m *Machine) target(ep transport.Endpoint) (*peer, error) {
	p := m.connected(ep)
	switch {
	case m.closed:
		return nil, transport.ErrClosed
	case p == nil || !p.session.alive() || m.leaving:
		return nil, transport.ErrUnreachable
	}
	return p, nil
}

// join puts a message into the open packet, if there is one with room.
func (s *sender) join(id transport.MsgID, hdr []byte, op *transport.Op) (joined bool, err error) {
	if s.window.Unsent() == 0 || !(packet.Limits{CopyMax: s.m.cfg.CopyMax}).Copies(op) {
		return false, nil
	}
	k := s.window.Last()
	if !k.Takes(len(hdr), int(op.N), s.limits.size) {
		return false, nil
	}
	err = k.Join(id, hdr, op)
	if k.Full() {
		s.m.coalescing.ready(s.p, s.m.coalescing.readyAt)
		s.m.coalescing.late = true
	}
	return true, err
}

// begin begins a packet with a message.
func (s *sender) begin(now int64, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	m := s.m
	if !s.hasRoom() {
		return 0, transport.ErrBusy
	}
	k := m.pool.Get()
	if k == nil {
		return 0, transport.ErrBusy
	}
	status, err := k.Begin(id, hdr, op, packet.Limits{Size: m.cfg.PacketSize,
		CopyMax: m.cfg.CopyMax}, &m.pool.Retransmit)
	if err != nil {
		m.pool.Put(k)
		return 0, err
	}
	s.window.Push(k)
	if s.p.session.state == open {
		s.pump(now)
	} else {
		s.p.session.greet(now)
	}
	return status, nil
}

// hasRoom says whether one more packet may wait.
func (s *sender) hasRoom() bool {
	limit := maxWaiting
	if s.p.session.state != open {
		limit = maxWaitingIdle
	}
	return s.window.Unsent() < limit && s.window.HasNumber()
}

// pump transmits as the windows allow: lost packets first, then those that wait.
func (s *sender) pump(now int64) {
	if s.p.session.state != open {
		return
	}
	if s.m.offline != 0 {
		s.p.session.stalled(now)
	}
	for k := s.window.FirstLost(); k != nil; k = s.window.FirstLost() {
		if !s.transmitBy(k, now) {
			return
		}
	}
	for k := s.window.FirstUnsent(); k != nil; k = s.window.FirstUnsent() {
		if k.Open() && s.m.coalescing.waits() { // more may join it until this entry ends
			s.m.coalescing.ready(s.p, now)
			return
		}
		if !s.transmitBy(k, now) {
			return
		}
	}
}

// transmitBy sends k by a path that has room. False: none has.
func (s *sender) transmitBy(k *recovery.Packet, now int64) bool {
	seq := k.Seq()
	for {
		r := s.p.paths.For(k, s.m.coalescing.mostInFlight(k, s.limits.mostInFlight))
		if r == nil {
			return false
		}
		if s.transmit(k, r, now, 0) {
			return true
		} // else r is full: perhaps another is not
		k = s.window.At(seq) // it may have been cut
	}
}

// transmit sends k by r, for the first time or again. False: the outlet is full; k stays as it is
// and nothing goes by r for a moment.
func (s *sender) transmit(k *recovery.Packet, r *paths.Path, now int64, flags wire.Flags) bool {
	m := s.m
	s.Release(k)
	if k.MustCut(s.mtus[r.Number()].size) {
		if k = s.cut(k); k == nil {
			s.isFull(r, now)
			return false
		}
	}
	flags |= s.ask(k, r, now)
	outcome := s.emit(k, r, flags)
	if outcome == Fault {
		s.void(k)
		outcome = s.emit(k, r, flags)
	}
	if outcome == Full {
		s.isFull(r, now)
		return false
	}
	k.CarriesAcks = s.p.receiver.acksWent()
	m.stats.PacketsSent++
	armed := r.RetryDue() != 0
	if pause := r.Congestion().Pause(k.Size(), r.RTT()); pause > 0 {
		r.SetFull(now + pause)
		s.p.timer(r.FullDue())
	}
	if s.window.Sent(k, r.Number(), now, flags) {
		m.stats.DataSent += uint64(k.UserBytes())
	} else {
		m.stats.RetransmittedPackets++
	}
	s.p.session.waits(now)
	if !armed {
		s.p.timer(r.RetryDue())
	}
	if s.p.paths.Several() {
		s.p.paths.Used(now, k.Long())
	}
	return true
}

// isFull: nothing goes by r for a moment.
func (s *sender) isFull(r *paths.Path, now int64) {
	r.SetFull(now + int64(fullDelay))
	s.p.timer(r.FullDue())
}

// ask says how k, which goes by r, asks for its acknowledgement. At once: when half a window has
// gone without one, when the window closes behind it, it was the last that was lost, a flush ends
// at it, no retransmit buffer is left, or the round trip of r, one of several, has not been
// measured for a while, as acknowledgements that come by the others do not tell. In passing: when
// user memory is borrowed and the message ends here.
func (s *sender) ask(k *recovery.Packet, r *paths.Path, now int64) wire.Flags {
	w, most := &s.window, s.limits.mostInFlight
	bytes, count := r.Unasked(k.Size())
	allowed := r.Congestion().Allowed()
	full := min(s.limits.size+congestion.PacketOverhead, allowed/4)
	closes := k.IsNew() && (w.InFlight()+1 >= most || !r.HasRoom(k.Size()+full))
	if bytes >= allowed/2 || count >= most/2 || closes || s.flushing && k.Seq() == s.flushSeq-1 ||
		k.IsLost() && w.LostPackets() == 1 || s.p.paths.Several() && k.Long() &&
		r.AskedLongAgo(now) || k.Copied() && s.m.pool.Retransmit.Exhausted() {
		r.ResetUnasked()
		return wire.FlagAckNow
	}
	if k.Op() != nil && k.Length() < s.sendMax ||
		w.InFlight()+1 >= s.m.coalescing.mostInFlight(k, most) {
		return wire.FlagAckSoon
	}
	return 0
}

// emit completes k, which goes by r, and hands it on. Fault: its data cannot be read.
func (s *sender) emit(k *recovery.Packet, r *paths.Path, flags wire.Flags) Outcome {
	head := k.Bytes()
	s.p.putHeader(head, r, wire.KindData, flags, k.Seq())
	data, n := k.Borrowed()
	if !s.p.session.seal(head, data, n) {
		return Fault
	}
	return s.m.batch.give(s, k, r)
}

// void takes the borrowed data out of k, because they cannot be read: the operation ends with the
// fault. The number travels with what else is in the packet, so that the receiver does not wait.
func (s *sender) void(k *recovery.Packet) {
	if op, fault := s.window.Void(k); op != nil {
		s.m.done.add(op, &transport.FaultError{Addr: fault})
	}
}

// Ask implements paths.Session: it sends an acknowledgement by r that asks for one.
func (s *sender) Ask(r *paths.Path, now int64) bool {
	if s.p.session.state != open || !s.p.receiver.sendAck(r, wire.KindAck, wire.FlagAckNow) {
		return false
	}
	r.Asked(now)
	return true
}

// seal completes a packet: head, which has everything but the check, and n bytes of user memory at
// data. False: the user memory cannot be read, and the packet must not go.
func (s *session) seal(head []byte, data transport.Addr, n int) bool {
	if n == 0 || s.p.m.cfg.Level != wire.LevelMAC {
		s.out.Seal(head, nil, len(head)+n)
		return true
	}
	return memory.Read(data, uint64(n), func(b []byte) { s.out.Seal(head, b, len(head)+n) }) == nil
}

// drop frees every packet. Their operations, and the flushes, go to done with err.
func (s *sender) drop(err error, done *opList) {
	s.window.Drain(func(k *recovery.Packet) {
		if op := k.Op(); op != nil {
			done.add(op, err)
		}
		s.m.pool.Put(k)
	})
	for op := s.flushes.take(); op != nil; op = s.flushes.take() {
		done.add(op, err)
	}
	s.flushing = false
}
