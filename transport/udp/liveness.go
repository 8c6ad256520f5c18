package udp

import (
	"lapi/transport"
	"lapi/transport/udp/wire"
)

// health is what is known of a path to a peer that has more than one; with one alone it says nothing.
//
//	            any answer           no answer, though another path answers (doubt.go)
//	untested ───────────────> live ──────────────────────────────────────────> suspect
//	                           ▲ ▲──────────── any answer ────────────────────────┘ │
//	   several answers in a row└──────────── dead <──deadAfter, another speaks──────┘
//	                                          ▲── PathDown, from any state
//
// An answer is an acknowledgement that came by the path and tells that a new transmission arrived by it: it proves both directions.
type health uint8

const (
	untested health = iota
	live
	suspect
	dead
)

// liveness is how a path's health is found.
type liveness struct {
	answeredAt int64  // when the last answer came
	probeDue   int64  // when to look at the path's health again; 0: the session is not used
	probeTx    uint64 // the latest probe; 0: it was answered
	probes     uint   // without an answer, in a row
	leftAt     int64  // since when it is suspect
	answers    int    // in a row, since it was dead
	needed     int    // bring it back
	returnedAt int64  // when they did last; 0: never
}

// probe asks for an answer by r.
func (p *peer) probe(r *route, now int64) bool {
	if r.down || p.state != stateOpen || !p.sendAckNow(r, now) {
		return false
	}
	r.probeTx = r.tx
	r.probes++
	return true
}

// useRoutes makes sure that the paths' health is looked at while the session is used.
func (p *peer) useRoutes(now int64) {
	p.usedAt = now
	if p.watched {
		return
	}
	p.watched = true
	for i := range p.routes {
		r := &p.routes[i]
		if r.probeDue == 0 && !r.down {
			if r.probeDue = now; r.speaks() { // what it carries tells first
				r.probeDue += int64(idleProbe)
			}
			p.timer(r.probeDue)
		}
	}
}

// measure is called for each part of something long. When that begins, the paths that carry nothing are asked for an answer, and then as often as
// idleGap says: one that was slow when it was met may not be so any more.
func (p *peer) measure(now int64) {
	begins := now-p.longAt >= 2*int64(measureGap)
	p.longAt = now
	if !begins {
		return
	}
	for i := range p.routes {
		if r := &p.routes[i]; r.speaks() && r.flying == 0 && now-r.answeredAt >= int64(measureGap) {
			r.probeDue, r.anew = now, true
			p.timer(now)
		}
	}
}

// idleGap is how long a path may go without an answer before it is probed.
func (p *peer) idleGap(now int64) int64 {
	if now-p.longAt < 2*int64(measureGap) {
		return int64(measureGap)
	}
	return int64(idleProbe)
}

// onProbeTimer looks at r's health. While the session is not used nothing is probed: it costs nothing, and nobody needs to know.
func (p *peer) onProbeTimer(r *route, now int64) {
	r.probeDue = 0
	if p.state != stateOpen || r.down {
		return
	}
	if now-p.usedAt >= 2*int64(idleProbe) && !p.outstanding() {
		p.watched = false
		return
	}
	switch {
	case r.speaks() && now-r.answeredAt < p.idleGap(now):
		r.probeDue = r.answeredAt + p.idleGap(now)
	case r.speaks() && r.probeTx != 0 && p.doubt(r, now):
	case r.health == live && r.witnessAt != 0:
		p.missed(r, now)
	case r.health == live && r.silentAt != 0:
		p.question(r, now)
	default:
		if r.health == suspect && now-r.leftAt >= int64(deadAfter) && p.othersSpeak(r) {
			r.die(now)
		}
		if r.health == dead && r.probeTx != 0 {
			r.answers = 0
		}
		p.probe(r, now)
		r.probeDue = now + r.probePause()
	}
	p.timer(r.probeDue)
}

// probePause is how long an answer to the latest probe may take before there is another: longer the more stay without one.
func (r *route) probePause() int64 {
	return min(max(int64(probeGap)<<min(max(r.probes, 1)-1, 10), r.timeout()), int64(idleProbe))
}

// leave stops the use of r, by which no answer comes though the peer answers by another path. What is in flight there goes again, and r is probed.
func (p *peer) leave(r *route, now int64) {
	r.health, r.leftAt, r.doubt = suspect, now, doubt{}
	r.probes, r.probeDue = 0, now
	p.timer(now)
	p.m.routeChanged(p, r, false)
	if p.othersSpeak(r) {
		p.strand(r)
		p.pump(now)
	}
}

