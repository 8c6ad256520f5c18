package udp

import (
	"net/netip"

	"lapi/transport/udp/wire"
)

// route is all that a machine knows of one path to one peer: what is in flight there, how fast it is, whether it works.
type route struct {
	addr   netip.AddrPort // the peer's
	path   Path
	health health
	down   bool // this task's address cannot send (PathDown)

	flying, flyingBytes int
	congestion
	rtt
	reordering
	pathMTU

	tx         uint64 // transmissions so far
	ackedTx    uint64 // the latest transmission known to have arrived
	ackedSent  int64  // when it was sent, or an earlier one, if that is not known
	timedTx    uint64 // a transmission that asked for its acknowledgement at once; 0: none
	timedAt    int64  // when it went
	fresh      bool   // ackedTx is news of the packet at hand, and was not timed
	newestTx   uint16 // the newest transmission number among what came by this path
	tellSoon   uint8  // so many of the packets that come next are acknowledged soon: one before them is missing
	askedBytes int    // sent since an acknowledgement came or was asked for
	askedCount int
	lossShare  int64 // of transmissions lately, in 65536ths
	retryDue   int64 // when the peer is asked for an acknowledgement, or a packet sent again; 0: nothing is in flight
	backoff    uint  // how often in a row it was
	fullDue    int64 // when to try the socket again; 0: it was not full

	liveness
	doubt
}

// routesTo makes the state of the paths to a peer at addrs: as many as both tasks have addresses, at least one.
func (m *Machine) routesTo(addrs []netip.AddrPort) []route {
	n := min(len(addrs), max(len(m.cfg.Locals), 1))
	routes := make([]route, n)
	for i := range routes {
		routes[i] = route{path: Path(i), addr: addrs[i], down: m.downPaths>>i&1 != 0, pathMTU: pathMTU{size: m.cfg.PacketSize}}
	}
	return routes
}

// striped says whether there is more than one path.
func (p *peer) striped() bool { return len(p.routes) > 1 }

// latency is how long a lone packet takes by r, what losses cost on the average included.
func (r *route) latency() int64 { return r.shortest/2 + r.lossShare*r.timeout()>>16 }

// arrival is when k would be there if it were sent by r now, in nanoseconds from now. Of something long the losses do not count: others go on
// meanwhile, and the window is what losses leave.
func (r *route) arrival(k *packet) int64 {
	t := r.shortest / 2
	if !k.spreads() {
		t = r.latency()
	}
	return t + r.queued(k.size())
}

// queued is how long r takes for bytes beyond what is in flight already.
func (r *route) queued(bytes int) int64 {
	return int64(r.flyingBytes+bytes) * r.smooth / int64(max(r.window, 1))
}

// admits says whether r's window has room for k. One packet may always fly. A packet that others may still join must wait earlier: that
// is how small messages come to share packets, of which each costs the same.
func (p *peer) admits(r *route, k *packet) bool {
	if r.fullDue != 0 || r.down {
		return false
	}
	if r.flying == 0 {
		return true
	}
	if p.flying < p.mostFlying(k) && r.flyingBytes+k.size() <= r.allowed() {
		return true
	}
	r.filled = true
	return false
}

// mostFlying is how many packets may be in flight with k.
func (p *peer) mostFlying(k *packet) int {
	if k.open && k.n < shareBytes && k.messages < maxMessages && !p.m.idle {
		return maxSharable
	}
	return p.mostFlight
}

// routeFor is the path that k is to take now; nil: there is none with room.
func (p *peer) routeFor(k *packet) *route {
	r := &p.routes[0]
	if p.striped() {
		if r = p.usable(); r.speaks() {
			return p.fastestFor(k, r)
		}
	}
	if p.admits(r, k) {
		return r
	}
	return nil
}

