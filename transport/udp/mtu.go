package udp

import "net/netip"

// pathMTU is how long datagrams may be that go by a path. Unless Config.Discover is set, it never changes.
//
// Two things lower it: the kernel's word, which is asked for when a session begins and when a long
// packet was lost; and black holes, which swallow long packets and tell nobody. After each pause
// the kernel's word is taken anew, in case the path takes more again.
type pathMTU struct {
	size      int    // bytes of a datagram; what is longer is cut again
	learntAt  int64  // when the kernel was asked last
	losses    int    // rounds in a row in which long packets were lost and none as long arrived
	swallowed int    // the length of the shortest of these
	roundTx   uint64 // transmissions up to this one belong to the latest round, or to one before
	raiseAt   int64  // when to try longer ones; 0: size is all that is wanted
	pause     int64  // before that; doubled until long packets arrive
}

// MTUSource is an Outlet that knows what the kernel has heard of paths' MTUs.
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

// leastSize is what every path takes: IPv6 promises 1280 bytes, IPv4 576.
func (r *route) leastSize() int {
	if r.addr.Addr().Unmap().Is6() {
		return safeSize
	}
	return leastSize
}

// leastSize is what every path to the peer takes.
func (p *peer) leastSize() int {
	least := p.m.cfg.PacketSize
	for i := range p.routes {
		least = min(least, p.routes[i].leastSize())
	}
	return least
}

// resize sets how long datagrams by r may be, and when longer ones are tried.
func (p *peer) resize(r *route, size int, now int64) {
	most := p.m.cfg.PacketSize
	r.size, r.losses, r.raiseAt = max(min(size, most), min(r.leastSize(), most)), 0, 0
	if r.size < most {
		r.pause = min(max(2*r.pause, int64(raiseLeast)), int64(raiseMost))
		r.raiseAt = now + r.pause
	}
	p.fit()
}

// fit makes new packets as long as all paths take, and tells the owner.
func (p *peer) fit() {
	least := p.m.cfg.PacketSize
	for i := range p.routes {
		least = min(least, p.routes[i].size)
	}
	p.packetSize = least
	p.mostFlight = mostFlight(least)
	if sendMax := p.m.sendMax(least); sendMax != p.sendMax {
		p.sendMax = sendMax
		if p.m.cfg.SendMaxChanged != nil {
			p.m.cfg.SendMaxChanged(p.ep, sendMax)
		}
	}
}

// sendMax is how long a message is whose packet has so many bytes. No less than the smallest packet's: what is longer than a path is cut again.
func (m *Machine) sendMax(packet int) int { return (max(packet, MinPacketSize) - overhead) &^ 7 }

// mostFlight is how many packets of a size may be in flight to one peer.
func mostFlight(size int) int { return min(MaxPacketsOut*max(burstBytes/size, 1), maxFlying) }

// survey asks the kernel how long packets may be on all paths: the session begins.
func (p *peer) survey(now int64) {
	if !p.m.cfg.Discover {
		return
	}
	for i := range p.routes {
		p.raise(&p.routes[i], now)
	}
	p.sendMax = 0 // the owner may know of an earlier session's
	p.fit()
}

// kernelSays is what the kernel knows of r; what may be tried if that is nothing.
func (p *peer) kernelSays(r *route) int {
	if p.m.mtus != nil {
		if n := p.m.mtus.PathMTU(r.path, r.addr); n > 0 {
			return n
		}
	}
	return p.m.cfg.PacketSize
}

// raise makes packets by r as long as the kernel knows to pass.
func (p *peer) raise(r *route, now int64) { p.resize(r, p.kernelSays(r), now) }

// lostLong: k was lost by r, though something sent later by r arrived. If that was because k is too
// long, the kernel may have been told. If long packets are lost round after round, r is a black
// hole for them.
func (p *peer) lostLong(k *packet, r *route, now int64) {
	n := k.length()
	if !p.m.cfg.Discover || n > r.size || n <= r.leastSize() || k.tx <= r.roundTx {
		return
	}
	r.roundTx = r.tx
	if r.losses++; r.losses == 1 || n < r.swallowed {
		r.swallowed = n
	}
	hole := r.losses >= blackHoleRounds
	if hole || r.learntAt == 0 || now-r.learntAt >= int64(askGap) {
		r.learntAt = now
		if known := p.kernelSays(r); known < r.size {
			p.resize(r, known, now)
			return
		}
	}
	if hole && r.size > safeSize {
		p.resize(r, safeSize, now)
	} else if hole {
		p.resize(r, leastSize, now)
	}
}

// passed: a packet of so many bytes has arrived by r.
func (r *route) passed(length int) {
	if length < r.swallowed {
		return
	}
	if r.losses = 0; r.raiseAt == 0 {
		r.pause = 0
	}
}
