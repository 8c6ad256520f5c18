package dat

import (
	"fmt"
	"net/netip"

	"lapi/core/dat/cm"
)

// reportsMax bounds the addresses that a process reports for their silence.
const reportsMax = 4

// Reasoner is a Network that knows why datagrams of the connection manager do not arrive.
type Reasoner interface {
	// LastError is the kernel's error for the last datagram to that address; nil: it was sent.
	LastError(to netip.AddrPort) error
}

// unanswered reports, once for each address, a connection whose requests nothing answers.
func (l *Library) unanswered(c *cm.Conn) {
	if l.cfg.Attention == nil || l.silent[c.Peer.Addr()] || len(l.silent) == reportsMax {
		return
	}
	if l.silent == nil {
		l.silent = map[netip.Addr]bool{}
	}
	l.silent[c.Peer.Addr()] = true
	why := "nothing has come back: is a firewall in the way of UDP?"
	if r, ok := l.network.(Reasoner); ok {
		if err := r.LastError(c.Peer); err != nil {
			why = fmt.Sprintf("the kernel says: %v", err)
		}
	}
	from := "this host"
	for _, i := range l.cfg.Interfaces() {
		if i.Addr == c.Local {
			from = fmt.Sprintf("%v (%s)", i.Addr, i.Name)
		}
	}
	l.cfg.Attention(fmt.Sprintf("connecting to qualifier %d: no answer for 5 s: UDP from %s to %v: %s",
		c.Qualifier, from, c.Peer, why))
}
