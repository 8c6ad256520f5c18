package dat

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"lapi/core/dat/cm"
)

// refusing is a network whose kernel refuses what goes to one address.
type refusing struct {
	Network
	to netip.AddrPort
}

func (r refusing) LastError(to netip.AddrPort) error {
	if to == r.to {
		return errors.New("not permitted")
	}
	return nil
}

// TestUnansweredAddressIsReportedOnce: with the addresses, the interface and the kernel's error or
// what to look at; of many addresses only the first few.
func TestUnansweredAddressIsReportedOnce(t *testing.T) {
	first, local := netip.MustParseAddrPort("10.0.0.1:7"), netip.MustParseAddr("10.0.0.9")
	var lines []string
	l := New(Config{Attention: func(text string) { lines = append(lines, text) },
		Interfaces: func() []Interface { return []Interface{{Name: "eth0", Addr: local}} }})
	l.network = refusing{to: first}
	for to, i := first.Addr(), 0; i < 2*reportsMax; to, i = to.Next(), i+1 {
		c := &cm.Conn{Peer: netip.AddrPortFrom(to, 7), Local: local, Qualifier: 11}
		l.unanswered(c)
		l.unanswered(c)
	}
	if len(lines) != reportsMax || lines[0] != "connecting to qualifier 11: no answer for 5 s: UDP "+
		"from 10.0.0.9 (eth0) to 10.0.0.1:7: the kernel says: not permitted" ||
		!strings.HasSuffix(lines[1], "is a firewall in the way of UDP?") {
		t.Errorf("%q", lines)
	}
}
