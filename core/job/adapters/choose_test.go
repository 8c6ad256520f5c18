package adapters_test

import (
	"net/netip"
	"strings"
	"testing"

	"lapi/core/job"
	"lapi/core/job/adapters"
)

// machine describes a node: "eth0 10.0.0.1/24 fd00::1/64; -eth1 …", a minus for an interface that
// is down. It always has lo.
func machine(namespace uint64, text string) adapters.Node {
	n := adapters.Node{Namespace: namespace, Interfaces: []adapters.Interface{{Name: "lo", Up: true,
		Loopback: true, Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}}}
	for _, part := range strings.Split(text, ";") {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		name, down := strings.CutPrefix(fields[0], "-")
		i := adapters.Interface{Name: name, Up: !down}
		for _, f := range fields[1:] {
			i.Addrs = append(i.Addrs, netip.MustParsePrefix(f))
		}
		n.Interfaces = append(n.Interfaces, i)
	}
	return n
}

func TestChooseAdapters(t *testing.T) {
	const lo = "@1:127.0.0.1,lo"
	single := []adapters.Node{machine(1,
		"eth0 10.0.0.1/24 fd00::1/64; eth1 10.0.0.2/24; eth2 10.1.0.1/16; -eth3 10.2.0.1/16; eth4 fe80::1/64")}
	twins := []adapters.Node{machine(1, "eth0 10.0.0.1/24; eth1 10.0.1.1/24"),
		machine(2, "eth0 10.0.0.2/24; eth1 10.0.1.2/24")}
	uneven := []adapters.Node{machine(1, "a 10.0.0.1/24; b 10.0.1.1/24; c 10.0.1.2/24"),
		machine(2, "x 10.0.1.9/24; y 10.0.0.9/24; z 10.0.1.8/24; w 10.0.1.7/24")}
	down := []adapters.Node{machine(1, "-c 10.0.1.1/24; a 10.0.0.1/24; -b 10.0.0.3/24"),
		machine(2, "c 10.0.1.2/24; a 10.0.0.2/24")}
	same := []adapters.Node{machine(5, "eth0 10.0.0.1/24"), machine(5, "eth0 10.0.0.1/24")}
	v6 := []adapters.Node{machine(1, "eth0 fe80::a/64 fd00::1/64; eth1 fd01::1/64"),
		machine(2, "eth0 fe80::b/64 fd00::2/64; eth1 10.0.0.9/24 fd01::2/64")}
	local6 := []adapters.Node{machine(1, "eth0 fe80::a/64"), machine(2, "eth0 fe80::b/64")}
	bridges := []adapters.Node{machine(1, "br0 172.17.0.1/16; eth0 10.0.0.1/24"),
		machine(2, "br0 172.17.0.1/16; eth0 10.0.0.2/24")}
	for _, k := range []struct {
		what      string
		nodes     []adapters.Node
		device    string
		instances int
		want      string // by node, with blanks
	}{
		{"one node", single, "", 0, lo},
		{"one node, one network", single, "sn_single", 0, "@1:10.0.0.1,eth0"},
		{"an instance", single, "", 1, "@1:10.0.0.1,eth0"},
		{"two instances of a network", single, "sn_single", 2, "@2:10.0.0.1,eth0:10.0.0.2,eth1"},
		{"more instances than adapters", single, "sn_single", 3,
			"@3:10.0.0.1,eth0:10.0.0.2,eth1:10.0.0.1,eth0"},
		{"as many as there are", single, "sn_single", adapters.All,
			"@2:10.0.0.1,eth0:10.0.0.2,eth1"},
		{"all networks", single, "sn_all", 0, "@2:10.0.0.1,eth0:10.1.0.1,eth2"},
		{"all networks, all adapters", single, "sn_all", adapters.All,
			"@3:10.0.0.1,eth0:10.1.0.1,eth2:10.0.0.2,eth1"},
		{"all networks, two each", single, "sn_all", 2,
			"@4:10.0.0.1,eth0:10.1.0.1,eth2:10.0.0.2,eth1:10.1.0.1,eth2"},
		{"eight count", single, "sn_all", 8,
			"@8:10.0.0.1,eth0:10.1.0.1,eth2:10.0.0.2,eth1:10.1.0.1,eth2:10.0.0.1,eth0:10.1.0.1,eth2:10.0.0.2,eth1:10.1.0.1,eth2"},
		{"a device", single, "eth2", 0, "@1:10.1.0.1,eth2"},
		{"a device, twice", single, "eth2", 2, "@2:10.1.0.1,eth2:10.1.0.1,eth2"},
		{"a device, all", single, "eth2", adapters.All, "@1:10.1.0.1,eth2"},
		{"a link-local device", single, "eth4", 0, "@1:[fe80::1%eth4],eth4"},
		{"loopback by name", single, "lo", 0, lo},
		{"no network", []adapters.Node{machine(1, "-eth0 10.0.0.1/8")}, "sn_all", 2,
			"@2:127.0.0.1,lo:127.0.0.1,lo"},
		{"two nodes", twins, "", 0, "@1:10.0.0.1,eth0 @1:10.0.0.2,eth0"},
		{"two nodes, all networks", twins, "sn_all", 0,
			"@2:10.0.0.1,eth0:10.0.1.1,eth1 @2:10.0.0.2,eth0:10.0.1.2,eth1"},
		{"two nodes, a device", twins, "eth1", 0, "@1:10.0.1.1,eth1 @1:10.0.1.2,eth1"},
		{"uneven, one", uneven, "sn_single", 0, "@1:10.0.0.1,a @1:10.0.0.9,y"},
		{"uneven, two", uneven, "sn_single", 2,
			"@2:10.0.1.1,b:10.0.1.2,c @2:10.0.1.9,x:10.0.1.8,z"},
		{"uneven, all", uneven, "sn_single", adapters.All,
			"@3:10.0.1.1,b:10.0.1.2,c:10.0.1.1,b @3:10.0.1.9,x:10.0.1.8,z:10.0.1.7,w"},
		{"an adapter is down", down, "sn_single", adapters.All, "@1:10.0.0.1,a @1:10.0.0.2,a"},
		{"one namespace", same, "", 0, lo + " " + lo},
		{"one namespace, by network", same, "sn_single", 0, "@1:10.0.0.1,eth0 @1:10.0.0.1,eth0"},
		{"two nodes, AIX's switches", twins, "csss", 0, "@1:10.0.0.1,eth0 @1:10.0.0.2,eth0"},
		{"one namespace, AIX's Ethernet", same, "en0", 0, lo + " " + lo},
		{"a device with AIX's name", []adapters.Node{machine(1, "en0 10.0.0.1/8; eth1 10.1.1.1/24")},
			"en0", 0, "@1:10.0.0.1,en0"},
		{"one namespace, loopback", same, "lo", 0, lo + " " + lo},
		{"IPv6", v6, "", 0, "@1:[fd00::1],eth0 @1:[fd00::2],eth0"},
		{"IPv6, all", v6, "sn_all", 0,
			"@2:[fd00::1],eth0:[fd01::1],eth1 @2:[fd00::2],eth0:[fd01::2],eth1"},
		{"IPv6, a device", v6, "eth1", 0, "@1:[fd01::1],eth1 @1:[fd01::2],eth1"},
		{"link-local, a device", local6, "eth0", 0,
			"@1:[fe80::a%eth0],eth0 @1:[fe80::b%eth0],eth0"},
		{"two tasks of a host, one of another",
			[]adapters.Node{bridges[0], bridges[0], bridges[1]},
			"sn_all", 0, "@1:10.0.0.1,eth0 @1:10.0.0.1,eth0 @1:10.0.0.2,eth0"},
		{"bridges of containers", bridges, "sn_all", 0, "@1:10.0.0.1,eth0 @1:10.0.0.2,eth0"},
	} {
		all, err := adapters.Choose(k.nodes, k.device, k.instances)
		var got []string
		for _, a := range all {
			got = append(got, job.FormatAdapters(a))
		}
		if err != nil || strings.Join(got, " ") != k.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", k.what, strings.Join(got, " "), err, k.want)
		}
	}
}

