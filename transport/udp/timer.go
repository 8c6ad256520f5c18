package udp

import (
	"lapi/transport"
	"lapi/transport/udp/wire"
)

// NextTimeout is when OnTimeout must run even if nothing arrives; 0: never. It may be earlier than necessary.
func (m *Machine) NextTimeout() int64 {
	if m.done.first != nil {
		return 1 // completions wait: at once
	}
	return m.due
}

// OnTimeout runs the acknowledge and retransmit logic of the peers whose time has come.
func (m *Machine) OnTimeout(now int64) {
	if m.due != 0 && now >= m.due {
		m.run(now, false)
	}
}

// Turn counts calls of the owner's Progress. True: RETRANSMIT_INTERVAL of them went without a run of the acknowledge and retransmit
// logic; call Check.
func (m *Machine) Turn() bool {
	m.turns++
	return m.turns >= m.cfg.RetransmitInterval
}

// Check runs the acknowledge and retransmit logic now: every delayed acknowledgement goes, and what is older than a round trip
// allows is sent again, whatever the backoff says.
func (m *Machine) Check(now int64) { m.run(now, true) }

// run looks at each active peer. Callbacks may add peers meanwhile.
func (m *Machine) run(now int64, all bool) {
	m.turns = 0
	m.due = 0
	keep, due := 0, int64(0)
	for i := 0; i < len(m.active); i++ {
		p := m.active[i]
		p.onTimers(now, all)
		d := p.nextDue()
		if d == 0 {
			p.listed = false
			continue
		}
		due = earlier(due, d)
		m.active[keep] = p
		keep++
	}
	clear(m.active[keep:])
	m.active = m.active[:keep]
	m.due = earlier(m.due, due)
}

// earlier is the earlier of two times, where 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (p *peer) nextDue() int64 {
	d := earlier(p.helloDue, p.ackDue)
	d = earlier(d, p.fullDue)
	d = earlier(d, p.refusedDue)
	d = earlier(d, p.retryDue)
	return earlier(d, p.byeDue)
}

// over says whether the time t, if it is set, has come.
func over(t, now int64) bool { return t != 0 && now >= t }

func (p *peer) onTimers(now int64, all bool) {
	if over(p.helloDue, now) {
		p.onHelloTimer(now)
	}
	if p.ackDue != 0 && (all || now >= p.ackDue) {
		p.sendAck(wire.KindAck, 0)
		if p.ackDue != 0 { // the outlet is full
			p.ackDue = now + int64(fullDelay)
		}
	}
	if over(p.byeDue, now) {
		p.bye(now)
	}
	if over(p.refusedDue, now) {
		p.onRefusedTimer(now)
	}
	if over(p.fullDue, now) {
		p.fullDue = 0
	}
	if p.retryDue != 0 && (now >= p.retryDue || all) {
		p.onRetryTimer(now)
	}
	p.pump(now)
}

// silent says whether the peer has not been heard of for TIMEOUT, although it was asked several times: a task that was away itself for so long
// has its answer waiting at the socket.
func (p *peer) silent(now int64) bool {
	return !p.m.cfg.NoTimeout && p.waitSince != 0 && now-p.waitSince >= int64(p.m.cfg.Timeout) && p.backoff >= timeoutTries
}

func (p *peer) fail() {
	p.drop(stateFailed, transport.ErrUnreachable, &p.m.done)
	if p.m.cfg.PeerFailed != nil {
		p.m.cfg.PeerFailed(p.ep, transport.ErrTimeout)
	}
}

func (p *peer) onHelloTimer(now int64) {
	if p.silent(now) {
		p.fail()
		return
	}
	p.sendHello(0)
	p.backoff++
	p.helloWait = min(2*p.helloWait, int64(helloDelayMax), int64(p.m.cfg.PollingInterval))
	p.helloDue = now + p.helloWait
}

// onRetryTimer sends the oldest packet in flight again and asks for news at once: they will tell what else is missing. The
// window stays, because a peer that merely does not run looks the same; only a long silence closes it.
func (p *peer) onRetryTimer(now int64) {
	k := p.oldest()
	if now < p.retryDue && now-k.sentAt < p.rtt.timeout() {
		return // only Check looks so early
	}
	if p.silent(now) {
		p.fail()
		return
	}
	if !p.transmit(k, now, wire.FlagAckNow) {
		p.retryDue = p.fullDue
		return
	}
	p.backoff++
	if p.backoff == longSilence {
		p.window = p.least(p.m.cfg.PacketSize)
	}
	p.retryDue = now + p.retryAfter()
}

// oldest is the packet in flight with the lowest sequence number; there is one while retryDue is set.
func (p *peer) oldest() *packet {
	for s := p.base; s != p.sendNext; s++ {
		if k := *p.slot(s); k != nil && k.state == packetFlying {
			return k
		}
	}
	panic("udp: packets in flight are counted, but none is there")
}

// onRefusedTimer lets the refused packets go again whose pause is over.
func (p *peer) onRefusedTimer(now int64) {
	p.refusedDue = 0
	for s := p.base; s != p.sendNext; s++ {
		k := *p.slot(s)
		if k == nil || k.state != packetRefused {
			continue
		}
		if now >= k.due {
			p.moved(k, packetMissing)
		} else {
			p.refusedDue = earlier(p.refusedDue, k.due)
		}
	}
}
