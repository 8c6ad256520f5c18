package sock

import (
	"net"
	"net/netip"
)

const (
	maxPayload  = 65507 // of UDP over IPv4
	fallbackMTU = 1500
)

// PathPayload is how many bytes of UDP data leave the interface that has the address a in one piece; at most 65507. If no
// interface has it, Ethernet's.
func PathPayload(a netip.Addr) int {
	a = a.WithZone("")
	headers := 20 + 8
	if a.Unmap().Is6() {
		headers = 40 + 8
	}
	return min(interfaceMTU(a.Unmap())-headers, maxPayload)
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
