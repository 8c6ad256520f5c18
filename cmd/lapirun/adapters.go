package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"lapi/core/job"
)

// Which addresses the tasks of a node use: MP_EUIDEVICE and MP_INSTANCES by the guide's Chapter 14,
// Table 12. A network is an IP subnet, an adapter a network interface, an instance an address in
// MP_LAPI_INET_ADDR. The i-th instance of a task talks to the i-th of others, so all tasks get the
// same number, and the i-th ones are on one network.

// inventory is what a node has, as seen from inside it.
type inventory struct {
	// the network namespace, one number for each on this machine; 0: the kernel does not tell
	Namespace  uint64
	Interfaces []netInterface
}

// netInterface is one network interface that is up and running, or not.
type netInterface struct {
	Name     string
	Up       bool
	Late     bool // up, but without a carrier yet
	Loopback bool
	MTU      int            // bytes
	Addrs    []netip.Prefix // without zones
}

// Values of MP_EUIDEVICE that are no device.
const (
	oneNetwork  = "sn_single"
	allNetworks = "sn_all"
)

// allAdapters stands for max in MP_INSTANCES: every adapter that the node with the most of them has
// on a network.
const allAdapters = -1

// parseInstances reads MP_INSTANCES. Larger numbers than count are allowed, as in the guide.
func parseInstances(v string) (int, error) {
	if strings.EqualFold(v, "max") {
		return allAdapters, nil
	}
	if v == "" || strings.Trim(v, "0123456789") != "" || strings.Trim(v, "0") == "" {
		return 0, fmt.Errorf("%q is neither a number from 1 on nor max", v)
	}
	n, err := strconv.Atoi(v)
	if err != nil || n > job.MaxAdapters {
		n = job.MaxAdapters
	}
	return n, nil
}

// network is a subnet that every node is on: the adapters of each, one address of each adapter.
type network struct {
	subnet   netip.Prefix
	adapters [][]job.Adapter // by node
}

// chooseAdapters returns for each node what MP_LAPI_INET_ADDR is to hold. instances 0: MP_INSTANCES
// is not set. device "": MP_EUIDEVICE is not set; then tasks that have one network namespace use
// loopback, unless instances are asked for, and others one network. An error says what nodes lack,
// with their index in front.
func chooseAdapters(nodes []inventory, device string, instances int) ([][]job.Adapter, error) {
	together := oneNamespace(nodes)
	var networks []network
	switch device {
	case "", oneNetwork, allNetworks:
		if device != "" || instances != 0 || !together {
			networks = commonNetworks(nodes)
		}
		if len(networks) == 0 {
			if !together {
				return nil, errors.New("there is no IP subnet that all nodes have an interface on that is up; name a device that leads to the " +
					"others with MP_EUIDEVICE, or set up a common subnet")
			}
			networks = []network{loopback(nodes)}
		}
	default:
		n, err := ofDevice(nodes, device, together)
		if err != nil {
			return nil, err
		}
		networks = []network{n}
	}
	if device != allNetworks {
		networks = []network{widest(networks, instances)}
	}
	return allot(networks, len(nodes), instances), nil
}

func oneNamespace(nodes []inventory) bool {
	return len(nodes) == 1 || !slices.ContainsFunc(nodes, func(n inventory) bool {
		return n.Namespace == 0 || n.Namespace != nodes[0].Namespace
	})
}

// allot gives every node its instances, first one of each network, then the second of each, up to
// the eight that count. A node with too few adapters on a network uses them several times.
func allot(networks []network, nodes, instances int) [][]job.Adapter {
	all := make([][]job.Adapter, nodes)
	for k := 0; k < job.MaxAdapters; k++ {
		for _, n := range networks {
			wanted := max(instances, 1)
			if instances == allAdapters {
				wanted = n.most()
			}
			if k >= wanted || len(all[0]) == job.MaxAdapters {
				continue
			}
			for i, adapters := range n.adapters {
				all[i] = append(all[i], adapters[k%len(adapters)])
			}
		}
	}
	return all
}

// most and least are how many adapters the nodes have on a network.
func (n network) most() int  { return len(slices.MaxFunc(n.adapters, byLength)) }
func (n network) least() int { return len(slices.MinFunc(n.adapters, byLength)) }

func byLength(a, b []job.Adapter) int { return len(a) - len(b) }

// widest is the first network on which every node has as many adapters as are asked for, or else
// most of them.
func widest(networks []network, instances int) network {
	if instances == allAdapters {
		instances = job.MaxAdapters
	}
	best := networks[0]
	for _, n := range networks[1:] {
		if min(n.least(), max(instances, 1)) > min(best.least(), max(instances, 1)) {
			best = n
		}
	}
	return best
}

// commonNetworks are the subnets that all nodes are on, in the first node's order, IPv4 first.
// Loopback and link-local addresses are no network. An adapter is on one network only, the first:
// what it has of IPv6 is the same wire.
func commonNetworks(nodes []inventory) []network {
	used := make([]map[string]bool, len(nodes))
	for i := range used {
		used[i] = make(map[string]bool)
	}
	var all []network
	for _, subnet := range subnets(nodes[0]) {
		n := network{subnet: subnet, adapters: make([][]job.Adapter, len(nodes))}
		for i, node := range nodes {
			n.adapters[i] = node.on(subnet, used[i])
		}
		if n.least() == 0 || n.ambiguous(nodes) {
			continue
		}
		for i, adapters := range n.adapters {
			for _, a := range adapters {
				used[i][a.Device] = true
			}
		}
		all = append(all, n)
	}
	return all
}

