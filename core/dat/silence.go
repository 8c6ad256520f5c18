package dat

import (
	"fmt"
	"net/netip"

	"lapi/core/dat/cm"
)

// silenceReportedAfter is after how long without any answer, in ns, a connection over an RDMA
// adapter is reported; cm has the same for UDP/IP.
const silenceReportedAfter = int64(5e9)

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

// noteUnanswered reports c once if it is time and nothing has answered it. The connection managers
// of adapters do not say whether a request has arrived that the program there has not decided on.
func (c *call) noteUnanswered(now int64) {
	if c.reportAt == 0 || now < c.reportAt {
		return
	}
	c.reportAt = 0
	why := "no answer to the request: is a firewall in the way of RoCE (UDP port 4791), or has the " +
		"program there not decided yet?"
	if c.k.info.LID != 0 {
		why = "no answer to the request: has the program there not decided yet, or is it in another " +
			"InfiniBand partition?"
	}
	switch {
	case c.reason != 0:
		why = fmt.Sprintf("the address or the route is not found: the kernel says: %v", c.reason)
	case c.state == finding:
		why = "neither an address nor a route is found"
	}
	c.k.ia.library.reportSilence(c.qualifier, c.peer.Addr(), fmt.Sprintf(
		"RDMA from adapter %s, port %d (%v) to %v: %s", c.k.info.Name, c.k.info.Port,
		c.k.info.Addr, c.peer, why))
}