// TestGuideNamesAreNoticed: a name that the guide gives, and no node has, is reported; names that
// nodes have, and those that are nobody's, are not.
func TestGuideNamesAreNoticed(t *testing.T) {
	nodes := []adapters.Node{machine(1, "eth0 10.0.0.1/24"), machine(2, "en1 10.0.0.2/24")}
	for device, noticed := range map[string]bool{"csss": true, "en0": true, "fi0": true, "ml0": true,
		"mI0": true, "m10": true, "tr0": true, "css0": true, "sn0": true, "en1": false, "eth0": false,
		"": false, "sn_all": false, "sn_single": false, "enp0": false, "en": false} {
		use, notice := adapters.Available(nodes, device)
		if (notice != "") != noticed || noticed != strings.Contains(notice, "="+device+" ") ||
			!noticed && use != device || noticed && use != "" {
			t.Errorf("MP_EUIDEVICE=%s: %q, %q", device, use, notice)
		}
	}
}

func TestNoAdapters(t *testing.T) {
	twins := []adapters.Node{machine(1, "eth0 10.0.0.1/24; -eth1; eth2; eth3 10.9.0.1/24"),
		machine(2, "eth0 10.0.1.2/24; eth1 10.0.2.2/24; eth2; eth3 fd00::1/64")}
	unknown := []adapters.Node{machine(0, "eth0 10.0.0.1/24"), machine(0, "eth0 10.0.0.1/24")}
	for _, k := range []struct {
		nodes        []adapters.Node
		device, says string
	}{
		{twins, "", "MP_EUIDEVICE"},
		{twins, "sn_single", "no IP subnet that all nodes"},
		{twins, "sn_all", "no IP subnet that all nodes"},
		{unknown, "", "no IP subnet that all nodes"},
		{unknown, "eth0", "same address on two nodes"},
		{twins, "enp0", "has no device enp0 (MP_EUIDEVICE); it has lo, eth0, eth1, eth2, eth3"},
		{twins, "eth1", "has device eth1 (MP_EUIDEVICE) down"},
		{twins, "eth2", "no IP address on eth2"},
		{twins, "eth3", "only IPv4 on one node and only IPv6"},
		{twins, "lo", "reaches no other by lo"},
		{twins, "SN_ALL", "has no device SN_ALL"},
	} {
		if all, err := adapters.Choose(k.nodes, k.device, 0); err == nil ||
			!strings.Contains(err.Error(), k.says) {
			t.Errorf("MP_EUIDEVICE=%s: %v, %v; want %q", k.device, all, err, k.says)
		}
	}
}

