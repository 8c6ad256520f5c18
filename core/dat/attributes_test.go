package dat

import (
	"net/netip"
	"testing"
)

// TestAttributes: the named attributes of an interface have the right values.
func TestAttributes(t *testing.T) {
	mac := []byte{0x00, 0x1b, 0x21, 0x01, 0x02, 0x03}
	ib := append([]byte{12: 0x00}[:12], 0x00, 0x02, 0xc9, 0x03, 0x00, 0x01, 0x02, 0x03)
	for _, c := range []struct {
		port                   Interface
		guid, gid, mtu, status string
	}{
		{Interface{Name: "eth0", Addr: netip.MustParseAddr("192.0.2.7"), Hardware: mac, MTU: 9000,
			Running: true}, "021b:21ff:fe01:0203", "0000:0000:0000:0000:0000:ffff:c000:0207",
			"1024", "ACTIVE"},
		{Interface{Name: "ib0", Addr: netip.MustParseAddr("2001:db8::17"), Hardware: ib, MTU: 576},
			"0002:c903:0001:0203", "2001:0db8:0000:0000:0000:0000:0000:0017", "576", "DOWN"},
		{Interface{Name: "lo", Addr: netip.MustParseAddr("127.0.0.1"), Hardware: make([]byte, 6),
			MTU: 65536, Running: true}, "0000:0000:0000:0000",
			"0000:0000:0000:0000:0000:ffff:7f00:0001", "1024", "ACTIVE"},
	} {
		ia := &IA{port: c.port, Addr: c.port.Addr, limits: linkLimits}
		ia.engine = links{ia}
		got := map[string]string{}
		for _, a := range ia.Attributes() {
			got[a[0]] = a[1]
		}
		for name, want := range map[string]string{"DAT_IB_NODE_GUID": c.guid, "DAT_IB_GID": c.gid,
			"DAT_IB_TRANSPORT_MTU": c.mtu, "DAT_IB_PORT_STATUS": c.status,
			"DAT_IB_DEVICE_NAME": c.port.Name} {
			if got[name] != want {
				t.Errorf("%s: %s is %s, not %s", c.port.Name, name, got[name], want)
			}
		}
	}
}

// TestInterfaceOf: the parameters of a name choose the interface; without them, its end does; else it
// is an interface that others reach.
func TestInterfaceOf(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::17")
	lo := Interface{Name: "lo", Addr: netip.MustParseAddr("127.0.0.1")}
	all := []Interface{lo, {Name: "six", Addr: six}, {Name: "four", Addr: four}}
	for _, c := range []struct {
		name, device string
		list         []Interface
		want         string
	}{{"lapi-lo", "", all, "lo"}, {"lapi-six", "", all, "six"}, {"lapi", "", all, "four"},
		{"ofa-v2-ib0", "", all[:2], "lo"}, {"lapi", "", nil, "lo"},
		{"ib0", "six", all, "six"}, {"lapi-lo", "four", all, "four"},
		{"ib0", "2001:db8::17", all, "six"}, {"ib0", "mlx5_0", all, "four"}} {
		l := New(Config{Interfaces: func() []Interface { return c.list }})
		if got := interfaceOf(l.cfg.Interfaces(), c.name, c.device); got.Name != c.want || !got.Addr.IsValid() {
			t.Errorf("%s of %d: %+v", c.name, len(c.list), got)
		}
	}
}
