package wireup

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"lapi/core/job"
)

func TestAdapterAddresses(t *testing.T) {
	addrs, err := adapterAddresses("lo")
	if err != nil || !slices.Contains(addrs, netip.MustParseAddr("127.0.0.1")) || !addrs[0].Is4() {
		t.Errorf("lo has %v, %v", addrs, err)
	}
	for _, name := range []string{"nosuch0", "lo0/", strings.Repeat("x", 300)} {
		if addrs, err := adapterAddresses(name); err == nil {
			t.Errorf("%.20q has %v", name, addrs)
		}
	}
}

func TestLocalAddress(t *testing.T) {
	ip := netip.MustParseAddr
	two := []netip.Addr{ip("10.0.0.1"), ip("fd00::1")}
	inet := []job.Adapter{{Addr: ip("192.0.2.1"), Device: "en0"},
		{Addr: ip("fd00::1"), Device: "en1"}}
	for _, c := range []struct {
		adapter []netip.Addr
		inet    []job.Adapter
		want    netip.Addr
	}{
		{nil, nil, netip.Addr{}},
		{nil, inet, ip("192.0.2.1")},
		{two, nil, ip("10.0.0.1")},
		{two, inet[:1], ip("10.0.0.1")},
		{two, inet, ip("fd00::1")}, // named by both
	} {
		n := Net{job: &job.Config{Adapters: c.inet}, adapter: c.adapter}
		if got := n.localAddress(); got.Addr() != c.want || got.Port() != 0 {
			t.Errorf("adapter %v, MP_LAPI_INET_ADDR %v: %v, want %v",
				c.adapter, c.inet, got, c.want)
		}
	}
}

func TestOwnEntryAgainstAdapter(t *testing.T) {
	n := Net{cfg: &Config{Adapter: "en1"},
		adapter: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}}
	for own, want := range map[string]string{
		"10.0.0.1:7": "10.0.0.1:7", "0.0.0.0:7": "10.0.0.1:7", "[::]:7": "[fd00::1]:7",
		"10.0.0.2:7": "", "127.0.0.1:7": "",
	} {
		got, err := n.onAdapter(netip.MustParseAddrPort(own))
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%s becomes %v, %v; want %s", own, got, err, want)
		}
	}
	n.adapter = nil
	if got, err := n.onAdapter(netip.MustParseAddrPort("0.0.0.0:7")); err != nil ||
		got.String() != "0.0.0.0:7" {
		t.Errorf("without adapter: %v, %v", got, err)
	}
}
