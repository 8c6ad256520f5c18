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
	l.reportSilence(c.Qualifier, c.Peer.Addr(),
		fmt.Sprintf("UDP from %s to %v: %s", from, c.Peer, why))
}

// reportSilence reports, once for each of the first addresses, that nothing answers there.
func (l *Library) reportSilence(qualifier uint64, to netip.Addr, text string) {
	if l.cfg.Attention == nil || l.silent[to] || len(l.silent) == reportsMax {
		return
	}
	if l.silent == nil {
		l.silent = map[netip.Addr]bool{}
	}
	l.silent[to] = true
	l.cfg.Attention(fmt.Sprintf("connecting to qualifier %d: no answer for 5 s: %s", qualifier, text))
}
