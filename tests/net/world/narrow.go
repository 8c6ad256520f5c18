package world

import (
	"fmt"
	"strconv"
	"strings"
)

// Narrow gives the router's, or switch's, end of a link another MTU than the node's: a longer
// packet does not pass towards the node, and a router reports that; a longer packet of the node
// vanishes, except for packets that are still to be segmented.
func (w *World) Narrow(node, link, mtu int) error {
	return run("ip", "link", "set", w.port(node, link), "mtu", strconv.Itoa(mtu))
}

// Silence keeps from a node the routers' reports of packets that are too long.
func (w *World) Silence(node int) error {
	if err := w.In(node, "iptables", "-A", "INPUT", "-p", "icmp", "--icmp-type",
		"fragmentation-needed", "-j", "DROP"); err != nil {
		return err
	}
	return w.In(node, "ip6tables", "-A", "INPUT", "-p", "icmpv6", "--icmpv6-type", "packet-too-big",
		"-j", "DROP")
}

// Fragments has the counts of a node's kernel, over IPv4 and IPv6.
type Fragments struct {
	Created, Received int // fragments
	// messages that something was not to be reached, for too long a packet among other reasons
	Told int
}

// Fragments reads the counters of a node.
func (w *World) Fragments(node int) (f Fragments, err error) {
	old, err := w.Output(node, "cat", "/proc/net/snmp")
	if err != nil {
		return f, err
	}
	counts := make(map[string]int)
	var names []string
	for _, line := range strings.Split(old, "\n") { // a line of names, then one of values
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i := 1; i < len(fields) && i < len(names); i++ {
			counts[strings.TrimSuffix(names[0], ":")+names[i]], _ = strconv.Atoi(fields[i])
		}
		names = nil
	}
	newer, err := w.Output(node, "cat", "/proc/net/snmp6")
	if err != nil {
		return f, err
	}
	for _, line := range strings.Split(newer, "\n") {
		if fields := strings.Fields(line); len(fields) == 2 {
			counts[fields[0]], _ = strconv.Atoi(fields[1])
		}
	}
	for _, name := range []string{"IpFragCreates", "IpReasmReqds", "IcmpInDestUnreachs",
		"Ip6FragCreates", "Ip6ReasmReqds", "Icmp6InPktTooBigs"} {
		if _, ok := counts[name]; !ok {
			return f, fmt.Errorf("the kernel counts no %s", name)
		}
	}
	f.Created = counts["IpFragCreates"] + counts["Ip6FragCreates"]
	f.Received = counts["IpReasmReqds"] + counts["Ip6ReasmReqds"]
	f.Told = counts["IcmpInDestUnreachs"] + counts["Icmp6InPktTooBigs"]
	return f, nil
}
