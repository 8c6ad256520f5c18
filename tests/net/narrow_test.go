package net

import (
	"fmt"
	"testing"
	"time"

	"lapi/tests/net/world"
)

// A router's link gets narrower than the nodes' while a job runs. Towards it the router reports
// packets that are too long, unless its reports are kept from the origin; the other way such
// packets just vanish. Everything arrives, and neither a node nor a router cuts a packet.
func TestNarrowRouter(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("IPv6_%v_told_%v", ipv6, told), func(t *testing.T) {
				counted(t)
				w := newWorld(t, world.Shape{Nodes: 2, Links: 1, Routed: true, OnlyIPv6: ipv6})
				if !told {
					for n := range 2 {
						if err := w.Silence(n); err != nil {
							t.Skipf("skipped: this machine drops no ICMP: %v", err)
						}
					}
				}
				j := spread(t, w, []int{1, 1}, []string{"MP_EUIDEVICE=eth0"}, "net/steady", "3",
					"1048576")
				j.waitFor("steady: started")
				time.Sleep(300 * time.Millisecond)
				if err := w.Narrow(1, 0, 1400); err != nil {
					t.Fatal(err)
				}
				j.wait()
				for n := range 2 {
					f, err := w.Fragments(n)
					if err != nil || f.Created != 0 || f.Received != 0 {
						t.Errorf("node %d has cut packets into %d fragments, and received %d, %v",
							n, f.Created, f.Received, err)
					}
					if n == 0 && told && f.Told == 0 {
						t.Errorf("node 0 was not told that a packet was too long")
					}
				}
			})
		}
	}
}
