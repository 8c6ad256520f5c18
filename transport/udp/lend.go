package udp

import "lapi/transport"

// Lend is the packet for ep that waits for company, so that its owner writes messages behind those that are in it, in the form of package wire: tail has
// no bytes and room for what may follow, messages is how many. 0: there is no such packet. The owner calls Return before it calls anything else here.
// With the last message that fits, the packet goes: that is left to Send.
func (m *Machine) Lend(ep transport.Endpoint) (tail []byte, messages int) {
	p := m.connected(ep)
	if p == nil || !p.isHeld || p.state != stateOpen || p.unsent() == 0 {
		return nil, 0
	}
	k := *p.slot(p.nextSeq - 1)
	end := min(shareBytes, m.bufferSize(k.buf), p.packetSize)
	if !k.open || k.single || k.n >= end {
		return nil, 0
	}
	return k.buf[k.n:k.n:end], maxMessages - 1 - k.messages
}

// Return ends what Lend began: so many bytes and messages, with so many bytes of data of the user's, were added.
func (m *Machine) Return(ep transport.Endpoint, bytes, messages, data int) {
	p := m.peers[ep]
	k := *p.slot(p.nextSeq - 1)
	k.n += bytes
	k.messages += messages
	k.counts += data
}
