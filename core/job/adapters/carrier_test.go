//go:build go1.25

package adapters

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwaited(t *testing.T) {
	device := func(name, addr string, up bool) Interface {
		return Interface{Name: name, Up: up, Late: !up, MTU: 1500,
			Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}}
	}
	node := func(space uint64, all ...Interface) Node {
		return Node{Namespace: space, Interfaces: all}
	}
	a := node(1, device("eth0", "10.0.0.1/24", true), device("eth1", "10.1.0.1/24", false))
	b := node(2, device("eth0", "10.0.0.2/24", true), device("eth1", "10.1.0.2/24", true))
	alone := node(3, device("eth1", "10.1.0.3/24", false))
	down := node(4, device("eth0", "10.0.0.4/24", false))
	down.Interfaces[0].Late = false
	for name, k := range map[string]struct {
		nodes     []Node
		device    string
		instances int
		want      []string
	}{
		"one network is there":   {[]Node{a, b}, OneNetwork, 0, nil},
		"all networks":           {[]Node{a, b}, AllNetworks, 0, []string{"eth1 of 0"}},
		"the device":             {[]Node{a, b}, "eth1", 0, []string{"eth1 of 0"}},
		"the only network":       {[]Node{b, alone}, "", 0, []string{"eth1 of 1"}},
		"both ends":              {[]Node{a, alone}, "eth1", 0, []string{"eth1 of 0", "eth1 of 1"}},
		"it would not help":      {[]Node{b, alone, down}, "", 0, nil},
		"no such device":         {[]Node{a, b}, "ib0", 0, nil},
		"loopback needs nothing": {[]Node{{}}, "", 0, nil},
	} {
		got := awaited(k.nodes, k.device, k.instances, func(i int) string {
			return " of " + string(rune('0'+i))
		})
		if !slices.Equal(got, k.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A carrier that comes is used, a carrier that does not come is given up after the limit, and each
// is reported to the user once.
func TestChooseAwaiting(t *testing.T) {
	node := func(up bool) Node {
		return Node{Namespace: 1, Interfaces: []Interface{{Name: "eth0", Up: up, Late: !up,
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}}}
	}
	const waiting, given = "waiting for a carrier on eth0 of 0, 5s at most",
		"no carrier on eth0 of 0 after 5s: going on without"
	eth0, gone := []Adapter{{netip.MustParseAddr("10.0.0.1"), "eth0"}}, errors.New("gone")
	for _, k := range []struct {
		name    string
		looks   int // without a carrier, before there is one or an error
		listErr error
		want    []Adapter
		says    []string
		lacks   string
		after   time.Duration
	}{
		{"at once", 0, nil, eth0, nil, "", 0},
		{"late", 3, nil, eth0, []string{waiting}, "", 3 * carrierPause},
		{"never", 1000, nil, nil, []string{waiting, given}, "without a carrier", carrierLimit},
		{"no list", 2, gone, nil, []string{waiting}, "gone", 2 * carrierPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said []string
			begin, looks := time.Now(), 0
			list := func() ([]Node, error) {
				if looks++; looks > k.looks && k.listErr != nil {
					return nil, k.listErr
				}
				return []Node{node(looks > k.looks)}, nil
			}
			say := func(format string, args ...any) {
				said = append(said, fmt.Sprintf(format, args...))
			}
			of := func(i int) string { return fmt.Sprint(" of ", i) }
			_, all, err := ChooseAwaiting(list, "eth0", 0, of, say)
			if !slices.Equal(said, k.says) || time.Since(begin) != k.after {
				t.Errorf("%s: after %v it said %q", k.name, time.Since(begin), said)
			}
			if k.lacks == "" && (err != nil || !slices.Equal(all[0], k.want)) ||
				k.lacks != "" && (err == nil || !strings.Contains(err.Error(), k.lacks)) {
				t.Errorf("%s: %v, %v", k.name, all, err)
			}
		})
	}
}