// subnets are those of all of a node's interfaces, IPv4 first.
func subnets(node inventory) (all []netip.Prefix) {
	for _, i := range node.Interfaces {
		for _, p := range i.Addrs {
			if s := p.Masked(); !p.Addr().IsLinkLocalUnicast() && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b netip.Prefix) int {
		return a.Addr().BitLen() - b.Addr().BitLen()
	})
	return all
}

// on returns the node's adapters on a subnet, but for those in use for another, each with its first
// address there.
func (node inventory) on(subnet netip.Prefix, used map[string]bool) []job.Adapter {
	var all []job.Adapter
	for _, i := range node.Interfaces {
		if !i.Up || i.Loopback || used[i.Name] {
			continue
		}
		for _, p := range i.Addrs {
			if p.Masked() == subnet {
				all = append(all, job.Adapter{Addr: p.Addr(), Device: i.Name})
				break
			}
		}
	}
	return all
}

// ambiguous says whether two nodes that see different networks have an address in common, as have
// the machine's own bridges for containers: the subnet is one in name only.
func (n network) ambiguous(nodes []inventory) bool {
	owner := make(map[netip.Addr]uint64)
	for i, adapters := range n.adapters {
		for _, a := range adapters {
			if first, ok := owner[a.Addr]; ok && (first != nodes[i].Namespace || first == 0) {
				return true
			}
			owner[a.Addr] = nodes[i].Namespace
		}
	}
	return false
}

func loopback(nodes []inventory) network {
	lo := []job.Adapter{{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Device: "lo"}}
	return network{adapters: slices.Repeat([][]job.Adapter{lo}, len(nodes))}
}

// ofDevice is the network of a named device: its first address on each node, of the first kind that
// all nodes have. Subnets may differ: there may be routers between them.
func ofDevice(nodes []inventory, device string, together bool) (network, error) {
	kinds := []func(netip.Addr) bool{
		netip.Addr.Is4,
		func(a netip.Addr) bool { return a.Is6() && !a.IsLinkLocalUnicast() },
		netip.Addr.IsLinkLocalUnicast,
	}
	for i, node := range nodes {
		d, ok := node.device(device)
		switch {
		case !ok:
			return network{}, nodeError{i, fmt.Sprintf("has no device %s (MP_EUIDEVICE); it has %s",
				device, node.names())}
		case d.Late && !d.Up:
			return network{}, nodeError{i, fmt.Sprintf(
				"has device %s (MP_EUIDEVICE) without a carrier", device)}
		case !d.Up:
			return network{}, nodeError{i, fmt.Sprintf("has device %s (MP_EUIDEVICE) down", device)}
		case d.Loopback && !together:
			return network{}, nodeError{i, fmt.Sprintf("reaches no other by %s (MP_EUIDEVICE)",
				device)}
		case len(d.Addrs) == 0:
			return network{}, nodeError{i, fmt.Sprintf("has no IP address on %s (MP_EUIDEVICE)",
				device)}
		}
	}
	for _, kind := range kinds {
		n, ok := withKind(nodes, device, kind)
		if ok && n.ambiguous(nodes) {
			return n, fmt.Errorf("device %s (MP_EUIDEVICE) has the same address on two nodes",
				device)
		}
		if ok {
			return n, nil
		}
	}
	return network{}, fmt.Errorf(
		"device %s (MP_EUIDEVICE) has only IPv4 on one node and only IPv6 on another", device)
}

func withKind(nodes []inventory, device string, kind func(netip.Addr) bool) (network, bool) {
	n := network{adapters: make([][]job.Adapter, len(nodes))}
	for i, node := range nodes {
		d, _ := node.device(device)
		k := slices.IndexFunc(d.Addrs, func(p netip.Prefix) bool { return kind(p.Addr()) })
		if k < 0 {
			return n, false
		}
		a := d.Addrs[k].Addr()
		if a.Is6() && a.IsLinkLocalUnicast() {
			a = a.WithZone(device)
		}
		n.adapters[i] = []job.Adapter{{Addr: a, Device: device}}
	}
	return n, true
}

func (node inventory) device(name string) (netInterface, bool) {
	k := slices.IndexFunc(node.Interfaces, func(i netInterface) bool { return i.Name == name })
	if k < 0 {
		return netInterface{}, false
	}
	return node.Interfaces[k], true
}

func (node inventory) names() string {
	var all []string
	for _, i := range node.Interfaces {
		all = append(all, i.Name)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// nodeError is what a node lacks.
type nodeError struct {
	node int
	text string
}

func (e nodeError) Error() string { return fmt.Sprintf("node %d %s", e.node, e.text) }

// packetSize is the largest datagram that every chosen adapter takes in one piece, in bytes, if
// their MTUs differ; 0 if they do not, when each task finds that out by itself. A switch drops what
// is too long for the other side, and nobody hears of it.
func packetSize(nodes []inventory, chosen [][]job.Adapter) int {
	least, most := math.MaxInt, math.MinInt
	for i, adapters := range chosen {
		for _, a := range adapters {
			headers := 20 + 8 // of IP and UDP
			if a.Addr.Is6() {
				headers = 40 + 8
			}
			d, _ := nodes[i].device(a.Device)
			least, most = min(least, d.MTU-headers), max(most, d.MTU-headers)
		}
	}
	if least == most {
		return 0
	}
	return min(max(least, minPacketSize), maxPacketSize)
}

// What MP_UDP_PACKET_SIZE allows (guide, Appendix D).
const (
	minPacketSize = 1024
	maxPacketSize = 65536
)

// sameAdapter says whether several instances are all on one adapter, so that there is none to fail
// over to.
func sameAdapter(all []job.Adapter) bool {
	return len(all) > 1 && !slices.ContainsFunc(all, func(a job.Adapter) bool {
		return a.Device != all[0].Device
	})
}
