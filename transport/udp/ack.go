package udp

import (
	"lapi/transport"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// onAck takes in the acknowledgements of a header that came by r and, of an Ack or Bye packet, the
// blocks behind it. False: they are not possible.
func (s *sender) onAck(now int64, r *paths.Path, h *wire.Header, blocks []byte) bool {
	a := recovery.Ack{Path: &r.Path, Header: h, Blocks: blocks}
	if !s.window.Possible(&a) {
		return false
	}
	if h.Kind.Blocks() {
		s.roomIs(h.Room)
	}
	answered := r.Echo(now, h.Echo)
	if answered {
		s.p.paths.Answered(r, now)
	}
	gaps, news := s.window.Take(now, &a)
	s.p.timer(s.window.NotReadyDue())
	if news || answered {
		s.m.stats.AcksReceived++
		s.onNews(now, r, &a, gaps)
	}
	return true
}

// onNews draws the conclusions from acknowledgements that came by r.
func (s *sender) onNews(now int64, r *paths.Path, a *recovery.Ack, gaps bool) {
	p := s.p
	s.window.Detect(now, a, gaps, p.paths.Live())
	s.window.Update(now, &r.Path)
	for i := range p.paths.Len() {
		p.timer(p.paths.At(i).RetryDue())
	}
	p.session.heard(now, s.window.Outstanding())
	p.paths.Corroborate(r, now)
	s.flushed()
	if over(s.mtus[r.Number()].raiseAt, now) { // try longer packets
		s.raise(r, now)
	}
	s.pump(now)
}

// Release implements recovery.Owner.
func (s *sender) Release(k *recovery.Packet) { s.m.batch.release(k) }

// Acked implements recovery.Owner.
func (s *sender) Acked(k *recovery.Packet) {
	if k.Sends() == 1 { // else another transmission may have arrived
		s.mtus[k.Path()].passed(k.Length())
	}
	if op := k.Op(); op != nil {
		s.m.done.add(op, nil)
	}
	s.m.pool.Put(k)
}

// Lost implements recovery.Owner.
func (s *sender) Lost(k *recovery.Packet, now int64) {
	s.lostLong(k, s.p.paths.At(int(k.Path())), now)
}

// largestBuffer is the most that is believed of a peer's buffer, bytes: it fits an int of any
// width.
const largestBuffer = 1 << 30

// roomIs takes in what the peer says of its sockets.
func (s *sender) roomIs(bytes uint32) {
	for i := range s.p.paths.Len() {
		s.p.paths.At(i).Congestion().SetLimit(int(min(bytes, largestBuffer)))
	}
}

// Flush implements transport.Link: done when all packets before it are acknowledged, which the peer
// does when its handlers have accepted all that is in them. Of a peer that left in good order it is
// known whether it took all.
func (m *Machine) Flush(now int64, ep transport.Endpoint, op *transport.Op) (transport.Status,
	error) {
	p, err := m.target(ep)
	if err != nil {
		if q := m.connected(ep); q != nil && q.session.state == closed && !m.closed {
			return transport.Done, q.session.lost
		}
		return 0, err
	}
	if !p.sender.window.Outstanding() {
		return transport.Done, nil
	}
	p.sender.flush(now, op)
	return transport.Queued, nil
}

// Sends is how often the oldest packet to ep without an acknowledgement was sent; 0 if there is
// none.
func (m *Machine) Sends(ep transport.Endpoint) int {
	p := m.connected(ep)
	if p == nil || !p.sender.window.Outstanding() {
		return 0
	}
	return p.sender.window.At(p.sender.window.Base()).Sends()
}

// flush queues a flush behind all that waits or is in flight.
func (s *sender) flush(now int64, op *transport.Op) {
	w := &s.window
	if last := w.Last(); last != nil {
		last.Shut() // packets sent later do not matter to the flush
	}
	op.Link.Mark = uint64(w.End())
	s.flushes.add(op, nil)
	if s.p.session.state != open {
		s.p.session.greet(now)
	} else if w.Unsent() == 0 {
		for i := range s.p.paths.Len() { // ask, unless the last packet in flight did
			if r := s.p.paths.At(i); r.InFlight() > 0 && !r.AwaitsAck() {
				s.Ask(r, now)
			}
		}
	}
	s.flushing, s.flushSeq = true, w.End()
}

// flushed completes the flushes that have nothing before them any more.
func (s *sender) flushed() {
	for op := s.flushes.first; op != nil; op = s.flushes.first {
		if s.window.Base().Before(wire.Seq(op.Link.Mark)) {
			return
		}
		s.flushes.take()
		s.m.done.add(op, nil)
	}
	s.flushing = false
}
