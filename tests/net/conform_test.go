package net

import (
	"testing"

	"lapi/tests/net/world"
)

// TestConform runs the conformance cases over shared memory in a node and UDP between nodes in one
// job.
func TestConform(t *testing.T) {
	w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
	for _, program := range []string{"env", "counters", "put", "get", "amsend", "vector", "xfer",
		"dgsp", "multicast", "rmw", "fence", "address", "recovery"} {
		t.Run(program, func(t *testing.T) {
			counted(t)
			conforms(t, w, []int{2, 2}, program, "CONFORM_MODE=polling")
		})
	}
	for _, program := range []string{"handlers", "completion", "progress", "threads"} {
		t.Run(program+"_interrupt", func(t *testing.T) {
			counted(t)
			conforms(t, w, []int{1, 2}, program, "CONFORM_MODE=interrupt", "CONFORM_CHECK=on")
		})
	}
}

func TestConformFourNodes(t *testing.T) {
	w := newWorld(t, world.Shape{Nodes: 4, Links: 2})
	for _, program := range []string{"put", "fence", "address"} {
		t.Run(program, func(t *testing.T) {
			counted(t)
			conforms(t, w, []int{1, 2, 1, 1}, program, "CONFORM_MODE=polling",
				"MP_EUIDEVICE=sn_all")
		})
	}
}

// Each task alone on its node, and shared memory not asked for: all is UDP.
func TestConformOnlyUDP(t *testing.T) {
	w := newWorld(t, world.Shape{Nodes: 3, Links: 1})
	for _, program := range []string{"env", "multicast"} {
		t.Run(program, func(t *testing.T) {
			counted(t)
			conforms(t, w, []int{1, 1, 1}, program, "LAPI_USE_SHM=no", "CONFORM_MODE=interrupt")
		})
	}
}

func TestIPv6(t *testing.T) {
	for _, k := range []struct {
		name    string
		shape   world.Shape
		environ string
	}{
		{"global", world.Shape{Nodes: 2, Links: 2, OnlyIPv6: true}, "MP_EUIDEVICE=sn_all"},
		{"link_local", world.Shape{Nodes: 2, Links: 2, OnlyIPv6: true, NoGlobalIPv6: true},
			"MP_EUIDEVICE=eth1"},
	} {
		t.Run(k.name, func(t *testing.T) {
			counted(t)
			w := newWorld(t, k.shape)
			for _, program := range []string{"put", "fence"} {
				conforms(t, w, []int{1, 2}, program, "CONFORM_MODE=polling", k.environ)
			}
			for l := range 2 {
				sent, err := w.Sent(0, l)
				used := l == 1 || k.environ == "MP_EUIDEVICE=sn_all"
				if err != nil || used && l == 0 && sent < 1<<20 || !used && sent > 1<<16 {
					t.Errorf("link %d has carried %d bytes, %v", l, sent, err)
				}
			}
		})
	}
}

// Loss by the kernel of what arrives at every node.
func TestLoss(t *testing.T) {
	for _, k := range []struct {
		name        string
		probability float64
		programs    []string
	}{
		{"2_percent", 0.02, []string{"get", "amsend", "rmw"}},
		{"20_percent", 0.2, []string{"counters", "address"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			counted(t)
			w := newWorld(t, world.Shape{Nodes: 2, Links: 1})
			for n := range 2 {
				if err := w.Lose(n, k.probability); err != nil {
					t.Skipf("skipped: this machine loses no packets: %v", err)
				}
			}
			for _, program := range k.programs {
				conforms(t, w, []int{1, 1}, program, "CONFORM_MODE=polling")
			}
			for n := range 2 {
				if lost, err := w.Lost(n); err != nil || lost == 0 {
					t.Errorf("node %d has lost %d packets, %v", n, lost, err)
				}
			}
		})
	}
}

// Nodes with jumbo frames and nodes without. A switch drops what is too long for the other side, so
// lapirun gives all the same packet size; a router cuts it, or has the sender do so: then the
// user's packet size is honoured. Without segmentation offload, which passes virtual switches
// whatever the length of a segment.
func TestMTU(t *testing.T) {
	for _, k := range []struct {
		name    string
		shape   world.Shape
		environ []string
	}{
		{"jumbo", world.Shape{Nodes: 2, Links: 1, MTU: []int{9000, 9000}}, nil},
		{"switch", world.Shape{Nodes: 2, Links: 1, MTU: []int{9000, 1500}}, nil},
		{"switch_IPv6", world.Shape{Nodes: 2, Links: 1, MTU: []int{1280, 9000}, OnlyIPv6: true},
			nil},
		{"router", world.Shape{Nodes: 2, Links: 1, MTU: []int{9000, 1500}, Routed: true},
			[]string{"MP_UDP_PACKET_SIZE=8972"}},
		{"router_IPv6", world.Shape{Nodes: 2, Links: 1, MTU: []int{9000, 1500}, Routed: true,
			OnlyIPv6: true}, []string{"MP_UDP_PACKET_SIZE=8952"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			counted(t)
			w := newWorld(t, k.shape)
			conforms(t, w, []int{1, 1}, "put", append(k.environ, "CONFORM_MODE=polling",
				"MP_EUIDEVICE=eth0", "LAPI_UDP_GSO=off")...)
		})
	}
}
