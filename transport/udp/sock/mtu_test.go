package sock

import (
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A path that takes less than the interface: longer datagrams arrive in pieces, gathered or not,
// and are not lost.
func TestNarrowPath(t *testing.T) {
	const name, other = "lapi-mtu0", "lapi-mtu1"
	ip := func(words ...string) error { return exec.Command("ip", words...).Run() }
	if os.Geteuid() != 0 || ip("link", "add", name, "type", "veth", "peer", "name", other) != nil {
		t.Skip("skipped: not root, no ip command or no veth interfaces")
	}
	defer ip("link", "del", name)
	for _, words := range [][]string{{"addr", "add", "192.0.2.79/32", "dev", name},
		{"link", "set", name, "up"},
		{"route", "replace", "local", "192.0.2.79", "dev", "lo", "mtu", "1200", "table", "local"}} {
		if err := ip(words...); err != nil {
			t.Fatalf("ip %v: %v", words, err)
		}
	}
	defer ip("route", "del", "local", "192.0.2.79", "table", "local")
	to := netip.MustParseAddrPort("192.0.2.79:0")
	for _, fragment := range []bool{false, true} {
		for _, plain := range []bool{false, true} {
			a, err := Open(to, Options{Receive: 1 << 20, Send: 1 << 20, Fragment: fragment,
				Plain: plain})
			if err != nil {
				t.Fatal(err)
			}
			exchangeSet(t, a, open(t, to), []int{4000, 4000, 4000, 100, 1100, 1100, 1100, 30000})
			a.Close()
		}
	}
}

// Nobody cuts datagrams that are meant to fit, so that the path's MTU is found out; those that are
// longer on purpose may be cut.
func TestDiscoverMTU(t *testing.T) {
	for fragment, want := range map[bool]int{false: unix.IP_PMTUDISC_PROBE,
		true: unix.IP_PMTUDISC_DONT} {
		s, err := Open(loopback, Options{Fragment: fragment})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unix.GetsockoptInt(s.fd, unix.IPPROTO_IP,
			unix.IP_MTU_DISCOVER); got != want || err != nil {
			t.Errorf("fragment %v: %d, %v", fragment, got, err)
		}
		s.Close()
	}
}
