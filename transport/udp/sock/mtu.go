package sock

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

const (
	maxPayload  = 65507 // of UDP over IPv4
	fallbackMTU = 1500
)

// InterfacePayload is how many bytes of UDP data leave the interface that has the address a in one
// piece; at most 65507. If no interface has it, Ethernet's.
func InterfacePayload(a netip.Addr) int {
	a = a.WithZone("").Unmap()
	mtu := fallbackMTU
	eachAddress(func(i net.Interface, p netip.Prefix) {
		if p.Addr().Unmap() == a || i.Flags&net.FlagLoopback != 0 && p.Contains(a) {
			mtu = max(i.MTU, 576)
		}
	})
	return payload(a, mtu)
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
// kernel knows: the interface's MTU, the route's, or the MTU that a router on the way has reported
// in the last minutes; at most 65507. 0: the kernel does not know. It asks by a socket of its own,
// connected to a place where nobody listens for it: this socket's own connection does not matter.
func (s *Socket) PathPayload(to netip.AddrPort) int {
	family, level, option := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU
	if to.Addr().Is6() {
		family, level, option = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	fd, err := descriptor.Socket(family, unix.SOCK_DGRAM, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if s.device != "" && unix.BindToDevice(fd, s.device) != nil {
		return 0
	}
	from := netip.AddrPortFrom(s.local.Addr(), 0)
	if unix.Bind(fd, s.sockaddr(from)) != nil || unix.Connect(fd, s.sockaddr(to)) != nil {
		return 0
	}
	mtu, err := unix.GetsockoptInt(fd, level, option)
	if err != nil {
		return 0
	}
	return payload(to.Addr(), mtu)
}

// sockaddr is an address as system calls take it, on the interface of s if it is link-local.
func (s *Socket) sockaddr(to netip.AddrPort) unix.Sockaddr {
	a := to.Addr().Unmap()
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: int(to.Port())}
	}
	sa := &unix.SockaddrInet6{Addr: a.As16(), Port: int(to.Port())}
	if a.IsLinkLocalUnicast() {
		sa.ZoneId = s.scope
	}
	return sa
}

// eachAddress gives f each address of each interface. False: the kernel does not tell.
func eachAddress(f func(i net.Interface, p netip.Prefix)) bool {
	all, err := net.Interfaces()
	for _, i := range all {
		addrs, _ := i.Addrs() // none of an interface that goes just now
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				f(i, p)
			}
		}
	}
	return err == nil
}
