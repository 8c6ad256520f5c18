package udp

import (
	"net/netip"

	"lapi/transport/udp/wire"
)

// sizing is how long packets may be that go by a path in one piece (docs/udp.md, "Packet size"). Unless Config.Discover is set, size never changes.
//
//	           told by the kernel, or long packets lost round after round
//	most ────────────────────────────────────────────────────────────────> smaller
//	  ▲                                                                      │ probes that were answered, after raiseAfter at the
//	  └──────────────────────────────────────────────────────────────────────┘ latest, at once if nobody had told
type sizing struct {
	size       int    // bytes of a datagram; longer packets go in pieces
	told       int    // what the kernel said last; 0: nothing
	surveyedAt int64  // when it was asked
	losses     int    // rounds in a row in which long packets were lost and none as long arrived
	swallowed  int    // the length of the shortest of these
	roundTx    uint64 // transmissions up to this one belong to the latest of them, or to one before

	tried   int    // the length of the latest probe, not answered; 0: none
	triedTx uint64 // its transmission
	tries   int    // how many went of that length
	tooLong int    // the shortest length whose probes were lost in this search; 0: none
	growAt  int64  // when the next probe may go; 0: size is all there is
}

// Surveyor is an Outlet that knows what the kernel has heard of paths' MTUs.
type Surveyor interface {
	// PathMTU is how long a datagram to an address may be to pass in one piece, in bytes of UDP data, as far as the kernel knows; 0: it does not.
	PathMTU(path Path, to netip.AddrPort) int
}

// leastSize is what every path takes: IPv6 promises 1280 bytes, IPv4 576.
func (r *route) leastSize() int {
	if r.addr.Addr().Unmap().Is6() {
		return 1280 - 40 - 8
	}
	return 576 - 20 - 8
}

// resize sets what r takes in one piece.
func (p *peer) resize(r *route, size int) {
	r.size = max(min(size, p.m.cfg.PacketSize), min(r.leastSize(), p.m.cfg.PacketSize))
	r.losses, r.tried, r.tries = 0, 0, 0
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

// sendMax is how long a message is whose packet has so many bytes. No less than the smallest packet's: what is longer than a path goes in pieces.
func (m *Machine) sendMax(packet int) int { return (max(packet, MinPacketSize) - overhead) &^ 7 }

// mostFlight is how many packets of a size may be in flight to one peer.
func mostFlight(size int) int { return min(MaxPacketsOut*max(burstBytes/size, 1), maxFlying) }

// survey asks the kernel how long packets may be on all paths: the session begins.
func (p *peer) survey(now int64) {
	if !p.m.cfg.Discover {
		return
	}
	for i := range p.routes {
		p.believe(&p.routes[i], now, true)
	}
	p.sendMax = 0 // the owner may know of an earlier session's
	p.fit()
}

// kernelSays is what the kernel knows of r; 0: nothing.
func (p *peer) kernelSays(r *route) int {
	if p.m.surveyor == nil {
		return 0
	}
	return p.m.surveyor.PathMTU(r.path, r.addr)
}

// believe takes the kernel's word that only less than r.size passes, and then tries again later. Unless always is set, news only: what it said before
// may have been found to be over. It says whether there was such a word.
func (p *peer) believe(r *route, now int64, always bool) bool {
	r.surveyedAt = now
	n := p.kernelSays(r)
	if n == 0 || n == r.told && !always {
		return false
	}
	r.told = n
	if n >= r.size {
		return false
	}
	p.resize(r, n)
	r.tooLong, r.growAt = 0, now+int64(raiseAfter)
	return true
}

// lostLong: the transmission of k by r was lost, though later ones by r arrived. If that was because k is too long, somebody may have told the kernel; if
// long packets are lost in round after round, r swallows them and nobody says so.
func (p *peer) lostLong(k *packet, r *route, now int64) {
	if !p.m.cfg.Discover || k.longest > r.size || k.longest <= r.leastSize() || k.tx <= r.roundTx {
		return
	}
	r.roundTx = r.tx
	if r.losses++; r.losses == 1 || k.longest < r.swallowed {
		r.swallowed = k.longest
	}
	enough := r.losses >= swallowedRounds
	if (enough || r.surveyedAt == 0 || now-r.surveyedAt >= int64(askGap)) && p.believe(r, now, enough) || !enough {
		return
	}
	was := r.size
	p.resize(r, shorter(was))
	r.tooLong, r.growAt = 0, now // perhaps it was chance: the size that was is tried at once
}

// shorter is the next size to try below one that does not pass: half of it, but what tunnels and IPv6 take at the least is not passed over.
func shorter(size int) int {
	const common = 1280 - 40 - 8
	if size > common {
		return max(size/2, common)
	}
	return 0 // that is, the least
}

// passed: a packet of that length has arrived by r.
func (r *route) passed(length int) {
	if length >= r.swallowed {
		r.losses = 0
	}
}

// tryLonger tries whether longer packets pass by r: first the longest that there may be, then, between what passes and what does not, the middle.
func (p *peer) tryLonger(r *route, now int64) {
	if r.tries >= sizeTries {
		r.tooLong, r.tried = r.tried, 0
	}
	next := r.tried
	switch {
	case next != 0:
	case r.tooLong == 0:
		next = p.m.cfg.PacketSize
	default:
		next = (r.size + r.tooLong) / 2
		if n := p.kernelSays(r); n > r.size && n < r.tooLong { // somebody has told, when the probes did not pass
			next = n
		}
	}
	if next != r.tried {
		r.tries = 0
	}
	if next <= r.size || r.tooLong != 0 && r.tooLong-r.size < sizeStep {
		r.tried, r.tooLong, r.growAt = 0, 0, 0
		if r.size < p.m.cfg.PacketSize {
			r.growAt = now + int64(raiseAfter)
		}
		return
	}
	r.tried = next
	r.tries++
	r.growAt = now + max(int64(sizeGap), r.timeout())
	p.sendSizeProbe(r, next)
}

// sendSizeProbe sends a packet of so many bytes by r, which wants an answer that names it.
func (p *peer) sendSizeProbe(r *route, size int) {
	m := p.m
	m.sendBefore()
	b := m.long(size)
	clear(b)
	r.fillHeader(p, b, wire.KindProbe, 0, 0)
	p.seal(b, 0, 0)
	r.triedTx = r.nextNumber()
	if m.out.Transmit(r.path, r.addr, b, 0, 0) != Full {
		r.tx = r.triedTx
		m.stats.PacketsSent++
	}
}

// onSizeProbe answers one: the acknowledgement echoes it, whatever else has come since.
func (p *peer) onSizeProbe(r *route, h *wire.Header) {
	p.m.stats.PacketsReceived++
	r.heard(h)
	newest := r.newestTx
	r.newestTx = h.Tx
	p.sendAck(r, wire.KindAck, 0)
	r.newestTx = newest
}

// echoed looks whether an acknowledgement that came by r is for the latest probe of its size.
func (p *peer) echoed(r *route, tx uint64, now int64) {
	if r.tried == 0 || tx != r.triedTx {
		return
	}
	p.resize(r, r.tried)
	r.growAt = now
}
