package udp

import (
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp/internal/medium"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
)

// Gatherer is an Outlet that sends several packets in one go, because a packet costs as much as
// many in one go. Data packets are given to Gather; all others, which lie in memory that the
// Machine writes again at once, to Transmit.
type Gatherer interface {
	Outlet
	// Gather is Transmit, but the packet may be sent later, at Push at the latest. Gathered:
	// head and data are the Gatherer's to read until then. Any other outcome is final.
	Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome
	// Push sends all that was gathered and returns what could not be sent. The slice is valid
	// until the next Push.
	Push() []Bounce
}

// Bounce is a gathered packet that was not sent after all.
type Bounce = medium.Bounce

// batch is the packets that the outlet has gathered and not yet sent. Their memory must not change.
type batch struct {
	out      Outlet
	gatherer Gatherer   // out, if it is one
	packets  []gathered // packets that the gatherer has, in its order
	number   uint64     // flushes so far, and 1
	alone    bool       // the packets that may go now are one
}

// gathered is a packet that the outlet has gathered.
type gathered struct {
	s *sender
	k *recovery.Packet
}

func newBatch(out Outlet) batch {
	b := batch{out: out, number: 1}
	b.gatherer, _ = out.(Gatherer)
	return b
}

func (b *batch) isEmpty() bool { return len(b.packets) == 0 }

// give hands k, which is sealed, to the outlet, to go by r. A lone packet goes at once.
func (b *batch) give(s *sender, k *recovery.Packet, r *paths.Path) Outcome {
	data, n := k.Borrowed()
	if b.gatherer == nil || b.alone && n == 0 {
		return b.out.Transmit(Path(r.Number()), r.Addr(), k.Bytes(), data, n)
	}
	outcome := b.gatherer.Gather(Path(r.Number()), r.Addr(), k.Bytes(), data, n)
	if outcome == Gathered {
		b.packets = append(b.packets, gathered{s, k})
		k.Batch = b.number
		return Sent
	}
	return outcome
}

// release is called before k's memory, or that which it has borrowed, changes hands: the outlet
// must not have it any more.
func (b *batch) release(k *recovery.Packet) {
	if k.Batch == b.number {
		b.flush()
	}
}

// flush has the outlet send what it has gathered.
func (b *batch) flush() {
	if len(b.packets) == 0 {
		return
	}
	for _, c := range b.gatherer.Push() {
		g := b.packets[c.Tag]
		g.s.bounced(g.k, c.Outcome)
	}
	b.packets = b.packets[:0]
	b.number++
}

// Push sends what the outlet has gathered. The owner calls it at the end of each entry, and before
// it waits or lets user code run for long. A packet that could not be sent is retried when its
// peer's timers run: at once, without its data if those cannot be read, or after a pause for room.
func (m *Machine) Push() {
	if len(m.coalescing.peers) > 0 {
		m.coalescing.sendReady(&m.batch)
	}
	m.batch.flush()
}

// bounced takes k, which counts as in flight, back.
func (s *sender) bounced(k *recovery.Packet, why Outcome) {
	m := s.m
	m.stats.PacketsSent--
	first := s.window.Unsend(k)
	if first {
		m.stats.DataSent -= uint64(k.UserBytes())
	} else {
		m.stats.RetransmittedPackets--
	}
	again := k.SentAt()
	if why == Fault {
		s.void(k)
	} else {
		again += int64(fullDelay)
	}
	if k.CarriesAcks {
		s.p.receiver.ackBounced(again)
	}
	r := s.p.paths.At(int(k.Path()))
	r.SetFull(max(again, r.FullDue()))
	s.p.timer(r.FullDue())
}