// die: more than one answer is needed before r is used again.
func (r *route) die(now int64) {
	if r.health == dead {
		return
	}
	if r.needed == 0 || now-r.returnedAt > int64(flapTime) {
		r.needed = recoverAnswers
	} else {
		r.needed = min(2*r.needed, mostAnswers)
	}
	r.health, r.answers, r.probes, r.doubt = dead, 0, 0, doubt{}
}

// answered: a new transmission is known to have arrived by r, and its acknowledgement came back by r.
func (p *peer) answered(r *route, now int64) {
	r.answeredAt, r.backoff = now, 0
	probed := r.probeTx != 0 && r.ackedTx >= r.probeTx
	if probed {
		r.probeTx, r.probes = 0, 0
		r.lossShare -= r.lossShare >> 3
	}
	if r.health == live {
		r.probeTx, r.probes = 0, 0
	}
	if r.speaks() || r.down || !p.striped() { // down: the answer waited at the socket
		return
	}
	last := !p.othersSpeak(r)
	if last {
		p.pardon(now)
	}
	if r.health == live {
		r.doubt = doubt{}
		return
	}
	if r.health == dead {
		if !probed && !last {
			return
		}
		if r.answers++; r.answers < r.needed && !last {
			r.probeDue = now + int64(probeGap)
			p.timer(r.probeDue)
			return
		}
		r.returnedAt = now
		r.congestion.start(p.buffer, p.m.cfg.PacketSize)
		r.rtt = rtt{} // another route, perhaps
	}
	if r.health != untested {
		p.m.routeChanged(p, r, true)
	}
	r.health = live
}

// pardon: the first of the paths answers after all were silent, perhaps as the peer did not run. The others have deadAfter from now on.
func (p *peer) pardon(now int64) {
	for i := range p.routes {
		p.routes[i].leftAt = now
	}
}

// PathDown tells that nothing can be sent from, or comes to, the local address of path: its interface is down or the address gone. What is in
// flight from there goes again by other paths at once.
func (m *Machine) PathDown(now int64, path Path) {
	if path >= MaxPaths || m.closed || m.downPaths>>path&1 != 0 {
		return
	}
	m.downPaths |= 1 << path
	for _, p := range m.peers {
		if p == nil || int(path) >= len(p.routes) || !p.alive() {
			continue
		}
		r := &p.routes[path]
		if r.health == live && p.striped() {
			m.routeChanged(p, r, false)
		}
		r.die(now)
		r.down, r.probeDue = true, 0
		if p.win != nil {
			p.strand(r)
			p.pump(now)
		}
	}
}

// PathUp tells that the address may be used again. It is, when probes by it have been answered.
func (m *Machine) PathUp(now int64, path Path) {
	if path >= MaxPaths || m.closed || m.downPaths>>path&1 == 0 {
		return
	}
	m.downPaths &^= 1 << path
	for _, p := range m.peers {
		if p == nil || int(path) >= len(p.routes) || !p.alive() {
			continue
		}
		r := &p.routes[path]
		r.down = false
		if p.watched {
			r.probeDue = now
			p.timer(now)
		}
		p.pump(now)
	}
}

// allDown says whether this task can send by no path.
func (p *peer) allDown() bool {
	for i := range p.routes {
		if !p.routes[i].down {
			return false
		}
	}
	return true
}

// routeChanged tells the owner that the path of r to p is used again, or no more.
func (m *Machine) routeChanged(p *peer, r *route, used bool) {
	if m.cfg.PathChanged != nil {
		m.cfg.PathChanged(p.ep, r.path, used)
	}
}

// sendAckNow sends an acknowledgement by r that asks for one.
func (p *peer) sendAckNow(r *route, now int64) bool {
	next := r.nextNumber()
	if !p.sendAck(r, wire.KindAck, wire.FlagAckNow) {
		return false
	}
	r.tx = next
	r.timed(now, wire.FlagAckNow)
	return true
}

// Transmissions is how many packets that want an answer have gone to ep by path so far; 0 if there is no such path.
func (m *Machine) Transmissions(ep transport.Endpoint, path Path) uint64 {
	p := m.connected(ep)
	if p == nil || int(path) >= len(p.routes) {
		return 0
	}
	return p.routes[path].tx
}
