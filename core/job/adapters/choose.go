package adapters

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Adapter is one instance of MP_LAPI_INET_ADDR: an address of a task and the network interface that
// has it.
type Adapter struct {
	Addr   netip.Addr // with its zone, which is Device, if it is link-local IPv6
	Device string
}

// Max is how many instances of MP_LAPI_INET_ADDR count; further ones are ignored (guide, Chapter
// 14, note below Table 12).
const Max = 8

// Values of MP_EUIDEVICE that are no device (guide, Chapter 14, Table 12).
const (
	OneNetwork  = "sn_single" // instances on one network that all nodes are on
	AllNetworks = "sn_all"    // instances on each of them
)

// All stands for max in MP_INSTANCES: every adapter that the node with the most of them has on a
// network.
const All = -1

// ParseInstances reads MP_INSTANCES (guide, Chapter 14, Table 12): 1 to Max, or All. Larger numbers
// than count are allowed, as in the guide, and give Max.
func ParseInstances(v string) (int, error) {
	if strings.EqualFold(v, "max") {
		return All, nil
	}
	if v == "" || strings.Trim(v, "0123456789") != "" || strings.Trim(v, "0") == "" {
		return 0, fmt.Errorf("%q is neither a number from 1 on nor max", v)
	}
	n, err := strconv.Atoi(v)
	if err != nil || n > Max {
		n = Max
	}
	return n, nil
}

// network is a subnet that every node is on: the adapters of each, one address of each adapter.
type network struct {
	subnet   netip.Prefix
	adapters [][]Adapter // by node
}

