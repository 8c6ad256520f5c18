package verbs

import (
	"math/rand/v2"
	"slices"

	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

// shake is the state of a peer's connection. doc.go has the picture.
type shake struct {
	qp       adapter.QP
	psn      uint32
	round    uint64 // counts the queue pairs made for this peer
	path     adapter.Path
	heard    uint32 // the peer's queue pair that qp is joined to, or was
	hisRound uint64 // its round
	used     uint64 // the last of its rounds that a queue pair of before was joined to
	joined   bool   // qp can receive
	open     bool   // so can the peer's
	broken   bool   // qp has failed
	failures int    // queue pairs that failed since something was sent
	timer    int64  // when Hello goes again; 0: no timer
	pause    int64  // then
	deadline int64  // when the peer is given up
}

func randomPSN() uint32 { return rand.Uint32() & 0xffffff }

// begin makes a queue pair if there is none, and says Hello.
func (l *Link) begin(p *peer) {
	if p.qp != 0 || p.gone {
		return
	}
	now := l.cfg.Clock()
	if p.timer == 0 {
		p.pause, p.deadline = helloFirst, now+l.cfg.Timeout
	}
	// A failure may pass: the timer tries again.
	l.sayHello(p, now)
}

// sayHello sends Hello, and again after a pause.
func (l *Link) sayHello(p *peer, now int64) {
	if p.qp == 0 && l.makePair(p) == nil || p.qp != 0 {
		l.hello(p)
	}
	if p.open || p.gone {
		l.forgetTimer(p)
		return
	}
	if p.timer == 0 {
		l.shaking = append(l.shaking, p)
	}
	p.timer = now + p.pause
	p.pause = min(2*p.pause, helloLast)
	if l.due == 0 || p.timer < l.due {
		l.due = p.timer
	}
}

func (l *Link) forgetTimer(p *peer) {
	if p.timer != 0 {
		p.timer = 0
		l.shaking = slices.DeleteFunc(l.shaking, func(q *peer) bool { return q == p })
	}
}

// onTimers says Hello where it is time, and gives up who never answered.
func (l *Link) onTimers() {
	now := l.cfg.Clock()
	if now < l.due {
		return
	}
	for _, p := range slices.Clone(l.shaking) {
		if p.timer == 0 || p.timer > now {
			continue
		}
		if now >= p.deadline && !l.cfg.NoTimeout {
			l.lost(p, transport.ErrTimeout)
			continue
		}
		l.sayHello(p, now)
	}
	l.due = 0
	for _, p := range l.shaking {
		if l.due == 0 || p.timer < l.due {
			l.due = p.timer
		}
	}
}

// hello sends one. One that is lost comes again.
func (l *Link) hello(p *peer) {
	if p.path == 0 {
		path, err := l.adapter.Path(adapter.Remote{GID: p.to.gid, LID: p.to.lid})
		if err != nil {
			return
		}
		p.path = path
	}
	h := hello{from: l.own.task, to: p.to.task, qpn: uint32(p.qp), psn: p.psn, open: p.open,
		round: p.round, expected: p.expected, credit: l.grantable(p), life: p.life, of: p.his}
	if p.joined {
		h.echo = p.heard
	}
	p.told = max(p.told, h.credit)
	_ = l.adapter.Datagram(p.path, p.to.qpn, p.to.qkey,
		h.encode(l.cfg.Key, l.own.incarnation, p.to.incarnation))
}

// onDatagram takes in what has come to the datagram queue pair.
func (l *Link) onDatagram(b []byte) {
	var h hello
	if !h.decode(b) || h.to != l.own.task || !l.connected(transport.Endpoint(h.from)) ||
		!proven(b, l.cfg.Key, l.addresses[h.from].incarnation, l.own.incarnation) {
		l.stats.GhostPackets++
		return
	}
	p := l.peers[transport.Endpoint(h.from)]
	if p == nil {
		p = l.newPeer(transport.Endpoint(h.from))
	}
	if p.gone || !p.same(&h) || h.round <= p.used || h.round < p.hisRound ||
		h.round == p.hisRound && h.qpn != p.heard {
		l.stats.GhostPackets++
		return
	}
	l.onHello(p, &h)
}

func (l *Link) onHello(p *peer, h *hello) {
	if h.round > p.hisRound && p.joined { // the peer's queue pair has failed, so this one has
		l.dropPair(p)
		if p.gone {
			return
		}
	}
	if p.qp == 0 {
		l.begin(p)
	}
	if p.qp == 0 {
		return
	}
	// One that is joined to a queue pair of before cannot be joined to this one.
	if !p.joined && (h.echo == 0 || h.echo == uint32(p.qp)) && !l.join(p, h) {
		return
	}
	if h.echo == uint32(p.qp) {
		l.opened(p)
	}
	if h.echo != uint32(p.qp) || !h.open {
		l.hello(p)
	}
}

// join has p's queue pair receive from and send to the peer's.
func (l *Link) join(p *peer, h *hello) bool {
	p.heard, p.hisRound, p.his = h.qpn, h.round, h.life
	err := l.adapter.Connect(p.qp, p.psn, adapter.Remote{QPN: h.qpn, PSN: h.psn, GID: p.to.gid,
		LID: p.to.lid, MTU: min(l.info.MTU, int(p.to.mtu)), Reads: int(p.to.reads)})
	if err != nil {
		l.fail(p)
		return false
	}
	if !l.restart(p, h.expected) {
		l.lost(p, transport.ErrUnreachable)
		return false
	}
	p.joined = true
	p.credit = max(p.credit, h.credit)
	return true
}

// opened: the peer can receive.
func (l *Link) opened(p *peer) {
	if p.open || !p.joined {
		return
	}
	p.open = true
	l.forgetTimer(p)
	l.post(p)
	l.attend(p)
}

// fail notes that p's queue pair does not work; the next turn makes another.
func (l *Link) fail(p *peer) {
	p.broken = true
	l.attend(p)
}

// repair replaces a queue pair that has failed.
func (l *Link) repair(p *peer) {
	p.failures++
	l.replaced++
	l.dropPair(p)
	if p.gone {
		return
	}
	if p.failures > failuresMax {
		l.lost(p, transport.ErrUnreachable)
		return
	}
	l.begin(p)
}

// receiveDatagrams gives all its buffers to the datagram queue pair.
func (l *Link) receiveDatagrams() error {
	for s := range int32(datagramsMax) {
		if err := l.receiveDatagram(s); err != nil {
			return err
		}
	}
	return nil
}

// receiveDatagram gives one. The ID also says how often the queue pair was revived before.
func (l *Link) receiveDatagram(s int32) error {
	return l.adapter.Receive(true, idDatagram|l.revived<<16|uint64(s), l.small.addr(s),
		datagramSize, l.small.key(s))
}

// datagram takes in what the datagram queue pair has completed.
func (l *Link) datagram(c *adapter.Completion) {
	s := int32(c.ID & 0xffff)
	if c.ID&^idMask>>16 != l.revived {
		return // the buffer was given to it again when it was revived
	}
	if c.State == adapter.OK && c.N >= adapter.DatagramHead {
		l.onDatagram(l.small.bytes(s)[adapter.DatagramHead:c.N])
	}
	var err error
	switch {
	case l.dead != nil || l.closed:
	case c.State == adapter.OK:
		err = l.receiveDatagram(s)
	default:
		l.revived++
		if err = l.adapter.Revive(); err == nil {
			err = l.receiveDatagrams()
		}
	}
	if err != nil {
		l.lose()
	}
}
