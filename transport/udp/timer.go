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

// OnTimeout runs the acknowledge and retransmit logic of the peers whose time has come. heard: every packet that came before now has been taken
// in. Only then an answer can be said to be missing, as one may wait at a socket while this task did not run; else that is put off, but not for
// ever, since there are tasks whose sockets are never empty.
func (m *Machine) OnTimeout(now int64, heard bool) {
	if m.due == 0 || now < m.due {
		return
	}
	if m.unheard++; heard || m.unheard > mostUnheard {
		heard, m.unheard = true, 0
	}
	m.run(now, false, heard)
}

// Turn counts calls of the owner's Progress. True: RETRANSMIT_INTERVAL of them went without a run of the acknowledge and retransmit
// logic; call Check.
func (m *Machine) Turn() bool {
	m.turns++
	return m.turns >= m.cfg.RetransmitInterval
}

// Check runs the acknowledge and retransmit logic now: every delayed acknowledgement goes, and what is older than a round trip
// allows is sent again, whatever the backoff says.
func (m *Machine) Check(now int64) { m.run(now, true, true) }

// run looks at each active peer. Callbacks may add peers meanwhile.
func (m *Machine) run(now int64, all, heard bool) {
	m.turns = 0
	m.due = 0
	keep, due := 0, int64(0)
	for i := 0; i < len(m.active); i++ {
		p := m.active[i]
		p.onTimers(now, all, heard)
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
	d = earlier(d, p.refusedDue)
	d = earlier(d, p.stallDue)
	d = earlier(d, p.byeDue)
	for i := range p.routes {
		r := &p.routes[i]
		d = earlier(d, r.fullDue)
		d = earlier(d, r.retryDue)
		d = earlier(d, r.probeDue)
	}
	return d
}

// over says whether the time t, if it is set, has come.
func over(t, now int64) bool { return t != 0 && now >= t }

func (p *peer) onTimers(now int64, all, heard bool) {
	if heard && over(p.helloDue, now) {
		p.onHelloTimer(now)
	}
	if p.ackDue != 0 && (all || now >= p.ackDue) {
		p.sendAck(p.answerRoute(), wire.KindAck, 0)
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
	for i := range p.routes {
		r := &p.routes[i]
		if over(r.fullDue, now) {
			r.fullDue = 0
		}
		if heard && r.retryDue != 0 && (now >= r.retryDue || all) {
			p.onRetryTimer(r, now)
		}
		if heard && over(r.probeDue, now) {
			p.onProbeTimer(r, now)
		}
	}
	if over(p.stallDue, now) {
		p.onStallTimer(now)
	}
	p.pump(now)
}

// silent says whether the peer has not been heard of for TIMEOUT, although it was asked several times: a task that was away itself for so long
// has its answer waiting at the socket.
func (p *peer) silent(now int64) bool {
	return !p.m.cfg.NoTimeout && p.waitSince != 0 && now-p.waitSince >= int64(p.m.cfg.Timeout) && p.tries >= timeoutTries
}

func (p *peer) fail() {
	reason := transport.ErrTimeout
	switch {
	case p.allDown():
		reason = transport.ErrAdaptersDown
	case p.striped():
		reason = transport.ErrUnreachable
	}
	p.drop(stateFailed, transport.ErrUnreachable, &p.m.done)
	if p.m.cfg.PeerFailed != nil {
		p.m.cfg.PeerFailed(p.ep, reason)
	}
}

func (p *peer) onHelloTimer(now int64) {
	if p.silent(now) {
		p.fail()
		return
	}
	p.nextTurn()
	p.sendHello(p.usable(), 0)
	p.tries++
	p.helloWait = min(2*p.helloWait, int64(helloDelayMax), int64(p.m.cfg.PollingInterval))
	p.helloDue = now + p.helloWait
}

// onRetryTimer asks what has arrived by r, or sends the oldest packet there again. Of several paths r is doubted, and the packet goes by one that
// speaks, or by the next in turn; whatever else is in flight on r follows when the answer tells that it is missing, or at the next time. The
// window stays, because a peer that merely does not run looks the same; only a long silence closes it.
func (p *peer) onRetryTimer(r *route, now int64) {
	if r.flying == 0 {
		r.retryDue = 0
		return
	}
	k := p.oldest(r)
	if now < r.retryDue && now-k.sentAt < r.timeout() {
		return // only Check looks so early
	}
	if p.silent(now) {
		p.fail()
		return
	}
	p.tries++
	if r.backoff == 0 && r.smooth != 0 && k.size() >= shareBytes && r.speaks() && p.probe(r, now) {
		r.backoff++
		r.retryDue = now + r.timeout()
		return
	}
	r.backoff++
	if r.backoff == longSilence {
		r.window = r.least(p.m.cfg.PacketSize)
	}
	// Something that went later has arrived. A lone packet that goes from path to path has nothing behind it: there an answer must do.
	if k.tx < r.ackedTx || k.sends > lonelySends && r.answeredAt > k.sentAt {
		p.lostLong(k, r, now)
	}
	doubted := p.doubt(r, now)
	switch {
	case !p.othersSpeak(r):
		p.retry(k, r, now)
		if p.m.cfg.Discover && r.backoff > 1 && k.length() > r.leastSize() { // a short one: perhaps only long ones are lost
			p.probe(r, now)
		}
	case doubted:
		p.moved(k, packetMissing)
	default: // it was before, and there is still no answer
		p.strand(r)
	}
	p.rearm(r, now)
	p.pump(now)
}

// retry sends k again by the next path in turn, as none speaks, or by the only one.
func (p *peer) retry(k *packet, r *route, now int64) {
	if p.striped() {
		p.nextTurn()
	}
	other := p.usable()
	if !p.transmit(k, other, now, wire.FlagAckNow) || other == r {
		return
	}
	other.backoff = max(other.backoff, r.backoff)
	p.rearm(other, now)
}

// rearm sets the time of r's next retransmission.
func (p *peer) rearm(r *route, now int64) {
	r.retryDue = 0
	if r.flying > 0 {
		r.retryDue = now + p.retryAfter(r)
	}
}

// retryAfter is the time to r's next retransmission, with backoff, bounded by POLLING_INTERVAL. Of several paths another one may work: then
// it is soon tried.
func (p *peer) retryAfter(r *route) int64 {
	t := r.tail()
	if r.backoff > 0 {
		t = r.timeout() << min(r.backoff, 20)
	}
	if p.striped() {
		t = min(t, int64(turnTimeout))
	}
	return min(t, int64(maxTimeout), int64(p.m.cfg.PollingInterval))
}

// onStallTimer: this task could send by no address for TIMEOUT.
func (p *peer) onStallTimer(now int64) {
	p.stallDue = 0
	if !p.allDown() || !p.outstanding() || p.m.cfg.NoTimeout {
		return
	}
	if now-p.waitSince >= int64(p.m.cfg.Timeout) {
		p.fail()
	}
}

// stalled makes sure that somebody hears of it if this task can send by no address.
func (p *peer) stalled(now int64) {
	if p.stallDue != 0 || !p.outstanding() || p.m.cfg.NoTimeout || !p.allDown() {
		return
	}
	if p.waitSince == 0 {
		p.waitSince = now
	}
	p.stallDue = p.waitSince + int64(p.m.cfg.Timeout)
	p.timer(p.stallDue)
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
