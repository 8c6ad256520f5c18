package udp

import (
	"net/netip"
	"slices"

	"lapi/transport"
	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// peer is one other task. It joins the parts that own its state, and has no mechanism itself.
type peer struct {
	m        *Machine
	ep       transport.Endpoint
	listed   bool // in m.timers.active
	session  session
	sender   sender
	receiver receiver
	paths    paths.Set
}

func newPeer(m *Machine, ep transport.Endpoint, addrs []netip.AddrPort, incarnation uint64) *peer {
	p := &peer{m: m, ep: ep}
	p.session = session{p: p, expected: incarnation, self: uint32(m.cfg.Task), key: m.cfg.Key}
	if m.cfg.Pair != nil {
		number, key := m.cfg.Pair(ep)
		p.session.self, p.session.key = uint32(number), key
	}
	p.sender = sender{p: p, m: m, sendMax: m.limits.SendMax}
	p.receiver = receiver{p: p, m: m}
	p.sender.window.Init(&p.sender, firstSeq, int64(m.cfg.PollingInterval))
	p.receiver.received.Init(firstSeq)
	p.setPaths(addrs)
	for p.session.nonce == 0 {
		p.session.nonce = m.cfg.Random()
	}
	return p
}

// setPaths makes the paths to a peer at addrs: as many as both tasks have addresses, at least one.
func (p *peer) setPaths(addrs []netip.AddrPort) {
	m := p.m
	n := min(len(addrs), max(len(m.cfg.Locals), 1))
	p.paths.Init(&p.sender, &p.sender.window, addrs[:n],
		func() congestion.Controller { return m.cfg.law(m.cfg.PacketSize) })
	for i := range n {
		if m.offline>>i&1 != 0 {
			p.paths.At(i).SetOffline()
		}
	}
	retry := int64(m.cfg.PollingInterval)
	if p.paths.Several() { // another one may work: it is soon tried
		retry = int64(paths.TurnTimeout)
	}
	p.sender.window.SetPaths(p.paths.Recovery(), retry)
	p.sender.mtus = slices.Repeat([]pathMTU{{size: m.cfg.PacketSize}}, n)
	p.sender.fit()
}

// timer makes sure that the machine looks at this peer at time t; 0: never.
func (p *peer) timer(t int64) {
	if t == 0 {
		return
	}
	c := &p.m.timers
	if !p.listed {
		p.listed = true
		c.active = append(c.active, p)
	}
	if c.due == 0 || t < c.due {
		c.due = t
	}
}

// nextDue is when the peer's first timer runs out; 0: none runs.
func (p *peer) nextDue() int64 {
	d := earlier(p.session.helloDue, p.session.closeDue)
	d = earlier(d, p.session.stallDue)
	d = earlier(d, p.session.expectDue)
	d = earlier(d, p.receiver.ackDue)
	d = earlier(d, p.sender.window.NotReadyDue())
	for i := range p.paths.Len() {
		r := p.paths.At(i)
		d = earlier(d, r.FullDue())
		d = earlier(d, r.RetryDue())
		d = earlier(d, r.ProbeDue())
	}
	return d
}

// onTimers runs what is due. all: also what is due later. heard: see Machine.OnTimeout.
func (p *peer) onTimers(now int64, all, heard bool) {
	if heard && over(p.session.helloDue, now) {
		p.session.onHelloTimer(now)
	}
	if heard && over(p.session.expectDue, now) {
		p.session.onExpectTimer(now)
	}
	p.receiver.onTimer(now, all)
	if over(p.session.closeDue, now) {
		p.session.notify(now)
	}
	if over(p.sender.window.NotReadyDue(), now) {
		p.sender.window.RetryNotReady(now)
	}
	for i := range p.paths.Len() {
		r := p.paths.At(i)
		if over(r.FullDue(), now) {
			r.SetFull(0)
		}
		if heard && r.RetryDue() != 0 && (now >= r.RetryDue() || all) {
			p.sender.onRetryTimer(r, now)
		}
		if heard && over(r.ProbeDue(), now) {
			p.paths.OnTimer(r, now, p.session.state == open)
		}
	}
	if over(p.session.stallDue, now) {
		p.session.onStallTimer(now)
	}
	p.sender.pump(now)
}

// drop ends a session: every operation goes to done with err, every packet is freed.
func (p *peer) drop(to sessionState, err error, done *opList) {
	p.m.batch.flush() // the outlet must not have the packets any more
	p.sender.drop(err, done)
	p.receiver.drop()
	p.paths.Stop()
	p.session.end(to)
}

// putHeader writes to b the header of a packet that goes by r, with the acknowledgement of the
// other direction.
func (p *peer) putHeader(b []byte, r *paths.Path, kind wire.Kind, flags wire.Flags, seq wire.Seq) {
	h := wire.Header{
		Kind: kind, Flags: flags, Task: uint16(p.session.self), Tx: uint16(r.NextTx()),
		Echo: r.Newest(), Seq: seq,
	}
	p.receiver.received.PutHeader(&h)
	if kind != wire.KindData {
		h.Room = p.m.origins.room(p.m.cfg.ReceiveBuffer)
	}
	h.Put(b)
}

// newPool makes the memory of a machine's packets.
func newPool(cfg *Config, sendMax int) recovery.Pool {
	heads := min(headsPerTask*cfg.NumTasks+moreHeads, maxHeads)
	rex := wire.Align8(packet.Overhead + maxHeader + min(cfg.RexmitBufSize, sendMax))
	return recovery.Pool{
		Heads:      packet.Blocks{Size: packet.HeadSize, Count: headChunk, Most: heads},
		Retransmit: packet.Blocks{Size: rex, Count: rexChunk, Most: cfg.RexmitBufCount},
	}
}
