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
		l.silence.unanswered(c, l.network)
		l.silence.unanswered(c, l.network)
	}
	if len(lines) != reportsMax || lines[0] != "connecting to qualifier 11: no answer for 5 s: UDP "+
		"from 10.0.0.9 (eth0) to 10.0.0.1:7: the kernel says: not permitted" ||
		!strings.HasSuffix(lines[1], "is a firewall in the way of UDP?") {
		t.Errorf("%q", lines)
	}
}

// TestUnansweredRequestOfAdapterIsReportedOnce: with the adapter's port and what to look at, after
// 5 s and once for each address; an answer, also a refusal, is none.
func TestUnansweredRequestOfAdapterIsReportedOnce(t *testing.T) {
	l := newLab(t, 3)
	defer l.close()
	p := l.hosts[0]
	var lines []string
	p.l.cfg.Attention = func(text string) { lines = append(lines, text) }
	wait := func(seconds int) {
		for range 10 * seconds {
			l.now += 100e6
			l.turn()
		}
	}
	a := p.end(nil)
	l.must("connect", a.Connect(l.hosts[2].ia.Addr, 8, 7e9, nil)) // nobody listens
	wait(6)
	l.expect(a.con, EventNonPeerRejected)
	if len(lines) != 0 {
		t.Errorf("a refusal: %q", lines)
	}
	l.f.Silent[l.hosts[1].ia.Addr] = true
	for range 2 {
		l.must("reset", a.Reset())
		l.must("connect", a.Connect(l.hosts[1].ia.Addr, 7, 60e9, nil))
		if wait(4); len(lines) > 1 || len(lines) == 1 && l.now < 15e9 {
			t.Errorf("too soon: %q", lines)
		}
		wait(60)
		l.expect(a.con, EventTimedOut)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "connecting to qualifier 7: no answer "+
		"for 5 s: RDMA from adapter ") || !strings.Contains(lines[0], " to 10.0.0.2:7: no answer "+
		"to the request: is a firewall in the way of RoCE (UDP port 4791)") {
		t.Errorf("%q", lines)
	}
	delete(l.f.Silent, l.hosts[1].ia.Addr)
}
