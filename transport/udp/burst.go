package udp

import (
	"net/netip"

	"lapi/transport"
)

// Gatherer is an Outlet that sends several packets in one go, because a packet costs as much as many in one go. Data packets are given to
// Gather; all others, which lie in memory that the Machine writes again at once, to Transmit.
type Gatherer interface {
	Outlet
	// Gather is Transmit, but the packet may be sent later, at Push at the latest. Gathered: head and data are the Gatherer's to
	// read until then. Any other outcome is final.
	Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr, n int) Outcome
	// Push sends all that was gathered and returns what could not be sent. The slice is valid until the next Push.
	Push() []Bounce
}

// Bounce is a gathered packet that was not sent after all.
type Bounce struct {
	Index   int     // among those since the last Push for which Gather returned Gathered, from 0
	Outcome Outcome // Full or Fault
}

// gathered is a packet that the outlet has gathered.
type gathered struct {
	p *peer
	k *packet
}

// give hands k, which is sealed, to the outlet, to go by r. In between, the burst, its memory must not change: see untie. A lone packet goes at once.
func (m *Machine) give(p *peer, r *route, k *packet) Outcome {
	if m.gatherer == nil || m.alone && k.dataN == 0 {
		return m.out.Transmit(r.path, r.addr, k.buf[:k.n], k.data, k.dataN)
	}
	outcome := m.gatherer.Gather(r.path, r.addr, k.buf[:k.n], k.data, k.dataN)
	if outcome == Gathered {
		m.burst = append(m.burst, gathered{p, k})
		k.burst = m.bursts
		return Sent
	}
	return outcome
}

// untie is called before k's memory, or that which its operation has lent, changes hands: the outlet must not have it any more.
func (m *Machine) untie(k *packet) {
	if k.burst == m.bursts && len(m.burst) > 0 {
		m.sendBurst()
	}
}

// ripen makes p's last packet, which others may join until then, go at Push.
func (p *peer) ripen(now int64) {
	p.m.ripeAt = now
	if !p.isRipe {
		p.isRipe = true
		p.m.ripe = append(p.m.ripe, p)
	}
}

// sendRipe transmits what has waited for the end of the entry.
func (m *Machine) sendRipe() {
	m.pushing, m.alone = true, m.isLone(m.ripe)
	for _, p := range m.ripe {
		p.isRipe = false
		p.pump(m.ripeAt)
		if p.unsent() > 0 && !p.isHeld {
			p.isHeld = true
			m.held = append(m.held, p)
		}
	}
	m.ripe = m.ripe[:0]
	m.pushing, m.alone = false, false
}

// sendHeld transmits what waits only for company: nothing else is to be done, so none will come soon.
func (m *Machine) sendHeld() {
	m.pushing, m.idle, m.alone = true, true, m.isLone(m.held)
	for _, p := range m.held {
		p.isHeld = false
		p.pump(m.ripeAt)
	}
	m.held = m.held[:0]
	m.pushing, m.idle, m.alone = false, false, false
}

// isLone says whether the packets of these peers that may go are one, and the outlet has none: there is nothing to gather.
func (m *Machine) isLone(peers []*peer) bool {
	return len(peers) == 1 && len(m.burst) == 0 && peers[0].unsent() == 1
}

// Push sends what the outlet has gathered. The owner calls it at the end of each entry, and before it waits or lets user code
// run for long. A packet that could not be sent goes again when its peer's timers run: at once, without its data if that
// cannot be read, or after a pause for room.
func (m *Machine) Push() {
	if len(m.ripe) > 0 {
		m.sendRipe()
	}
	if len(m.burst) > 0 {
		m.sendBurst()
	}
}

// sendBurst has the outlet send what it has gathered.
func (m *Machine) sendBurst() {
	for _, b := range m.gatherer.Push() {
		g := m.burst[b.Index]
		g.p.bounced(g.k, b.Outcome)
	}
	m.burst = m.burst[:0]
	m.bursts++
}

// sendBefore has the outlet send it before a packet that does not wait for others: what that overtook would seem to be lost.
func (m *Machine) sendBefore() {
	if len(m.burst) > 0 {
		m.sendBurst()
	}
}

// bounced takes k, which counts as flying, back.
func (p *peer) bounced(k *packet, why Outcome) {
	m := p.m
	m.stats.PacketsSent--
	if k.sends--; k.sends == 0 {
		m.stats.DataSent -= uint64(k.counts)
	} else {
		m.stats.RetransmittedPackets--
	}
	again := k.sentAt
	if why == Fault {
		p.void(k)
	} else {
		again += int64(fullDelay)
	}
	if k.state == packetFlying {
		p.moved(k, packetMissing)
	}
	if k.acks { // the acknowledgements are still to go
		m.stats.AcksSent--
		p.ackCount++
		p.ackDue = earlier(p.ackDue, again)
		p.timer(again)
	}
	r := &p.routes[k.path]
	r.fullDue = max(again, r.fullDue)
	p.timer(r.fullDue)
}
