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

// silence reports peers that do not answer, each address once.
type silence struct {
	cfg      *Config
	reported map[netip.Addr]bool
}

// unanswered reports a connection by a network whose requests nothing answers.
func (s *silence) unanswered(c *cm.Conn, by Network) {
	why := "nothing has come back: is a firewall in the way of UDP?"
	if r, ok := by.(Reasoner); ok {
		if err := r.LastError(c.Peer); err != nil {
			why = fmt.Sprintf("the kernel says: %v", err)
		}
	}
	from := "this host"
	for _, i := range s.cfg.Interfaces() {
		if i.Addr == c.Local {
			from = fmt.Sprintf("%v (%s)", i.Addr, i.Name)
		}
	}
	s.report(c.Qualifier, c.Peer.Addr(),
		fmt.Sprintf("UDP from %s to %v: %s", from, c.Peer, why))
}

// report reports, once for each of the first addresses, that nothing answers there.
func (s *silence) report(qualifier uint64, to netip.Addr, text string) {
	if s.cfg.Attention == nil || s.reported[to] || len(s.reported) == reportsMax {
		return
	}
	if s.reported == nil {
		s.reported = map[netip.Addr]bool{}
	}
	s.reported[to] = true
	s.cfg.Attention(fmt.Sprintf("connecting to qualifier %d: no answer for 5 s: %s", qualifier, text))
}
