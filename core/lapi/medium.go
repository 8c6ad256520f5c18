package lapi

import (
	"lapi/core/lapi/peer"
	"lapi/core/wireup"
	"lapi/transport"
)

// medium is what collective calls ask of links to other nodes (fence.Medium). Over adapters a
// message that is posted is in the peer's memory soon, whichever calls the tasks make. Where no
// adapter leads to the peer, its packets go over the UDP link.
type medium struct{ net **wireup.Net }

// acknowledging is a link whose packets can be lost.
type acknowledging interface {
	transport.Link
	Sends(ep transport.Endpoint) int
}

// lossy is the link by which packets to p can be lost; nil: there is none.
func (m medium) lossy(p *peer.Peer) acknowledging {
	if l, ok := untraced(p.Link).(acknowledging); ok {
		return l
	}
	if (*m.net).UDP != nil {
		return (*m.net).UDP
	}
	return nil
}

// Posted implements fence.Medium. The UDP link's Flush waits for packets that the link has not sent
// yet.
func (m medium) Posted(p *peer.Peer) bool {
	l, ok := untraced(p.Link).(wireup.VerbsLink)
	return !ok || l.Posted(p.Ep)
}

// Flush implements fence.Medium.
func (m medium) Flush(p *peer.Peer, op *transport.Op) (transport.Status, error) {
	if l := m.lossy(p); l != nil {
		return l.Flush(p.Ep, op)
	}
	return transport.Done, nil
}

// Sends implements fence.Medium.
func (m medium) Sends(p *peer.Peer) int {
	if l := m.lossy(p); l != nil {
		return l.Sends(p.Ep)
	}
	return 0
}
