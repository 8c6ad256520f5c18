package udp

import (
	"lapi/transport"
	"lapi/transport/udp/internal/recovery"
)

// coalescing is how small messages come to share packets, of which each costs the same. A packet is
// open while others may join it: until the entry ends in which it began (Push). If another small
// one is in flight then, the open one is held: until it is full, an acknowledgement comes, or the
// owner finds nothing else to do (OnIdle).
type coalescing struct {
	gathers bool    // the outlet sends packets together, at Push
	peers   []*peer // with a packet that goes at Push, if the window allows
	held    []*peer // with a packet that is held, perhaps
	readyAt int64   // when the latest of peers was added
	late    bool    // readyAt was not set at the latest
	pushing bool    // open packets may go now
	idle    bool    // held ones, too
}

// coalesced is whether a peer is in coalescing's lists.
type coalesced struct{ ready, held bool }

// waits says whether an open packet must wait for Push.
func (c *coalescing) waits() bool { return !c.pushing && c.gathers }

// mostInFlight is how many packets may be in flight with k, where most are at all. An open packet
// must wait earlier.
func (c *coalescing) mostInFlight(k *recovery.Packet, most int) int {
	if k.Open() && !k.Full() && !c.idle {
		return maxSmall
	}
	return most
}

// ready makes p's open packet go at Push.
func (c *coalescing) ready(p *peer, now int64) {
	c.readyAt = now
	if !p.sender.coalesced.ready {
		p.sender.coalesced.ready = true
		c.peers = append(c.peers, p)
	}
}

// sendReady transmits what has waited for the end of the entry.
func (c *coalescing) sendReady(b *batch) {
	c.send(c.peers, b)
	for _, p := range c.peers {
		s := &p.sender
		s.coalesced.ready = false
		if s.window.Unsent() > 0 && !s.coalesced.held {
			s.coalesced.held = true
			c.held = append(c.held, p)
		}
	}
	c.peers = c.peers[:0]
}

// sendHeld transmits what is held: nothing else is to be done, so no message will join it soon.
func (c *coalescing) sendHeld(b *batch) {
	c.idle = true
	c.send(c.held, b)
	c.idle = false
	for _, p := range c.held {
		p.sender.coalesced.held = false
	}
	c.held = c.held[:0]
}

// send transmits the open packets for peers, as far as the windows allow.
func (c *coalescing) send(peers []*peer, b *batch) {
	c.pushing, b.alone = true, isLone(peers, b)
	for _, p := range peers {
		p.sender.pump(c.readyAt)
	}
	c.pushing, b.alone = false, false
}

// isLone says whether the packets of these peers that may go are one, and the outlet has none:
// there is nothing to gather.
func isLone(peers []*peer, b *batch) bool {
	return len(peers) == 1 && b.isEmpty() && peers[0].sender.window.Unsent() == 1
}

// Reserve is the end of the packet for ep that is held, so that its owner writes messages behind
// those that are in it, in the form of package wire: tail has no bytes and room for the messages
// that may follow, messages is how many. 0: there is no such packet. The owner calls Commit before
// it calls anything else here. The last message that fits is left to Send: with it the packet goes.
func (m *Machine) Reserve(ep transport.Endpoint) (tail []byte, messages int) {
	p := m.connected(ep)
	if p == nil || !p.sender.coalesced.held || p.session.state != open ||
		p.sender.window.Unsent() == 0 {
		return nil, 0
	}
	return p.sender.window.Last().Reserve(p.sender.limits.size)
}

// Commit ends a Reserve: the caller has written this number of bytes and messages; data of the
// bytes are the user's.
func (m *Machine) Commit(ep transport.Endpoint, bytes, messages, data int) {
	m.peers[ep].sender.window.Last().Commit(bytes, messages, data)
}
