package adapters

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Node is the network interfaces of a node, as seen from inside it.
type Node struct {
	// Namespace is a number for the network namespace; 0: unknown, so Choose takes it for a
	// namespace that no other node has. To Choose, nodes with one number have the same interfaces:
	// it gives them loopback, and lets them share addresses. List puts the kernel's number there,
	// which holds on one machine only: the first namespace of every machine has the same one. A
	// caller that brings together nodes of several machines must set a number that is unique among
	// them all.
	Namespace  uint64
	Interfaces []Interface
}

// Interface is a network interface.
type Interface struct {
	Name     string
	Up       bool // and running: it has a carrier
	Late     bool // up, but without a carrier yet
	Loopback bool
	MTU      int            // bytes
	Addrs    []netip.Prefix // without zones
}

// List lists the interfaces that this process sees, in the kernel's order.
func List() (Node, error) {
	n := Node{Namespace: networkNamespace()}
	all, err := net.Interfaces()
	if err != nil {
		return n, fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			return n, fmt.Errorf("listing the addresses of %s: %w", i.Name, err)
		}
		const up = net.FlagUp | net.FlagRunning
		d := Interface{Name: i.Name, Up: i.Flags&up == up,
			Late:     i.Flags&up == net.FlagUp && lateInterface(i.Name),
			Loopback: i.Flags&net.FlagLoopback != 0, MTU: i.MTU}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				d.Addrs = append(d.Addrs, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
		n.Interfaces = append(n.Interfaces, d)
	}
	return n, nil
}

// networkNamespace is the kernel's number for the network namespace of this process, different for
// any two of a machine; 0 if the kernel does not say (before Linux 5.14).
func networkNamespace() uint64 {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	cookie, _ := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return cookie
}

// device is the interface of that name.
func (n Node) device(name string) (Interface, bool) {
	k := slices.IndexFunc(n.Interfaces, func(i Interface) bool { return i.Name == name })
	if k < 0 {
		return Interface{}, false
	}
	return n.Interfaces[k], true
}

// maxDeviceName is IFNAMSIZ without the NUL.
const maxDeviceName = 15

// ValidDevice says whether name can be that of a network interface and stand in MP_LAPI_INET_ADDR.
func ValidDevice(name string) bool {
	return name != "" && len(name) <= maxDeviceName && !strings.ContainsAny(name, " \t\n/,:[]%")
}