// usable is the path for whatever must be said: the best of those that speak, or one of the others in turn. If this task can
// send by none it is one that is down.
func (p *peer) usable() *route {
	best := &p.routes[p.best]
	if !p.striped() || best.speaks() && p.flying > 0 {
		return best
	}
	for i := range p.routes {
		if r := &p.routes[i]; r.speaks() && (!best.speaks() || r.latency() < best.latency()-best.latency()/4) {
			best = r
		}
	}
	if best.speaks() {
		p.best = int(best.path)
		return best
	}
	for range p.routes {
		if !p.routes[p.turn].down {
			break
		}
		p.nextTurn()
	}
	return &p.routes[p.turn]
}

// nextTurn is where to try next while no path speaks.
func (p *peer) nextTurn() {
	if p.turn++; p.turn == len(p.routes) {
		p.turn = 0
	}
}

// fastestFor is the path that speaks and delivers k first, if it has room. A small packet waits for the one that is fastest for it, and prefers the
// best; what must not be spread stays on the best. Of a long transfer, one that would be there before all
// that waits had gone by the fastest takes another.
func (p *peer) fastestFor(k *packet, best *route) *route {
	if k.single {
		if p.admits(best, k) {
			return best
		}
		return nil
	}
	fastest, at := best, best.arrival(k)
	if !k.spreads() {
		at -= at / 4
	}
	for i := range p.routes {
		if r := &p.routes[i]; r.speaks() && !r.down && r.arrival(k) < at {
			fastest, at = r, r.arrival(k)
		}
	}
	if p.admits(fastest, k) {
		return fastest
	}
	if !k.spreads() {
		return nil
	}
	limit := fastest.shortest/2 + fastest.queued(p.unsent()*k.size())
	var other *route
	for i := range p.routes {
		if r := &p.routes[i]; r.speaks() && r.arrival(k) < limit && p.admits(r, k) {
			other, limit = r, r.arrival(k)
		}
	}
	return other
}

// spreads says whether k is a part of something long.
func (k *packet) spreads() bool { return k.dataN > 0 || k.n >= stripeBytes }

// oldest is the packet in flight on r with the lowest sequence number; there is one while r.flying is not 0.
func (p *peer) oldest(r *route) *packet {
	for s := p.base; s != p.sendNext; s++ {
		if k := *p.slot(s); k != nil && k.state == packetFlying && k.path == r.path {
			return k
		}
	}
	panic("udp: packets in flight are counted, but none is there")
}

// strand takes everything in flight on r for lost.
func (p *peer) strand(r *route) {
	for s := p.base; r.flying > 0 && s != p.sendNext; s++ {
		if k := *p.slot(s); k != nil && k.state == packetFlying && k.path == r.path {
			p.moved(k, packetMissing)
		}
	}
	r.retryDue = 0
}

// moved accounts for k's way from its state to another.
func (p *peer) moved(k *packet, to packetState) {
	r := &p.routes[k.path]
	switch k.state {
	case packetFlying:
		p.flying--
		r.flying--
		r.flyingBytes -= k.size()
	case packetMissing:
		p.missing--
	case packetRefused:
		p.refused--
	}
	k.state = to
	switch to {
	case packetFlying:
		p.flying++
		r.flying++
		r.flyingBytes += k.size()
	case packetMissing:
		if p.missing == 0 || k.seq.Before(p.firstMissing) {
			p.firstMissing = k.seq
		}
		p.missing++
	case packetRefused:
		p.refused++
	}
}

// nextNumber is that of r's next transmission. It stays within reach of the peer's echo, which has 16 bits.
func (r *route) nextNumber() uint64 {
	if r.tx-r.ackedTx >= 1<<14 {
		return r.tx
	}
	return r.tx + 1
}

// timed notes that transmission r.tx, sent now, asked for its acknowledgement.
func (r *route) timed(now int64, flags wire.Flags) {
	if flags&wire.FlagAckNow != 0 {
		r.timedTx, r.timedAt = r.tx, now
	}
}