// Networks that differ only on paper are no second way: what an adapter has beside its first
// network is not used.
func TestAdapterHasOneNetwork(t *testing.T) {
	nodes := []adapters.Node{machine(1, "eth0 10.0.0.1/24 10.0.1.1/24 fd00::1/64"),
		machine(2, "eth0 10.0.0.2/24 10.0.1.2/24 fd00::2/64")}
	all, err := adapters.Choose(nodes, adapters.AllNetworks, 0)
	if err != nil || len(all[0]) != 1 || len(all[1]) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if adapters.SameAdapter(all[0]) || !adapters.SameAdapter(append(all[0], all[0]...)) {
		t.Error("sameAdapter")
	}
}

func TestPacketSize(t *testing.T) {
	for _, k := range []struct {
		text0, text1 string
		mtu0, mtu1   int
		want         int
	}{
		{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24", 9000, 9000, 0},
		{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24", 9000, 1500, 1472},
		{"eth0 fd00::1/64", "eth0 fd00::2/64", 1280, 65536, 1232},
		{"eth0 10.0.0.1/24", "eth0 10.0.0.2/24", 1500, 576, 1024},
	} {
		nodes := []adapters.Node{machine(1, k.text0), machine(2, k.text1)}
		nodes[0].Interfaces[1].MTU, nodes[1].Interfaces[1].MTU = k.mtu0, k.mtu1
		all, err := adapters.Choose(nodes, "", 0)
		if got := adapters.PacketSize(nodes, all); err != nil || got != k.want {
			t.Errorf("MTUs %d and %d: %d, %v; want %d", k.mtu0, k.mtu1, got, err, k.want)
		}
	}
	nodes := []adapters.Node{{}}
	all, err := adapters.Choose(nodes, "", 0)
	if got := adapters.PacketSize(nodes, all); err != nil || got != 0 {
		t.Errorf("nothing listed: %d", got)
	}
}
