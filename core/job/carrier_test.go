//go:build go1.25

package job

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"lapi/core/job/adapters"
)

// A task's card has the interface whose carrier came late, if MP_EUIDEVICE or MP_INSTANCES ask for
// it or the host has no other, and only then is it waited for.
func TestLateCarrier(t *testing.T) {
	node := func(late bool, more ...adapters.Interface) adapters.Node {
		return adapters.Node{Namespace: 1, Interfaces: append([]adapters.Interface{
			{Name: "lo", Up: true, Loopback: true,
				Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
			{Name: "eth0", Up: !late, Late: late, MTU: 1500,
				Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}}, more...)}
	}
	other := adapters.Interface{Name: "eth1", Up: true, MTU: 1500,
		Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.1.1/24")}}
	for name, k := range map[string]struct {
		c     Config
		looks int // without a carrier
		more  []adapters.Interface
		up    bool
		says  string // in what it says last
	}{
		"named":        {Config{device: "eth0"}, 3, nil, true, "waiting for a carrier on eth0"},
		"never":        {Config{device: "eth0"}, 1000, nil, false, "no carrier on eth0"},
		"none other":   {Config{}, 3, nil, true, "waiting for a carrier on eth0"},
		"all":          {Config{device: "sn_all"}, 3, []adapters.Interface{other}, true, "waiting"},
		"other named":  {Config{device: "eth1"}, 1000, []adapters.Interface{other}, false, ""},
		"not asked":    {Config{}, 1000, []adapters.Interface{other}, false, ""},
		"at once":      {Config{device: "eth0"}, 0, nil, true, ""},
		"user's own":   {Config{device: "eth0", Adapters: []Adapter{{}}}, 1000, nil, false, ""},
		"another node": {Config{device: "eth7"}, 1000, nil, false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			looks, said := 0, []string{""}
			m := &meeting{place: func() (place, error) { return place{"text", "net", "host"}, nil },
				list: func() (adapters.Node, error) {
					looks++
					return node(looks <= k.looks, k.more...), nil
				}}
			k.c.say = func(text string) { said = append(said, text) }
			f, err := m.ownCard(&k.c)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(f.nics.Interfaces, func(i adapters.Interface) bool {
				return i.Name == "eth0"
			})
			if last := said[len(said)-1]; f.nics.Interfaces[i].Up != k.up ||
				!strings.Contains(last, k.says) || (k.says == "") != (last == "") {
				t.Errorf("%s: %v, %q", name, f.nics.Interfaces[i].Up, said)
			}
		})
	}
}