// Choose returns for each of nodes, of which there is at least one, what MP_LAPI_INET_ADDR of its
// tasks is to hold (guide, Chapter 14, Table 12): equally many for all, Max at most. device is
// MP_EUIDEVICE, instances what ParseInstances has made of MP_INSTANCES, or 0: it is not set. If
// device is "", or a guide's name of a device that is not there, MP_EUIDEVICE counts as not set:
// then tasks that have one network namespace use loopback, unless instances are asked for, and
// others one network. If a node lacks something, the error is a NodeError. The same nodes in the
// same order give the same choice, so each task may choose for itself.
func Choose(nodes []Node, device string, instances int) ([][]Adapter, error) {
	together := oneNamespace(nodes)
	device, _ = Available(nodes, device)
	var networks []network
	switch device {
	case "", OneNetwork, AllNetworks:
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
	if device != AllNetworks {
		networks = []network{widest(networks, instances)}
	}
	return allot(networks, len(nodes), instances), nil
}

// oneNamespace says whether all nodes see the same network. It believes Namespace: two hosts with
// one number would be given loopback.
func oneNamespace(nodes []Node) bool {
	return len(nodes) == 1 || !slices.ContainsFunc(nodes, func(n Node) bool {
		return n.Namespace == 0 || n.Namespace != nodes[0].Namespace
	})
}

// allot gives every node its instances, first one of each network, then the second of each, up to
// the eight that count. A node with too few adapters on a network uses them several times.
func allot(networks []network, nodes, instances int) [][]Adapter {
	all := make([][]Adapter, nodes)
	for k := 0; k < Max; k++ {
		for _, n := range networks {
			wanted := max(instances, 1)
			if instances == All {
				wanted = n.most()
			}
			if k >= wanted || len(all[0]) == Max {
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

func byLength(a, b []Adapter) int { return len(a) - len(b) }

// widest is the first network on which every node has as many adapters as are asked for, or else
// most of them.
func widest(networks []network, instances int) network {
	if instances == All {
		instances = Max
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
func commonNetworks(nodes []Node) []network {
	used := make([]map[string]bool, len(nodes))
	for i := range used {
		used[i] = make(map[string]bool)
	}
	var all []network
	for _, subnet := range subnets(nodes[0]) {
		n := network{subnet: subnet, adapters: make([][]Adapter, len(nodes))}
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
func subnets(node Node) (all []netip.Prefix) {
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
func (n Node) on(subnet netip.Prefix, used map[string]bool) []Adapter {
	var all []Adapter
	for _, i := range n.Interfaces {
		if !i.Up || i.Loopback || used[i.Name] {
			continue
		}
		for _, p := range i.Addrs {
			if p.Masked() == subnet {
				all = append(all, Adapter{Addr: p.Addr(), Device: i.Name})
				break
			}
		}
	}
	return all
}

// ambiguous says whether two nodes that see different networks have an address in common, as have
// the machine's own bridges for containers: the subnet is one in name only.
func (n network) ambiguous(nodes []Node) bool {
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

func loopback(nodes []Node) network {
	lo := []Adapter{{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Device: "lo"}}
	return network{adapters: slices.Repeat([][]Adapter{lo}, len(nodes))}
}

// ofDevice is the network of a named device: its first address on each node, of the first kind that
// all nodes have. Subnets may differ: there may be routers between them.
func ofDevice(nodes []Node, device string, together bool) (network, error) {
	kinds := []func(netip.Addr) bool{
		netip.Addr.Is4,
		func(a netip.Addr) bool { return a.Is6() && !a.IsLinkLocalUnicast() },
		netip.Addr.IsLinkLocalUnicast,
	}
	for i, node := range nodes {
		if lacks := node.lacksFor(device, together); lacks != "" {
			return network{}, NodeError{Node: i, Text: lacks}
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

// lacksFor says why a node cannot use a device; "": it can, with some address.
func (n Node) lacksFor(device string, together bool) string {
	d, ok := n.device(device)
	switch {
	case !ok:
		return fmt.Sprintf("has no device %s (MP_EUIDEVICE); it has %s", device, n.names())
	case d.Late && !d.Up:
		return fmt.Sprintf("has device %s (MP_EUIDEVICE) without a carrier", device)
	case !d.Up:
		return fmt.Sprintf("has device %s (MP_EUIDEVICE) down", device)
	case d.Loopback && !together:
		return fmt.Sprintf("reaches no other by %s (MP_EUIDEVICE)", device)
	case len(d.Addrs) == 0:
		return fmt.Sprintf("has no IP address on %s (MP_EUIDEVICE)", device)
	}
	return ""
}

func withKind(nodes []Node, device string, kind func(netip.Addr) bool) (network, bool) {
	n := network{adapters: make([][]Adapter, len(nodes))}
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
		n.adapters[i] = []Adapter{{Addr: a, Device: device}}
	}
	return n, true
}

func (n Node) names() string {
	var all []string
	for _, i := range n.Interfaces {
		all = append(all, i.Name)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// NodeError is what one node lacks. A caller that has a name for its nodes puts it before Text.
type NodeError struct {
	Node int    // the node's index
	Text string // such as "has device eth1 (MP_EUIDEVICE) down"
}

func (e NodeError) Error() string { return fmt.Sprintf("node %d %s", e.Node, e.Text) }

// PacketSize is the largest datagram that every chosen adapter takes in one piece, in bytes and
// within what MP_UDP_PACKET_SIZE allows, if their MTUs differ; 0 if they do not, when each task
// finds that out by itself. A switch drops a packet that is too long for the other side, without
// notice. chosen is what Choose has made of nodes.
func PacketSize(nodes []Node, chosen [][]Adapter) int {
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
	return min(max(least, MinPacketSize), MaxPacketSize)
}

// What MP_UDP_PACKET_SIZE allows, in bytes (guide, Appendix D).
const (
	MinPacketSize = 1024
	MaxPacketSize = 65536
)

// SameAdapter says whether several instances are all on one adapter, so that there is none to fail
// over to.
func SameAdapter(all []Adapter) bool {
	return len(all) > 1 && !slices.ContainsFunc(all, func(a Adapter) bool {
		return a.Device != all[0].Device
	})
}
