package sock

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	maxPayload  = 65507 // of UDP over IPv4
	fallbackMTU = 1500
)

// InterfacePayload is how many bytes of UDP data leave the interface that has the address a in one
// piece; at most 65507. If no interface has it, Ethernet's.
func InterfacePayload(a netip.Addr) int {
	return payload(a, interfaceMTU(a.WithZone("").Unmap()))
}

// payload is how much UDP data a packet of mtu bytes holds between addresses like a.
func payload(a netip.Addr, mtu int) int {
	headers := 20 + 8
	if a.Unmap().Is6() {
		headers = 40 + 8
	}
	return min(mtu-headers, maxPayload)
}

// PathPayload is how many bytes of UDP data pass to the address to in one piece, as far as the
// kernel has heard: the interface's MTU, the route's, or what a router on the way has said in the
// last minutes; at most 65507. 0: the kernel does not know. It asks by a socket of its own,
// connected to where nobody listens for it: what this one may be connected to does not matter.
func (s *Socket) PathPayload(to netip.AddrPort) int {
	family, level, option := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU
	if to.Addr().Is6() {
		family, level, option = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if s.device != "" && unix.BindToDevice(fd, s.device) != nil {
		return 0
	}
	if unix.Bind(fd, s.sockaddr(s.local.Addr(), 0)) != nil ||
		unix.Connect(fd, s.sockaddr(to.Addr(), int(to.Port()))) != nil {
		return 0
	}
	mtu, err := unix.GetsockoptInt(fd, level, option)
	if err != nil {
		return 0
	}
	return payload(to.Addr(), mtu)
}

// sockaddr is an address as system calls take it, on the interface of s if it is link-local.
func (s *Socket) sockaddr(a netip.Addr, port int) unix.Sockaddr {
	if a = a.Unmap(); a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: port}
	}
	sa := &unix.SockaddrInet6{Addr: a.As16(), Port: port}
	if a.IsLinkLocalUnicast() {
		sa.ZoneId = s.scope
	}
	return sa
}

func interfaceMTU(a netip.Addr) int {
	all, err := net.Interfaces()
	if err != nil {
		return fallbackMTU
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, x := range addrs {
			p, err := netip.ParsePrefix(x.String())
			if err != nil {
				continue
			}
			if p.Addr().Unmap() == a || i.Flags&net.FlagLoopback != 0 && p.Contains(a) {
				return max(i.MTU, 576)
			}
		}
	}
	return fallbackMTU
}
