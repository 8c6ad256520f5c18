package verbs

import (
	"time"

	"lapi/transport"
)

// askSign, in place of a message's id in a packet of kind credit, asks for one of the same kind.
const askSign transport.MsgID = 1

// signs is what is kept of a peer's signs of life.
type signs struct {
	life    uint64 // counts the connections with the peer
	his     uint64 // the peer's life that this one is with; 0: not known yet
	old     uint64 // his life that this task has given up
	expects bool   // the owner waits for something; see Link.Expect
	heardOf bool   // something has come since the last probe
	due     bool   // the peer asks for a sign
	silent  int64  // since when it has been awaited and not heard of; 0: it is not
	taken   uint64 // of one that has left: the first packet that it did not take
}

// same says whether h is of the connection that p is with, or of one that may become it. The latest
// word counts until packets have come.
func (p *peer) same(h *hello) bool {
	if h.of != 0 && h.of != p.life || h.life <= p.old {
		return false
	}
	return p.his == 0 || h.life == p.his || h.life > p.his && p.expected == 0 && !p.open
}

// lost gives up a peer that has failed, and tells the owner. What is under way with it ends with
// ErrUnreachable; the owner, who hears of it first, may have ended it already by Disconnect.
func (l *Link) lost(p *peer, err error) {
	if p.gone {
		return
	}
	p.gone = true
	if l.cfg.PeerFailed != nil {
		l.cfg.PeerFailed(p.ep, err)
	}
	end := transport.ErrUnreachable
	if err == transport.ErrAdaptersDown {
		end = err
	}
	l.giveUp(p, end, end)
}

// onBye: the peer has closed in good order. What it has taken it has told by its last credit.
func (l *Link) onBye(p *peer, credit uint64) {
	p.left, p.taken = true, credit-min(credit, window)
	l.giveUp(p, transport.ErrUnreachable, nil)
}

// missed is the end of a flush of the packets before mark, where the peer has left: it need not
// have taken answers.
func (p *peer) missed(mark uint64) error {
	if p.left && min(mark, p.lastData) > p.taken {
		return transport.ErrUnreachable
	}
	return nil
}

// HasLeft says whether ep's task has closed its link in good order.
func (l *Link) HasLeft(ep transport.Endpoint) bool {
	p := l.peers[ep]
	return p != nil && p.left
}

// Expect says that the owner waits for something from ep that is no answer to an operation of the
// link. While it does (Config.Expected), ep is asked for a sign of life, so that its silence is
// noticed.
func (l *Link) Expect(ep transport.Endpoint) {
	if p, err := l.usable(ep); err == nil && l.cfg.Expected != nil && !p.expects {
		p.expects = true
		l.begin(p)
	}
}

// SetTimeout changes Config.Timeout. A peer that does not answer yet has as long from now on.
func (l *Link) SetTimeout(d time.Duration) {
	l.cfg.Timeout = int64(d)
	now := l.cfg.Clock()
	for _, p := range l.shaking {
		p.deadline = now + l.cfg.Timeout
	}
}

// QueuePairs is how many there are.
func (l *Link) QueuePairs() int { return len(l.byQP) }

// AddressOf is what Connect or Reconnect was told last of ep; without bytes: nothing.
func (l *Link) AddressOf(ep transport.Endpoint) transport.Address {
	if !l.connected(ep) {
		return transport.Address{}
	}
	return transport.Address{Bytes: l.addresses[ep].encode()}
}

// Reconnect begins anew with ep, which was disconnected, has failed or has left: with the task at
// a. The same task must do so, too; till then nothing comes to it. ErrBusy: Disconnect first.
func (l *Link) Reconnect(ep transport.Endpoint, a transport.Address) error {
	var to address
	switch p := l.peers[ep]; {
	case l.closed:
		return transport.ErrClosed
	case l.dead != nil:
		return l.dead
	case !l.connected(ep) || !to.of(ep, a):
		return transport.ErrBadParam
	case p == nil:
		l.addresses[ep] = to
		return nil
	case !p.gone:
		return transport.ErrBusy
	}
	before := l.peers[ep]
	before.held.Clear()
	if before.holding {
		before.holding = false
		l.holding--
	}
	same := l.addresses[ep].incarnation == to.incarnation
	l.addresses[ep] = to
	p := l.newPeer(ep)
	p.life = before.life + 1
	if same {
		p.old = max(before.his, before.old)
	}
	return nil
}

// of says whether a is an address of task ep, and decodes it.
func (a *address) of(ep transport.Endpoint, from transport.Address) bool {
	return ep >= 0 && a.decode(from.Bytes) && a.incarnation != 0 && a.task == uint32(ep)
}

// awaited says whether an answer, or a sign of life, of p is.
func (p *peer) awaited() bool {
	return !p.gone && p.open && (p.expects || len(p.flushes)+len(p.calls) > 0)
}

// probe asks each peer that something is awaited of for a sign of life: where there is no queue
// pair any more, the adapter finds out; where the process stands still, its silence does.
func (l *Link) probe() {
	now := l.cfg.Clock()
	if l.closed || now < l.probeAt {
		return
	}
	l.probeAt = now + probeEach
	for _, p := range l.peers {
		p.expects = p.expects && !p.gone && l.cfg.Expected(p.ep)
		if !p.awaited() {
			p.silent = 0
			continue
		}
		if p.heardOf || p.silent == 0 {
			p.heardOf, p.silent = false, now
		}
		if now-p.silent >= l.cfg.Timeout && !l.cfg.NoTimeout {
			l.lost(p, transport.ErrTimeout)
			continue
		}
		_ = l.transmit(p, kindCredit, askSign, nil, 0, 0) // no room: others are on their way
	}
}
