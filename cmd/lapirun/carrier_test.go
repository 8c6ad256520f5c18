package main

import (
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAwaited(t *testing.T) {
	device := func(name, addr string, up, late bool) netInterface {
		return netInterface{Name: name, Up: up, Late: late, MTU: 1500,
			Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}}
	}
	node := func(space uint64, all ...netInterface) inventory {
		return inventory{Namespace: space, Interfaces: all}
	}
	a := node(1, device("eth0", "10.0.0.1/24", true, false), device("eth1", "10.1.0.1/24", false, true))
	b := node(2, device("eth0", "10.0.0.2/24", true, false), device("eth1", "10.1.0.2/24", true, false))
	alone := node(3, device("eth1", "10.1.0.3/24", false, true))
	down := node(4, device("eth0", "10.0.0.4/24", false, false))
	for name, k := range map[string]struct {
		nodes     []inventory
		device    string
		instances int
		want      []string
	}{
		"one network is there":   {[]inventory{a, b}, oneNetwork, 0, nil},
		"all networks":           {[]inventory{a, b}, allNetworks, 0, []string{"eth1 of 0"}},
		"the device":             {[]inventory{a, b}, "eth1", 0, []string{"eth1 of 0"}},
		"the only network":       {[]inventory{b, alone}, "", 0, []string{"eth1 of 1"}},
		"both ends":              {[]inventory{a, alone}, "eth1", 0, []string{"eth1 of 0", "eth1 of 1"}},
		"it would not help":      {[]inventory{b, alone, down}, "", 0, nil},
		"no such device":         {[]inventory{a, b}, "ib0", 0, nil},
		"loopback needs nothing": {[]inventory{{}}, "", 0, nil},
	} {
		got := awaited(k.nodes, k.device, k.instances, func(i int) string {
			return " of " + string(rune('0'+i))
		})
		if !slices.Equal(got, k.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A veth pair has a carrier when both ends are up. lapirun finds one without, and it comes.
func TestLateCarrier(t *testing.T) {
	const network = `ip link add late type veth peer name other && ip addr add 10.9.9.1/24 dev late && ip link set late up`
	if out, err := exec.Command("unshare", "-n", "sh", "-c", network).CombinedOutput(); err != nil {
		t.Skipf("skipped: no networks to be made here: %v %s", err, out)
	}
	run := func(script string) *lr {
		cmd := prepare()
		lapirun := strings.Join(append(cmd.Args, "-euidevice", "late", "sh", "-c", "'echo $MP_LAPI_INET_ADDR'"), " ")
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Args = unshare, []string{"unshare", "-n", "sh", "-c",
			network + "; " + strings.ReplaceAll(script, "LAPIRUN", lapirun)}
		return startCmd(t, cmd)
	}
	r := run(`(sleep 1; ip link set other up) & LAPIRUN`).want(0)
	if r.out() != "@1:10.9.9.1,late\n" ||
		!strings.Contains(r.err(), "waiting for a carrier on late, 5s at most") {
		t.Errorf("%q %q", r.out(), r.err())
	}
	r = run(`LAPIRUN`).want(1)
	if !strings.Contains(r.err(), "no carrier on late after 5s") ||
		!strings.Contains(r.err(), "has device late (MP_EUIDEVICE) without a carrier") {
		t.Errorf("%q", r.err())
	}
	if r := run(`ip link set other up; LAPIRUN`).want(0); r.err() != "" {
		t.Errorf("with a carrier: %q", r.err())
	}
}
