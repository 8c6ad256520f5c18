package udp

import (
	"net/netip"

	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
)

// pathMTU is how long datagrams may be that go by a path. Unless Config.Discover is set, it never
// changes.
//
// Two things lower it: the kernel's word, which is asked for when a session begins and when a long
// packet was lost; and black holes, which swallow long packets and tell nobody. After each pause
// the kernel's word is taken anew, in case the path takes more again.
type pathMTU struct {
	size     int    // bytes of a datagram; longer packets are cut again
	askedAt  int64  // when the kernel was asked last
	losses   int    // rounds in a row in which long packets were lost and none as long arrived
	shortest int    // the length of the shortest of these
	roundTx  uint64 // transmissions up to this one belong to the latest round, or to one before
	raiseAt  int64  // when to try longer ones; 0: size is all that is wanted
	pause    int64  // before that; doubled until long packets arrive
}

// MTUSource is an Outlet that knows the paths' MTUs as the kernel has learned them.
type MTUSource interface {
	// PathMTU is how long a datagram to an address may be to pass in one piece, in bytes of UDP
	// data, as far as the kernel knows; 0: it does not.
	PathMTU(path Path, to netip.AddrPort) int
}

// Sizes that pass where longer ones do not: the first is what IPv6 and most tunnels carry.
const (
	safeSize  = 1280 - 40 - 8
	leastSize = 576 - 20 - 8
)

// leastSizeOf is what every path like r takes: IPv6 promises 1280 bytes, IPv4 576.
func leastSizeOf(r *paths.Path) int {
	if r.Addr().Addr().Unmap().Is6() {
		return safeSize
	}
	return leastSize
}

// resize sets how long datagrams by r may be, and when longer ones are tried.
func (s *sender) resize(r *paths.Path, size int, now int64) {
	u, most := &s.mtus[r.Number()], s.m.cfg.PacketSize
	u.size, u.losses, u.raiseAt = max(min(size, most), min(leastSizeOf(r), most)), 0, 0
	if u.size < most {
		u.pause = min(max(2*u.pause, int64(raiseLeast)), int64(raiseMost))
		u.raiseAt = now + u.pause
	}
	s.fit()
}

// fit makes new packets as long as all paths take, and tells the owner.
func (s *sender) fit() {
	least := s.m.cfg.PacketSize
	for i := range s.mtus {
		least = min(least, s.mtus[i].size)
	}
	s.limits = packetLimits{size: least, mostInFlight: mostInFlight(least)}
	if sendMax := s.m.sendMax(least); sendMax != s.sendMax {
		s.sendMax = sendMax
		if s.m.cfg.SendMaxChanged != nil {
			s.m.cfg.SendMaxChanged(s.p.ep, sendMax)
		}
	}
}

// sendMax is how long a message is whose packet has size bytes. No less than for the smallest
// packet: a packet longer than a path takes is cut again.
func (m *Machine) sendMax(size int) int { return (max(size, MinPacketSize) - packet.Overhead) &^ 7 }

// mostInFlight is how many packets of a size may be in flight to one peer.
func mostInFlight(size int) int { return min(MaxPacketsOut*max(burstBytes/size, 1), mostPackets) }

// learnMTUs asks the kernel how long packets may be on all paths: the session begins.
func (s *sender) learnMTUs(now int64) {
	if !s.m.cfg.Discover {
		return
	}
	for i := range s.mtus {
		s.raise(s.p.paths.At(i), now)
	}
	s.sendMax = 0 // the owner may know of an earlier session's
	s.fit()
}

// known is the packet size of r that the kernel knows; if it knows none, the size to try.
func (s *sender) known(r *paths.Path) int {
	if s.m.mtus != nil {
		if n := s.m.mtus.PathMTU(Path(r.Number()), r.Addr()); n > 0 {
			return n
		}
	}
	return s.m.cfg.PacketSize
}

// raise makes packets by r as long as the kernel knows to pass.
func (s *sender) raise(r *paths.Path, now int64) { s.resize(r, s.known(r), now) }

// isLong says whether k may have been lost by r because of its length.
func (s *sender) isLong(k *recovery.Packet, r *paths.Path) bool {
	return s.m.cfg.Discover && k.Length() > leastSizeOf(r)
}

// lostLong: k was lost by r, though something sent later by r arrived. If that was because k is too
// long, the kernel may have learned the path's MTU. If long packets are lost in blackHoleRounds
// rounds, r is a black hole for them.
func (s *sender) lostLong(k *recovery.Packet, r *paths.Path, now int64) {
	u, n := &s.mtus[r.Number()], k.Length()
	if !s.isLong(k, r) || n > u.size || k.Tx() <= u.roundTx {
		return
	}
	u.roundTx = r.Transmissions()
	if u.losses++; u.losses == 1 || n < u.shortest {
		u.shortest = n
	}
	hole := u.losses >= blackHoleRounds
	if hole || u.askedAt == 0 || now-u.askedAt >= int64(askGap) {
		u.askedAt = now
		if known := s.known(r); known < u.size {
			s.resize(r, known, now)
			return
		}
	}
	if hole {
		next := leastSize
		if u.size > safeSize {
			next = safeSize
		}
		s.resize(r, next, now)
	}
}

// passed: a packet of length bytes has arrived.
func (u *pathMTU) passed(length int) {
	if length < u.shortest {
		return
	}
	if u.losses = 0; u.raiseAt == 0 {
		u.pause = 0
	}
}

// cut puts a packet with the next part of k in k's place (packet/cut.go). The rest of k gets a
// number behind all others. Nil: there is no memory, or no number, now.
func (s *sender) cut(k *recovery.Packet) *recovery.Packet {
	size := s.m.cfg.PacketSize
	for i := range s.p.paths.Len() {
		size = min(size, leastSizeOf(s.p.paths.At(i)))
	}
	part := s.m.pool.Get()
	if part == nil {
		return nil
	}
	k.FirstCut(k.Seq())
	last := k.IsLastPart(size)
	if !last && !s.window.HasNumberForRest(k) {
		s.m.pool.Put(part)
		return nil
	}
	for !k.MovePart(&part.Content, size, k.Sends() > 0) {
		s.void(k) // then there is nothing that cannot be read
	}
	s.window.Replace(k, part)
	if last {
		if op := k.Op(); op != nil {
			s.m.done.add(op, nil)
		}
		s.m.pool.Put(k)
		return part
	}
	s.window.Repush(k)
	for op := s.flushes.first; op != nil; op = op.Link.Next { // it waits for the rest, too
		op.Link.Mark = uint64(s.window.End())
	}
	s.flushSeq = s.window.End()
	return part
}
