package verbs

import (
	"time"

	"lapi/transport"
	"lapi/transport/verbs/internal/wire"
)

// askSign, in place of a message's id in a packet of kind credit, asks for one of the same kind.
const askSign transport.MsgID = 1

// signs is the state of a peer's signs of life.
type signs struct {
	expects bool   // the owner waits for something; see Link.Expect
	heardOf bool   // something has come since the last probe
	due     bool   // the peer asks for a sign
	silent  int64  // since when it owes something and nothing came; 0: it owes nothing
	taken   uint64 // of a peer that has left: the first packet that it did not take
}

// lost gives up a peer that has failed, and notifies the owner. Operations under way with it end with
// ErrUnreachable; the owner, which is notified first, may have ended them already by Disconnect.
func (p *peer) lost(err error) {
	l := p.link
	if p.gone {
		return
	}
	p.gone = true
	p.Unuse()
	if l.cfg.PeerFailed != nil {
		l.cfg.PeerFailed(p.ep, err)
	}
	end := transport.ErrUnreachable
	if err == transport.ErrAdaptersDown {
		end = err
	}
	p.giveUp(end, end)
}

// onBye: the peer has closed in good order. Its last credit says which packets it has taken.
func (p *peer) onBye(credit uint64) {
	p.left, p.taken = true, credit-min(credit, wire.Window)
	p.giveUp(transport.ErrUnreachable, nil)
}

// missed is the end of a flush of the packets before mark, where the peer has left.
func (p *peer) missed(mark uint64) error {
	if p.left && mark > p.taken {
		return transport.ErrUnreachable
	}
	return nil
}

// HasLeft says whether ep's task has closed its link in good order.
func (r *roster) HasLeft(ep transport.Endpoint) bool {
	p := r.peers[ep]
	return p != nil && p.left
}

// Posted says whether the adapter has every packet to ep: it repeats what the network loses.
func (r *roster) Posted(ep transport.Endpoint) bool {
	p := r.peers[ep]
	if p == nil {
		return true
	}
	return p.Ring.Count == 0 || p.Works() && p.All()
}

// Expect says that the owner waits for something from ep that is no answer to an operation of the
// link. While it does (Config.Expected), ep is asked for a sign of life, so that its silence is
// noticed.
func (l *Link) Expect(ep transport.Endpoint) {
	if p, err := l.usable(ep); err == nil && l.cfg.Expected != nil && !p.expects {
		p.expects = true
		p.queue.begin()
	}
}

// SetTimeout changes Config.Timeout. A peer that does not answer yet has as long from now on.
func (l *Link) SetTimeout(d time.Duration) {
	l.cfg.Timeout = int64(d)
	l.timers.SetTimeout(l.cfg.Clock(), l.cfg.Timeout)
}

// QueuePairs is how many there are.
func (l *Link) QueuePairs() int { return l.ports.QueuePairs() }

// AddressOf is the address of ep that Connect, Reconnect or Moved had last; without bytes: none.
func (r *roster) AddressOf(ep transport.Endpoint) transport.Address {
	if !r.connected(ep) {
		return transport.Address{}
	}
	return transport.Address{Bytes: []byte(r.addresses[ep])}
}

// awaited says whether an answer, or a sign of life, is awaited from p.
func (p *peer) awaited() bool {
	return !p.gone && p.Works() && (p.expects || len(p.flushes)+p.transfers.Calls() > 0)
}

// probe asks each peer from which something is awaited for a sign of life: if its queue pair is
// gone, the adapter reports that; if its process is stopped, its silence shows that.
func (l *Link) probe() {
	now := l.cfg.Clock()
	if l.closed || now < l.probeAt {
		return
	}
	l.probeAt = now + probeEach
	l.ports.Look(now)
	l.ports.Shrink()
	for _, p := range l.peers {
		if p.seeks() {
			p.beginLanes()
		}
		p.expects = p.expects && !p.gone && l.cfg.Expected(p.ep)
		if !p.awaited() {
			p.silent = 0
			continue
		}
		if p.heardOf || p.silent == 0 {
			p.heardOf, p.silent = false, now
		}
		if now-p.silent >= l.cfg.Timeout && !l.cfg.NoTimeout {
			p.fallSilent(p.silent, now)
			continue
		}
		_ = p.transmit(wire.KindCredit, askSign, nil, 0, 0) // no room: others are on their way
	}
}
